"""Functions on a device: what a call returns, where its arrays must be, and what is found later."""

import re
from typing import Any, NamedTuple

import numpy as np
import pytest
from oracles import foreign

import tapegrad
from tapegrad import tensor
from tapegrad.errors import InputError, UnsupportedError

pytestmark = pytest.mark.slow  # each function is compiled by g++
F32 = np.float32


def host(x):
    return np.asarray(x.view(np.ndarray) if isinstance(x, foreign.ForeignArray) else x)


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(F32)


def network(w1, b1, w2, b2, x, labels):
    return tensor.softmax_cross_entropy(tensor.tanh(x @ w1 + b1) @ w2 + b2, labels)


def numbers(scale=1):
    shapes = [(16 * scale, 32 * scale), (32 * scale,), (32 * scale, 4), (4,), (8 * scale, 16 * scale)]
    return [*(drawn(*shape, seed=k) * F32(0.3) for k, shape in enumerate(shapes)), np.arange(8 * scale) % 4]


def expected(arrays):
    exact = [x.astype(float) if x.dtype.kind == "f" else x for x in arrays]
    return tapegrad.value_and_grad(network, (0, 1, 2, 3))(*exact)


def close(result, arrays):
    value, gradients = expected(arrays)
    np.testing.assert_allclose(host(result[0]), value, rtol=1e-6)
    for got, wanted in zip(result[1], gradients, strict=True):
        np.testing.assert_allclose(host(got), wanted, atol=2e-6 * np.max(np.abs(wanted)))


def test_a_small_function_is_one_kernel(device, there):
    step = tapegrad.jit(tapegrad.value_and_grad(network, (0, 1, 2, 3)))
    arrays = numbers()
    close(step(*there(*arrays)), arrays)
    report = step.report(*there(*arrays))
    assert (report.kernels, report.products, report.interpreted) == (1, 5, [])
    assert (device.launches, device.products) == (1, 0)


def test_a_larger_one_multiplies_by_the_library(device, there):
    step = tapegrad.jit(tapegrad.value_and_grad(network, (0, 1, 2, 3)))
    arrays = numbers(8)
    close(step(*there(*arrays)), arrays)
    assert device.products == 5
    assert step.report(*there(*arrays)).kernels > 3


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("scale", [1, 8])
def test_results_that_somebody_holds_are_never_written_to(there, scale):
    step = tapegrad.jit(tapegrad.value_and_grad(network, (0, 1, 2, 3)))
    sets = [[array * F32(1 + k / 10) if array.dtype == F32 else array for array in numbers(scale)] for k in range(6)]
    held = [step(*there(*arrays)) for arrays in sets]
    for result, arrays in zip(held, sets, strict=True):
        close(result, arrays)


@pytest.mark.usefixtures("device")
def test_a_view_of_a_result_keeps_it(there):
    double = tapegrad.jit(lambda x: (x * 2.0, tensor.sum(x)))
    (x,) = there(drawn(10))
    double(x)
    row = double(x)[0][2:4]
    before = host(row).copy()
    for _ in range(8):
        double(*there(drawn(10, seed=5)))
    assert host(row).tolist() == before.tolist()


def test_results_that_nobody_holds_are_used_again(device, there):
    double = tapegrad.jit(lambda x: x * 2.0)
    (x,) = there(drawn(10))
    double(x)
    addresses = {device.pointer(double(x)) for _ in range(5)}
    assert len(addresses) == 1
    assert len({device.pointer(result) for result in [double(x) for _ in range(3)]}) == 3


@pytest.mark.usefixtures("device")
def test_numbers_without_axes_stay_on_the_device_and_floats_change(there):
    f = tapegrad.jit(lambda x, rate: tensor.sum(x) * rate)
    x = drawn(7)
    results = [f(*there(x), rate) for rate in (0.5, 2.0, 0.5)]
    assert [type(result) for result in results] == [foreign.ForeignArray] * 3
    assert [float(host(result)) for result in results] == pytest.approx([float(x.sum()) * r for r in (0.5, 2.0, 0.5)])
    assert float(host(f(*there(x), F32(3.0)))) == pytest.approx(3 * float(x.sum()))
    assert f.traces == 2  # a float is no float32


@pytest.mark.usefixtures("device")
def test_structures_go_in_and_come_out(there):
    f = tapegrad.jit(lambda p: {"sum": tensor.sum(p["a"]), "rest": [p["b"][0] + 1.0, None]})
    a, b = there(drawn(3), drawn(4))
    for _ in range(3):
        result = f({"a": a, "b": (b, "name")})
    assert result["rest"][1] is None
    np.testing.assert_allclose(host(result["rest"][0]), host(b) + 1.0)


class Pair(NamedTuple):
    first: Any
    second: Any


