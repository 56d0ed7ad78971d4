"""What memray sees of functions whose allocations are known: each iteration by itself, leaks, peaks."""

import gc
import itertools
import random

import pytest

from gradmark.measure.worker import memory

pytest.importorskip("memray")
# Times of an iteration, as the worker measured them: short, long and very long ones are counted over fewer iterations.
SHORT_NS, LONG_NS, VERY_LONG_NS = 1e4, 2e6, 3e7


def nothing():
    pass


@pytest.fixture(autouse=True)
def unfrozen():
    yield
    gc.unfreeze()


@pytest.fixture
def measured():
    def of(step, iteration_ns=SHORT_NS):
        calls = (step, nothing)
        return memory.measure(lambda: calls, lambda: calls, (nothing, nothing), iteration_ns)

    return of


def test_nothing_is_nothing(measured):
    found = measured(nothing)
    assert (found.allocations, found.least_allocations, found.leaked_bytes, found.allocated_bytes) == (0, 0, 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("iteration_ns", [SHORT_NS, LONG_NS, VERY_LONG_NS])
def test_one_allocation_in_each_iteration(measured, iteration_ns):
    found = measured(lambda: bytes(600), iteration_ns)
    assert (found.allocations, found.least_allocations, found.leaked_bytes) == (1.0, 1.0, 0.0)
    assert found.allocated_bytes == 633.0


@pytest.mark.slow
def test_what_only_some_iterations_allocate_is_in_the_mean_alone(measured):
    """Every other iteration: exactly half. By chance, as with threads: the mean moves, the least does not."""
    turns = itertools.cycle([0, 600])
    found = measured(lambda: bytes(next(turns)))  # bytes(0) is there already
    assert (found.allocations, found.least_allocations) == (0.5, 0.0)

    def by_chance(seed):
        draw = random.Random(seed).random
        return measured(lambda: [bytes(600) for _ in range(9 if draw() < 0.3 else 0)])

    first, second = by_chance(1), by_chance(2)
    assert first.allocations != second.allocations
    assert first.least_allocations == second.least_allocations


@pytest.mark.slow
def test_iterations_that_allocate_much_are_counted_together(measured, monkeypatch):
    apart = measured(lambda: [bytes(600) for _ in range(50)])
    monkeypatch.setattr(memory, "MOST_RECORDS", 100)
    together = measured(lambda: [bytes(600) for _ in range(50)])
    assert together.allocations == together.least_allocations
    assert abs(together.allocations - apart.least_allocations) <= memory.OF_COUNTING


class Keeping:
    """An iteration that keeps something, in one of several ways."""

    def __init__(self):
        self.kept, self.array, self.known, self.number = [], bytearray(), {}, 0

    def objects(self):
        self.kept.append(bytes(31))  # of 64 bytes

    def an_array_that_grows(self):
        self.array.extend(b"x" * 64)

    def some_objects(self):
        self.number += 1
        if self.number % 2:
            self.kept.append(bytes(95))

    def cycles(self):
        ring = []
        ring.append(ring)

    def the_last_hundred(self):
        self.number += 1
        self.known[self.number] = bytes(64)
        self.known.pop(self.number - 100, None)

    def one_table(self):
        self.number += 1
        if self.number in (7, 40, 230):
            self.known[self.number] = bytes(100_000)


@pytest.mark.slow
@pytest.mark.parametrize("iteration_ns", [SHORT_NS, LONG_NS, VERY_LONG_NS])
def test_a_leak_of_64_bytes(measured, iteration_ns):
    found = measured(Keeping().objects, iteration_ns)
    assert 64 <= found.leaked_bytes < 64 + 40  # and its places in the list


@pytest.mark.slow
@pytest.mark.parametrize("way", ["an_array_that_grows", "some_objects"])
def test_other_ways_to_leak(measured, way):
    assert measured(getattr(Keeping(), way)).leaked_bytes >= 64


@pytest.mark.slow
@pytest.mark.parametrize("way", ["cycles", "the_last_hundred", "one_table"])
def test_what_is_no_leak(measured, way):
    assert measured(getattr(Keeping(), way)).leaked_bytes == 0.0


@pytest.mark.slow
def test_a_leak_is_the_same_number_in_equal_processes(measured):
    """What an engine leaks is compared with what it leaked: two measurements differ by less than one object."""
    first, second = (measured(Keeping().objects).leaked_bytes for _ in range(2))
    assert abs(first - second) < 4.0


@pytest.mark.slow
def test_a_peak_is_the_lowest_of_several(measured):
    sizes = itertools.cycle([300_000, 200_000, 250_000])

    def make():
        block = bytearray(next(sizes))
        return (lambda: len(block),)

    found = memory.measure(make, lambda: (nothing,), (nothing,), SHORT_NS)
    assert 200_000 <= found.peak_bytes < 201_000
