"""Each planted fault points at its suspect; clean fits point at none."""

import pytest

from gradmark.analyse.scaling import fit
from gradmark.analyse.suspects import suspects

SIZES = [10, 100, 1000, 10000]
LINEAR = {"primal", "forward", "backward", "total", "allocations", "tape", "peak_bytes"}


def told(*superlinear, without=(), p=2, primal=None, memory=None):
    """The sentences where these metrics grow as n^p and the others linearly."""
    powers = {metric: p if metric in superlinear else 1 for metric in sorted(LINEAR - set(without))}
    if primal:
        powers["primal"] = primal
    return suspects([fit(metric, SIZES, [3 * n**power for n in SIZES]) for metric, power in powers.items()], memory)


def test_clean_fits_have_no_suspects():
    assert told() == []
    assert suspects([]) == []


def test_repeated_recording():
    (first, second, third) = told("tape", "forward", "backward", "total", "peak_bytes")
    assert first == (
        "forward grows as n^2.00 (1.98 to 2.02), and tape grows as n^2.00 (1.98 to 2.02): suspect repeated recording, "
        "the same operations recorded again and again. Look at the tape of the smallest size for instructions that "
        "repeat."
    )
    assert [second.split()[0], third.split()[0]] == ["backward", "peak_bytes"]
    assert all("suspect repeated recording" in sentence for sentence in (second, third))


def test_hidden_allocation():
    (sentence,) = told("allocations", "forward")
    assert sentence.startswith("forward grows as n^2.00 (1.98 to 2.02), and allocations grows as n^2.00")
    assert "suspect hidden allocation" in sentence
    assert sentence.endswith("Look at the allocations of each operator with `gradmark ops`.")


def test_two_causes_are_both_named():
    first, second = told("allocations", "tape", "forward")
    assert "suspect repeated recording" in first
    assert "suspect hidden allocation" in second


def test_backward_only():
    (sentence,) = told("backward", "total")
    assert sentence == (
        "backward grows as n^2.00 (1.98 to 2.02), while forward does not and the tape is linear: suspect clearing "
        "(adjoints set to zero more than once) or duplicate visits. Look at how often backward touches one instruction."
    )


def test_forward_with_a_linear_tape():
    (sentence,) = told("forward", "total")
    assert "while the tape is linear: suspect work per recorded operation that grows, such as copying" in sentence


def test_forward_and_backward_with_a_linear_tape():
    first, second = told("forward", "backward", "total")
    assert "suspect work per recorded operation" in first
    assert "suspect what slows forward" in second


def test_total_only():
    (sentence,) = told("total")
    assert "while neither forward nor backward does: suspect what lies between forward and backward" in sentence


def test_peak_only():
    (sentence,) = told("peak_bytes")
    assert "while neither tape nor allocations do: suspect values that are kept" in sentence


@pytest.mark.parametrize("cause", ["tape", "allocations"])
def test_cause_that_has_no_effect_yet(cause):
    (sentence,) = told(cause)
    assert sentence.startswith(f"{cause} grows as n^2.00 (1.98 to 2.02): suspect")


def test_tape_that_was_not_measured_is_not_called_linear():
    (sentence,) = told("backward", without=["tape"])
    assert "the tape is not measured" in sentence


def test_function_that_is_superlinear_itself():
    first, *others = told("forward", "backward", "total", "tape", primal=2)
    assert first.startswith("primal grows as n^2.00 (1.98 to 2.02): the function itself does more than linear work")
    assert len(others) == 4
    assert all("the engine is not the first suspect" in sentence for sentence in others)


def test_engine_that_is_worse_than_its_superlinear_function():
    sentences = told("backward", "total", p=3, primal=2)
    assert [sentence.split()[0] for sentence in sentences] == ["primal", "backward"]
    assert "suspect clearing" in sentences[1]


def test_every_sentence_ends_with_what_to_look_at():
    for metric in LINEAR:
        for sentence in told(metric):
            assert sentence.rsplit(". ", 1)[1].startswith("Look at ")


def test_arrays_that_leave_the_caches():
    (sentence,) = told("backward", "total", p=1.2, memory=(8 * 1024, 64 * 1024**2))
    assert sentence == (
        "backward grows as n^1.20 (1.18 to 1.22), while its memory goes from 8.00 KiB to 64.0 MiB: suspect the machine "
        "before the engine, because memory beyond the caches is slower. Look at the rate (GB/s, GFLOP/s) over the "
        "sizes, and at an engine that does the same work."
    )


@pytest.mark.parametrize(
    ("p", "memory"), [(1.2, (8_000, 900_000)), (1.2, (8_000_000, 64_000_000)), (1.9, (8_000, 64_000_000)), (1.2, None)]
)
def test_caches_are_no_excuse(p, memory):
    """Not where all sizes are within them, or beyond, nor for growth that they cannot explain."""
    (sentence,) = told("backward", "total", p=p, memory=memory)
    assert "suspect clearing" in sentence


def test_caches_do_not_hide_a_cause():
    sentences = told("allocations", "forward", p=1.2, memory=(8_000, 64_000_000))
    assert all("suspect hidden allocation" in sentence for sentence in sentences)
