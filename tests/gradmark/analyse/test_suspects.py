"""Each planted fault points at its suspect; clean fits point at none."""

import pytest

from gradmark.analyse.scaling import fit
from gradmark.analyse.suspects import ADVICE, sentence, suspects

SIZES = [10, 100, 1000, 10000]
METRICS = (
    "primal",
    "forward",
    "backward",
    "total",
    "allocations",
    "allocated_bytes",
    "tape_instructions",
    "peak_bytes",
)


def suspected(memory=None, without=(), **powers):
    """The suspects where these metrics grow with these exponents and the others linearly."""
    exponents = {name: powers.get(name, 1) for name in [*METRICS, *powers] if name not in without}
    return suspects([fit(name, SIZES, [3000 * n**p for n in SIZES]) for name, p in exponents.items()], memory)


def accused(**powers):
    """What grows and what is suspected, in order."""
    return [(suspect.metric, suspect.key) for suspect in suspected(**powers)]


def told(**powers):
    return [sentence(suspect) for suspect in suspected(**powers)]


def test_clean_fits_have_no_suspects():
    assert suspected() == []
    assert suspects([]) == []


def test_a_backward_that_grows_faster_than_forward_is_accused_itself():
    """Forward at n^1.19 does not explain n^2.09, though both are superlinear: nobody should fix forward first."""
    assert accused(forward=1.19, backward=2.09, total=2.05) == [("forward", "forward"), ("backward", "backward")]
    (_, text) = told(forward=1.19, backward=2.09, total=2.05)
    assert text == (
        "backward grows as n^2.09 (2.07 to 2.11), unlike forward (n^1.19, 1.17 to 1.21), while the tape is linear: "
        "suspect that adjoints are cleared more than once, or that instructions are visited more than once. "
        "Look at how often backward touches one instruction."
    )


@pytest.mark.parametrize(("backward", "key"), [(1.5, "both"), (1.53, "both"), (1.55, "backward"), (1.3, "backward")])
def test_forward_is_to_be_fixed_first_only_where_the_intervals_overlap(backward, key):
    """Each interval is ±0.02."""
    assert accused(forward=1.5, backward=backward, total=1.5)[1] == ("backward", key)


def test_forward_and_backward_with_a_linear_tape():
    first, second = told(forward=2, backward=2, total=2)
    assert first == (
        "forward grows as n^2.00 (1.98 to 2.02), while the tape is linear: suspect that recording an operation takes "
        "longer as the tape grows, as copying or searching it would. Look at what one operation costs at the start and "
        "at the end of a long tape."
    )
    assert second == (
        "backward grows as n^2.00 (1.98 to 2.02), and forward grows as n^2.00 (1.98 to 2.02): suspect one cause for "
        "both. Look at backward again once forward is fixed."
    )


def test_repeated_recording():
    suspect, *others = suspected(tape_instructions=2, forward=2, backward=2, total=2, peak_bytes=2)
    assert sentence(suspect) == (
        "forward grows as n^2.00 (1.98 to 2.02), and tape grows as n^2.00 (1.98 to 2.02): suspect that the "
        "same operations are recorded again and again. Look at the tape of the smallest size for instructions that "
        "repeat."
    )
    assert [(other.metric, other.key) for other in others] == [
        ("backward", "tape_instructions"),
        ("peak_bytes", "tape_instructions"),
    ]


def test_hidden_allocation():
    (text,) = told(allocations=2, forward=2)
    assert text.startswith("forward grows as n^2.00 (1.98 to 2.02), and allocs grow as n^2.00")
    assert "suspect hidden allocations" in text
    assert text.endswith("Look at the allocations of each operator with `gradmark ops`.")


def test_buffers_that_are_copied_whole():
    (text,) = told(allocated_bytes=2, forward=2, total=2)
    assert text == (
        "forward grows as n^2.00 (1.98 to 2.02), and allocated bytes grow as n^2.00 (1.98 to 2.02): suspect buffers "
        "that are copied whole: the allocations become larger, not more frequent. Look at what each operation "
        "copies."
    )


def test_more_allocations_are_more_bytes():
    assert accused(allocations=2, allocated_bytes=2, forward=2) == [("forward", "allocations")]
    assert accused(allocations=2, allocated_bytes=2) == [("allocations", "allocations")]
    assert accused(allocations=1.5, allocated_bytes=2, forward=2) == [
        ("forward", "allocated_bytes"),
        ("allocations", "allocations"),
    ]


