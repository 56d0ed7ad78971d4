"""`gradmark baseline`: writes and shows the file of numbers that `gradmark check` holds an engine to."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gradmark.commands.check import Chosen, baseline_option
from gradmark.commands.helping import Verb, VerbGroup
from gradmark.commands.measuring import Invocation, MeasuringCommand, measuring, orchestrating
from gradmark.commands.options import HOW, options
from gradmark.commands.terminal import say

if TYPE_CHECKING:
    from gradmark.measure.orchestrator import Orchestrator
    from gradmark.store.baselines import Baseline

# Times in a baseline are for information only.
TIMED_PROCESSES = 3
# Each cell is counted in so many processes, to see whether they agree; if not, in so many, to see by how much.
PROCESSES, MOST_PROCESSES = 3, 5


@click.group(cls=VerbGroup, examples=("gradmark baseline update", "gradmark baseline show"))
def command() -> None:
    """Update or show the numbers that must not get worse: gradmark-baseline.json, a file to commit."""


@command.command(
    "update",
    cls=MeasuringCommand,
    examples=("gradmark baseline update", "gradmark baseline update poly -e my_module:MyEngine"),
)
@click.argument("select", nargs=-1)
@options("engines", "keyword")
@baseline_option
@click.option(
    "--times", is_flag=True, help="Also measure times, for information. Otherwise the times in the file are kept."
)
@measuring("instructions", *HOW)
def update(
    select: tuple[str, ...],
    engines: tuple[str, ...],
    keyword: str | None,
    file: Path | None,
    times: bool,
    invocation: Invocation,
) -> None:
    """Measure exact metrics and write them to the file. With SELECT, -e or -k, only those cells are renewed.

    Each cell is counted in several processes. What they differ by is written beside the number: that much is no change.
    A cell that fails is kept with its status.
    """
    import msgspec

    from gradmark.gate import configuration
    from gradmark.report.model.characters import plural
    from gradmark.store import baselines, runs

    path = file or baselines.FILE
    read = configuration.read()
    runs.ready_file(path)
    chosen = Chosen(tuple(select or read.select), tuple(engines or read.engines), keyword)
    before = baselines.load(path) if path.exists() else None
    settings = msgspec.structs.replace(invocation.settings, processes=TIMED_PROCESSES if times else 0)
    with orchestrating(invocation, lambda: chosen.plan(invocation, settings)) as (orchestrator, _):
        count_repeatedly(orchestrator)
        run = orchestrator.carry_out()
    renewed = baselines.baseline(run.measurements, run.environment, before)
    if before is not None and (select or engines or keyword):
        renewed = baselines.joined(before, renewed, run.planned)
    baselines.save(renewed, path)
    changed = _changes(baselines.renamed(before, run.planned), renewed) if before is not None else len(renewed.cells)
    say(f"{path}: {plural(len(renewed.cells), 'cell')}, {changed} changed; commit it")
    for name, kept in renewed.cells.items():
        if kept.status != "ok":
            say(f"{kept.status}: {name}")


def count_repeatedly(orchestrator: "Orchestrator") -> None:
    """Inspects the cells that work until enough processes agree, or show by how much they do not."""
    from gradmark.store import baselines

    orchestrator.inspect()
    for number in range(1, MOST_PROCESSES):
        known = [orchestrator.measurement(cell) for cell in orchestrator.cells]
        again = [
            m.cell
            for m in known
            if m.status == "ok" and m.inspections == number and (number < PROCESSES or baselines.scatter(m))
        ]
        if again:
            orchestrator.inspect(again, again=True)


def _changes(before: "Baseline", now: "Baseline") -> int:
    names = {*before.cells, *now.cells}
    return sum(before.cells.get(name) != now.cells.get(name) for name in names)


@command.command(
    "show", cls=Verb, examples=("gradmark baseline show", "gradmark baseline show --baseline old-baseline.json")
)
@baseline_option
def show(file: Path | None) -> None:
    """Print the numbers in the file and how they were counted."""
    from gradmark.report.tables.gate import numbers
    from gradmark.store import baselines

    baseline = baselines.load(file or baselines.FILE)
    times = baseline.times.total_ns if baseline.times is not None else {}
    for name, kept in sorted(baseline.cells.items()):
        values = numbers(kept.metrics | ({"total": times[name]} if name in times else {}), kept.scatter)
        say(f"{name}: {kept.status if kept.status != 'ok' else values}")
    say("counted with " + ", ".join(f"{key} {value}" for key, value in baseline.environment.items()))
    if baseline.times is not None:
        say(f"timed on {baseline.times.machine}; for information, never judged")
