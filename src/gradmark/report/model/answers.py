"""Answers: one sentence for each workload that says what to take and by how much.

In: the standings of every row. Out: sentences. A tie is called a tie, and a lead that few processes saw is not settled.
"""

import math
from collections.abc import Mapping, Sequence

from gradmark import units
from gradmark.analyse.paired import quotient
from gradmark.analyse.standings import Standing
from gradmark.report.model.characters import listed, one_line, plural
from gradmark.report.model.words import time_taken

# The next ones are named, and the last; more names are a table, which stands above.
MOST_NAMED = 3
# So many processes can tell two engines apart by their rounds: all six on one side are rarer than 1 in 20.
ENOUGH = 6


def answers(placed: Mapping[str, Sequence[Standing]]) -> list[str]:
    """A sentence for each row on which two engines or more competed."""
    return [
        f"{one_line(task)}: {_answer(sorted(row, key=lambda s: s.total_ns))}"
        for task, row in placed.items()
        if len(row) > 1
    ]


def _answer(row: Sequence[Standing]) -> str:
    leaders = [s for s in row if s.outcome != "slower"]
    slower = [s for s in row if s.outcome == "slower"]
    first = next((s for s in row if s.calm), row[0])
    if len(leaders) == 1:
        return f"{one_line(first.engine)}, {time_taken(first.total_ns, first.how)}{_ahead(first, slower, '')}"
    together = listed([f"{one_line(s.engine)} ({time_taken(s.total_ns, s.how)})" for s in leaders])
    outcome = " tie" if all(s.settled for s in leaders) else f": {_unsettled(leaders)}"
    return together + outcome + _ahead(first, slower, f"{one_line(first.engine)} is ")


def _unsettled(leaders: Sequence[Standing]) -> str:
    """What to do where processes disagree about the order, or some never saw a calm machine."""
    never_calm = [one_line(s.engine) for s in leaders if not s.calm]
    if never_calm:
        return f"not settled, as the machine was never calm while {listed(never_calm)} ran; measure again"
    fewest = min(leaders, key=lambda s: s.processes)
    more = ENOUGH if fewest.started < ENOUGH else 2 * fewest.started
    calm = "calm " if fewest.processes < fewest.started else ""
    does = "does" if fewest.processes == 1 else "do"
    processes = plural(fewest.processes, f"{calm}process")
    return f"{processes} {does} not settle the order; measure again with --processes {more}"


def _ahead(leader: Standing, slower: Sequence[Standing], subject: str) -> str:
    """How many times as fast as each of the next, and as the last."""
    if not slower:
        return ""
    named = list(slower[:MOST_NAMED])
    last = slower[-1]
    parts = [_compared(leader, s) for s in named]
    if last not in named:
        between = len(slower) - len(named) - 1
        more = f" ({plural(between, 'engine')} between)" if between else ""
        parts.append(f"{_compared(leader, last)}{more}")
    return f"; {subject}{', '.join(parts)}"


def _compared(leader: Standing, other: Standing) -> str:
    """The subtraction of the harness may leave nothing of the leader's time: there is no factor then."""
    factor = quotient(leader.total_ns, other.total_ns)
    than = f"{units.times(factor)} times as fast as" if math.isfinite(factor) else "faster than"
    return f"{than} {one_line(other.engine)}"
