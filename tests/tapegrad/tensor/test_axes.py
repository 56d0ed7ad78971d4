"""Axes: whatever NumPy takes as one is taken, with the same result and its gradient; all else is an error of ours."""

import numpy as np
import pytest

import tapegrad
from tapegrad import tensor
from tapegrad.tensor import Tensor

NUMBERS = [-3, -2, -1, 0, 1, 2, np.int64(0), np.int64(-1)]
TUPLES = [(), (0,), (-1,), (0, 1), (1, 0), (0, -1), (0, 0), (-2, 0), (2,)]
STRANGE = [0.0, "0", [0], 2**70]
SHAPES = [(), (3,), (1,), (2, 3), (1, 3), (2, 1, 2), (1, 1), (0, 3)]


def log_softmax(x, axis):
    return x - np.log(np.sum(np.exp(x), axis, keepdims=True))


# ours and NumPy's, each of an array and an axis
REDUCTIONS = {
    **{name: (getattr(tensor, name), getattr(np, name)) for name in ("sum", "mean", "max", "min", "var", "cumsum")},
    **{
        f"{name} kept": (
            lambda x, axis, name=name: getattr(tensor, name)(x, axis, True),
            lambda x, axis, name=name: getattr(np, name)(x, axis, keepdims=True),
        )
        for name in ("sum", "mean", "max", "min", "var")
    },
    "logsumexp": (tensor.logsumexp, lambda x, axis: np.log(np.sum(np.exp(x), axis))),
    "softmax": (tensor.softmax, lambda x, axis: np.exp(log_softmax(x, axis))),
    "log_softmax": (tensor.log_softmax, log_softmax),
}
SHAPE_FUNCTIONS = {
    "expand_dims": (tensor.expand_dims, np.expand_dims),
    "squeeze": (tensor.squeeze, np.squeeze),
    "transpose": (tensor.transpose, np.transpose),
    "method transpose": (lambda x, axis: x.transpose(axis), lambda x, axis: x.transpose(axis)),
    "swapaxes": (lambda x, axis: tensor.swapaxes(x, axis, 0), lambda x, axis: np.swapaxes(x, axis, 0)),
    "concatenate": (
        lambda x, axis: tensor.concatenate([x, x], axis),
        lambda x, axis: np.concatenate([x, x], axis),
    ),
    "stack": (lambda x, axis: tensor.stack([x, x], axis), lambda x, axis: np.stack([x, x], axis)),
    "split": (lambda x, axis: tensor.split(x, 1, axis)[0], lambda x, axis: np.split(x, 1, axis)[0]),
    "take_along_axis": (
        lambda x, axis: tensor.take_along_axis(x, np.zeros(x.shape, int), axis),
        lambda x, axis: np.take_along_axis(x, np.zeros(x.shape, int), axis),
    ),
}
# What one of both takes and the other does not: None for a flattened tensor, a list for a tuple.
APART = [("concatenate", None), ("take_along_axis", None), ("squeeze", [0])]


@pytest.fixture(params=[*REDUCTIONS, *SHAPE_FUNCTIONS])
def name(request):
    return request.param


def slope(function, x, along, axis):
    """The derivative of the weighted sum of all results, by central differences."""

    def weighted(t):
        result = function(x + t * along, axis)
        return np.sum(result * np.cos(np.arange(result.size)).reshape(result.shape))

    return (weighted(1e-6) - weighted(-1e-6)) / 2e-6


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of means of nothing
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_axis_is_numpys_or_an_error(name, shape):
    if 0 in shape and name in ("softmax", "log_softmax", "logsumexp"):
        pytest.skip("they want numbers to find the largest of")
    ours, numpys = {**REDUCTIONS, **SHAPE_FUNCTIONS}[name]
    rng = np.random.default_rng(0)
    x, along = rng.normal(size=shape), rng.normal(size=shape)
    for axis in [None, *NUMBERS, *TUPLES, *STRANGE]:
        if (name, axis) in APART:
            continue
        leaf = Tensor(x, requires_grad=True)
        try:
            expected = np.asarray(numpys(x, axis))
        except Exception:
            with pytest.raises(tapegrad.TapegradError):
                ours(leaf, axis)
            continue
        y = ours(leaf, axis)
        np.testing.assert_allclose(y.data, expected, rtol=1e-14, atol=1e-14)
        assert y.shape == expected.shape
        y.backward(np.cos(np.arange(y.size)).reshape(y.shape))
        if not np.isnan(expected).any():
            np.testing.assert_allclose(np.sum(leaf.grad * along), slope(numpys, x, along, axis), rtol=1e-6, atol=1e-8)
        assert leaf.grad.shape == shape


def test_of_a_tensor_without_axes_numpy_reduces_the_first_and_the_last():
    for axis in (0, -1):
        for f in (tensor.sum, tensor.max, tensor.min, tensor.logsumexp):
            x = Tensor(2.0, requires_grad=True)
            y = f(x, axis)
            y.backward()
            assert (y.item(), y.shape, x.grad.item(), x.grad.shape) == (2.0, (), 1.0, ())
        with pytest.raises(tapegrad.ShapeError, match=f"axis {axis} is out of bounds for array of dimension 0"):
            Tensor(2.0, requires_grad=True).mean(axis)


def test_an_axis_that_is_changed_afterwards_changes_nothing():
    order = [1, 0]
    x = Tensor(np.ones((2, 3)), requires_grad=True)
    y = x.transpose(order)
    order.reverse()
    y.backward(np.arange(6.0).reshape(3, 2))
    assert x.grad.tolist() == [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]


def test_tensors_to_stack_may_come_from_a_generator():
    assert tensor.stack(Tensor(float(k)) for k in range(3)).data.tolist() == [0.0, 1.0, 2.0]
