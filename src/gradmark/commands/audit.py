"""`gradmark audit`: plants known faults, and shows that the gate catches each."""

import sys
from typing import TYPE_CHECKING

import click
import msgspec

from gradmark.commands.measuring import Invocation, MeasuringCommand, measuring, orchestrating
from gradmark.commands.options import HOW
from gradmark.commands.terminal import Styled, say, say_document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradmark.revisions.audit import Audit
    from gradmark.revisions.faults import Fault


@click.command(cls=MeasuringCommand, examples=("gradmark audit", "gradmark audit -k leak --verbs"))
@click.option("-k", "keyword", metavar="TEXT", help="Only faults whose description contains this text.")
@click.option("--verbs", is_flag=True, help="Run every verb on every fault and print a table; takes minutes.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@measuring("pairs", *HOW)
def command(keyword: str | None, verbs: bool, as_json: bool, pairs: int, invocation: Invocation) -> None:
    """Show that the gate works on this machine: it must catch faulty engines by the right metric and pass the real one.

    With --verbs, each fault is planted in a repository of its own, and every verb that should show it is run. Exit
    code 1 if a fault is missed or the unmodified engine fails.
    """
    from gradmark.errors import SelectionError
    from gradmark.gate.configuration import Configuration
    from gradmark.report.escaping.json import document
    from gradmark.revisions import contest
    from gradmark.revisions.audit import audit, audit_devices, places, row_of
    from gradmark.revisions.device_faults import DEVICE_FAULTS
    from gradmark.revisions.faults import FAULTS

    faults = [fault for fault in FAULTS if keyword is None or keyword in fault.what]
    on_device = [fault for fault in DEVICE_FAULTS if keyword is None or keyword in fault.what]
    if not (faults or (on_device and not verbs)):
        known = "; ".join([*(fault.what for fault in FAULTS), *(fault.what for fault in DEVICE_FAULTS)])
        raise SelectionError(f"no fault has {keyword!r} in its description: {known}")
    if verbs:
        sys.exit(on_every_verb(faults, pairs, as_json))
    cells = [*contest.both_sides([row_of(fault) for fault in faults]), *(fault.cell for fault in on_device)]
    settings = contest.settings_of(invocation.settings, pairs)
    with orchestrating(invocation, lambda: invocation.plan_of_cells(cells, settings), places()) as (orchestrator, _):
        audited = audit(orchestrator, Configuration(), pairs, faults)
        planted = [*audited.planted, *audit_devices(orchestrator, on_device)]
        audited = msgspec.structs.replace(audited, planted=planted)
        orchestrator.finish()
    if as_json:
        say_document(document(audited), "json")
    else:
        show(audited)
    if not all(planted.caught for planted in audited.planted):
        sys.exit(1)


def on_every_verb(faults: "Sequence[Fault]", pairs: int, as_json: bool) -> int:
    """The table of faults and verbs; the exit code."""
    import tempfile
    from pathlib import Path

    from gradmark.commands.progress import working
    from gradmark.report.escaping.json import document
    from gradmark.revisions.verbs import plant, table

    with tempfile.TemporaryDirectory(prefix="gradmark-") as folder, working("planting faults") as text:

        def watch(step: str) -> None:
            text(step)
            say(step, err=True)

        shown = plant(faults, Path(folder), pairs, watch)
    if as_json:
        say_document(document(shown), "json")
    else:
        for line in table(shown):
            say(line)
    return int(not all(one.right for one in shown))


def show(audited: "Audit") -> None:
    """One line for each fault, and its evidence."""
    from gradmark.report.tables.gate import change, sentence

    for planted in audited.planted:
        words = ("caught", "missed") if planted.expected else ("passed", "accused")
        word = words[0] if planted.caught else words[1]
        colour = "green" if planted.caught else "red"
        accused = f", by {', '.join(planted.accused)}" if planted.accused else ""
        say(Styled(f"{word:8}", colour, bold=True), planted.what + accused)
        if planted.evidence is not None:
            parts = [change(planted.evidence), sentence(planted.evidence)]
            say(f"{'':8}{': '.join(part for part in parts if part)}")
    if audited.false_alarms is not None:
        say(
            f"false alarms on this machine: {audited.false_alarms} of {audited.comparisons} comparisons of identical "
            "builds"
        )
