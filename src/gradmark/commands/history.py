"""`gradmark history`: how results changed from run to run."""

import datetime
import fnmatch
from typing import TYPE_CHECKING

import click

from gradmark.commands.helping import Verb
from gradmark.commands.options import store_option
from gradmark.commands.terminal import say, say_document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradmark.analyse.histories import ChangePoint, Histories
    from gradmark.analyse.lastnight import Night
    from gradmark.errors import StoreError
    from gradmark.records import Cell
    from gradmark.records.outline import Outline
    from gradmark.store.store import Store


# Machines do not begin at the same hour, and the night before must not be in it.
NIGHT = datetime.timedelta(hours=12)


@click.command(cls=Verb, examples=("gradmark history poly", "gradmark history --moved --since 2026-01-31"))
@click.argument("select", nargs=-1)
@click.option(
    "--since",
    metavar="DATE",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]),
    help="Only runs from this day (UTC) on, such as 2026-01-31.",
)
@click.option(
    "--metric", "--phase", "name", default="total", show_default=True, help="Metric to plot: total, allocations, …"
)
@click.option(
    "--on", "machine_class", metavar="CLASS", help="Only machines of this class; the start of its name is enough."
)
@click.option("--versions", is_flag=True, help="Show one level per engine version instead of one per run.")
@click.option(
    "--moved", is_flag=True, help="Show what changed last night (or since --since) on all classes of machines."
)
@click.option("--json", "as_json", is_flag=True, help="Print every point and change.")
@store_option
def command(
    select: tuple[str, ...],
    since: datetime.datetime | None,
    name: str,
    machine_class: str | None,
    versions: bool,
    moved: bool,
    as_json: bool,
    store: "Store",
) -> None:
    """Show how a metric changed from run to run, and where its level shifted.

    SELECT is a workload, a suite or a glob. Machines of one class share a series, unless their calibrations differ. A
    shift of all cells of an engine at once is shown once, for the engine.
    """
    from gradmark.commands.collecting import put_off

    if moved and versions:
        raise click.UsageError("--moved and --versions answer different questions; use only one of them")
    with put_off():
        _answer(
            select,
            since,
            name,
            machine_class,
            store,
            what="moved" if moved else "versions" if versions else "",
            as_json=as_json,
        )


def _answer(
    select: tuple[str, ...],
    since: datetime.datetime | None,
    name: str,
    machine_class: str | None,
    store: "Store",
    *,
    what: str,
    as_json: bool,
) -> None:
    """Reads what is kept, and shows it."""
    from gradmark.analyse.histories import histories
    from gradmark.records.decoding import UndecodableError
    from gradmark.report.escaping.json import document

    outlines = _of_class(_outlines(store, None if what == "moved" else since, name), machine_class)

    def keep(cell: "Cell") -> bool:
        return _selected(cell, select)

    if what == "moved":
        from gradmark.analyse.lastnight import last_night

        try:
            night = last_night(outlines, _since(outlines, since), name, keep)
        except UndecodableError as error:
            raise _damaged(store, error) from error
        if as_json:
            say_document(document(night), "json")
        else:
            show_night(night)
        return
    try:
        matching = histories(outlines, name, keep)
    except UndecodableError as error:
        raise _damaged(store, error) from error
    if not matching.series:
        _refuse_unknown(name)
    if as_json:
        say_document(document(matching), "json")
    elif what == "versions":
        show_versions(matching)
    else:
        show(matching)


def _outlines(store: "Store", since: datetime.datetime | None, name: str) -> "list[Outline]":
    """The kept runs without their samples, oldest first. A file that cannot be read is named and left out."""
    from gradmark.errors import StoreError
    from gradmark.records.metric import metric

    # When a run was started is compared as text: all moments have this form.
    known = store.outlines([metric(name).name], f"{since:%Y-%m-%dT%H:%M:%S}" if since else "")
    for problem in known.problems:
        say(f"left out: {problem}", err=True)
    if not known.outlines:
        raise StoreError(
            f"no run in {store.name}{f' since {since:%Y-%m-%d}' if since else ''}; `gradmark run` makes one"
        )
    return known.outlines


def _damaged(store: "Store", error: Exception) -> "StoreError":
    """What is wrong where a store has numbers that are none."""
    from gradmark.errors import StoreError

    return StoreError(
        f"the numbers in {store.name} are damaged: {error}; in a folder, delete outlines.index: it will be rebuilt"
    )


def _of_class(outlines: "list[Outline]", machine_class: str | None) -> "list[Outline]":
    """The runs of one class of machines, or all."""
    from gradmark.errors import SelectionError

    if machine_class is None:
        return outlines
    matching = [run for run in outlines if run.machine_class.matches(machine_class)]
    if not matching:
        classes = sorted({run.machine_class.name for run in outlines})
        raise SelectionError(
            f"no run comes from a machine of class {machine_class!r}; choose from: {', '.join(classes)}"
        )
    return matching


