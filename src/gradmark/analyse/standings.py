"""Standings: the engines of one row side by side. Who is fastest or as fast, who is Pareto-optimal, who breaks even.

In: the measurements of one workload, size and dtype. Out: a `Standing` for each engine that was timed. Engines may have
different numbers of processes. One that never saw a calm machine neither wins nor loses, and while it is there the lead
is not settled.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from gradmark.analyse.paired import compare, quotient, rounds
from gradmark.analyse.unpaired import rank_test
from gradmark.records import Cell, Code, Comparison, Measurement, Number, Record
from gradmark.records.metric import metric, numbers
from gradmark.records.sample import How
from gradmark.records.times import HARNESS_ERROR_NS

# Within this two times are equal: those of equal things differ by up to 5 % on a shared machine.
TIE = 1.05
# Either test, of the rounds or of all processes, decides at this level. Both are exact, so that together they mark one
# of two equal engines as the only winner in fewer than 5 % (benchmarks/statistics.py).
LEVEL = 0.025
# With fewer processes neither test can reach the level.
LEAST_PROCESSES = 4
# What fewer processes must show instead: all of one faster than all of the other, and twice as fast. A process keeps
# the state of its machine, and states of shared machines lie 1.6 to 1.9 apart: two processes of one engine meet the
# fast state and two of its equal the slow one in one row of eight.
LEAD_OF_FEW = 2.0
# The engine whose adjoints are written by hand.
BY_HAND = "manual"
# A peak moves by less from run to run: a share, or what one block of an allocator is.
PEAK_SHARE, PEAK_BYTES = 1.05, 64 << 10
# A double has no more digits, and an error of zero no logarithm.
MOST_DIGITS = 16.0
# Beyond this nobody waits for the difference.
NEVER = 10**12

Outcome = Literal["fastest", "tied", "slower"]


class Standing(Record, frozen=True, kw_only=True):
    """An engine in its row. Every ratio is a quotient of numbers that are shown."""

    engine: str
    total_ns: float
    how: How = "measured"  # how the total was obtained
    ratio: float  # to the fastest
    outcome: Outcome  # fastest: the only winner; tied: with the fastest, or the fastest of those that tie
    settled: bool  # whether a tie is one: within 5 %, not just seen by too few processes to be told apart
    calm: bool = True  # False: no process saw a calm machine
    processes: int = 0  # that saw a calm machine; all of an older file
    started: int = 0  # all processes
    rounds: int  # processes that it has in common with the fastest
    against: Comparison | None = None  # the fastest, round by round; None for the fastest itself
    to_hand: float | None = None
    first_call_ns: float | None = None  # prepare and the first iteration: trace, compile, fill caches
    peak_bytes: float | None = None
    digits: float | None = None
    pareto: bool = False  # no other is as good in time, peak memory and digits, and better in one of them
    # other engine: calls after which this one has made up for a longer first call; None: never, 0: it has none to make
    # up for. Engines whose calls take the same time are not there, nor are those that could not be told apart.
    break_even: dict[str, int | None] = {}


def names_of_tasks(cells: Iterable[Cell]) -> dict[tuple[str, str | None], str]:
    """What each task of each file is called: a file is named where that name in another file is something else."""
    pairs = list(dict.fromkeys((cell.task, cell.file) for cell in cells))
    tasks = [task for task, _ in pairs]
    return {
        (task, file): task if file is None or tasks.count(task) == 1 else f"{task} of {file}" for task, file in pairs
    }


def rows_of(measurements: Sequence[Measurement]) -> dict[str, list[Measurement]]:
    """Measurements that did the same work, by workload, size and dtype; devices stand side by side."""
    names = names_of_tasks(m.cell for m in measurements)
    rows: dict[str, list[Measurement]] = {}
    for m in measurements:
        rows.setdefault(names[m.cell.task, m.cell.file], []).append(m)
    return rows


def unsettled(measurements: Sequence[Measurement]) -> list[Cell]:
    """The cells that their processes do not tell from the fastest of their row, though their times differ."""
    cells: list[Cell] = []
    for members in rows_of(measurements).values():
        names = {standing.engine for standing in standings(members) if not standing.settled}
        cells += [m.cell for m in members if m.cell.engine in names]
    return cells


def standings(row: Sequence[Measurement]) -> list[Standing]:
    """One for each measurement with the total of a gradient, in the same order."""
    shown = [(m, known) for m in row if _competes(m) and "total" in (known := numbers(m))]
    if not shown:
        return []
    calm = [pair for pair in shown if pair[1]["total"].calm]
    fastest, best = min(calm or shown, key=lambda pair: pair[1]["total"].value)
    by_hand = next((known["total"].value for m, known in calm if m.cell.engine == BY_HAND), None)
    placed = [_placed(m, known, fastest, best["total"].value, by_hand) for m, known in shown]
    tied = [standing for standing in placed if standing.outcome == "tied"]
    judged = [standing for standing in placed if standing.calm]
    return [
        msgspec.structs.replace(
            standing,
            outcome="tied" if standing.outcome == "fastest" and tied else standing.outcome,
            settled=all(other.settled for other in tied) if standing.outcome == "fastest" else standing.settled,
            pareto=standing.calm and not any(_beats(other, standing) for other in judged),
            break_even=_break_even(standing, judged) if standing.calm else {},
        )
        for standing in placed
    ]


def _competes(m: Measurement) -> bool:
    """Whether it gives a gradient: one that was checked, or that could not be. Doing nothing wins nothing."""
    return m.status == "ok" and (m.accuracy is not None or any(w.code is Code.UNCHECKED for w in m.warnings))


def _placed(
    m: Measurement, known: Mapping[str, Number], fastest: Measurement, best: float, by_hand: float | None
) -> Standing:
    total, calm = known["total"].value, known["total"].calm
    error, peak = known.get("gradient_error"), known.get("peak_bytes")
    first_call = known.get("first_call")
    ours, theirs = (rounds(one, metric("total")) for one in (m, fastest))
    against = compare("total", theirs, ours, shown=(best, total)) if m is not fastest else None
    equal = calm and (total - best <= HARNESS_ERROR_NS or total <= TIE * best)
    slower = against is not None and not equal and is_proven(lead(against, list(theirs.values()), list(ours.values())))
    return Standing(
        engine=m.cell.engine,
        total_ns=total,
        how=known["total"].how,
        ratio=quotient(best, total),
        outcome="tied" if not calm else "fastest" if against is None else "slower" if slower else "tied",
        settled=equal or slower,
        calm=calm,
        processes=len(ours),
        started=len(m.samples),
        rounds=len(ours) if against is None else against.processes[0],
        against=against,
        to_hand=None if by_hand is None else quotient(by_hand, total),
        first_call_ns=None if first_call is None else first_call.value,
        peak_bytes=None if peak is None else peak.value,
        digits=None if error is None else digits(error.value),
    )


class Lead(Record, frozen=True, kw_only=True):
    """What is known of the lead of the fastest over another engine."""

    ratio: float
    processes: int  # of the arm that has fewer
    apart: bool  # every process of the one is faster than every process of the other
    p_rounds: float = 1.0  # that rounds favour the fastest by chance
    p_processes: float = 1.0  # that all processes do


def lead(against: Comparison, fastest: Sequence[float], other: Sequence[float]) -> Lead:
    """The lead of the fastest. Tests are made only where they decide."""
    processes = min(len(fastest), len(other))
    apart = processes > 0 and min(other) > max(fastest)
    p_rounds = p_processes = 1.0
    if against.ratio > TIE and processes >= LEAST_PROCESSES and not apart:
        p_rounds = against.p_value if against.typical is not None and against.typical > 1.0 else 1.0
        wins = sum((theirs > ours) + 0.5 * (theirs == ours) for ours in fastest for theirs in other)
        p_processes = rank_test(fastest, other) if 2 * wins > len(fastest) * len(other) else 1.0
    return Lead(ratio=against.ratio, processes=processes, apart=apart, p_rounds=p_rounds, p_processes=p_processes)


def is_proven(lead: Lead) -> bool:
    """Whether the other engine is slower, and not just unlucky.

    The rounds decide, because they cancel what a round has in common; or all processes, because where rounds have
    nothing in common that test sees more. Neither alone is good on both kinds of machine.
    """
    if lead.ratio <= TIE:
        return False
    if lead.processes < LEAST_PROCESSES:
        return lead.apart and lead.ratio > LEAD_OF_FEW
    # If all are apart the test of all processes is as significant as it can be.
    return lead.apart or min(lead.p_rounds, lead.p_processes) <= LEVEL


def digits(relative_error: float) -> float:
    """How many decimal digits of a gradient are right; tables and page say the same.

    >>> digits(1e-9), digits(0.0), digits(3.0)
    (9.0, 16.0, 0.0)
    """
    if math.isnan(relative_error):
        return 0.0
    return MOST_DIGITS if relative_error <= 0 else min(MOST_DIGITS, max(0.0, -math.log10(relative_error)))


def _beats(one: Standing, other: Standing) -> bool:
    """Whether one is as good in all of time, peak and digits, and better in one: by more than they differ by chance."""
    better = [
        _clearly_less(one.total_ns, other.total_ns, TIE, HARNESS_ERROR_NS),
        _clearly_less(_peak(one), _peak(other), PEAK_SHARE, PEAK_BYTES),
        _whole_digits(one) > _whole_digits(other),
    ]
    worse = [
        _clearly_less(other.total_ns, one.total_ns, TIE, HARNESS_ERROR_NS),
        _clearly_less(_peak(other), _peak(one), PEAK_SHARE, PEAK_BYTES),
        _whole_digits(other) > _whole_digits(one),
    ]
    return any(better) and not any(worse)


def _clearly_less(one: float, other: float, share: float, added: float) -> bool:
    return other > max(share * one, one + added)


def _peak(standing: Standing) -> float:
    """What is not known never helps: it beats nothing."""
    return math.inf if standing.peak_bytes is None else standing.peak_bytes


def _whole_digits(standing: Standing) -> int:
    """Parts of a digit are chance. What is not known never helps.

    Rounded, not compared with a tolerance: with three tolerances three engines could beat each other in a circle, and
    nobody would be left.
    """
    return -1 if standing.digits is None else round(standing.digits)


def _break_even(one: Standing, row: Sequence[Standing]) -> dict[str, int | None]:
    calls: dict[str, int | None] = {}
    for other in row:
        if _unsettled(one, other):
            continue
        quicker = _clearly_less(one.total_ns, other.total_ns, TIE, HARNESS_ERROR_NS)
        slower = _clearly_less(other.total_ns, one.total_ns, TIE, HARNESS_ERROR_NS)
        if one.first_call_ns is None or other.first_call_ns is None or not (quicker or slower):
            continue
        if quicker or one.first_call_ns > other.first_call_ns:  # else it starts ahead and loses: the other breaks even
            calls[other.engine] = break_even(one.first_call_ns, one.total_ns, other.first_call_ns, other.total_ns)
    return calls


def _unsettled(one: Standing, other: Standing) -> bool:
    """Whether it is open which of two is faster: both may be the fastest, and too few processes say which."""
    return "slower" not in (one.outcome, other.outcome) and not (one.settled and other.settled)


def break_even(first: float, each: float, their_first: float, their_each: float) -> int | None:
    """The least n with first + n·each ≤ theirs; None if there is none.

    >>> break_even(1000.0, 10.0, 100.0, 40.0)
    30
    """
    behind = first - their_first
    if behind <= 0:
        return 0
    if each >= their_each:
        return None
    calls = math.ceil(behind / (their_each - each))
    return calls if calls < NEVER else None
