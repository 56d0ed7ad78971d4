"""Progress: in a log plain lines, with what is done, of how many, and the time left; never silence."""

import re
import threading

import pytest

from gradmark.commands.progress import Pace, duration, line, lines, working
from gradmark.measure.orchestrator import Step


def sample(done, number, total=160, rounds=5):
    return Step("sample", done, total, "poly/n=1000@tapegrad", number, rounds)


@pytest.mark.parametrize(
    ("step", "left_s", "text"),
    [
        (sample(37, 2), 40.2, "round 2 of 5: 37 of 160 samples, about 40 s left"),
        (sample(0, 12, rounds=0), None, "round 12, one more: 0 of 160 samples"),
        (sample(0, 1), None, "round 1 of 5: 0 of 160 samples"),
        (Step("inspection", 0, 1), None, "inspecting: 0 of 1 cell"),
        (Step("inspection", 3, 32), 200.0, "inspecting: 3 of 32 cells, about 3 min left"),
        (Step("count", 1, 4), 7500.0, "counting instructions: 1 of 4 cells, about 2 h 5 min left"),
    ],
)
def test_a_line(step, left_s, text):
    assert line(step, left_s) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (99.0, "99 s"), (100.0, "2 min"), (3590.0, "1 h 0 min"), (7260.0, "2 h 1 min")]
)
def test_duration(seconds, text):
    assert duration(seconds) == text


def test_the_time_left_is_that_of_the_same_kind_of_step():
    pace = Pace()
    assert pace.left_s(0.0) is None
    pace.note(Step("inspection", 0, 10), 0.0)
    pace.note(Step("inspection", 5, 10), 10.0)
    assert pace.left_s(10.0) == pytest.approx(10.0)
    pace.note(sample(0, 1), 20.0)
    assert pace.left_s(20.0) is None  # inspections say nothing of samples
    pace.note(sample(40, 2), 60.0)
    assert pace.left_s(60.0) == pytest.approx(120.0)


def test_what_a_resumed_run_had_says_nothing_of_the_pace():
    pace = Pace()
    pace.note(sample(100, 4), 0.0)
    pace.note(sample(110, 4), 10.0)
    assert pace.left_s(10.0) == pytest.approx(50.0)


def test_a_line_at_every_round():
    written = []
    with lines(written.append, every_s=1000.0) as watch:
        watch(Step("inspection", 0, 2))
        watch(Step("inspection", 1, 2, "poly"))
        watch(Step("inspection", 2, 2, "poly"))
        for number in (1, 2):
            for done in (0, 1):
                watch(sample(2 * (number - 1) + done, number, total=4, rounds=2))
        watch(sample(4, 2, total=4, rounds=2))
    assert [text.partition(", about")[0] for text in written] == [
        "inspecting: 0 of 2 cells",
        "round 1 of 2: 0 of 4 samples",
        "round 2 of 2: 2 of 4 samples",
    ]


def test_a_line_again_and_again_while_a_worker_takes_long():
    written, often = [], threading.Event()

    def write(text):
        written.append(text)
        if len(written) == 4:
            often.set()

    with lines(write, every_s=0.01) as watch:
        watch(sample(3, 2))
        assert often.wait(60)
    assert set(written) == {"round 2 of 5: 3 of 160 samples"}


def test_work_without_steps_is_said(capsys):
    with working("building main"):
        pass
    with working("asking", quiet=True):
        pass
    assert capsys.readouterr() == ("", "building main\n")


@pytest.mark.slow
def test_a_run_in_a_log(gradmark, quick):
    called = gradmark("run", "expression", "reuse", "-e", "null", "--processes", "2", "--no-memory")
    assert called.code == 0
    assert re.fullmatch(
        r"inspecting: 0 of 2 cells\n"
        r"round 1 of 2: 0 of 4 samples\n"
        r"round 2 of 2: 2 of 4 samples, about \d+ s left\n",
        called.err,
    )
