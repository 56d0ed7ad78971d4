"""`gradmark audit`: plants known faults, and shows that the gate catches each."""

import sys

import click

from gradmark.records import Settings


@click.command()
@click.option("--pairs", type=click.IntRange(2), default=12, show_default=True, help="Pairs of processes for each row.")
@click.option("-k", "keyword", help="Only faults with this in their description.")
@click.option("--json", "as_json", is_flag=True, help="Print what was found.")
def command(pairs: int, keyword: str | None, as_json: bool) -> None:
    """Does the gate work on this machine? Faulty engines must be caught by the right metric, the real one must pass.

    Exit code 1 when a fault is missed or the unmodified engine is accused.
    """
    import msgspec

    from gradmark.commands.gating import progress
    from gradmark.errors import SelectionError
    from gradmark.gate.configuration import Configuration
    from gradmark.revisions.audit import Planted, audit, pairs_of
    from gradmark.revisions.faults import FAULTS

    faults = [fault for fault in FAULTS if keyword is None or keyword in fault.what]
    if not faults:
        raise SelectionError(f"no fault has {keyword!r} in its description: {'; '.join(f.what for f in FAULTS)}")
    planted, alarms = [], None
    with progress(sum(2 + pairs_of(fault, pairs) for fault in faults)) as step:
        for found in audit(Settings(), Configuration(), pairs, step, faults):
            if isinstance(found, Planted):
                planted.append(found)
            else:
                alarms = found
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode({"planted": planted, "false_alarms": alarms})).decode())
    else:
        for one in planted:
            good = ("caught" if one.expected else "passed") if one.caught else ("missed" if one.expected else "accused")
            word = click.style(f"{good:8}", fg="green" if one.caught else "red", bold=True)
            click.echo(f"{word}{one.what}" + (f", by {', '.join(one.accused)}" if one.accused else ""))
            if one.evidence:
                click.echo(f"{'':8}{one.evidence}")
        if alarms is not None:
            click.echo(f"false alarms on this machine: {alarms[0]} of {alarms[1]} comparisons of equal things")
    if not all(one.caught for one in planted):
        sys.exit(1)