@pytest.mark.parametrize("cause", ["tape_instructions", "allocations", "allocated_bytes"])
def test_a_cause_grows_about_as_fast_as_its_effect_or_faster(cause):
    assert accused(forward=2, **{cause: 1.9}) == [("forward", cause)]
    assert accused(forward=1.5, **{cause: 2}) == [("forward", cause)]
    assert accused(forward=2, **{cause: 1.5}) == [("forward", "forward"), (cause, cause)]


def test_a_tape_that_grows_more_slowly_is_told_as_such():
    (text, _) = told(forward=2, tape_instructions=1.3)
    assert ", while the tape grows more slowly (n^1.30, 1.28 to 1.32): suspect that recording" in text


def test_two_causes_are_both_named():
    assert accused(allocations=2, tape_instructions=2, forward=2) == [
        ("forward", "tape_instructions"),
        ("forward", "allocations"),
    ]


def test_backward_only():
    (text,) = told(backward=2, total=2)
    assert text.startswith(
        "backward grows as n^2.00 (1.98 to 2.02), while forward is linear and the tape is linear: suspect that adjoints"
    )


def test_total_only():
    (text,) = told(total=2)
    assert "while neither forward nor backward grows as fast: suspect what happens between forward and backward" in text


def test_total_beyond_its_parts():
    assert accused(total=2, forward=1.3) == [("forward", "forward"), ("total", "total")]


def test_peak_only():
    (text,) = told(peak_bytes=2)
    assert "while neither the tape nor the allocations grow as fast: suspect values that are kept" in text


@pytest.mark.parametrize("cause", ["tape_instructions", "allocations", "allocated_bytes"])
def test_cause_that_has_no_effect_yet(cause):
    (text,) = told(**{cause: 2})
    words = {"tape_instructions": "tape grows", "allocations": "allocs grow", "allocated_bytes": "allocated bytes grow"}
    assert text.startswith(f"{words[cause]} as n^2.00 (1.98 to 2.02): suspect")


def test_tape_that_was_not_measured_is_not_called_linear():
    (text,) = told(backward=2, without=["tape_instructions"])
    assert "while forward is linear and the tape was not measured" in text


def test_function_that_is_superlinear_itself():
    powers = {"primal": 2, "forward": 2, "backward": 2.1, "total": 2, "tape_instructions": 2}
    assert accused(**powers) == [
        ("primal", "primal"),
        ("forward", "function"),
        ("backward", "function"),
        ("total", "function"),
        ("tape_instructions", "function"),
    ]
    assert told(**powers)[1] == (
        "forward grows as n^2.00 (1.98 to 2.02), and primal grows as n^2.00 (1.98 to 2.02): the function itself grows "
        "as fast, so the engine is not the first suspect. Look at how total / primal changes with size."
    )


def test_engine_that_is_worse_than_its_superlinear_function():
    assert accused(primal=2, backward=3, total=3) == [("primal", "primal"), ("backward", "backward")]


def test_a_phase_of_the_engine_s_own():
    assert accused(compile=2) == [("compile", "phase")]


def test_every_sentence_ends_with_what_to_look_at():
    assert all(text.rsplit(". ", 1)[1].startswith("Look at ") for text in ADVICE.values())


def test_arrays_that_leave_the_caches():
    (text,) = told(backward=1.2, total=1.2, memory=(8 * 1024, 64 * 1024**2))
    assert text == (
        "backward grows as n^1.20 (1.18 to 1.22), while its memory goes from 8.00 KiB to 64.0 MiB: suspect the machine "
        "before the engine: memory beyond the caches is slower. Look at the rate (GB/s, GFLOP/s) at each size, and at "
        "an engine that does the same work."
    )


@pytest.mark.parametrize(
    ("p", "memory"), [(1.2, (8_000, 900_000)), (1.2, (8_000_000, 64_000_000)), (1.9, (8_000, 64_000_000)), (1.2, None)]
)
def test_caches_are_no_excuse(p, memory):
    """Not where all sizes are within them, or beyond, nor for growth that they cannot explain."""
    assert accused(backward=p, total=p, memory=memory) == [("backward", "backward")]


def test_caches_do_not_hide_a_cause():
    assert accused(allocations=1.2, forward=1.2, memory=(8_000, 64_000_000)) == [("forward", "allocations")]
