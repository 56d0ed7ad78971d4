"""Words: every code is a sentence or two, and says what to do."""

import pytest

from gradmark.records import Code, Warning
from gradmark.report.model.words import sentence

SENTENCES = {
    Code.UNCHECKED: (
        Warning(code=Code.UNCHECKED, reason="it has a kink at 0"),
        "The gradient was not checked: it has a kink at 0. Choose other inputs to have it checked.",
    ),
    Code.NO_VALUE: (
        Warning(code=Code.NO_VALUE),
        "The value was not checked: the session does not return it. Let `forward` and `total` return it, or give the "
        "session `value`.",
    ),
    Code.UNFINISHED: (
        Warning(code=Code.UNFINISHED, numbers={"late_ns": 2500.0}),
        "Work seems to go on for 2.50 µs after the clock is read: the times are too small then. Give the session a "
        "`synchronize` that waits.",
    ),
    Code.UNREPEATABLE: (
        Warning(code=Code.UNREPEATABLE, numbers={"apart_ns": 1200.0, "together_ns": 5000.0}),
        "In every process forward and backward apart take 1.20 µs, together 5.00 µs: backward does less when it is "
        "repeated on one recording. It is shown as total − forward. Let the session leave `backward` out and give "
        "`total` instead.",
    ),
    Code.UNSTEADY: (
        Warning(code=Code.UNSTEADY, numbers={"spread": 0.34}),
        "The time is known only to ±34 %: measure again with more processes.",
    ),
    Code.NEVER_CALM: (
        Warning(code=Code.NEVER_CALM),
        "The machine was never calm: the time is shown, and decides nothing. Measure again; `gradmark doctor` shows "
        "the machine's states.",
    ),
    Code.OTHER: (Warning(code=Code.OTHER, reason="The clock is coarse."), "The clock is coarse."),
}


@pytest.mark.parametrize("code", Code)
def test_every_code_has_a_sentence(code: Code) -> None:
    warning, expected = SENTENCES[code]
    assert sentence(warning) == expected
