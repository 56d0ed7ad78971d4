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
def more_than_floats(ops, x):
    return ops.gamma(x)


@of_numbers()
def methods(ops, x):
    return x.detach()
