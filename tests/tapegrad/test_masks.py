"""Masked arrays: what is masked is refused wherever an array is taken, and never computed with."""

import numpy as np
import pytest

import tapegrad
from tapegrad import Tape, tensor
from tapegrad.tensor import Tensor

MASKED = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]])
PLACES = np.ma.array([0, 1], mask=[True, False])


@pytest.fixture
def x():
    return Tensor(np.ones((2, 2)), requires_grad=True)


def program():
    tape = Tape()
    a, b = tape.var(1.0), tape.var(2.0)
    return tape.freeze([a, b], a * b)


TAKES_ARRAYS = {
    "batch": lambda x: program().batch(MASKED),
    "batch of rows": lambda x: program().batch(list(MASKED)),
    "point": lambda x: program()(MASKED[0]),
    "variable": lambda x: Tape().var(MASKED[0, 1]),
    "tensor": lambda x: Tensor(MASKED),
    "tensor of rows": lambda x: Tensor([MASKED[0], [1.0, 2.0]]),
    "tensor of one number": lambda x: Tensor(np.ma.masked),
    "operand": lambda x: x * MASKED,
    "operand of rows": lambda x: x * [MASKED[0], MASKED[1]],
    "reversed operand": lambda x: tensor.add(MASKED, x),
    "condition": lambda x: tensor.where(MASKED > 1, x, 0.0),
    "bound": lambda x: tensor.clip(x, MASKED),
    "index": lambda x: x[PLACES],
    "index in a tuple": lambda x: x[0, PLACES],
    "index by truth": lambda x: x[MASKED > 1],
    "indices": lambda x: tensor.take_along_axis(x, PLACES[None], 0),
    "rows of a table": lambda x: tensor.embedding(x, PLACES),
    "labels": lambda x: tensor.softmax_cross_entropy(x, PLACES),
    "seed": lambda x: (x * 2).backward(MASKED),
    "data": lambda x: setattr(x, "data", MASKED),
    "gradient": lambda x: setattr(x, "grad", MASKED),
    "grad": lambda x: tapegrad.grad(lambda a: (a * a).sum())(MASKED),
    "jacobian": lambda x: tapegrad.jacobian(lambda a: a * a)(MASKED),
}


@pytest.mark.parametrize("name", TAKES_ARRAYS)
def test_a_mask_is_never_ignored(name, x):
    with pytest.raises(tapegrad.TapegradError, match=r"masked|Masked"):
        TAKES_ARRAYS[name](x)
    assert x.data.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert x.grad is None


def test_the_error_says_how_many_and_what_to_do():
    with pytest.raises(tapegrad.InputError) as caught:
        program().batch(MASKED)
    assert str(caught.value) == (
        "expected numbers, got an array with 1 of 4 masked; fill these (x.filled(0.0)), or leave them out "
        "(x.compressed())"
    )


def test_without_masked_numbers_a_batch_takes_a_masked_array():
    values, gradients = program().batch(np.ma.array([[2.0, 3.0]], mask=[[False, False]]))
    assert (values.tolist(), gradients.tolist()) == ([6.0], [[3.0, 2.0]])
