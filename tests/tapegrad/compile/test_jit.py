"""jit: the same results as the interpreted engine, traced once, and clear words where it cannot be traced."""

import functools
import warnings

import numpy as np
import pytest

import tapegrad
from tapegrad import tensor
from tapegrad.compile import llvm
from tapegrad.tensor.trees import flat

F32, F64 = np.float32, np.float64
TOLERANCE = {F32: 3e-6, F64: 1e-14}


def drawn(*shape, dtype=F32, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def agree(f, *args, tolerance=None, kernels=None, interpreted=()):
    """The compiled function gives what the interpreted one does; gives the compiled one."""
    compiled = tapegrad.jit(f)
    with np.errstate(all="ignore"):
        expected = [np.asarray(x.data if isinstance(x, tapegrad.Tensor) else x) for x in flat(f(*args))]
    actual = [np.asarray(x) for x in flat(compiled(*args))]
    for got, wanted in zip(actual, expected, strict=True):
        assert got.shape == wanted.shape
        bound = tolerance or max(TOLERANCE.get(np.asarray(x).dtype.type, 0.0) for x in flat(args))
        scale = np.max(np.abs(wanted), initial=0.0, where=np.isfinite(wanted))
        np.testing.assert_allclose(got, wanted, rtol=bound * 10, atol=bound * max(1.0, float(scale)))
    if llvm.available():
        report = compiled.report(*args)
        assert report.interpreted == list(interpreted)
        assert kernels is None or report.kernels == kernels
    return compiled


def softplus(x):
    return tensor.softplus(x).sum()


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (17,), (4097,), (5, 13), (2, 3, 4)])
def test_a_sum_of_a_chain_and_its_gradient_are_one_kernel(shape, dtype):
    f = tapegrad.value_and_grad(lambda x: (tensor.tanh(x) * x + tensor.softplus(x)).sum())
    agree(f, drawn(*shape, dtype=dtype) if shape else np.asarray(0.3, dtype), kernels=1)


@pytest.mark.parametrize("axis", [0, 1, -1, None, (0, 2)])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "logsumexp"])
def test_reductions_over_any_axes(name, axis):
    x, w = drawn(3, 20, 9), drawn(3, 20, 9, seed=1)

    def f(x, w):
        return (getattr(tensor, name)(x * w, axis) * 2.0).sum()

    agree(tapegrad.value_and_grad(f, (0, 1)), x, w)


@pytest.mark.parametrize("shape", [(7, 33), (1, 5), (2, 3, 40)])
def test_row_wise_functions(shape):
    x, w = drawn(*shape), drawn(*shape, seed=1)
    agree(tapegrad.value_and_grad(lambda x: (tensor.softmax(x) * w).sum()), x, kernels=1)
    agree(tapegrad.value_and_grad(lambda x: tensor.logsumexp(x, -1).sum()), x, kernels=1)
    agree(tapegrad.value_and_grad(lambda x: (tensor.log_softmax(x) * w).sum()), x, kernels=1)
    scale, bias = drawn(shape[-1], seed=2), drawn(shape[-1], seed=3)
    norm = tapegrad.value_and_grad(lambda *xs: (tensor.layer_norm(*xs) * w).sum(), (0, 1, 2))
    agree(norm, x, scale, bias, tolerance=1e-5, kernels=1 if shape[0] > 1 else None)


def test_cross_entropy_with_labels_that_are_known_and_that_are_arguments():
    x, labels = drawn(6, 11), np.arange(6) % 11
    agree(tapegrad.value_and_grad(lambda x: tensor.softmax_cross_entropy(x, labels)), x)
    f = agree(tapegrad.value_and_grad(tensor.softmax_cross_entropy), x, labels)
    with pytest.raises(tapegrad.InputError, match="labels from 0 to 10"):
        f(x, labels + 11)
    assert f(x, labels[::-1].copy())[0] == pytest.approx(tensor.softmax_cross_entropy(x, labels[::-1]).item(), rel=1e-6)
    assert f.traces == 1


