"""grad, value_and_grad and jacobian over numbers and structures of numbers."""

from typing import NamedTuple

import numpy as np
import pytest

import tapegrad
from tapegrad import grad, jacobian, value_and_grad


class Pair(NamedTuple):
    left: float
    right: float


def test_of_a_float():
    assert value_and_grad(lambda x: x * x)(3.0) == (9.0, 6.0)
    assert grad(lambda x: x * x)(3) == 6.0


def test_of_several_arguments():
    def f(x, y):
        return x * y * y

    assert grad(f)(2.0, 3.0) == 9.0
    assert grad(f, 1)(2.0, 3.0) == 12.0
    assert value_and_grad(f, (1, 0))(2.0, 3.0) == (18.0, (12.0, 9.0))


@pytest.mark.parametrize(
    ("f", "argument", "expected"),
    [
        (lambda p: p[0] * p[1], [2.0, 3.0], [3.0, 2.0]),
        (lambda p: p[0] * p[1], (2.0, 3), (3.0, 2.0)),
        (lambda p: p.left * p.right, Pair(2.0, 3.0), Pair(3.0, 2.0)),
        (lambda p: p["a"] * p["b"][0], {"a": 2.0, "b": [3.0, 4.0]}, {"a": 3.0, "b": [2.0, 0.0]}),
        (sum, [], []),
    ],
)
def test_the_gradient_has_the_structure_of_the_argument(f, argument, expected):
    got = grad(f)(argument)
    assert got == expected
    assert type(got) is type(expected)


def test_of_an_array():
    x = np.arange(6.0).reshape(2, 3)
    value, gradient = value_and_grad(lambda x: (x * x).sum())(x)
    assert value == 55.0
    assert gradient.dtype == np.float64
    assert gradient.tolist() == (2 * x).tolist()
    assert grad(lambda x: x[0] * x[1])(np.array([2.0, 3.0], dtype=np.float32)).tolist() == [3.0, 2.0]


def test_an_array_of_integers_has_no_gradient():
    with pytest.raises(tapegrad.DtypeError, match=r"int32; convert them with astype\(float\)"):
        grad(lambda x: x[0] * x[1])(np.array([2, 3], dtype=np.int32))


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize(
    "wrong", [np.asarray([[1.0]]).view(np.matrix), np.ma.array([1.0, 2.0], mask=[0, 1])], ids=["matrix", "masked"]
)
def test_arrays_with_other_operators_are_refused(wrong):
    with pytest.raises(tapegrad.InputError, match="expected a plain array"):
        grad(lambda x: (x * x).sum())(wrong)


def test_argnums_may_be_any_integer():
    assert grad(lambda x, y: x * y, np.int64(1))(2.0, 3.0) == 2.0


def test_a_constant_function_has_gradient_zero():
    assert value_and_grad(lambda x: 7)(3.0) == (7.0, 0.0)
    assert grad(lambda x: x[0] * 0 + 1)([3.0, 4.0]) == [0.0, 0.0]


def test_branches_follow_the_values():
    f = grad(lambda x: x * x if x > 0 else -x)
    assert (f(3.0), f(-3.0)) == (6.0, -1.0)


@pytest.mark.parametrize("wrong", [[1.0], (1.0,), None, {"a": 1.0}, np.zeros(2)])
def test_a_function_that_does_not_return_a_number(wrong):
    with pytest.raises(tapegrad.InputError, match=r"one number.*jacobian"):
        grad(lambda x: wrong)(1.0)
    with pytest.raises(tapegrad.OperandError):
        grad(lambda x: "1")(1.0)


def test_wrong_arguments():
    with pytest.raises(tapegrad.InputError, match="argument 1, but the call has 1"):
        grad(lambda x: x, 1)(1.0)
    with pytest.raises(tapegrad.InputError, match="argument 2, but the call has 1"):
        jacobian(lambda x: x, 2)(1.0)
    with pytest.raises(tapegrad.OperandError, match="got str"):
        grad(lambda x: x)("1")
    with pytest.raises(tapegrad.InputError, match="array-like"):
        jacobian(lambda x: x)(["a"])


def test_nesting():
    assert grad(grad(lambda x: x * x * x))(2.0) == 12.0


def test_a_result_smuggled_from_another_tape():
    kept = []
    grad(lambda x: kept.append(x * x) or x)(1.0)
    with pytest.raises(tapegrad.TapeMismatchError):
        grad(lambda x: kept[0])(1.0)


def test_jacobian_shapes():
    def f(x):
        return [x[0] * x[1], x[0] * x[0], 5.0]

    assert jacobian(f)([2.0, 3.0]).tolist() == [[3.0, 2.0], [4.0, 0.0], [0.0, 0.0]]
    assert jacobian(f)(np.array([2.0, 3.0])).tolist() == [[3.0, 2.0], [4.0, 0.0], [0.0, 0.0]]
    assert jacobian(lambda x: (x, x * x))(3.0).tolist() == [1.0, 6.0]
    assert jacobian(lambda x: x[0] * x[1])((2.0, 3.0)).tolist() == [3.0, 2.0]
    assert jacobian(lambda x: x * x)(3.0).tolist() == 6.0
    assert jacobian(lambda x: x * x)(np.ones((2, 3))).shape == (2, 3, 2, 3)
    assert jacobian(lambda x, y: [x * y[0], y[1]], 1)(2.0, [3.0, 4.0]).tolist() == [[2.0, 0.0], [0.0, 1.0]]


def test_jacobian_of_what_is_not_numbers():
    for wrong in (None, {"a": 1.0}, ["a"]):
        with pytest.raises(tapegrad.OperandError):
            jacobian(lambda x, wrong=wrong: wrong)(1.0)


def test_an_argument_that_is_named_twice_has_its_gradient_twice():
    both = tapegrad.grad(lambda x, y: (x * y).sum(), argnums=(0, 0))
    for gradient in both(np.ones(2), 3 * np.ones(2)):
        assert gradient.tolist() == [3.0, 3.0]
    assert tapegrad.grad(lambda x, y: x * y, argnums=(0, 0))(2.0, 3.0) == (3.0, 3.0)
