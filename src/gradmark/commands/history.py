"""`gradmark history`: how results changed from run to run."""

import datetime
import fnmatch
from typing import TYPE_CHECKING

import click

from gradmark.commands.options import store_option
from gradmark.commands.terminal import say, say_document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradmark.analyse.histories import ChangePoint, Histories
    from gradmark.records import Cell
    from gradmark.records.outline import Outline
    from gradmark.store.store import Store


@click.command()
@click.argument("select", nargs=-1)
@click.option(
    "--since", type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]), help="Only runs from this day (UTC) on."
)
@click.option(
    "--metric", "--phase", "name", default="total", show_default=True, help="Metric to plot: total, allocations, …"
)
@click.option("--json", "as_json", is_flag=True, help="Print every point and change.")
@store_option
def command(
    select: tuple[str, ...], since: datetime.datetime | None, name: str, as_json: bool, store: "Store"
) -> None:
    """Show how a metric went from run to run, and where it stepped up or down.

    SELECT is a workload, a suite or a glob. Runs of unlike machines are separate series. What moves all cells of an
    engine at once is shown once, and accuses no cell.
    """
    from gradmark.analyse.histories import histories
    from gradmark.report.escaping.json import document

    matching = histories(_outlines(store, since, name), name, lambda cell: _selected(cell, select))
    if not matching.series:
        _refuse_unknown(name)
    if as_json:
        say_document(document(matching), "json")
    else:
        show(matching)


def _outlines(store: "Store", since: datetime.datetime | None, name: str) -> "list[Outline]":
    """The kept runs without their samples, oldest first. A file that cannot be read is named and left out."""
    from gradmark.errors import StoreError
    from gradmark.records.metric import metric

    # When a run was started is compared as text: all moments have this form.
    known = store.outlines([metric(name).name, "primal"], f"{since:%Y-%m-%dT%H:%M:%S}" if since else "")
    for problem in known.problems:
        say(f"left out: {problem}", err=True)
    if not known.outlines:
        raise StoreError(
            f"no run in {store.name}{f' since {since:%Y-%m-%d}' if since else ''}; `gradmark run` makes one"
        )
    return known.outlines


def _refuse_unknown(name: str) -> None:
    """What the registry does not have is a phase that an engine declares; no run has this one."""
    from gradmark.errors import SelectionError
    from gradmark.records.metric import REGISTRY, is_known

    if not is_known(name):
        names = ", ".join(entry.name for entry in REGISTRY)
        raise SelectionError(f"Expected a metric, got {name!r}, which no kept run has. Known metrics: {names}.")


def _selected(cell: "Cell", select: tuple[str, ...]) -> bool:
    """Whether a cell was asked for: by its suite, its workload, its row, or the row with its engine."""
    names = (cell.workload, cell.row, f"{cell.row}@{cell.engine}")
    return not select or any(
        pattern == cell.suite or any(fnmatch.fnmatchcase(name, pattern) for name in names) for pattern in select
    )


def show(histories: "Histories") -> None:
    """For each machine a line for each series, its changes below it; then the plots."""
    import shutil

    from gradmark.report.tables.levels import levels

    if not histories.series:
        say("no cell of that name in the kept runs; `gradmark list` shows workloads and runs")
    columns = shutil.get_terminal_size().columns
    for machine in dict.fromkeys(series.machine for series in histories.series):
        for line in (*_lines(histories, machine), *levels(histories, machine, columns)):
            say(line)


def _lines(histories: "Histories", machine: str) -> "Iterator[str]":
    from gradmark.records.metric import metric
    from gradmark.report.model.characters import plural
    from gradmark.units import percent, text

    unit = metric(histories.metric).unit
    yield machine
    for group in histories.together:
        for change in group.changes if group.machine == machine else []:
            yield f"  together on {group.engine}: {_words(change)}: {change.reason}"
    for series in histories.series:
        if series.machine == machine:
            first, last = series.points[0].number.value, series.points[-1].number.value
            count, moved = len(series.points), f" ({percent(last / first)})" if first else ""
            numbers = f"{text(unit, first)} → {text(unit, last)}{moved}" if count > 1 else text(unit, first)
            yield f"  {series.cell}  {plural(count, 'run')}  {numbers}"
            yield from (f"    {_words(change)}" for change in series.changes)


def _words(change: "ChangePoint") -> str:
    commit = f", commit {change.commit[:12]}" if change.commit else ""
    return f"{change.step} from {change.started} on (run {change.run}{commit})"
