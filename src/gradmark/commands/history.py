"""`gradmark history`: kept runs as series, with the changes in them."""

import datetime
import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradmark.analyse.histories import Found, Histories
    from gradmark.records import Run

PHASES = ["total", "forward", "backward", "primal"]


@click.command()
@click.argument("select", nargs=-1)
@click.option(
    "--since", type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]), help="Only runs from this day (UTC) on."
)
@click.option("--phase", type=click.Choice(PHASES), default="total", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print every point and change.")
@click.option("--store", type=click.Path(path_type=Path), default=None, help="Folder of run files.")
def command(
    select: tuple[str, ...], since: datetime.datetime | None, phase: str, as_json: bool, store: Path | None
) -> None:
    """Show how times went from run to run, and where they stepped up or down.

    SELECT is a workload, a suite or a glob. Runs of unlike machines are separate series. What moves all cells of an
    engine at once is shown once, and accuses no cell.
    """
    import msgspec

    from gradmark.analyse.histories import histories

    found = histories([_only(run, select) for run in _runs(store, since)], phase)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        show(found, phase)


def _runs(store: Path | None, since: datetime.datetime | None) -> "list[Run]":
    """The kept runs, oldest first. A file that cannot be read is named and left out."""
    from gradmark.errors import StoreError
    from gradmark.store import listing, runs

    folder = store or runs.FOLDER
    read = []
    for kept in listing.headers(folder):
        # When a run was started is known without reading all of it.
        if since is not None and not kept.problem and kept.started < since.replace(tzinfo=datetime.UTC).isoformat():
            continue
        try:
            read.append(_one_build(runs.load(Path(kept.path))))
        except StoreError as error:
            click.echo(f"left out: {error}", err=True)
    if not read:
        raise StoreError(f"no run in {folder}{f' since {since:%Y-%m-%d}' if since else ''}; `gradmark run` makes one")
    return read


def _one_build(run: "Run") -> "Run":
    """Without the cells of two builds that were compared: they are no points of a series."""
    import msgspec

    return msgspec.structs.replace(run, measurements=[m for m in run.measurements if not m.cell.side])


def _only(run: "Run", select: tuple[str, ...]) -> "Run":
    """The run with the cells that were asked for."""
    import msgspec

    if not select:
        return run
    kept = [
        m for m in run.measurements if any(p == m.cell.suite or fnmatch.fnmatch(m.cell.workload, p) for p in select)
    ]
    return msgspec.structs.replace(run, measurements=kept)


def show(found: "Histories", phase: str) -> None:
    """For each machine a line for each series, its changes below it; then the plots."""
    import shutil

    from gradmark.report.tables.levels import levels

    if not found.series:
        click.echo("no cell of that name in the kept runs; `gradmark list` shows workloads and runs")
    columns = shutil.get_terminal_size().columns
    for machine in dict.fromkeys(series.machine for series in found.series):
        for line in (*_lines(found, machine), *levels(found, machine, phase, columns)):
            click.echo(line)


def _lines(found: "Histories", machine: str) -> "Iterator[str]":
    from gradmark.units import percent, time

    yield machine
    for group in found.together:
        for change in group.changes if group.machine == machine else []:
            yield f"  together on {group.engine}: {_words(change)}: {change.cause}"
    for series in found.series:
        if series.machine == machine:
            first, last = series.points[0].floor_ns, series.points[-1].floor_ns
            count = len(series.points)
            yield f"  {series.cell}  {count} runs  {time(first)} → {time(last)} ({percent(last / first)})"
            yield from (f"    {_words(change)}" for change in series.changes)


def _words(change: "Found") -> str:
    from gradmark.units import percent

    commit = f", commit {change.commit[:12]}" if change.commit else ""
    return f"{percent(change.ratio)} from {change.started} on (run {change.run}{commit})"