def test_a_network_with_its_gradients():
    def network(parameters, x, labels):
        hidden = tensor.tanh(tensor.matmul(x, parameters["w1"]) + parameters["b1"])
        return tensor.softmax_cross_entropy(tensor.matmul(hidden, parameters["w2"]) + parameters["b2"], labels)

    parameters = {"w1": drawn(5, 8), "b1": drawn(8), "w2": drawn(8, 3), "b2": drawn(3)}
    f = agree(tapegrad.value_and_grad(network), parameters, drawn(4, 5), np.array([0, 2, 1, 0]), tolerance=2e-6)
    assert f.report(parameters, drawn(4, 5), np.array([0, 2, 1, 0])).products == 5


def test_attention_and_its_gradients():
    q, k, v = (drawn(2, 3, 7, 4, seed=s) for s in range(3))

    def f(q, k, v):
        return (tensor.scaled_dot_product_attention(q, k, v) * q).sum()

    agree(tapegrad.value_and_grad(f, (0, 1, 2)), q, k, v, tolerance=1e-5)


def test_second_derivatives_and_every_transform():
    def f(x):
        return (tensor.exp(x) * tensor.sin(x)).sum()

    x, v = drawn(9, dtype=F64), drawn(9, dtype=F64, seed=1)
    agree(lambda x, v: tapegrad.hvp(f, (x,), (v,)), x, v, kernels=1)
    agree(lambda x, v: tapegrad.jvp(f, (x,), (v,)), x, v)
    agree(lambda x: tapegrad.vjp(f, x)[1](2.0), x)
    agree(tapegrad.grad(lambda x: (tapegrad.grad(f)(x) * x).sum()), x, kernels=1)


def test_inside_a_transform_and_inside_another_jit_it_is_part_of_the_whole():
    inner = tapegrad.jit(lambda x: x * x * x)
    assert tapegrad.grad(lambda x: inner(x).sum())(np.array([2.0, 3.0])).tolist() == [12.0, 27.0]
    outer = tapegrad.jit(tapegrad.grad(lambda x: inner(x).sum()))
    assert outer(np.array([2.0, 3.0])).tolist() == [12.0, 27.0]
    assert (inner.traces, outer.traces) == (0, 1)


def test_a_tensor_that_requires_gradients_is_recorded_as_ever():
    x = tapegrad.Tensor([1.0, 2.0], requires_grad=True)
    tapegrad.jit(lambda x: (x * x).sum())(x).backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_it_traces_once_for_each_signature():
    calls = []

    def f(x, scale, double):
        calls.append(1)
        return x * scale * (2 if double else 1)

    compiled = tapegrad.jit(f)
    x = np.array([1.0, 2.0])
    assert compiled(x, 3.0, False).tolist() == [3.0, 6.0]
    assert compiled(x, 4.0, False).tolist() == [4.0, 8.0]
    assert compiled.traces == len(calls) == 1
    assert compiled(x, 4.0, True).tolist() == [8.0, 16.0]
    assert compiled(x[:1], 4.0, False).tolist() == [4.0]
    assert compiled(x.astype(F32), 4.0, False).dtype == F32
    assert compiled(x[::-1], 4.0, False).tolist() == [8.0, 4.0]
    assert compiled(tapegrad.Tensor(x), 4.0, False).tolist() == [4.0, 8.0]
    assert compiled.traces == len(calls) == 4


def test_the_order_of_keys_is_part_of_a_signature():
    """A function may go through a dict in its order."""
    f = tapegrad.jit(lambda d: {"first": next(iter(d.values())) * d["a"], **d})
    a = np.ones((2, 2))
    for d in ({"a": a, "b": 3 * a}, {"b": 3 * a, "a": a}, {"a": a, "b": 3 * a}):
        result = f(d)
        assert list(result) == ["first", *d]
        assert result["first"].tolist() == (next(iter(d.values())) * a).tolist()
    assert f.traces == 2


def test_a_strict_one_refuses_other_arguments():
    compiled = tapegrad.jit(lambda x: x + 1, strict=True)
    compiled(np.zeros(2))
    with pytest.raises(tapegrad.InputError, match=r"strict; got others: \(float32\[3\]\)"):
        compiled(np.zeros(3, F32))


