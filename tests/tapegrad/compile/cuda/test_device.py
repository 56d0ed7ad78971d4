"""A real CUDA device, where there is one: the same kernels, compiled by NVRTC, on CuPy's arrays."""

import builtins

import numpy as np
import pytest

import tapegrad
from tapegrad import tensor
from tapegrad.errors import InputError, MissingPackageError


@pytest.fixture
def cupy():
    """CuPy with a device."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    try:
        cupy.cuda.Device().compute_capability  # noqa: B018  it raises where there is no device
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"no CUDA device: {error}")
    return cupy


def network(w1, b1, w2, b2, x, labels):
    return tensor.softmax_cross_entropy(tensor.tanh(x @ w1 + b1) @ w2 + b2, labels)


@pytest.mark.parametrize("scale", [1, 16])
def test_a_network_on_the_device_is_that_of_the_cpu(cupy, scale):
    rng = np.random.default_rng(0)
    shapes = [(16 * scale, 32 * scale), (32 * scale,), (32 * scale, 4), (4,), (8 * scale, 16 * scale)]
    arrays = [*(0.1 * rng.normal(size=shape) for shape in shapes), rng.integers(0, 4, 8 * scale)]
    step = tapegrad.jit(tapegrad.value_and_grad(network, (0, 1, 2, 3)), device="cuda")
    value, gradients = tapegrad.value_and_grad(network, (0, 1, 2, 3))(*arrays)
    moved = [cupy.asarray(array) for array in arrays]
    for _ in range(5):  # the last ones by a graph
        result = step(*moved)
        np.testing.assert_allclose(cupy.asnumpy(result[0]), value, rtol=1e-12)
        for got, wanted in zip(result[1], gradients, strict=True):
            np.testing.assert_allclose(cupy.asnumpy(got), wanted, rtol=1e-9, atol=1e-12)


def test_a_long_row_is_shared_by_a_cluster(cupy):
    x = np.random.default_rng(0).normal(size=(300, 32_000)).astype(np.float32)
    f = tapegrad.jit(tapegrad.value_and_grad(lambda x: tensor.sum(tensor.logsumexp(x, axis=1))))
    _, gradient = f(cupy.asarray(x))
    _, exact = tapegrad.value_and_grad(lambda x: tensor.sum(tensor.logsumexp(x, axis=1)))(x.astype(float))
    np.testing.assert_allclose(cupy.asnumpy(gradient), exact, rtol=1e-5)


def test_a_batch_of_points(cupy):
    tape = tapegrad.Tape()
    x = tape.var(1.0)
    compiled = tape.freeze(x, x * x + tapegrad.sin(x)).compile()
    points = np.linspace(-5, 5, 10_001)
    values, slopes = compiled.batch(cupy.asarray(points))
    np.testing.assert_allclose(cupy.asnumpy(values), points * points + np.sin(points), atol=1e-14)
    np.testing.assert_allclose(cupy.asnumpy(slopes), 2 * points + np.cos(points), atol=1e-14)


def test_arrays_in_two_places_are_an_error(cupy):
    f = tapegrad.jit(lambda x, y: x + y)
    with pytest.raises(InputError, match=r"got some on (cuda:0 and some on the CPU|the CPU and some on cuda:0)"):
        f(cupy.ones(3), np.ones(3))


def test_without_cupy_the_error_says_what_to_install(monkeypatch):
    before = builtins.__import__

    def missing(name, *args, **named):
        if name == "cupy":
            raise ImportError(name)
        return before(name, *args, **named)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingPackageError, match=r"expected CuPy, .* pip install cupy-cuda13x"):
        tapegrad.jit(lambda x: x, device="cuda")
