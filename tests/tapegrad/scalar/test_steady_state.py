"""A reused tape does not allocate: counted by memray, against the same loop on plain floats."""

import math

import pytest
from oracles import allocations

import tapegrad

pytest.importorskip("memray", reason="memray counts the allocations and does not run on this platform")

COEFFICIENTS = [1.0 / (k + 1) for k in range(1000)]


def polynomial(x):
    total = 0.0
    for c in COEFFICIENTS:
        total = total * x + c
    return total


def expression(sin):
    return lambda x: x * x + sin(x)


def recording(f, iterations):
    tape = tapegrad.Tape()
    # Bound once: memray's profile hook makes CPython 3.11 build a bound method for each call of a C method.
    reset, var, backward = tape.reset, tape.var, tape.backward

    def work(times=iterations):
        for _ in range(times):
            reset()
            x = var(0.5)
            backward(f(x))
            _ = x.grad

    work(3)  # grow the tape and fill the pool
    return work


def plain(f, iterations):
    def work(times=iterations):
        for _ in range(times):
            x = 0.5
            _ = f(x)

    work(3)
    return work


@pytest.mark.parametrize(
    ("on_tape", "on_floats"),
    [
        (expression(tapegrad.sin), expression(math.sin)),
        (polynomial, polynomial),
        (lambda x: tapegrad.where(x > 0.1, x * x, x), lambda x: x * x if x > 0.1 else x),
        (lambda x: x * x if x > 0.1 else x, lambda x: x * x if x > 0.1 else x),
        (lambda x: x ** (x + 1.0), lambda x: x ** (x + 1.0)),
    ],
    ids=["expression", "polynomial", "where", "branch", "power"],
)
def test_steady_state_makes_no_heap_allocation(on_tape, on_floats, tmp_path):
    counts = {}
    for iterations in (1000, 2000):
        counts["tape", iterations] = allocations.count(recording(on_tape, iterations), tmp_path / f"t{iterations}")
        counts["floats", iterations] = allocations.count(plain(on_floats, iterations), tmp_path / f"f{iterations}")
    more_on_tape = counts["tape", 2000] - counts["tape", 1000]
    more_on_floats = counts["floats", 2000] - counts["floats", 1000]
    assert more_on_tape <= more_on_floats


def test_the_counter_counts(tmp_path):
    kept = []
    few = allocations.count(lambda: kept.extend(bytearray(600) for _ in range(10)), tmp_path / "few")
    many = allocations.count(lambda: kept.extend(bytearray(600) for _ in range(1010)), tmp_path / "many")
    assert many - few >= 2 * 1000  # the object and its buffer
