"""Where work is done: what evaluations and times say, on times that were measured."""

import functools

import numpy as np
import pytest

from gradmark.measure.job import Job, Usual
from gradmark.measure.worker.outside import NOTHING, Spent, evaluations, excesses, squares
from gradmark.measure.worker.prepared import Prepared
from gradmark.records import Cell, Settings
from gradmark.workloads.selection import select
from gradmark.workloads.workload import workload


def spent(*parts_us):
    return Spent(*(1e3 * us for us in parts_us))


# Of each engine on a row: move, new, read, again, same, busy, waiting, timed; then the same of the small function. µs.
HONEST = {
    "tapegrad expression": (spent(0.1, 0.8, 1.6, 1.0, 0.8, 0.4, 0, 0.4), None),
    "casadi shared/k=16": (spent(0.6, 0.8, 2.1, 2.0, 0.5, 0.2, 0, 0.2), None),
    "torch difference_check": (spent(21.8, 139.8, 9.8, 9.0, 140.0, 127.3, 0, 127.3), None),
    "jax difference_check": (
        spent(54.0, 18.7, 33.5, 20.0, 18.0, 11.0, 0, 11.0),
        spent(52.7, 16.0, 30.6, 19.0, 15.0, 11.0, 0, 11.0),
    ),
    # its threads sleep while nobody calls
    "jax add_chain/n=1000": (
        spent(45.9, 97.7, 48.8, 30.0, 95.0, 11.9, 0, 11.9),
        spent(24.8, 11.9, 20.8, 15.0, 12.0, 8.2, 0, 8.2),
    ),
    # pages are given back, and touched again
    "torch reduce_sum/n=1024": (
        spent(388.4, 332.0, 58.3, 55.0, 567.6, 67.6, 0, 67.6),
        spent(388.2, 808.7, 61.7, 60.0, 1071.1, 320.6, 0, 320.6),
    ),
    "manual elementwise/depth=4/n=100000": (spent(16.1, 1090.8, 15.7, 15.0, 477.4, 372.1, 0, 372.1), None),
}
LYING = {
    "Unsynchronised": (
        spent(0.1, 35.2, 2105.4, 17.8, 45.5, 33.6, 0, 33.6),
        spent(0.1, 4.6, 2090.8, 12.8, 14.5, 1.7, 0, 1.7),
        "the work is done when it is read",
    ),
    "Lazy": (
        spent(0.1, 0.4, 10.9, 1.3, 0.5, 0.1, 0, 0.1),
        spent(0.1, 0.4, 3.3, 1.2, 0.4, 0.1, 0, 0.1),
        "the work is done when it is read",
    ),
    "Remembered": (
        spent(0.1, 9.2, 1.5, 1.0, 0.5, 0.2, 0, 0.2),
        spent(0.1, 2.6, 1.2, 1.0, 0.4, 0.2, 0, 0.2),
        "for new inputs, 500 ns for the same ones: a result is kept",
    ),
    "KeptLater": (
        spent(0.1, 41.3, 1.5, 1.1, 41.4, 40.3, 0, 0.08),
        spent(0.1, 3.3, 1.2, 1.1, 3.2, 2.6, 0, 2.6),
        "a call takes 40.3 µs at first, 80 ns when it is timed: a result is kept",
    ),
    "InSynchronize": (
        spent(0.1, 41.0, 1.5, 1.1, 40.8, 4.0, 41.3, 4.0),
        spent(0.1, 3.1, 1.3, 1.1, 3.0, 0.3, 2.8, 0.3),
        "`synchronize` takes 41.3 µs for any number of calls",
    ),
    "in move, compiled": (
        spent(12.0, 0.3, 1.5, 1.1, 0.3, 0.1, 0, 0.1),
        spent(1.0, 0.3, 1.3, 1.1, 0.3, 0.1, 0, 0.1),
        "taking new inputs over takes 12.0 µs",
    ),
}


def found(seen, small, inputs=(1.0,)):
    usual = NOTHING if small is None else small.usual
    return {words: ns for words, ns in excesses(seen, usual, inputs).items() if ns}


@pytest.mark.parametrize("name", HONEST)
def test_honest_engines_are_not_accused(name):
    seen, small = HONEST[name]
    inputs = [np.zeros(1 << 20, np.float32)] if "reduce" in name or "element" in name else [1.0]
    assert found(seen, small, inputs) == {}


@pytest.mark.parametrize("name", LYING)
def test_lying_engines_are(name):
    seen, small, words = LYING[name]
    beyond = found(seen, small)
    assert words in max(beyond, key=beyond.get)


def test_what_is_usual_is_never_less_than_nothing():
    small = spent(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -7.0, 6.0)
    assert small.usual == Usual(outside_ns=4000.0, pending_ns=0.0, new_ns=0.0, waiting_ns=0.0)


def test_evaluations_are_counted():
    @workload(suite="s", stresses="x")
    def twice(ops, x):
        return x + x

    assert evaluations(twice, lambda: None) == 0
    assert evaluations(twice, lambda: [twice(None, 1.0), twice.function(None, 2.0)]) == 2

    @workload(suite="s", stresses="x")
    @functools.cache
    def decorated(ops, x):
        return x

    assert evaluations(decorated, lambda: decorated(None, 1.0)) == 1


def test_the_small_function_has_the_same_inputs():
    (poly,) = select(["difference_check"])
    small = squares(poly)
    assert small.function(None, 1.0, 2.0, 3.0) == 14.0
    assert small.names(3) == poly.names(3)
    assert small.active([1.0, 2.0, 3.0]) == [0, 1, 2]


def test_of_arrays_what_is_fixed_stays_fixed():
    (wanted,) = select(["cross_entropy"])
    cell = Cell(engine="numpy", workload="cross_entropy", suite="tensor", params=wanted.points()[0], kind="tensor",
                dtype="float32")  # fmt: skip
    prepared = Prepared(Job(kind="inspect", cell=cell, settings=Settings()))
    assert squares(wanted).active(prepared.inputs) == prepared.active
