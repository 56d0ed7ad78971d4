"""What is shown of a function before anything is timed: operations with values and adjoints, and how many they are."""

import numpy as np
import pytest

from gradmark import workload
from gradmark.engines.protocol import Derivative
from gradmark.engines.tapegrad.recording import counted, recording
from tapegrad.compile.graph import Node


def given(function, **more):
    return workload(suite="mine", stresses="x", **more)(function)


def product(ops, x, y):
    return ops.sin(x) * y


PRODUCT = given(product, inputs=lambda draw: [0.0, 2.0])


def test_a_function_of_numbers_line_by_line():
    shown = recording(PRODUCT, [0.0, 2.0], {}, Derivative())
    assert shown.inputs == {"x": "0", "y": "2"}
    assert shown.function == [
        "              value  adjoint  backward adds",
        "%0  variable  0      2",
        "%1  variable  2      0",
        "%2  sin(%0)   0      2        %0' += %2' * cos(%0)",
        "%3  %2 * %1   0      1        %2' += %3' * %1; %1' += %3' * %2",
    ]
    # sin, the product; and for the gradient cos, the product with y, and the value of sin once more for nothing
    assert (shown.operations, shown.derivative_operations, shown.predicted) == (2, 4, 2.0)
    assert shown.derivative[-1].startswith("outputs: ")


@pytest.mark.parametrize(("name", "more"), [("jvp", {"tangents": [1.0, 1.0]}), ("hvp", {"tangents": [1.0, 1.0]})])
def test_other_derivatives_are_programs_too(name, more):
    shown = recording(PRODUCT, [0.0, 2.0], {}, Derivative(name=name, **more))
    assert shown.operations == 2
    assert shown.derivative_operations > 2
    assert "cos(%0)" in " ".join(shown.derivative)


def test_a_fused_instruction_is_two_operations():
    shown = recording(given(lambda ops, x: x * x + ops.sin(x)), [0.5], {}, Derivative())
    assert "mul_add(%0, %0, %1)" in " ".join(shown.derivative)
    # x·x, sin, + ; and for the gradient: sin, x·x +, cos, and two sums
    assert (shown.operations, shown.derivative_operations) == (3, 6)


def test_of_a_constant_that_is_folded_the_tape_is_shown_as_it_is():
    shown = recording(given(lambda ops, x: x * (ops.constant(2.0) + 1.0)), [0.5], {}, Derivative())
    assert shown.function[0].split() == ["value", "adjoint", "backward", "adds"][: len(shown.function[0].split())]
    assert shown.operations == 1


def test_several_results_are_a_program():
    several = given(lambda ops, x, y: [x * y, x], result="array")
    shown = recording(several, [1.0, 2.0], {}, Derivative(name="vjp", cotangent=[1.0, 1.0], shape=(2,)))
    assert shown.function[0].split() == ["backward", "adds"]
    assert shown.function[-1] == "outputs: %2, %0"


def test_arrays_count_numbers():
    def loss(ops, w, x):
        return ops.sum(ops.tanh(x @ w))

    arrays = [np.ones((4, 2)), np.ones((3, 4))]
    dense = given(loss, arrays=lambda draw: arrays, fixed=["x"])
    shown = recording(dense, arrays, {}, Derivative())
    assert shown.inputs == {"w": "float64[4, 2]", "x": "float64[3, 4]"}
    product, tanh, total = 2 * 3 * 4 * 2, 6, 6
    assert shown.operations == product + tanh + total
    slope, back = 6 + 6, 2 * 4 * 3 * 2  # 1 - tanh², and the transposed product
    assert shown.derivative_operations == product + tanh + total + slope + back
    assert shown.counted == "operations on numbers"
    tangent = recording(dense, arrays, {}, Derivative(name="jvp", tangents=[np.ones((4, 2))]))
    assert tangent.derivative_operations > product


def test_what_nobody_can_count_is_named():
    nodes = [Node("input", (), "float64", (2,)), Node("primitive", (0,), "float64", (2,))]
    assert counted(nodes) == (0.0, {"primitive"})


def test_what_is_shown_is_shortened_and_what_is_counted_is_not():
    long = recording(given(lambda ops, x: sum(x * x for _ in range(50))), [1.0], {}, Derivative())
    assert [line for line in long.function if line.startswith("…")] == ["… 61 more …"]
    assert long.operations == 100
    arrays = [np.ones(8)]

    def chained(ops, x):
        for _ in range(50):
            x = ops.sin(x)
        return ops.sum(x)

    traced = recording(given(chained, arrays=lambda draw: arrays), arrays, {}, Derivative())
    assert len([line for line in traced.function if line.startswith("…")]) == 1
    assert traced.operations == 51 * 8
    # a cosine and a product for each sine, but for the first product, which is with 1
    assert 50 * 8 < traced.derivative_operations - traced.operations <= 100 * 8


def test_many_inputs_are_counted():
    shown = recording(given(lambda ops, *xs: sum(xs)), [1.0] * 9, {}, Derivative())
    assert (len(shown.inputs), shown.inputs_left_out) == (6, 3)
