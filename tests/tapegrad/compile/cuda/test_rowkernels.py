"""Kernels: value and gradient of functions whose rows, columns and broadcasts lie in every way, against float64."""

import math

import numpy as np
import pytest
from oracles import foreign

import tapegrad
from tapegrad import tensor
from tapegrad.tensor.trees import flat

pytestmark = pytest.mark.slow  # each function is compiled by g++
F32, F64 = np.float32, np.float64


def drawn(*shape, dtype=F32, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def host(x):
    return np.asarray(x.view(np.ndarray) if isinstance(x, foreign.ForeignArray) else x)


def agree(there, f, *args, bound=2e-6, argnums=None):
    """jit on the device gives what the interpreted engine gives in float64; gives the jitted function."""
    argnums = tuple(k for k, x in enumerate(args) if x.dtype.kind == "f") if argnums is None else argnums
    compiled = tapegrad.jit(tapegrad.value_and_grad(f, argnums))
    exact = [x.astype(F64) if x.dtype.kind == "f" else x for x in args]
    with np.errstate(all="ignore"):
        expected = [np.asarray(x) for x in flat(tapegrad.value_and_grad(f, argnums)(*exact))]
    first = [host(x) for x in flat(compiled(*there(*args)))]
    for got, wanted in zip(first, expected, strict=True):
        assert got.shape == wanted.shape
        scale = float(np.max(np.abs(wanted), initial=0.0, where=np.isfinite(wanted))) or 1.0
        np.testing.assert_allclose(got, wanted, rtol=0, atol=bound * scale)
    again = [host(x) for x in flat(compiled(*there(*args)))]
    assert [x.tobytes() for x in again] == [x.tobytes() for x in first]  # sums do not depend on which block came first
    assert compiled.traces == 1
    return compiled.report(*there(*args))


def chain(x):
    for _ in range(8):
        x = tensor.tanh(x * 1.1 + 0.1)
    return tensor.sum(x)


def broadcast(a, b):
    c = a + b
    return tensor.sum(c * c)


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("n", [1, 5, 4096, 70_003])
def test_one_pass_over_numbers_that_lie_in_a_row(there, n):
    report = agree(there, chain, drawn(n), bound=2e-6)
    assert report.kernels <= 2
    assert report.interpreted == []


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("shape", [(3, 7), (300, 257), (40, 1024), (2000, 3)])
@pytest.mark.parametrize("dtype", [F32, F64])
def test_sums_over_rows_are_in_the_same_pass(there, shape, dtype):
    report = agree(there, broadcast, drawn(*shape, dtype=dtype), drawn(shape[1], dtype=dtype, seed=1))
    assert report.products == 0


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("shape", [(50, 10), (9, 33), (7, 1024), (5, 8192), (3, 20_000)])
def test_a_row_is_read_once_for_its_largest_its_sum_and_its_gradient(there, shape):
    report = agree(there, lambda x: tensor.sum(tensor.logsumexp(x, axis=1)), drawn(*shape))
    assert report.kernels <= 2
    assert (report.read_bytes, report.written_bytes) == (4 * math.prod(shape), 4 * math.prod(shape) + 4)


@pytest.mark.usefixtures("device")
def test_a_row_longer_than_registers_and_clusters_is_gone_through_in_steps(there):
    report = agree(there, lambda x: tensor.sum(tensor.logsumexp(x, axis=1)), drawn(2, 40_000))
    assert report.kernels > 2


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("classes", [4, 100, 9000])
def test_cross_entropy(there, classes):
    labels = np.random.default_rng(1).integers(0, classes, 6)
    report = agree(there, lambda x, y: tensor.softmax_cross_entropy(x, y), drawn(6, classes), labels)
    assert report.interpreted == []


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("shape", [(70, 64), (10, 1000), (2, 3, 96)])
def test_layer_norm_with_weights_whose_gradients_go_over_rows(there, shape):
    n = shape[-1]
    report = agree(
        there,
        lambda x, w, b, c: tensor.sum(tensor.layer_norm(x, w, b) * c),
        *(drawn(*shape), drawn(n, seed=1), drawn(n, seed=2), drawn(*shape, seed=3)),
        bound=1e-5,
    )
    assert report.interpreted == []


@pytest.mark.usefixtures("device")
def test_transposed_strided_and_reversed_operands_are_read_where_they_are(there):
    def f(x, y, z):
        return tensor.sum(tensor.transpose(x) * y + z[::2, ::-1])

    report = agree(there, f, drawn(33, 20), drawn(20, 33, seed=1), drawn(40, 33, seed=2))
    assert report.kernels <= 3


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("axis", [0, 1, 2, (0, 1), (0, 2), (1, 2), None])
def test_sums_over_any_axes(there, axis):
    c = drawn(5, 6, 70, seed=3)

    def f(x, w):
        return tensor.sum(tensor.sum(x * w, axis=axis, keepdims=True) * tensor.max(x * c, axis=axis, keepdims=True))

    agree(there, f, drawn(5, 6, 70), drawn(5, 1, 70, seed=1), bound=1e-5)


@pytest.mark.usefixtures("device")
def test_several_sums_that_keep_different_axes_are_kernels_of_their_own(there):
    def f(x, a, b):
        return tensor.sum(tensor.square(x + a + b))  # the gradients of a and b go over rows in different ways

    agree(there, f, drawn(4, 5, 64), drawn(4, 1, 64, seed=1), drawn(1, 5, 64, seed=2), bound=1e-5)


@pytest.mark.usefixtures("device")
def test_special_numbers_come_out_as_numpys(there):
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3.0, -3.0], F32)
    functions = [np.abs, np.sign, np.exp, np.log1p, np.tanh, np.sqrt, np.square]
    names = ["abs", "sign", "exp", "log1p", "tanh", "sqrt", "square"]

    def f(x):
        ours = [getattr(tensor, name)(x) if hasattr(tensor, name) else abs(x) for name in names if name != "sign"]
        return [*ours, tensor.maximum(x, 0.5), tensor.minimum(0.5, x), tensor.where(x > 0, x, -x)]

    with np.errstate(all="ignore"):
        expected = [function(x) for function, name in zip(functions, names, strict=True) if name != "sign"]
        expected += [np.maximum(x, F32(0.5)), np.minimum(F32(0.5), x), np.where(x > 0, x, -x)]
    for got, wanted in zip(map(host, tapegrad.jit(f)(*there(x))), expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=3e-7)
        assert (np.signbit(got) == np.signbit(wanted))[~np.isnan(wanted)].all()


@pytest.mark.usefixtures("device")
def test_a_sum_of_many_floats_is_as_exact_as_doubles_make_it(there):
    x = np.full(1 << 18, 0.1, F32)
    (total,) = [host(tapegrad.jit(tensor.sum)(*there(x)))]
    assert abs(float(total) - float(x.astype(F64).sum())) <= 1e-6 * float(total)


@pytest.mark.usefixtures("device")
def test_arrays_without_numbers_and_without_axes(there):
    f = tapegrad.jit(lambda x, y: (tensor.sum(x), tensor.exp(y) * 2.0, x + y))
    total, double, both = f(*there(np.zeros((0, 3), F32), np.array(1.0, F32)))
    assert (float(host(total)), both.shape) == (0.0, (0, 3))
    assert float(host(double)) == pytest.approx(2 * math.e, rel=1e-6)


def test_without_clusters_a_long_row_is_one_blocks(device, there, monkeypatch):
    monkeypatch.setattr(device, "most_cluster", 1)
    report = agree(there, lambda x: tensor.sum(tensor.logsumexp(x, axis=1)), drawn(2, 20_001))
    assert report.kernels <= 2
    assert "IN_CLUSTERS(" not in device.sources[-1]