def test_one_that_is_traced_often_says_so_once():
    compiled = tapegrad.jit(lambda x: x + 1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for length in range(1, 12):
            compiled(np.zeros(length))
    assert [str(w.message)[-98:] for w in caught] == [
        "pad arrays to a few shapes, and pass numbers that change as floats or arrays, not as int"[-98:]
    ] or "traced 8 times" in str(caught[0].message)
    assert len(caught) == 1


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x if x.sum() > 0 else -x,
        lambda x: x * float(x.sum()),
        lambda x: x.sum().item() * x,
        lambda x: x[: int(x.sum())],
        lambda x: np.sin(x.data),
        lambda x: x[x > 0],
    ],
)
def test_what_needs_numbers_while_tracing_says_what_to_write(f):
    with pytest.raises((tapegrad.TapegradError, TypeError)) as caught:
        tapegrad.jit(f)(np.array([0.25, 0.75]))
    assert "where" in str(caught.value) or "derivative" in str(caught.value) or "ufunc" in str(caught.value)


def test_an_argument_of_another_kind_is_an_error():
    with pytest.raises(tapegrad.InputError, match="got set"):
        tapegrad.jit(lambda x: x)({1, 2})
    with pytest.raises(tapegrad.InputError, match="return tensors, arrays and numbers, got str"):
        tapegrad.jit(lambda x: "x")(np.zeros(2))


def test_results_are_arrays_of_their_own():
    constant = np.arange(3.0)
    f = tapegrad.jit(lambda x: (x, x.reshape(3), x.T, constant, 2.0, (x + 1, x + 1)))
    x = np.arange(3.0)
    results = flat(f(x))
    for k, result in enumerate(results):
        if isinstance(result, np.ndarray):
            result[...] = -1 - k
    assert x.tolist() == constant.tolist() == [0, 1, 2]
    assert flat(f(x))[0].tolist() == [0, 1, 2]
    assert flat(f(x))[4] == 2.0
    assert results[-1].tolist() == [-7, -7, -7]
    assert results[-2].tolist() == [-6, -6, -6]


SPECIAL = [
    np.nan,
    np.inf,
    -np.inf,
    0.0,
    -0.0,
    1e-40,
    -1e-310,
    5e-324,
    1e308,
    -1e308,
    3e38,
    1.0,
    -1.0,
    88.7,
    -104.0,
    709.8,
]
UNARY = [
    "exp",
    "expm1",
    "log",
    "log1p",
    "sqrt",
    "square",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "softplus",
    "relu",
    "erf",
    "gelu",
    "abs",
    "neg",
]


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("name", UNARY)
def test_awkward_numbers_come_out_as_interpreted(name, dtype):
    with np.errstate(all="ignore"):
        x = np.array(SPECIAL, dtype)
        function = getattr(tensor, name)
        expected = function(x).data
        slopes = tapegrad.grad(lambda x: function(x).sum())(x)
    actual = tapegrad.jit(function)(x)
    bound = 4e-6 if dtype is F32 else 1e-14
    np.testing.assert_allclose(actual, expected, rtol=bound, atol=np.finfo(dtype).tiny)
    np.testing.assert_allclose(
        tapegrad.jit(tapegrad.grad(lambda x: function(x).sum()))(x), slopes, rtol=bound, atol=np.finfo(dtype).tiny * 2
    )


@pytest.mark.parametrize("name", ["maximum", "minimum", "div", "pow", "mul", "add", "sub"])
def test_awkward_pairs_come_out_as_interpreted(name):
    x, y = (a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))
    with np.errstate(all="ignore"):
        expected = getattr(tensor, name)(x, y).data
    actual = tapegrad.jit(getattr(tensor, name))(x, y)
    np.testing.assert_allclose(actual, expected, rtol=1e-14)


def test_empty_arrays():
    f = tapegrad.value_and_grad(softplus)
    value, gradient = tapegrad.jit(f)(np.zeros((0, 3), F32))
    assert value == 0.0
    assert gradient.shape == (0, 3)


def test_a_sum_of_a_million_is_as_exact_as_numpys():
    x = np.random.default_rng(0).uniform(0.5, 1.5, 1_000_003).astype(F32)
    exact = float(np.sum(x.astype(F64)))
    assert abs(tapegrad.jit(lambda x: x.sum())(x) - exact) <= abs(float(np.sum(x)) - exact) + 0.06  # half a bit of 1e6
    large = np.tile([1e16, 1.0, -1e16], 40_000)
    assert tapegrad.jit(lambda x: x.sum())(large) == pytest.approx(np.sum(large), abs=1e4)


