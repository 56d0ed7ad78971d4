"""Faults on every verb: what the table says, that the guide has it, and one of them in a real repository."""

from pathlib import Path

import pytest

from gradmark.revisions.faults import AGAINST, CHECK, COMPARE, FAULTS, PYTEST, RUN, VERBS
from gradmark.revisions.verbs import Shown, plant, table

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "ci.md"


def shown(fault, *caught):
    verbs = {verb: "caught" if verb in caught else "passed" for verb in VERBS}
    return Shown(fault=fault.what, verbs=verbs, expected=list(fault.verbs))


def words(one):
    return [one.word(verb) for verb in VERBS]


def test_what_is_no_fault_must_pass_everywhere():
    nothing = FAULTS[0]
    assert (shown(nothing).right, words(shown(nothing))) == (True, ["passed"] * 5)
    assert (shown(nothing, RUN).right, words(shown(nothing, RUN))[0]) == (False, "accused")


def test_a_fault_must_be_caught_where_it_can_be_seen():
    slower = FAULTS[1]
    assert slower.verbs == (AGAINST, COMPARE)
    assert shown(slower, AGAINST, COMPARE).right
    assert words(shown(slower, AGAINST, COMPARE)) == ["–", "–", "caught", "caught", "–"]
    assert not shown(slower, COMPARE).right
    assert words(shown(slower, COMPARE)) == ["–", "–", "missed", "caught", "–"]
    doubtful = Shown(fault="x", verbs=dict.fromkeys(VERBS, "inconclusive"), expected=[AGAINST])
    assert (doubtful.right, doubtful.word(AGAINST)) == (False, "inconclusive")


def test_every_lie_is_for_every_verb_but_one_that_waits_for_the_clock():
    lies = {fault.engine: fault.verbs for fault in FAULTS if fault.status}
    assert {engine: verbs for engine, verbs in lies.items() if verbs != VERBS} == {
        "KeptLater": (RUN, AGAINST, COMPARE, PYTEST)
    }


def test_the_guide_has_the_table():
    assert "\n".join(table([shown(fault, *fault.verbs) for fault in FAULTS])) in GUIDE.read_text()


@pytest.mark.slow
def test_a_lie_in_a_repository(tmp_path):
    (lie,) = (fault for fault in FAULTS if fault.engine == "InPrepare")
    steps = []
    (one,) = plant([lie], tmp_path, 2, steps.append)
    assert one.verbs == dict.fromkeys((RUN, CHECK, AGAINST, COMPARE, PYTEST), "caught")
    assert steps == ["measuring the unmodified engine", "1 of 1: a result computed in prepare"]
