"""The picture of a core in a terminal."""

import doctest

import pytest

from gradmark.analyse.states import States, Stretch
from gradmark.report.tables import states as shown
from gradmark.report.tables.states import legend, lines, mark

MS = 1_000_000
SEEN = States(
    visits=[
        [Stretch("calm", 0, 36 * MS), Stretch("slow", 36 * MS, 48 * MS), Stretch("taken", 48 * MS, 60 * MS)],
    ],
    ratio=1.62,
    drift=0.004,
)


def test_examples():
    assert doctest.testmod(shown).failed == 0


def test_a_picture():
    assert lines(SEEN, "utf-8") == [
        "▁" * 36 + "█" * 12 + "×" * 12,
        "calm: 36.0 ms at a time (longest 36.0 ms); the clock drifts by 0.4 %",
        "slow, 20 %: 1.62 times as long; 12.0 ms at a time (longest 12.0 ms)",
        "taken by others, 20 %: 12.0 ms at a time (longest 12.0 ms)",
    ]
    assert legend(SEEN, "utf-8") == "each mark is 1.00 ms: ▁ calm, ▄ partly calm, █ slow, × taken by others"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", None, "no such encoding"])
def test_where_the_signs_cannot_be_written(encoding):
    assert lines(SEEN, encoding)[0] == "_" * 36 + "#" * 12 + "x" * 12
    assert legend(SEEN, encoding) == "each mark is 1.00 ms: _ calm, - partly calm, # slow, x taken by others"


def test_what_was_not_seen_has_no_line():
    never = States(visits=[[Stretch("slow", 0, 60 * MS)]], ratio=1.5, drift=None)
    assert lines(never, "utf-8") == ["█" * 60, "slow, 100 %: 1.50 times as long; 60.0 ms at a time (longest 60.0 ms)"]
    short = States(visits=[[Stretch("calm", 0, 60)]], ratio=None, drift=None)
    assert lines(short, "utf-8")[1:] == [
        "calm: 60 ns at a time (longest 60 ns); too short to tell the clock's drift",
    ]


@pytest.mark.parametrize(
    ("calm", "slow", "taken", "sign"),
    [(0.9, 0.1, 0.0, "▁"), (0.89, 0.0, 0.11, "▄"), (0.5, 0.5, 0.0, "▄"), (0.4, 0.3, 0.3, "█"), (0.0, 0.4, 0.6, "×")],
)
def test_marks(calm, slow, taken, sign):
    assert mark({"calm": calm, "slow": slow, "taken": taken}) == sign


def test_lines_fit_beside_a_mark_of_the_doctor():
    longest = States(
        visits=[[Stretch("calm", 0, 999 * MS), Stretch("slow", 0, 999 * MS), Stretch("taken", 0, 999 * MS)]],
        ratio=1.62,
        drift=0.004,
    )
    assert max(map(len, lines(longest, "utf-8"))) <= 74
