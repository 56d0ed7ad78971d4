"""Convolutions as machine code: every size against the interpreted engine, which multiplies copies of windows."""

import numpy as np
import pytest

import tapegrad
from tapegrad import tensor
from tapegrad.compile import llvm

pytest.importorskip("llvmlite", reason="needs llvmlite; `pip install 'gradmark[compile]'`")
BOUNDS = {np.float32: 5e-6, np.float64: 1e-14}
# images, output channels, window, stride, padding, groups
SIZES = {
    "rows of whole vectors": ((2, 3, 4, 32), 9, (3, 3), 1, 1, 1),
    "rows that are no vectors": ((2, 3, 8, 9), 5, (3, 3), 1, 1, 1),
    "rows longer than vectors": ((1, 2, 5, 33), 4, (3, 3), 1, 1, 1),
    "strides": ((2, 3, 7, 40), 5, (3, 3), (1, 2), (2, 0), 1),
    "a stride longer than the window": ((3, 2, 9, 9), 3, (2, 2), 3, 0, 1),
    "strides and groups": ((2, 4, 7, 7), 6, (3, 2), 2, 1, 2),
    "each channel by itself": ((1, 8, 14, 14), 8, (3, 3), 1, 1, 8),
    "one place": ((2, 4, 9, 11), 4, (1, 1), 1, 0, 1),
    "one place, every second": ((2, 3, 4, 4), 2, (1, 1), 2, 0, 1),
    "more border than window": ((1, 2, 5, 6), 20, (3, 3), 1, 3, 1),
    "one result": ((1, 1, 5, 5), 1, (5, 5), 1, 0, 1),
    "many channels": ((2, 40, 5, 5), 33, (3, 3), 1, 1, 1),
    "more weights than are kept": ((1, 128, 3, 3), 64, (3, 3), 1, 1, 1),
}


def drawn(images, outputs, window, groups, dtype, seed=0):
    draw = np.random.default_rng(seed)
    shapes = images, (outputs, images[1] // groups, *window)
    return [draw.normal(size=shape).astype(dtype) for shape in shapes]


def squared(stride, padding, groups):
    def f(x, w):
        y = tensor.conv2d(x, w, stride=stride, padding=padding, groups=groups)
        return (y * y).sum()

    return f


def compared(f, arrays, bound):
    """The compiled function's results, beside the interpreted one's."""
    compiled = tapegrad.jit(f)
    results = compiled(*arrays)
    assert compiled.report(*arrays).interpreted == []
    for got, expected in zip(results, f(*arrays), strict=True):
        got, expected = np.asarray(got), np.asarray(expected)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
        np.testing.assert_array_equal(np.isinf(got), np.isinf(expected))
        finite = np.isfinite(expected)
        largest = np.abs(expected[finite]).max(initial=0)
        np.testing.assert_allclose(got[finite], expected[finite], rtol=0, atol=bound * largest)
    return compiled


def derivatives(f):
    """Value, gradient and Hessian product of a function of images and weights."""

    def all_of(x, w):
        value, gradients = tapegrad.value_and_grad(lambda pair: f(*pair))([x, w])
        products = tapegrad.hvp(lambda pair: f(*pair), [[x, w]], [[w.sum() + x, x.sum() * w]])[0]
        return [value, *gradients, *products]

    return all_of


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", BOUNDS)
def test_sizes(size, dtype):
    images, outputs, window, stride, padding, groups = SIZES[size]
    arrays = drawn(images, outputs, window, groups, dtype)
    f = squared(stride, padding, groups)
    compiled = compared(
        lambda x, w: [*tapegrad.value_and_grad(lambda pair: f(*pair))([x, w])[1]], arrays, BOUNDS[dtype]
    )
    assert compiled.report(*arrays).convolutions == 3


@pytest.mark.slow
@pytest.mark.parametrize("size", ["rows that are no vectors", "strides and groups"])
def test_second_derivatives(size):
    images, outputs, window, stride, padding, groups = SIZES[size]
    arrays = drawn(images, outputs, window, groups, np.float64)
    compared(derivatives(squared(stride, padding, groups)), arrays, 1e-13)


@pytest.mark.parametrize("odd", [np.inf, np.nan])
@pytest.mark.parametrize("where", [0, 1])
@pytest.mark.parametrize("size", ["strides", "more border than window", "rows of whole vectors"])
def test_what_is_not_finite_spreads_as_far(odd, where, size):
    images, outputs, window, stride, padding, groups = SIZES[size]
    arrays = drawn(images, outputs, window, groups, np.float64)
    arrays[where].flat[3] = odd
    f = squared(stride, padding, groups)
    with np.errstate(all="ignore"):
        compared(lambda x, w: [*tapegrad.value_and_grad(lambda pair: f(*pair))([x, w])[1]], arrays, 1e-14)


def test_operands_that_are_views_and_one_number_repeated():
    x, w = drawn((2, 3, 8, 9), 5, (3, 3), 1, np.float64)

    def f(x, w):
        turned = tensor.transpose(x, (0, 1, 3, 2))[:, :, 1:]
        # the sum's cotangent is ones, which are nowhere in memory
        return tensor.conv2d(turned, tensor.transpose(w, (0, 1, 3, 2)), padding=1).sum()

    compared(lambda x, w: [tapegrad.grad(lambda w: f(x, w))(w)], [x, w], 1e-14)
    compared(lambda x, w: [f(x, w)], [x[:, :, ::-1], w.transpose(0, 1, 3, 2)], 1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("bits", ["128", "256"])
def test_narrower_vectors(bits, monkeypatch):
    monkeypatch.setenv("TAPEGRAD_VECTOR_BITS", bits)
    llvm.machine.cache_clear()
    try:
        for size in ("rows that are no vectors", "strides and groups"):
            images, outputs, window, stride, padding, groups = SIZES[size]
            arrays = drawn(images, outputs, window, groups, np.float32)
            f = squared(stride, padding, groups)
            compared(lambda x, w, f=f: [*tapegrad.grad(lambda pair: f(*pair))([x, w])], arrays, 5e-6)
    finally:
        monkeypatch.undo()
        llvm.machine.cache_clear()


def test_what_there_is_no_code_for_is_interpreted():
    x, w = drawn((1, 2, 4, 4), 3, (3, 3), 1, np.float32)
    mixed = tapegrad.jit(lambda x, w: tensor.conv2d(x, w))
    assert mixed.report(x, w.astype(np.float64)).interpreted == ["primitive"]
    np.testing.assert_allclose(
        mixed(x, w.astype(np.float64)), tensor.conv2d(x, w.astype(np.float64)).numpy(), rtol=1e-12
    )
    empty = x[:0]
    assert mixed(empty, w).shape == (0, 3, 2, 2)
