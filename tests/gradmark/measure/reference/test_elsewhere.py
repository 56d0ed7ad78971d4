"""What the function is on plain numbers, at its inputs and at others."""

import math

import numpy as np
import pytest

from gradmark.measure.reference.elsewhere import STEPS, direction, expected, others
from gradmark.measure.reference.exact import NoReferenceError
from gradmark.workloads.workload import workload


def of_numbers(function, inputs=lambda draw: [0.5, 2.0]):
    return workload(suite="s", stresses="x", inputs=inputs)(function)


@of_numbers
def wave(ops, x, y):
    return ops.sin(x) * y


@workload(
    suite="s",
    stresses="x",
    fixed=["data"],
    arrays=lambda draw: [draw.normal(size=5), draw.normal(size=5), np.arange(5)],
)
def weighted(ops, x, data, labels):
    return ops.sum(x * data * labels)


def known(function, inputs, step=STEPS[0]):
    other = others(function, inputs, step)
    return other, expected(function, inputs, other, {}, step)


def test_values_and_a_slope():
    (x, y), seen = known(wave, [0.5, 2.0])
    along = direction(wave, [x, y])
    assert (seen.value, seen.other_value) == (math.sin(0.5) * 2.0, math.sin(x) * y)
    assert seen.other_slope == pytest.approx(math.cos(x) * y * along[0] + math.sin(x) * along[1], rel=1e-9)


def test_other_inputs_are_a_step_away_and_the_same_each_time():
    (x, y) = others(wave, [0.5, 2.0], STEPS[0])
    assert [x, y] == others(wave, [0.5, 2.0], STEPS[0])
    assert all(0.5 <= abs(new / old - 1) / STEPS[0] <= 1.0 for new, old in ((x, 0.5), (y, 2.0)))
    assert others(wave, [0.0, 2.0], STEPS[0])[0] != 0.0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_two_fresh_inputs_are_alike(dtype):
    inputs = weighted.draw(0, {}, dtype)
    fresh = [others(weighted, inputs, STEPS[-1], number) for number in range(30)]
    assert len({x.tobytes() for x, _, _ in fresh}) == 30
    assert {x.dtype.name for x, _, _ in fresh} == {dtype}


def test_what_is_not_differentiated_stays_as_it_is():
    inputs = weighted.draw(0, {})
    _, data, labels = others(weighted, inputs, STEPS[0])
    assert data is inputs[1]
    assert labels is inputs[2]


def test_a_sum_that_cancels_is_judged_by_its_terms():
    @workload(suite="s", stresses="x", arrays=lambda draw: [np.array([1e6, -1e6, 1.0])])
    def cancelling(ops, x):
        return ops.sum(x)

    _, seen = known(cancelling, cancelling.draw(0, {}))
    assert seen.value == 1.0
    assert seen.scale > 1e5


def test_a_function_that_is_not_defined_there_has_no_reference():
    @of_numbers
    def steep(ops, x, y):
        return ops.exp(x) * y

    with pytest.raises(NoReferenceError, match="plain numbers give"):
        known(steep, [709.7, 1.0])
    _, seen = known(steep, [709.7, 1.0], STEPS[2])
    assert seen.value == math.exp(709.7)
    assert seen.scale == seen.other_value > seen.value  # by how much more it changes is not finite


def test_a_function_that_plain_numbers_cannot_run_has_no_reference():
    @of_numbers
    def methods(ops, x, y):
        return x.detach() * y

    with pytest.raises(NoReferenceError, match="plain numbers cannot run the function"):
        known(methods, [0.5, 2.0])


def test_a_slope_that_does_not_settle_is_none():
    there, _ = others(wave, [0.5, 2.0], STEPS[0])

    @of_numbers
    def jumping(ops, x, y):
        return y + float(x > there)

    assert known(jumping, [0.5, 2.0])[1].other_slope is None
