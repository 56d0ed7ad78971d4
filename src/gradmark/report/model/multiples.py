"""Multiples: a line for each row, with the time of the function first, and then each engine's derivative beside it.

In: a run. Out: a `Multiples`, the shape in which papers and pull requests compare. One time of the function is used
for all engines of a row, the fastest that any of them takes: so the multiples of a line compare with each other.
"""

from collections.abc import Mapping, Sequence

from gradmark import units
from gradmark.analyse.standings import Standing, rows_of, standings
from gradmark.records import Measurement, Record, Run
from gradmark.records.metric import numbers
from gradmark.records.times import HARNESS_ERROR_NS
from gradmark.report.model.characters import one_line
from gradmark.report.model.columns import MISSING
from gradmark.report.model.rows import WORDS, reading_order
from gradmark.report.model.sides import called, competitors, explained, mark
from gradmark.report.model.words import time_taken

HEADS = ("workload", "function")
FUNCTION = (
    "function: its fastest evaluation on any of these engines, nothing recorded; then function and derivative of each "
    "engine, as a multiple of that"
)


class Multiples(Record, frozen=True, kw_only=True):
    """The table: engines are columns, in the order in which they were asked for."""

    engines: list[str]
    lines: list[tuple[str, str, list[str]]]  # row, function, and a cell for each engine
    best: list[list[bool]]  # which cells are of the fastest engine, or of one tied with it

    @property
    def legend(self) -> list[str]:
        """What the columns are, and the marks that are there."""
        return [FUNCTION, *explained([cell for _, _, cells in self.lines for cell in cells])]


def multiples(run: Run) -> Multiples:
    """All rows of a run."""
    names = competitors(run)
    ordered = [called(names, run.measurements[place]) for place in reading_order(run)]
    engines = list(dict.fromkeys(m.cell.engine for m in ordered))
    lines, best = [], []
    for task, members in rows_of(ordered).items():
        placed = {s.engine: s for s in standings(members)}
        function = _function(members)
        ours = {m.cell.engine: m for m in members}
        cells = [_cell(ours.get(engine), placed, function) for engine in engines]
        shown = MISSING if function is None else units.time(function)
        lines.append((one_line(task), shown, cells))
        best.append([engine in placed and placed[engine].outcome != "slower" for engine in engines])
    return Multiples(engines=[one_line(engine) for engine in engines], lines=lines, best=best)


def _function(members: Sequence[Measurement]) -> float | None:
    """The fastest evaluation; None if there is none that is long enough to be a measure."""
    times = [number for m in members if m.status == "ok" and (number := numbers(m).get("primal"))]
    calm = [number.value for number in times if number.calm] or [number.value for number in times]
    fastest = min(calm, default=0.0)
    return fastest if fastest > HARNESS_ERROR_NS else None


def _cell(m: Measurement | None, placed: Mapping[str, Standing], function: float | None) -> str:
    if m is None:
        return ""
    standing = placed.get(m.cell.engine)
    if standing is None:
        return WORDS[m.status] if m.status != "ok" else MISSING
    time = time_taken(standing.total_ns, standing.how)
    if function is None:
        return f"{time} {mark(standing)}".rstrip()
    return f"{units.times(standing.total_ns / function)} × ({time}) {mark(standing)}".rstrip()