def _since(outlines: "list[Outline]", since: datetime.datetime | None) -> str:
    """When the night began that is asked for: by default half a day before the newest run."""
    if since is not None:
        return f"{since:%Y-%m-%dT%H:%M:%S}"
    newest = max(run.heading.started for run in outlines)
    begun = datetime.datetime.fromisoformat(newest) - NIGHT
    return f"{begun:%Y-%m-%dT%H:%M:%S}"


def _refuse_unknown(name: str) -> None:
    """What the registry does not have is a phase that an engine declares; no run has this one."""
    from gradmark.errors import SelectionError
    from gradmark.records.metric import REGISTRY, is_known

    if not is_known(name):
        names = ", ".join(entry.name for entry in REGISTRY)
        raise SelectionError(f"Expected a metric, got {name!r}, which no kept run has. The metrics are: {names}.")


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
        say("no kept run has a cell of that name; `gradmark list` shows workloads and runs")
    columns = shutil.get_terminal_size().columns
    for machine in dict.fromkeys(series.machine for series in histories.series):
        for line in (*_lines(histories, machine), *levels(histories, machine, columns)):
            say(line)


def show_versions(histories: "Histories") -> None:
    """For each class of machines the level of each row with each version of its engine."""
    from gradmark.analyse.histories import levels_by_version
    from gradmark.records.metric import metric
    from gradmark.report.model.characters import one_line, plural
    from gradmark.units import percent, text

    unit = metric(histories.metric).unit
    for machine in dict.fromkeys(series.machine for series in histories.series):
        say(machine)
        for series in histories.series:
            if series.machine == machine:
                say(f"  {shown_cell(series.cell)}")
                before = None
                for level in levels_by_version(series):
                    change = f"  {percent(level.value / before)}" if before else ""
                    version = one_line(level.version) or "unknown version"
                    runs = f"{plural(level.runs, 'run')} from {level.since}"
                    say(f"    {version}  {text(unit, level.value)}{change}  {runs}")
                    before = level.value


def show_night(night: "Night") -> None:
    """What moved: machines, then engines, then rows; each with where and what else changed."""
    from gradmark.report.model.characters import one_line, plural

    for shift in night.shifts:
        software = f"; changed: {', '.join(map(one_line, shift.software))}" if shift.software else ""
        match shift.whose:
            case "machine":
                line = f"machine  {shift.step}  all {plural(shift.of, 'row')}: {shift.known_by}; no engine is blamed"
            case "engine":
                rows = f"{len(shift.rows)} of {plural(shift.of, 'row')}"
                line = f"engine   {shift.step}  {one_line(shift.engine)}: {rows}{software}"
            case _:
                line = f"row      {shift.step}  {one_line(shift.rows[0])}@{one_line(shift.engine)}{software}"
        say(f"{line}  on {shift.machine_class} (run {one_line(shift.run)})")
    judged = f"{plural(night.rows, 'row')} on {night.machines} series of machines"
    say(f"since {night.since}: {len(night.shifts) or 'no'} shift{'s' * (len(night.shifts) != 1)} in {judged}")
    if night.unjudged:
        say(f"{plural(night.unjudged, 'row')} not judged: fewer than four runs before")


def _lines(histories: "Histories", machine: str) -> "Iterator[str]":
    from gradmark.records.metric import metric
    from gradmark.report.model.characters import one_line, plural
    from gradmark.units import percent, text

    unit = metric(histories.metric).unit
    yield machine
    for group in histories.together:
        for change in group.changes if group.machine == machine else []:
            software = f"; changed: {', '.join(map(one_line, change.software))}" if change.software else ""
            yield f"  together on {group.engine}: {_words(change)}: {change.reason}{software}"
    for series in histories.series:
        if series.machine == machine:
            first, last = series.points[0].number.value, series.points[-1].number.value
            count, moved = len(series.points), f" ({percent(last / first)})" if first else ""
            numbers = f"{text(unit, first)} → {text(unit, last)}{moved}" if count > 1 else text(unit, first)
            yield f"  {shown_cell(series.cell)}  {plural(count, 'run')}  {numbers}"
            yield from (f"    {_words(change)}" for change in series.changes)


def shown_cell(cell: str) -> str:
    """A cell's id, with its file as it is typed from here."""
    from gradmark.commands.compare import shown_file
    from gradmark.report.model.characters import one_line

    name, of, file = cell.partition(" of ")
    return one_line(f"{name}{of}{shown_file(file) if file else ''}")


def _words(change: "ChangePoint") -> str:
    commit = f", commit {change.commit[:12]}" if change.commit else ""
    return f"{change.step} from {change.started} on (run {change.run}{commit})"
