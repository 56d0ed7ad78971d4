"""Functions of a user that cannot be measured, each with one fault, and some that can."""

import random

import numpy as np

from gradmark import workload

calls = [0]


def of_numbers(**more):
    return workload(suite="mine", stresses="patience", **more)


def of_arrays(**more):
    return workload(suite="mine", stresses="patience", **{"arrays": lambda draw: [draw.normal(size=3)]} | more)


@of_numbers()
def right(ops, x):
    return ops.sin(x) * x


@of_arrays()
def right_arrays(ops, x):
    return ops.sum(x * x)


@of_numbers()
def noisy(ops, x):
    return x * random.random()


@of_arrays()
def noisy_arrays(ops, x):
    return ops.sum(x) * random.random()


@of_numbers()
def counting(ops, x):
    calls[0] += 1
    return x * calls[0]


@of_numbers(inputs=lambda draw: [random.random()])
def other_inputs(ops, x):
    return x


@of_numbers()
def three(ops, x):
    return [x, x, x]


@of_numbers()
def nothing(ops, x):
    x * x


@of_numbers()
def words(ops, x):
    return "x"


@of_arrays()
def vector(ops, x):
    return x * x


@of_numbers(inputs=lambda draw: [1.0, 2.0])
def too_few(ops, x):
    return x


@of_numbers(sizes={"n": [3]})
def without_size(ops, x):
    return x


@of_numbers(inputs=lambda draw: [1e200])
def overflow(ops, x):
    return x * x


@of_numbers(inputs=lambda draw: [float("nan")])
def nan_input(ops, x):
    return x


@of_numbers(inputs=lambda draw, steps: [undefined])  # noqa: F821  that is the fault
def undrawn(ops, x):
    return x


@of_numbers(inputs=lambda draw: [-1.0])
def domain(ops, x):
    return ops.log(x)


@of_numbers(inputs=lambda draw: [0.0])
def steep(ops, x):
    return ops.sqrt(x)


@of_arrays(arrays=lambda draw: [np.zeros(3)])
def steep_arrays(ops, x):
    return ops.sum(ops.sqrt(x))


@of_numbers(inputs=lambda draw: [0.0])
def kinked(ops, x):
    return ops.sqrt(x * x)


@of_arrays()
def in_place(ops, x):
    x += 1
    return ops.sum(x)


@of_arrays(arrays=lambda draw: [draw.integers(5, size=3)])
def integers(ops, x):
    return ops.sum(x)


@of_numbers()
def misspelt(ops, x):
    return ops.sinn(x)


@of_numbers()
def unheard_of(ops, x):
    return ops.frobnicate(x)


@of_numbers()
def of_arrays_only(ops, x):
    return ops.matmul(x, x)


@of_numbers()
def truth(ops, x):
    return x > 0


@of_arrays()
def truth_of_arrays(ops, x):
    return np.all(x > 0)


@of_numbers()
def constant(ops, x):
    return 3.0


@of_arrays()
def constant_arrays(ops, x):
    return ops.constant(3.0)


@of_numbers()
def flat_here(ops, x):
    return ops.relu(x - 5.0)


@of_arrays()
def flat_here_arrays(ops, x):
    return ops.sum(ops.relu(x - 50.0))


@of_numbers()
def leaves(ops, x):
    raise SystemExit(2)


@of_numbers(inputs=lambda draw: [1.0, "2.0"])
def word_as_input(ops, x, y):
    return x * y


@of_numbers(inputs=lambda: [1.0])
def inputs_without_draw(ops, x):
    return x


@of_numbers(inputs=lambda draw: 1.0)
def inputs_without_list(ops, x):
    return x


@of_numbers(inputs=lambda draw: None)
def inputs_without_result(ops, x):
    return x


@of_arrays(arrays=lambda draw: draw.normal(size=3))
def arrays_without_list(ops, x):
    return ops.sum(x)


@of_numbers(inputs=lambda draw: raise_exit())
def inputs_that_leave(ops, x):
    return x


def raise_exit():
    raise SystemExit(2)


@of_numbers()
def methods(ops, x):
    return x.detach()


# Functions with several results.


@of_numbers(result="array", inputs=lambda draw: [draw.uniform(0.5, 1.0), draw.uniform(0.5, 1.0)])
def pair(ops, x, y):
    return [x * y, ops.sin(x)]


@of_arrays(result="array")
def squares(ops, x):
    return x * x


@of_numbers(result="array")
def one_for_several(ops, x):
    return x * x


@of_arrays(result="array")
def sum_for_several(ops, x):
    return ops.sum(x)


@of_numbers(result="array")
def empty(ops, x):
    return []


@of_numbers(result="array")
def half_infinite(ops, x):
    return [x, float("inf")]


@of_numbers(result="array")
def words_among_them(ops, x):
    return [x, "y"]


@of_numbers(result="array")
def constants(ops, x):
    return [1.0, 2.0]
