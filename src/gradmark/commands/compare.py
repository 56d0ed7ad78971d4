"""`gradmark compare`: two runs, row by row, and what differs between them."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from gradmark.commands.helping import Verb
from gradmark.commands.options import store_option
from gradmark.commands.terminal import Part, Styled, say

if TYPE_CHECKING:
    from gradmark.analyse.unpaired import Change, Difference
    from gradmark.records import Cell, Comparison, Run
    from gradmark.store.store import Store

COLOURS = {"faster": "green", "slower": "red"}
# What stands for OLD if it is left out.
PREVIOUS = "previous"
# Old, new and change with the gaps between them, then the longest verdict: what is left of 80 columns is for names.
NUMBERS, NAMES = 32, 33
LEGEND = """\
Times: {times}.
Change: new / old. Slower, faster: the change, and the typical change of a
process, are beyond {noticed:.0f} % ({by_few:.0f} % with fewer than {many} processes), and an exact
Mann-Whitney test of all processes gives p ≤ {level:g}."""
# Of two classes: a ratio that differs by less is not worth a line with --changed.
NOTEWORTHY = 1.1
SAME_MACHINE = "They must stay so when the machine's own change is taken out."
INTERVAL = "Interval: the typical change of a process (Hodges-Lehmann)."


@click.command(cls=Verb, examples=("gradmark compare", "gradmark compare 20260131 latest --changed"))
@click.argument("old", default=PREVIOUS)
@click.argument("new", default="latest")
@click.option("--changed", is_flag=True, help="Show only rows that differ.")
@store_option
def command(old: str, new: str, changed: bool, store: "Store") -> None:
    """Compare two kept runs: without arguments, the latest with the one before it that has some of the same rows.

    OLD and NEW are ids, starts of ids, files, or `latest`; NEW defaults to `latest`.

    Runs from two classes of machines are compared by ratios, never by times. This is not a gate: runs from different
    days also differ by what else the machine was doing. `gradmark check --against` measures both sides in turns.
    """
    from gradmark.store import runs

    after = store.load(store.find(new, runs.SHOWN_VERBS))
    before = store.load(previous(store, after) if old == PREVIOUS else store.find(old, runs.SHOWN_VERBS))
    refuse_same(before, after)
    show_differences(before, after, changed=changed)


def previous(store: "Store", run: "Run") -> str:
    """Where the newest run is that is older than this one and measured some of its workloads on some of its engines."""
    from gradmark.errors import SelectionError
    from gradmark.store import runs

    workloads, engines = ({getattr(m.cell, name) for m in run.measurements} for name in ("workload", "engine"))
    for kept in reversed(store.listed()):
        older = not kept.problem and kept.started < run.started and kept.verb in runs.SHOWN_VERBS
        if older and workloads & set(kept.workloads) and engines & set(kept.engines):
            return store.find(kept.id)
    raise SelectionError(
        f"no older run in {store.name} has a workload and an engine of run {run.id}; measure it again, or name two "
        "runs: `gradmark list runs` shows them"
    )


def show_differences(before: "Run", after: "Run", *, changed: bool = False) -> None:
    """Prints what differs between two runs: machines, rows, and what the verdicts mean."""
    from gradmark.analyse.calm import is_as_fast
    from gradmark.analyse.unpaired import LEVEL, MANY, NOTICED, NOTICED_BY_FEW, differences, environments
    from gradmark.analyse.unpaired import machines as change_of_machine
    from gradmark.records.identity import class_of
    from gradmark.report.model.words import times_are

    unlike, other = environments(before, after)
    for name, run in (("old", before), ("new", after)):
        say(f"{name} {run.id}  {run.started}")
    for text in unlike:
        say(f"unlike  {text}")
    for text in [*other, *sources(before, after)]:
        say(f"differs {text}")
    if (ours := class_of(before.environment)) != (theirs := class_of(after.environment)) and unlike:
        say(f"old is of class {ours.name}, new of {theirs.name}")
        across_classes(before, after, changed=changed)
        return
    slowed = change_of_machine(before, after)
    say(f"machine {machine_line(before, after, slowed)}")
    if unlike:
        say("Times from different machines or settings are shown, but not judged.")
    rows = differences(before, after)
    shown = [d for d in rows if not changed or d.changes or d.verdict not in ("no difference", "undecided")]
    if shown:
        say()
        say(f"{'':{NAMES}}{'old':>10}{'new':>11}{'change':>10}")
    names = names_of([difference.cell for difference in rows])
    for difference in shown:
        for line in lines(difference, names[difference.cell.id]):
            say(*line)
    counts = {verdict: sum(d.verdict == verdict for d in rows) for verdict in dict.fromkeys(d.verdict for d in rows)}
    say()
    say(", ".join(f"{count} {verdict}" for verdict, count in counts.items()) or "Both runs are empty.")
    if any(d.time is not None for d in shown):
        shares = {"noticed": 100 * (NOTICED - 1), "by_few": 100 * (NOTICED_BY_FEW - 1)}
        times = times_are(map(has_pilots, (before, after)))
        for text in LEGEND.format(**shares, times=times, many=MANY, level=LEVEL).splitlines():
            say(text)
        if slowed is not None and not is_as_fast(slowed):
            say(SAME_MACHINE)
    if any(d.time is not None and d.time.is_interval for d in shown if _explained(d)):
        say(INTERVAL)


def sources(before: "Run", after: "Run") -> list[str]:
    """Which functions and engines are other code in the newer run, though their names are the same."""
    from gradmark.analyse.functions import edited_files, namesakes

    texts = [
        f"{named.workload}: {shown_file(named.old)} was edited in between"
        if named.changed
        else f"{named.workload}: two files, {shown_file(named.old)} and {shown_file(named.new)}; not compared"
        for named in namesakes(before, after)
    ]
    return [*texts, *(f"{shown_file(file)} was edited in between" for file in edited_files(before, after))]


def shown_file(file: str) -> str:
    """A file as it is typed from here, if that is shorter."""
    import os

    try:
        return min(os.path.relpath(file), file, key=len)
    except ValueError:  # on another drive
        return file


def across_classes(before: "Run", after: "Run", *, changed: bool) -> None:
    """Two classes of machines: how each engine stands on its own machine, row by row."""
    from gradmark import units
    from gradmark.analyse.across import standings
    from gradmark.report.model.characters import one_line

    rows = standings(before, after)
    names = names_of([row.cell for row in rows])
    say()
    say(f"{'':{NAMES}}{'old':>10}{'new':>11}{'change':>10}")
    for row in rows:
        if changed and row.change is not None and not row.changes and 1 / NOTEWORTHY < row.change < NOTEWORTHY:
            continue
        name = one_line(names[row.cell.id])
        if len(name) > NAMES:
            say(name)
            name = ""
        ratios = "".join(
            f"{'n/a' if ratio is None else f'{ratio:.3g} ×':>{width}}"
            for ratio, width in ((row.old, 10), (row.new, 11))
        )
        change = units.percent(row.change) if row.change is not None else "n/a"
        say(f"{name:{NAMES}}{ratios}{change:>10}  {one_line(row.reason) or f'× {one_line(row.base)}'}")
        for difference in row.changes:
            say(f"    {_changed(difference)}")
    say()
    say("Each time is a multiple of what is named after ×, measured on the same machine:")
    say("the engine that is fastest in the old run, or the function alone where a row")
    say("has one engine. Nothing is judged.")


def machine_line(old: "Run", new: "Run", slowed: float | None) -> str:
    """What the machine itself did between two runs: how long its pilots, which are fixed work, took."""
    from gradmark.analyse.calm import AS_FAST, is_as_fast
    from gradmark.analyse.unpaired import speed

    if slowed is None:
        without = [name for name, run in (("old", old), ("new", new)) if not has_pilots(run)]
        return f"not known: {'neither run has' if len(without) > 1 else f'the {without[0]} run lacks'} pilots"
    if is_as_fast(slowed):
        return f"equally fast in both runs: its pilots agree within {100 * (AS_FAST - 1):.1f} %"
    return f"{speed(slowed)} in the new run, as its pilots (short fixed work) show"


def has_pilots(run: "Run") -> bool:
    """Whether pilots watched the core."""
    from gradmark.analyse.calm import machine

    return machine(run.measurements).core_ns is not None


def refuse_same(old: "Run", new: "Run") -> None:
    """Raises if a run would be compared with itself."""
    from gradmark.errors import SelectionError

    if old.id == new.id:
        raise SelectionError(
            f"OLD and NEW are the same run ({old.id}); name two runs, or none to compare the latest with the one "
            "before it: `gradmark list runs` shows them"
        )


def names_of(cells: "Sequence[Cell]") -> dict[str, str]:
    """The name of each cell by its id, `poly/n=10@tapegrad`; with its file where that alone tells it from another."""
    from collections import Counter

    def short(cell: "Cell") -> str:
        return f"{cell.row}@{cell.engine}" + (f" ({cell.side})" if cell.side else "")

    def full(cell: "Cell") -> str:
        return f"{short(cell)} of {shown_file(cell.file)}" if cell.file else cell.id

    counts = Counter(map(short, cells))
    return {cell.id: short(cell) if counts[short(cell)] == 1 else full(cell) for cell in cells}


def lines(difference: "Difference", name: str) -> Iterator[tuple[Part, ...]]:
    """One row: times, change, verdict; below it why, where that is not plain, and what else changed."""
    from gradmark.report.model.characters import one_line

    name = one_line(name)
    if len(name) > NAMES:
        yield (name,)
        name = ""
    numbers = f"{name:{NAMES}}{_numbers(difference.time):{NUMBERS}}  "
    yield numbers, Styled(difference.verdict, COLOURS.get(difference.verdict))
    if difference.reason:
        yield (f"    {difference.reason}",)
    if difference.time is not None and _explained(difference):
        yield from ((f"    {text}",) for text in _why(difference.time))
    for change in difference.changes:
        yield (f"    {_changed(change)}",)


def _explained(difference: "Difference") -> bool:
    return difference.verdict != "no difference"


def _numbers(time: "Comparison | None") -> str:
    import math

    from gradmark import units
    from gradmark.report.model.columns import NEVER_CALM

    if time is None:
        return ""
    change = units.percent(time.ratio) if math.isfinite(time.ratio) else "n/a"
    old, new = (
        units.time(ns) + ("" if calm else NEVER_CALM)
        for ns, calm in zip((time.first, time.second), time.calm, strict=True)
    )
    return f"{old:>10}{new:>11}{change:>10}"


def _why(time: "Comparison") -> Iterator[str]:
    """What the processes say."""
    from gradmark import units
    from gradmark.report.model.characters import plural

    if time.typical is None or time.low is None or time.high is None or time.coverage is None:
        return
    first, second = time.processes
    processes = f"{plural(first, 'process')} each" if first == second else f"{first} and {second} processes"
    kind = f"{100 * time.coverage:.0f} % interval" if time.is_interval else "range"
    yield (
        f"typical change of a process {units.percent(time.typical)} "
        f"({kind} {units.percent(time.low)} to {units.percent(time.high)})"
    )
    yield f"p = {time.p_value:.2g}, {processes}"


def _changed(change: "Change") -> str:
    from gradmark import units
    from gradmark.records.metric import is_known, metric

    unit = metric(change.metric).unit if is_known(change.metric) else ""

    def text(value: float | str | None) -> str:
        return "n/a" if value is None else value if isinstance(value, str) else units.text(unit, value)

    return f"{change.metric}: {text(change.old)} → {text(change.new)}"