@pytest.mark.usefixtures("device")
def test_structures_with_names_keep_them(there):
    f = tapegrad.jit(lambda p: Pair(p.second * 2.0, (p.first + 1.0,)))
    a, b = there(drawn(3), drawn(4))
    for _ in range(3):
        result = f(Pair(a, b))
        assert type(result) is Pair
        np.testing.assert_allclose(host(result.first), host(b) * 2.0)
        np.testing.assert_allclose(host(result.second[0]), host(a) + 1.0)
    single = tapegrad.jit(lambda x: (x * 2.0,))
    for _ in range(3):
        (double,) = single(a)
    np.testing.assert_allclose(host(double), host(a) * 2.0)


@pytest.mark.usefixtures("device")
def test_arrays_that_lie_otherwise_are_made_to_lie(there):
    f = tapegrad.jit(lambda x: tensor.exp(x) * 2.0)
    (x,) = there(drawn(9, 6))
    f(there(drawn(6, 9))[0])
    for y in (x.T, x.reshape(-1)[3:].reshape(3, 17), x[:, ::2]):
        np.testing.assert_allclose(host(f(y)), np.exp(host(y)) * 2, rtol=1e-6)


@pytest.mark.usefixtures("device")
def test_retraces_are_counted_by_structure_shape_dtype_and_device(there):
    f = tapegrad.jit(lambda x: x * 2.0)
    f(*there(drawn(3)))
    f(*there(drawn(3, seed=1)))
    assert f.traces == 1
    f(drawn(3))  # on the CPU it is another function
    assert f.traces == 2
    f(*there(drawn(4)))
    f(*there(drawn(4).astype(float)))
    assert f.traces == 4


@pytest.mark.usefixtures("device")
def test_arrays_in_two_places_are_an_error(there):
    f = tapegrad.jit(lambda x, y: x + y)
    message = "expected all arrays of a call in one place, got some on host:0 and some on the CPU"
    with pytest.raises(InputError, match=re.escape(message)):
        f(*there(drawn(3)), drawn(3))
    constant = drawn(3)
    g = tapegrad.jit(lambda x: x + there(constant)[0])
    with pytest.raises(
        InputError, match="expected arrays on the CPU, where the function is computed, got one on host:0"
    ):
        g(drawn(3))
    np.testing.assert_allclose(host(g(*there(constant))), 2 * constant)


@pytest.mark.usefixtures("device")
def test_a_function_says_where_its_arrays_must_be(there):
    here = tapegrad.jit(lambda x: x * 2.0, device="cpu")
    with pytest.raises(InputError, match=r"expected arrays on the CPU for .*lambda.*, got some on host:0"):
        here(*there(drawn(3)))
    with pytest.raises(InputError, match="expected device to be 'cpu', 'cuda' or None, got 'gpu'"):
        tapegrad.jit(lambda x: x, device="gpu")


@pytest.mark.usefixtures("device")
def test_wrong_labels_are_found_by_the_next_call_or_when_asked(there):
    step = tapegrad.jit(tapegrad.value_and_grad(network, (0, 1, 2, 3)))
    good = numbers()
    wrong = [*good[:5], good[5] + 9]
    step(*there(*good))
    step.check()
    step(*there(*wrong))
    with pytest.raises(InputError, match="expected labels from 0 to 3; the device found this in an earlier call"):
        step(*there(*good))
    close(step(*there(*good)), good)
    step(*there(*wrong))
    with pytest.raises(InputError, match="expected labels from 0 to 3"):
        step.check()
    step.check()


@pytest.mark.usefixtures("device")
def test_what_has_no_kernel_is_done_by_the_arrays_library(there):
    def f(x, places):
        return tensor.sum(tensor.square(tensor.cumsum(x * 2.0, axis=0))[places] * 3.0)

    x, places = drawn(6, 5), np.array([0, 2, 2])
    compiled = tapegrad.jit(tapegrad.value_and_grad(f))
    value, gradient = compiled(*there(x, places))
    exact, slope = tapegrad.value_and_grad(f)(x.astype(float), places)
    np.testing.assert_allclose(host(value), exact, rtol=1e-6)
    np.testing.assert_allclose(host(gradient), slope, rtol=1e-5)
    assert "cumsum" in compiled.report(*there(x, places)).interpreted


@pytest.mark.usefixtures("device")
def test_loops_are_refused_in_words(there):
    def f(x):
        return tapegrad.fori_loop(0, 3, lambda k, c: c * 2.0, x)

    with pytest.raises(UnsupportedError, match="expected a function without scan, fori_loop and while_loop"):
        tapegrad.jit(f)(*there(drawn(3)))


@pytest.mark.usefixtures("device")
def test_inside_a_transform_it_is_part_of_what_is_outside(there):
    inner = tapegrad.jit(lambda x: tensor.sum(tensor.exp(x)))
    (x,) = there(drawn(4))
    gradient = tapegrad.grad(inner)(x)
    np.testing.assert_allclose(host(gradient), np.exp(host(x)), rtol=1e-6)
    assert inner.traces == 0