def test_the_graph_is_shown():
    assert str(tapegrad.jit(lambda x: x * x).graph(np.zeros(2))) == (
        "%0 = input() : float64[2]\n%1 = multiply(%0, %0) : float64[2]\noutputs: %1"
    )


def test_without_llvm_it_is_executed_by_numpy(monkeypatch):
    monkeypatch.setattr(llvm, "available", lambda: False)
    f = tapegrad.jit(tapegrad.value_and_grad(softplus))
    x = drawn(5)
    value, gradient = tapegrad.value_and_grad(softplus)(x)
    assert f(x)[0] == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(f(x)[1], gradient, rtol=1e-6)
    assert f.report(x).kernels == 0


def test_memory_is_not_shared_while_it_is_still_read():
    """A scalar that several kernels repeat: its place was once given away after the first."""
    features, weights, signs = drawn(8, 2, dtype=F64), drawn(2, dtype=F64, seed=1), np.sign(drawn(8, dtype=F64, seed=2))

    def loss(weights, features, signs):
        return tensor.mean(tensor.softplus(-(signs * (features @ weights))))

    f = tapegrad.hessian(loss)
    for got in (tapegrad.jit(f)(weights, features, signs) for _ in range(2)):
        np.testing.assert_allclose(got, f(weights, features, signs), rtol=1e-13)


def test_gradients_of_slices_are_put_side_by_side():
    x, w = drawn(4, 9), drawn(4, 3, seed=1)

    def gates(x):
        return (tensor.tanh(x[:, 3:6]) * tensor.sigmoid(x[:, :3]) + x[:, 6:] * w).sum()

    agree(tapegrad.value_and_grad(gates), x, interpreted=[])
    agree(tapegrad.value_and_grad(lambda x: (x[:, 3:6] * x[:, :3]).sum()), x, interpreted=[])
    agree(tapegrad.value_and_grad(lambda x: sum(part.sum() for part in tensor.split(x, 3, 1))), x, interpreted=[])


@pytest.mark.parametrize(
    ("left", "right"),
    [((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4, 5)), ((3, 1), (1, 5))],
)
def test_a_product_with_ones_is_a_sum(left, right):
    x, y = drawn(*left, dtype=F64), drawn(*right, dtype=F64)
    for f, given in ((lambda x: x @ np.ones(right), x), (lambda y: np.ones(left) @ y, y)):
        compiled = tapegrad.jit(f)
        np.testing.assert_allclose(compiled(given), f(given), rtol=1e-13)
        assert compiled.report(given).products == 0
    both = tapegrad.jit(tapegrad.value_and_grad(lambda x, y: (x @ y).sum(), (0, 1)))
    assert both.report(x, y).products <= 1


def test_sums_of_transposed_arrays_are_taken_where_they_lie():
    x = drawn(3, 4, 5, dtype=F64)
    for axes, keepdims in ((0, False), ((0, 1), True), (-1, True)):
        summed = functools.partial(tensor.sum, axis=axes, keepdims=keepdims)
        agree(lambda x, f=summed: f(tensor.transpose(x, (2, 0, 1))), x)


def test_bytes_read_and_written_are_reported():
    x, w = drawn(100), drawn(7, 100)
    chain = tapegrad.jit(tapegrad.value_and_grad(lambda x: (tensor.tanh(x) * x).sum())).report(x)
    assert (chain.read_bytes, chain.written_bytes) == (400, 4 + 400)  # one pass: the value and the gradient
    product = tapegrad.jit(lambda w, x: tensor.tanh(w @ x)).report(w, x)
    assert (product.read_bytes, product.written_bytes) == (7 * 400 + 400 + 28, 28 + 28)
    repeated = tapegrad.jit(lambda w, x: w + x).report(w, x)
    assert (repeated.read_bytes, repeated.written_bytes) == (7 * 400 + 400, 7 * 400)


def test_a_function_of_numbers_is_refused_with_its_name() -> None:
    with pytest.raises(tapegrad.OperandError, match=r"tapegrad\.tensor"):
        tapegrad.jit(lambda x: tapegrad.sin(x))(2.0)
