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
        "Work seems to continue for 2.50 µs after the clock is read, so the times are too small. Give the session a "
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
    Code.LAUNCH_BOUND: (
        Warning(code=Code.LAUNCH_BOUND, numbers={"host_ns": 400e3, "hot_ns": 390e3}),
        "Launch-bound: the host takes 400 µs to ask for an iteration, which the device, back to back, finishes every "
        "390 µs. Fewer and larger kernels, or a captured graph, would make it faster; faster kernels would not.",
    ),
    Code.CACHE_FLATTERED: (
        Warning(code=Code.CACHE_FLATTERED, numbers={"hot_ns": 10e3, "cold_ns": 50e3}),
        "Back to back an iteration takes 10.0 µs, with flushed caches 50.0 µs: what it reads fits into the device's "
        "cache. A loop that times it there says little about a program that does other work in between.",
    ),
    Code.BEYOND_MEMORY: (
        Warning(code=Code.BEYOND_MEMORY, numbers={"bytes_per_s": 9e12, "roof_bytes_per_s": 4.1e12}),
        "It reads its inputs at 9.00 TB/s, and a copy on this device reaches 4.10 TB/s: they come from a cache that "
        "was not flushed, or it does not read them all.",
    ),
    Code.THROTTLED: (
        Warning(code=Code.THROTTLED, numbers={"dropped": 12.0, "samples": 64.0}),
        "12 of 64 samples were dropped: the device's clock was lowered meanwhile. Let it cool, or lower its power "
        "limit, and measure again.",
    ),
    Code.NOT_WAITED: (
        Warning(code=Code.NOT_WAITED, numbers={"late_ns": 150e3}),
        "`synchronize` returned 150 µs before the device had finished. These times are right, as the device took "
        "them; anyone who times this session by the host's clock measures too little.",
    ),
    Code.DONE_TWICE: (
        Warning(code=Code.DONE_TWICE, numbers={"kernels": 18.0, "apart_kernels": 9.0}),
        "An iteration launches 18 kernels, forward and backward by themselves 9: the work is done twice, and timed "
        "twice.",
    ),
    Code.OTHER: (Warning(code=Code.OTHER, reason="The clock is coarse."), "The clock is coarse."),
}


@pytest.mark.parametrize("code", Code)
def test_every_code_has_a_sentence(code: Code) -> None:
    warning, expected = SENTENCES[code]
    assert sentence(warning) == expected
