"""The vocabulary on NumPy: beside SciPy's functions, and beside loops that follow the definitions word by word."""

import itertools
import math

import numpy as np
import pytest
from scipy import special

from gradmark.engines.numpy_arrays import ARRAYS, NumpyArrays, in_doubles
from gradmark.workloads.selection import select
from gradmark.workloads.vocabulary import TENSOR_FUNCTIONS

X = np.random.default_rng(0).normal(size=(3, 4))


def near(expected):
    return pytest.approx(np.asarray(expected), rel=1e-12, abs=1e-12)


def test_the_namespace_is_whole():
    assert [name for name in TENSOR_FUNCTIONS if not hasattr(ARRAYS, name)] == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sigmoid", lambda x: 1 / (1 + math.exp(-x))),
        ("softplus", lambda x: math.log1p(math.exp(x))),
        ("relu", lambda x: max(x, 0.0)),
        ("erf", math.erf),
        ("gelu", lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2)))),
        ("neg", lambda x: -x),
        ("square", lambda x: x * x),
    ],
)
def test_functions_of_one_number(name, expected):
    assert getattr(ARRAYS, name)(X) == near(np.vectorize(expected)(X))
    assert getattr(ARRAYS, name)(X.astype(np.float32)).dtype == np.float32


def test_gelu_by_tanh():
    cubic = math.sqrt(2 / math.pi) * (X + 0.044715 * X**3)
    assert ARRAYS.gelu(X, approximate="tanh") == near(0.5 * X * (1 + np.tanh(cubic)))


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp(axis, keepdims):
    expected = special.logsumexp(X, axis=axis, keepdims=keepdims)
    found = ARRAYS.logsumexp(X, axis=axis, keepdims=keepdims)
    assert found.shape == np.shape(expected)
    assert found == near(expected)


def test_stable_forms_at_large_numbers():
    far = np.array([-1e4, 0.0, 1e4], dtype=np.float32)
    assert ARRAYS.softplus(far).tolist() == [0.0, np.float32(math.log(2)), 1e4]
    assert ARRAYS.logsumexp(far) == 1e4
    assert ARRAYS.softmax(far).tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("axis", [0, -1])
def test_softmax(axis):
    assert ARRAYS.softmax(X, axis) == near(special.softmax(X, axis))
    assert ARRAYS.log_softmax(X, axis) == near(special.log_softmax(X, axis))


def test_cross_entropy():
    labels = np.array([2, 0, 3])
    each = [-special.log_softmax(row)[label] for row, label in zip(X, labels, strict=True)]
    assert ARRAYS.softmax_cross_entropy(X, labels, reduction="none") == near(each)
    assert ARRAYS.softmax_cross_entropy(X, labels, reduction="sum") == near(sum(each))
    assert ARRAYS.softmax_cross_entropy(X, labels) == near(sum(each) / 3)


def test_layer_norm():
    weight, bias = np.arange(1.0, 5.0), np.arange(4.0)
    rows = [(row - row.mean()) / math.sqrt(row.var() + 1e-5) for row in X]
    assert ARRAYS.layer_norm(X) == near(rows)
    assert ARRAYS.layer_norm(X, weight, bias) == near([row * weight + bias for row in rows])


@pytest.mark.parametrize(("stride", "padding", "groups"), [(1, 0, 1), (2, 1, 1), ((1, 2), (0, 1), 2)])
def test_convolution_by_loops(stride, padding, groups):
    draw = np.random.default_rng(1)
    x, weight, bias = draw.normal(size=(2, 4, 5, 6)), draw.normal(size=(6, 4 // groups, 3, 2)), draw.normal(size=6)
    (down, right), (up, left) = (v if isinstance(v, tuple) else (v, v) for v in (stride, padding))
    padded = np.zeros((2, 4, 5 + 2 * up, 6 + 2 * left))
    padded[:, :, up : up + 5, left : left + 6] = x
    rows, columns = (5 + 2 * up - 3) // down + 1, (6 + 2 * left - 2) // right + 1
    expected = np.zeros((2, 6, rows, columns))
    for n, o, r, c in itertools.product(range(2), range(6), range(rows), range(columns)):
        first = o // (6 // groups) * (4 // groups)
        window = padded[n, first : first + 4 // groups, r * down : r * down + 3, c * right : c * right + 2]
        expected[n, o, r, c] = bias[o] + (window * weight[o]).sum()
    assert ARRAYS.conv2d(x, weight, bias, stride, padding, groups) == near(expected)
    assert ARRAYS.conv2d(x, weight, None, stride, padding, groups) == near(expected - bias[:, None, None])


@pytest.mark.parametrize(("name", "reduce"), [("max_pool2d", np.max), ("avg_pool2d", np.mean)])
def test_pooling_by_loops(name, reduce):
    x = np.random.default_rng(2).normal(size=(2, 3, 4, 6))
    halves = [[[[reduce(c[r : r + 2, k : k + 2]) for k in (0, 2, 4)] for r in (0, 2)] for c in image] for image in x]
    assert getattr(ARRAYS, name)(x, 2) == near(halves)
    assert getattr(ARRAYS, name)(x, 2, stride=1).shape == (2, 3, 3, 5)
    assert getattr(ARRAYS, name)(x, (2, 3), padding=(1, 0)).shape == (2, 3, 3, 2)


def test_the_padding_of_a_largest_is_never_chosen():
    assert ARRAYS.max_pool2d(-np.ones((1, 1, 2, 2)), 2, padding=1).tolist() == [[[[-1.0, -1.0], [-1.0, -1.0]]]]


@pytest.mark.parametrize("causal", [False, True])
def test_attention_by_loops(causal):
    q, k, v = np.random.default_rng(3).normal(size=(3, 2, 5, 4))
    expected = np.zeros((2, 5, 4))
    for n, place in itertools.product(range(2), range(5)):
        seen = place + 1 if causal else 5
        weights = special.softmax([q[n, place] @ k[n, other] / 2.0 for other in range(seen)])
        expected[n, place] = sum(w * row for w, row in zip(weights, v[n, :seen], strict=True))
    assert ARRAYS.scaled_dot_product_attention(q, k, v, causal=causal) == near(expected)


def test_dropout_keeps_the_mean():
    x = np.ones(10_000)
    found = ARRAYS.dropout(x, 0.25, 0)
    assert set(found.tolist()) == {0.0, 1 / 0.75}
    assert np.array_equal(found, ARRAYS.dropout(x, 0.25, 0))
    assert abs(found.mean() - 1.0) < 0.05


def test_references_are_made_in_doubles():
    (matmul,) = select(["matmul"])
    f, inputs = in_doubles(matmul, matmul.draw(0, {"n": 8}, "float32"), {"n": 8})
    assert {x.dtype.name for x in inputs} == {"float64"}
    assert f(*inputs) == pytest.approx((inputs[0] @ inputs[1]).sum(), rel=1e-12)


def test_it_only_evaluates():
    can = NumpyArrays().capabilities()
    assert (can.kinds, can.gradients, can.reason) == (("tensor",), False, "numpy evaluates only")
