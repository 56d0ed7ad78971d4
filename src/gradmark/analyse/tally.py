"""The tally: what the standings of all rows say of each engine. How often it is fastest, and how far behind on average.

In: the standings of every row, and how many rows each engine was asked for. Out: a `Tally` for each engine, best first.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import geometric_mean

from gradmark.analyse.standings import Standing
from gradmark.records import Record

# An engine that has a time on fewer of the rows would leave few that all have in common; it gets no mean.
LEAST_SHARE = 0.5


class Tally(Record, frozen=True, kw_only=True):
    """An engine over all rows. Nothing is won where it has no rival.

    The means are geometric, over the common rows; None if it has not all of them.
    """

    engine: str
    planned: int
    timed: int
    fastest: int
    tied: int
    unsettled: int
    pareto: int
    ratio: float | None = None  # × fastest
    memory: float | None = None  # its peak memory as a multiple of the least of each row
    digits: float | None = None  # the fewest of any row


class Contest(Record, frozen=True, kw_only=True):
    """All engines over all rows."""

    tallies: list[Tally]
    rows: int  # on which an engine was timed
    contested: int  # on which two engines or more were
    tied: int  # on which the fastest are known to be as fast
    unsettled: int  # on which it is not known yet
    common: int  # that every engine with a mean was timed on


def contest(standings: Mapping[str, Sequence[Standing]], planned: Mapping[str, int]) -> Contest:
    """The tallies of the engines that were asked for."""
    timed = [row for row in standings.values() if row]
    rows = [row for row in timed if len(row) > 1]
    alone = {engine: sum(row[0].engine == engine for row in timed if len(row) == 1) for engine in planned}
    of_engine = {engine: [s for row in rows for s in row if s.engine == engine] for engine in planned}
    common = _common(rows, of_engine)
    ratios = [{s.engine: s.ratio for s in row} for row in common]
    peaks = [{s.engine: s.peak_bytes for s in row if s.peak_bytes} for row in common]
    tallies = [
        Tally(
            engine=engine,
            planned=planned[engine],
            timed=len(own) + alone[engine],
            fastest=sum(s.outcome == "fastest" for s in own),
            tied=sum(s.outcome == "tied" and s.settled for s in own),
            unsettled=sum(s.outcome == "tied" and not s.settled for s in own),
            pareto=sum(s.pareto for s in own),
            ratio=_mean([row.get(engine) for row in ratios]),
            memory=_mean([row[engine] / min(row.values()) if engine in row else None for row in peaks]),
            digits=min(
                (s.digits for row in timed for s in row if s.engine == engine and s.digits is not None), default=None
            ),
        )
        for engine, own in of_engine.items()
    ]
    tallies.sort(key=lambda tally: -(tally.fastest + tally.tied + tally.unsettled))
    undecided = [row for row in rows if any(s.outcome == "tied" for s in row)]
    tied = sum(all(s.settled for s in row if s.outcome == "tied") for row in undecided)
    return Contest(
        tallies=tallies,
        rows=len(timed),
        contested=len(rows),
        tied=tied,
        unsettled=len(undecided) - tied,
        common=len(common),
    )


def _common(
    rows: Sequence[Sequence[Standing]], of_engine: Mapping[str, Sequence[Standing]]
) -> list[Sequence[Standing]]:
    """The contested rows that all engines with enough times have."""
    enough = {engine for engine, own in of_engine.items() if own and len(own) >= LEAST_SHARE * len(rows)}
    return [row for row in rows if enough and enough <= {s.engine for s in row}]


def _mean(ratios: Sequence[float | None]) -> float | None:
    known = [ratio for ratio in ratios if ratio is not None]
    if not known or len(known) < len(ratios) or min(known) <= 0 or not math.isfinite(max(known)):
        return None
    return geometric_mean(known)
