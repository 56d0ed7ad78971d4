"""`gradmark audit`: plants known faults, and shows that the gate catches each."""

import sys
from typing import TYPE_CHECKING

import click

from gradmark.commands.measuring import Invocation, MeasuringCommand, measuring, orchestrating
from gradmark.commands.options import HOW

if TYPE_CHECKING:
    from gradmark.revisions.audit import Audit


@click.command(cls=MeasuringCommand)
@click.option("-k", "keyword", metavar="TEXT", help="Only faults with this in their description.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@measuring("pairs", *HOW)
def command(keyword: str | None, as_json: bool, pairs: int, invocation: Invocation) -> None:
    """Does the gate work on this machine? Faulty engines must be caught by the right metric, the real one must pass.

    Exit code 1 when a fault is missed or the unmodified engine is accused.
    """
    import msgspec

    from gradmark.errors import SelectionError
    from gradmark.gate.configuration import Configuration
    from gradmark.revisions import contest
    from gradmark.revisions.audit import audit, places, row_of
    from gradmark.revisions.faults import FAULTS

    faults = [fault for fault in FAULTS if keyword is None or keyword in fault.what]
    if not faults:
        raise SelectionError(f"no fault has {keyword!r} in its description: {'; '.join(f.what for f in FAULTS)}")
    cells = contest.both_sides([row_of(fault) for fault in faults])
    settings = contest.settings_of(invocation.settings, pairs)
    with orchestrating(invocation, lambda: invocation.plan_of_cells(cells, settings), places()) as (orchestrator, _):
        done = audit(orchestrator, Configuration(), pairs, faults)
        orchestrator.finish()
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(done)).decode())
    else:
        show(done)
    if not all(planted.caught for planted in done.planted):
        sys.exit(1)


def show(done: "Audit") -> None:
    """One line for each fault, and its evidence."""
    from gradmark.report.tables.gate import change, sentence

    for planted in done.planted:
        words = ("caught", "missed") if planted.expected else ("passed", "accused")
        word = words[0] if planted.caught else words[1]
        colour = "green" if planted.caught else "red"
        accused = f", by {', '.join(planted.accused)}" if planted.accused else ""
        click.echo(click.style(f"{word:8}", fg=colour, bold=True) + planted.what + accused)
        if planted.evidence is not None:
            click.echo(f"{'':8}{change(planted.evidence)}: {sentence(planted.evidence)}".rstrip(": "))
    if done.false_alarms is not None:
        click.echo(
            f"false alarms on this machine: {done.false_alarms} of {done.comparisons} comparisons of equal things"
        )
