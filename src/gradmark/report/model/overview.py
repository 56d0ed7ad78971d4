"""The overview: which engine is fastest, in one sentence, and where every engine stands.

In: a run, its rows and its verdicts on promises. Out: sentence, a line for each engine, and what the means are over.
"""

from collections.abc import Mapping, Sequence

from gradmark import units
from gradmark.analyse.standings import Standing
from gradmark.analyse.tally import Contest, Tally
from gradmark.records import Record, Run, Verdict
from gradmark.report.model import sides
from gradmark.report.model.characters import listed, one_line, plural
from gradmark.report.model.columns import MISSING
from gradmark.report.model.rows import Row

# Engines that the sentence names; the table below it has all.
MOST_NAMED = 3
# `tapegrad:jit` is a variant of `tapegrad`.
VARIANT = ":"


class Line(Record, frozen=True, kw_only=True):
    """One engine: the texts of its numbers in the order of `HEADS`, and the contract in words."""

    engine: str
    name: str  # as the run knows it, without its device
    own: bool  # it is the reader's engine, and the others are what it is compared with
    texts: list[str]
    contract: str = ""
    broken: bool = False


HEADS = [
    sides.TO_FASTEST, "fastest", "tied", "not settled", "× least peak memory", "fewest digits", "allocation-free rows",
    "rows timed",
]  # fmt: skip


class Overview(Record, frozen=True, kw_only=True):
    """What the first screen says."""

    sentence: str
    lines: list[Line]
    note: str = ""


def overview(
    run: Run,
    rows: Sequence[Row],
    promises: Sequence[Verdict],
    standings: Mapping[str, Sequence[Standing]] | None = None,
) -> Overview:
    """The overview of a run; `rows` are all of its rows, `promises` the verdicts on the contract."""
    contest = sides.contested(run, standings)
    names = {name: pair for pair, name in sides.competitors(run).items()}
    own = own_engine(run)
    functions = [row for row in rows if "operation" not in row.cell.params] or rows
    lines = []
    for tally in contest.tallies:
        engine, device = names[tally.engine]
        members = [row for row in functions if (row.cell.engine, row.cell.device) == (engine, device)]
        judged = [p for p in promises if p.engine == engine]
        lines.append(
            Line(
                engine=one_line(tally.engine),
                name=one_line(engine),
                own=is_own(engine, own),
                texts=[*_texts(tally)[:-1], _allocation_free(members), _texts(tally)[-1]],
                contract=_contract(judged),
                broken=any(p.verdict == "broken" for p in judged),
            )
        )
    return Overview(sentence=sentence(contest, rows), lines=lines if contest.contested else [], note=note(contest))


def own_engine(run: Run) -> str:
    """The engine that the run is about: the first that was asked for and gives derivatives. The others compare."""
    ranked = {m.cell.engine for m in run.measurements if m.accuracy is not None}
    asked = [cell.engine for cell in (*run.planned, *(m.cell for m in run.measurements))]
    return next((engine for engine in asked if engine in ranked), asked[0] if asked else "")


def is_own(engine: str, own: str) -> bool:
    """Whether an engine is the reader's own, or a variant of it.

    >>> is_own("tapegrad:jit", "tapegrad"), is_own("jax", "tapegrad")
    (True, False)
    """
    return engine.partition(VARIANT)[0] == own.partition(VARIANT)[0]


def sentence(contest: Contest, rows: Sequence[Row]) -> str:
    """Who is fastest, how often; ties; how many times are unsteady."""
    return " ".join(
        filter(None, [_winners(contest), _unsteady(rows, ", one per row and engine," * bool(contest.contested))])
    )


def _winners(contest: Contest) -> str:
    if not contest.contested:
        timed = [t for t in contest.tallies if t.timed]
        alone = f"{one_line(timed[0].engine)} was timed on {plural(contest.rows, 'row')}." if len(timed) == 1 else ""
        return alone or (f"{plural(len(timed), 'engine')} were timed, no two on the same row." if timed else "")
    winners = sorted((t for t in contest.tallies if t.fastest), key=lambda t: -t.fastest)
    named = [(one_line(t.engine), t.fastest) for t in winners[:MOST_NAMED]]
    parts = [
        f"{engine} is fastest on {count} of {plural(contest.contested, 'row')}" if not place else f"{engine} on {count}"
        for place, (engine, count) in enumerate(named)
    ]
    rest = sum(t.fastest for t in winners[MOST_NAMED:])
    if rest:
        parts.append(f"{plural(len(winners) - MOST_NAMED, 'other engine')} on {rest}")
    none = "No engine is the sole fastest on any row"
    open_ = [
        *([plural(contest.tied, "tie")] if contest.tied else []),
        *([f"{contest.unsettled} not settled"] * (contest.unsettled > 0)),
    ]
    return "; ".join([listed(parts) if winners else none, *([listed(open_)] if open_ else [])]) + "."


def _unsteady(rows: Sequence[Row], each: str) -> str:
    """How far to trust the times; `each` says what there is one of, where the winners are counted by another total."""
    timed = [row for row in rows if row.status == "ok" and row.time is not None]
    doubtful = sum(row.calm and not row.steady for row in timed)
    never = sum(not row.calm for row in timed)
    if len(timed) < 2:
        return f"The time is {'never calm' if never else 'unsteady' if doubtful else 'steady'}." if timed else ""
    if not doubtful and not never:
        return f"All {plural(len(timed), 'time')}{each} are steady."
    parts = [
        *([f"{doubtful} {'is' if doubtful == 1 else 'are'} unsteady"] if doubtful else []),
        *([f"{never} {'was' if never == 1 else 'were'} never calm"] if never else []),
    ]
    return f"Of {plural(len(timed), 'time')}{each or ','} {listed(parts)}."


def note(contest: Contest) -> str:
    """What the means are over; why there are none."""
    if contest.common:
        return (
            f"{sides.TO_FASTEST} and peak memory: geometric means over the {plural(contest.common, 'row')} that all "
            "engines with a mean have."
        )
    if contest.contested:
        return "No row has a time on every engine, so there are no means. Choose a suite, or fewer engines."
    return ""


def _texts(tally: Tally) -> list[str]:
    return [
        *(MISSING if number is None else units.times(number) for number in (tally.ratio,)),
        str(tally.fastest),
        str(tally.tied),
        str(tally.unsettled),
        MISSING if tally.memory is None else units.times(tally.memory),
        MISSING if tally.digits is None else f"{tally.digits:.1f}",
        f"{tally.timed} of {tally.planned}",
    ]


def _allocation_free(rows: Sequence[Row]) -> str:
    """On how many rows nothing is allocated."""
    counted = [row.numbers["allocations"].value for row in rows if row.status == "ok" and "allocations" in row.numbers]
    return f"{sum(value <= 0 for value in counted)} of {len(counted)}" if counted else MISSING


def _contract(promises: Sequence[Verdict]) -> str:
    """Promises kept, of all that were judged: `3 of 4`."""
    judged = [p for p in promises if p.verdict != "not measured"]
    if not judged:
        return "not measured"
    return f"{sum(p.verdict == 'kept' for p in judged)} of {len(judged)}"
