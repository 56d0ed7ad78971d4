"""How often a function uses each operation."""

import pytest

from gradmark import workload
from gradmark.measure.worker.calls import MOST, calls
from gradmark.workloads.lookup import available

SCALAR = {w.name: w for w in available()}


def of(function, *inputs, **params):
    return calls(workload(suite="mine", stresses="x")(function), inputs, params)


def test_operators_functions_and_reflected_forms():
    def f(ops, x, y):
        return ops.exp(x) * 2.0 - 1.0 / y + (-x) ** 2 + ops.maximum(x, y) - ops.where(x < y, x, y)

    assert of(f, 0.5, 2.0) == {
        "sub": 2, "add": 2, "exp": 1, "mul": 1, "div": 1, "neg": 1, "pow": 1, "maximum": 1, "where": 1,
    }  # fmt: skip


def test_what_does_not_depend_on_the_inputs_is_not_counted():
    def f(ops, x):
        return x * ops.sqrt(2.0) + ops.constant(3.0) * 4.0

    assert of(f, 0.5) == {"mul": 1, "add": 1}


def test_loops_and_branches_count_what_is_executed():
    def f(ops, x, n):
        for _ in range(n):
            x = x * x if x > 1 else x + 1.0
        return x

    assert of(f, 0.5, n=3) == {"mul": 2, "add": 1}


@pytest.mark.parametrize("name", ["poly", "expression", "tree"])
def test_those_of_a_suite_are_as_many_as_it_declares(name):
    one = SCALAR[name]
    params = one.points(full=False)[0]
    counted = calls(one, one.draw(0, params), params)
    assert sum(counted.values()) == one.count(params)


def test_a_function_that_does_more_than_numbers_can_has_no_counts():
    assert of(lambda ops, x: x.detach() + 1.0, 0.5) == {}


def test_a_function_that_goes_on_and_on_has_no_counts():
    def f(ops, x):
        for _ in range(MOST + 1):
            x = x + 1.0
        return x

    assert of(f, 0.5) == {}
