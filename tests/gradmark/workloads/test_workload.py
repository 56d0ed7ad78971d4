"""Workloads: sizes, inputs and counts."""

import numpy as np
import pytest

from gradmark import Workload, workload
from gradmark.errors import WorkloadError


def test_the_decorator_makes_a_workload():
    @workload(suite="mine", stresses="x", sizes={"n": [1, 2], "m": ["a", "b"]}, quick={"n": [1]})
    def f(ops, x, *, n, m):
        return (ops, x, n, m)

    assert isinstance(f, Workload)
    assert (f.name, f.suite, f.stresses, f.file) == ("f", "mine", "x", __file__)
    assert f.points() == [{"n": 1, "m": "a"}, {"n": 1, "m": "b"}, {"n": 2, "m": "a"}, {"n": 2, "m": "b"}]
    assert f.points(full=False) == [{"n": 1, "m": "a"}, {"n": 1, "m": "b"}]
    assert f("ops", 1.0, n=3, m="z") == ("ops", 1.0, 3, "z")
    assert f.count({"n": 1, "m": "a"}) is None


def test_inputs_depend_on_seed_name_and_size_only():
    @workload(suite="mine", stresses="x", sizes={"n": [1]}, inputs=lambda draw, n: [draw.random() for _ in range(n)])
    def f(ops, *xs, n):
        return xs

    assert f.draw(0, {"n": 3}) == f.draw(0, {"n": 3}) != f.draw(1, {"n": 3})
    assert [len(f.draw(0, {"n": n})) for n in (1, 4)] == [1, 4]
    assert f.draw(0, {"n": 3})[0] != f.draw(0, {"n": 4})[0]


def test_inputs_that_do_not_depend_on_the_size():
    @workload(suite="mine", stresses="x", sizes={"n": [1, 2]})
    def f(ops, x, *, n):
        return x

    assert len(f.draw(0, {"n": 2})) == 1
    assert f.points(full=False) == f.points()


def test_operations_are_counted_from_the_sizes():
    @workload(suite="mine", stresses="x", sizes={"n": [1, 2]}, operations=lambda n: 2 * n)
    def f(ops, x, *, n):
        return x

    assert f.count({"n": 7}) == 14


def test_quick_sizes_must_be_sizes():
    with pytest.raises(WorkloadError, match=r"quick names sizes that it does not have: \{'m'\}"):
        workload(suite="mine", stresses="x", sizes={"n": [1]}, quick={"m": [1]})(lambda ops, x: x)


@pytest.mark.parametrize("wrong", [True, None, float("nan"), [1]])
def test_sizes_are_numbers_or_words(wrong):
    with pytest.raises(WorkloadError, match="size n must be numbers or words"):
        workload(suite="mine", stresses="x", sizes={"n": [wrong]})(lambda ops, x: x)


def test_sizes_of_numpy_become_plain():
    made = workload(suite="mine", stresses="x", sizes={"n": np.arange(1, 3)})(lambda ops, x, *, n: x)
    assert [(type(p["n"]), p["n"]) for p in made.points()] == [(int, 1), (int, 2)]
