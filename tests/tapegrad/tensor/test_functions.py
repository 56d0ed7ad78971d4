"""The functions of tensors: NumPy's meanings, their choices at kinks and bounds, and what they refuse."""

import numpy as np
import pytest
import scipy.special

import tapegrad
from tapegrad import tensor
from tapegrad.tensor import Tensor

MATRIX = np.arange(6.0).reshape(2, 3)
IMAGES = np.arange(32.0).reshape(1, 2, 4, 4)
WEIGHTS = np.ones((2, 2, 2, 2))


def leaf(values, dtype=float):
    return Tensor(np.array(values, dtype=dtype), requires_grad=True)


def gradient(f, *operands):
    leaves = [leaf(x) for x in operands]
    f(*leaves).sum().backward()
    return [x.grad.tolist() for x in leaves]


def same(got, expected):
    assert isinstance(got, Tensor)
    assert not got.requires_grad
    assert got.dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(got.data, expected)


# semantics


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (lambda x: tensor.expand_dims(x, (0, -1)), lambda x: np.expand_dims(x, (0, -1))),
        (lambda x: tensor.squeeze(x[None, :, None], (0, 2)), lambda x: x),
        (lambda x: tensor.broadcast_to(x[0], 3), lambda x: np.broadcast_to(x[0], 3)),
        (lambda x: tensor.pad(x, 1), lambda x: np.pad(x, 1)),
        (lambda x: tensor.pad(x, (1, 2)), lambda x: np.pad(x, (1, 2))),
        (lambda x: tensor.pad(x, ((1, 2), (0, 3))), lambda x: np.pad(x, ((1, 2), (0, 3)))),
        (lambda x: tensor.pad(x, np.array([[1, 2], [0, 3]])), lambda x: np.pad(x, [(1, 2), (0, 3)])),
        (lambda x: tensor.split(x, 3, 1)[1], lambda x: np.split(x, 3, 1)[1]),
        (lambda x: tensor.split(x, np.int64(3), -1)[2], lambda x: np.split(x, 3, 1)[2]),
        (lambda x: tensor.split(x, [1, 1, 5], 1)[3], lambda x: np.split(x, [1, 1, 5], 1)[3]),
        (lambda x: tensor.outer(x, x), lambda x: np.outer(x, x)),
        (lambda x: tensor.dot(x, 2.0), lambda x: np.dot(x, 2.0)),
        (lambda x: tensor.cumsum(x), np.cumsum),
        (lambda x: tensor.var(x, ddof=1), lambda x: np.var(x, ddof=1)),
        (lambda x: tensor.clip(x, x.T[0, 0] + 1, [1, 2, 3]), lambda x: np.clip(x, 1, [1, 2, 3])),
        (lambda x: tensor.stack([x, x.tolist()], -1), lambda x: np.stack([x, x], -1)),
        (lambda x: tensor.embedding(x, [[0, -1]]), lambda x: x[[[0, -1]]]),
        (lambda x: tensor.where(x, x, 7.0), lambda x: np.where(x, x, 7.0)),
    ],
)
def test_values_are_numpys(got, expected):
    same(got(MATRIX), expected(MATRIX))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.uint8])
@pytest.mark.parametrize(
    ("ours", "numpys"),
    [
        (tensor.sum, np.sum),
        (tensor.mean, np.mean),
        (tensor.max, np.max),
        (tensor.exp, np.exp),
        (tensor.relu, lambda x: np.maximum(x, 0)),
        (lambda x: tensor.add(x, x), lambda x: np.add(x, x)),
        (lambda x: tensor.matmul(x, x.T), lambda x: np.matmul(x, x.T)),
        (lambda x: tensor.div(x, 2), lambda x: np.divide(x, 2)),
        (tensor.logsumexp, lambda x: tensor.logsumexp(x.astype(float)).data),
        (lambda x: tensor.softmax(x), lambda x: scipy.special.softmax(x.astype(float), -1)),
        (lambda x: tensor.layer_norm(x, epsilon=0.5), lambda x: tensor.layer_norm(x.astype(float), epsilon=0.5).data),
        (lambda x: tensor.dropout(x, 0.3, 1), lambda x: tensor.dropout(x.astype(float), 0.3, 1).data),
        (
            lambda x: tensor.scaled_dot_product_attention(x, x, x),
            lambda x: tensor.scaled_dot_product_attention(*(x.astype(float),) * 3).data,
        ),
    ],
)
def test_integers_and_booleans_flow_through(ours, numpys, dtype):
    x = (np.arange(6).reshape(2, 3) % 3).astype(dtype)
    with np.errstate(over="ignore"):
        same(ours(x), numpys(x))


def test_pooling_integers():
    same(
        tensor.max_pool2d(-IMAGES.astype(int), 2, padding=1), tensor.max_pool2d(-IMAGES, 2, padding=1).data.astype(int)
    )


def test_lists_and_numbers_are_operands():
    x = leaf([1.0, 2.0])
    y = tensor.concatenate([x, [3.0]]) * 2
    same(y.detach(), [2.0, 4.0, 6.0])
    assert gradient(lambda x: x * [3.0, 4.0], [1.0, 2.0]) == [[3.0, 4.0]]
    assert gradient(lambda x: np.float64(3) * x / 2, [1.0, 2.0]) == [[1.5, 1.5]]


# choices


@pytest.mark.parametrize(
    ("f", "operands", "expected"),
    [
        (tensor.relu, [[-1.0, 0.0, 1.0]], [[0.0, 0.0, 1.0]]),
        (tensor.abs, [[-1.0, 0.0, 1.0]], [[-1.0, 0.0, 1.0]]),
        (lambda x: tensor.clip(x, 0.0, 1.0), [[-1.0, 0.0, 0.5, 1.0, 2.0]], [[0.0, 1.0, 1.0, 1.0, 0.0]]),
        (tensor.maximum, [[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]], [[0.0, 0.5, 1.0], [1.0, 0.5, 0.0]]),
        (tensor.minimum, [[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]], [[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]]),
        (tensor.max, [[1.0, 4.0, 4.0, 4.0, 4.0]], [[0.0, 0.25, 0.25, 0.25, 0.25]]),
        (lambda x: tensor.min(x, 1), [[[1.0, 1.0], [2.0, 1.0]]], [[[0.5, 0.5], [0.0, 1.0]]]),
        (lambda x: x**0, [[0.0, -1.0]], [[0.0, 0.0]]),
        (lambda x: x**2, [[0.0, -3.0]], [[0.0, -6.0]]),
        (lambda x, y: x**y, [[0.0, 0.0], [2.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]),
        (
            lambda x: tensor.max_pool2d(x, 2),
            [[[[[5.0, 5.0], [5.0, 5.0]]]]],
            [[[[[1.0, 0.0], [0.0, 0.0]]]]],
        ),
        (
            lambda x: tensor.avg_pool2d(x, 2, 1, 1),
            [[[[[4.0]]]]],
            [[[[[1.0]]]]],
        ),
    ],
)
def test_gradients_at_kinks_and_ties(f, operands, expected):
    assert gradient(f, *operands) == expected


def test_the_border_counts_in_a_mean():
    same(tensor.avg_pool2d([[[[4.0]]]], 2, 1, 1), [[[[1.0, 1.0], [1.0, 1.0]]]])


@pytest.mark.peers("torch")
def test_pytorch_chooses_the_same():
    import torch

    x = [-1.0, 0.0, 0.0, 0.5, 1.0, 1.0, 1.0]
    for ours, theirs in [
        (tensor.relu, torch.relu),
        (tensor.abs, torch.abs),
        (tensor.max, torch.amax),
        (tensor.min, torch.amin),
        (lambda x: tensor.clip(x, 0.0, 1.0), lambda x: torch.clamp(x, 0.0, 1.0)),
        (lambda x: tensor.maximum(x, np.ones(7)), lambda x: torch.maximum(x, torch.ones(7, dtype=torch.float64))),
        (
            lambda x: tensor.max_pool2d(x.reshape(1, 1, 1, 7), (1, 3)),
            lambda x: torch.nn.functional.max_pool2d(x.reshape(1, 1, 1, 7), (1, 3)),
        ),
    ]:
        theirs_x = torch.tensor(x, dtype=torch.float64, requires_grad=True)
        theirs(theirs_x).sum().backward()
        assert gradient(ours, x) == [theirs_x.grad.tolist()]


def test_a_variance_without_degrees_of_freedom_is_numpys():
    x = leaf([1.0, 2.0])
    with np.errstate(all="ignore"):
        y = x.var(ddof=2)
        y.backward()
        assert y.item() == np.inf
        assert x.grad.tolist() == [-np.inf, np.inf]
        assert np.isnan(tensor.var([1.0], ddof=2).item())


def test_dropout():
    x = leaf(np.ones(1000))
    y = tensor.dropout(x, 0.25, seed=3)
    y.backward(np.full(1000, 2.0))
    kept = y.data != 0
    assert 650 < kept.sum() < 850
    assert set(y.data.tolist()) == {0.0, 4 / 3}
    assert x.grad.tolist() == (2 * y.data).tolist()
    assert tensor.dropout(x, 0.25, seed=3).data.tolist() == y.data.tolist()
    assert tensor.dropout(x, 0.25, seed=4).data.tolist() != y.data.tolist()
    assert tensor.dropout(x, 0, seed=3).data.tolist() == x.data.tolist()
    assert tensor.dropout(leaf([1.0], np.float32), 0.5, seed=0).dtype == np.float32
    assert tensor.dropout(leaf(1.0), 0.0, seed=0).shape == ()


def test_labels_and_indices_are_taken_as_they_were():
    """They are no operands, so nobody watches them: the functions keep copies."""
    for f in (
        tensor.embedding,
        lambda x, k: tensor.take_along_axis(x, k[:, None], 1),
        lambda x, k: tensor.softmax_cross_entropy(x, k, "sum"),
    ):
        indices = np.array([0, 1])
        before, after = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([[1.0, 2.0], [3.0, 4.0]])
        f(before, indices).sum().backward()
        y = f(after, indices).sum()
        indices[:] = 0
        y.backward()
        assert after.grad.tolist() == before.grad.tolist()


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)])
@pytest.mark.parametrize("retain", [False, True])
def test_cross_entropy_of_any_order_of_axes(order, retain):
    """The rule subtracts 1 at the labels: from its result, not from a copy of it."""
    logits = np.random.default_rng(0).normal(size=(2, 3, 4))
    labels = np.array([[0, 3, 1], [2, 2, 0]])
    straight, turned = leaf(logits), leaf(logits.transpose(order))
    tensor.softmax_cross_entropy(straight, labels).backward()
    tensor.softmax_cross_entropy(tensor.transpose(turned, np.argsort(order)), labels).backward(retain=retain)
    np.testing.assert_array_equal(turned.grad.transpose(np.argsort(order)), straight.grad)


def test_an_empty_batch():
    x = leaf(np.ones((0, 2, 4, 4)))
    weight = leaf(WEIGHTS)
    y = tensor.conv2d(x, weight)
    y.sum().backward()
    assert y.shape == (0, 2, 3, 3)
    assert x.grad.shape == x.shape
    assert weight.grad.tolist() == np.zeros_like(WEIGHTS).tolist()


@pytest.mark.parametrize(
    "f",
    [
        tensor.exp,
        tensor.sum,
        tensor.mean,
        tensor.cumsum,
        lambda x: tensor.maximum(x, 1.0),
        lambda x: x * x,
        lambda x: x @ x.T,
        lambda x: x.T @ x,
        lambda x: tensor.reshape(x, (2, 3, 0)) @ x,
        lambda x: tensor.reshape(x, (2, 0, 3)) @ x.T,
        lambda x: x[:, :2],
        lambda x: tensor.einsum("ij,kj->ik", x, x),
        lambda x: tensor.concatenate([x, x]),
        lambda x: tensor.logsumexp(x, 1),
        lambda x: tensor.layer_norm(x),
        lambda x: tensor.softmax(x),
        lambda x: tensor.softmax_cross_entropy(x, np.zeros(0, int), "sum"),
        lambda x: tensor.embedding(tensor.transpose(x), np.zeros((2, 0), int)),
    ],
)
@pytest.mark.filterwarnings("ignore:(invalid value|divide by zero) encountered")  # the mean of nothing is 0/0
def test_empty_tensors(f):
    x = leaf(np.ones((0, 3)))
    y = f(x)
    y.backward(np.ones(y.shape))
    assert x.grad.shape == (0, 3)


# what is refused


def refuses(error, match, f, *args, **named):
    with pytest.raises(error, match=match) as caught:
        f(*args, **named)
    assert isinstance(caught.value, tapegrad.TapegradError)


@pytest.mark.parametrize(
    ("f", "match"),
    [
        (lambda: leaf([1.0, 2.0]) + np.ones(3), r"add does not fit operands of shape \(2,\), \(3,\)"),
        (lambda: leaf(MATRIX) @ MATRIX, r"matmul does not fit operands of shape \(2, 3\), \(2, 3\)"),
        (lambda: 2 @ leaf(MATRIX), "matmul does not fit operands of shape 2"),
        (lambda: leaf(MATRIX) @ 2.0, "matmul does not fit operands"),
        (lambda: leaf(MATRIX).sum(2), "axis 2 is out of bounds"),
        (lambda: leaf(MATRIX).sum("rows"), "sum does not fit"),
        (lambda: leaf(MATRIX).sum((0, 0)), "duplicate"),
        (lambda: leaf(MATRIX).reshape(4, 4), "reshape does not fit"),
        (lambda: leaf(MATRIX).transpose(0, 0), "repeated axis"),
        (lambda: tensor.transpose(leaf(MATRIX), (0, 2)), "an axis from -2 to 1, got 2"),
        (lambda: tensor.transpose(leaf(MATRIX), 5), "an axis from -2 to 1, got 5"),
        (lambda: tensor.swapaxes(leaf(MATRIX), 0, -3), "an axis from -2 to 1, got -3"),
        (lambda: tensor.swapaxes(leaf(1.0), 0, 0), "an axis of a tensor that has any, got 0"),
        (lambda: tensor.swapaxes(leaf(MATRIX), 0, "x"), "an axis to be an integer, got 'x'"),
        (lambda: tensor.expand_dims(leaf(MATRIX), (0, 0)), "twice"),
        (lambda: tensor.squeeze(leaf(MATRIX), 0), r"cannot squeeze axis 0 of shape \(2, 3\)"),
        (lambda: tensor.broadcast_to(leaf(MATRIX), (3, 3)), "broadcast_to does not fit"),
        (lambda: tensor.concatenate([]), "at least one"),
        (lambda: tensor.concatenate([leaf(MATRIX), leaf(MATRIX)[0]]), "concatenate does not fit"),
        (lambda: tensor.concatenate([leaf(MATRIX)], None), "an axis to be an integer, got None"),
        (lambda: tensor.stack([leaf(MATRIX), leaf(1.0)]), "tensors of one shape"),
        (lambda: tensor.stack([]), "tensors of one shape"),
        (lambda: tensor.split(leaf(MATRIX), 2, 1), "length 3 into 2 equal parts"),
        (lambda: tensor.split(leaf(MATRIX), 0), "into 0 equal parts"),
        (lambda: tensor.split(leaf(MATRIX), 1.5), "number of parts to be an integer"),
        (lambda: tensor.pad(leaf(MATRIX), ((1, 1),)), "each of 2 axes"),
        (lambda: tensor.pad(leaf(MATRIX), ((1, 1), (1, 1, 1))), "each of 2 axes"),
        (lambda: tensor.pad(leaf(MATRIX), -1), "pad does not fit"),
        (lambda: tensor.pad(leaf(MATRIX), 1.5), "a width to be an integer"),
        (lambda: tensor.take_along_axis(leaf(MATRIX), [0], 0), "take_along_axis does not fit"),
        (lambda: tensor.take_along_axis(leaf(MATRIX), [[9]], 0), "take_along_axis does not fit"),
        (lambda: tensor.take_along_axis(leaf(MATRIX), [[0]], None), "an axis to be an integer"),
        (lambda: leaf(MATRIX)[2], "out of bounds"),
        (lambda: leaf(MATRIX)[0, 0, 0], "too many indices"),
        (lambda: leaf(MATRIX)["a"], "getitem does not fit"),
        (lambda: tensor.einsum("ij,jk->ik", leaf(MATRIX)), "names 2 operands, got 1"),
        (lambda: tensor.einsum("i...->i", leaf(MATRIX)), "name every axis"),
        (lambda: tensor.einsum("ijk->i", leaf(MATRIX)), "einsum does not fit"),
        (lambda: tensor.softmax(leaf(MATRIX), 2), "softmax does not fit"),
        (lambda: tensor.softmax_cross_entropy(leaf(MATRIX), [0]), r"labels of shape \(2,\), got \(1,\)"),
        (lambda: tensor.softmax_cross_entropy(leaf(1.0), 0), "the classes on the last axis"),
        (lambda: tensor.layer_norm(leaf(MATRIX), np.ones(2)), r"a weight of shape \(3,\), got \(2,\)"),
        (lambda: tensor.layer_norm(leaf(MATRIX), None, np.ones((2, 3))), r"a bias of shape \(3,\), got \(2, 3\)"),
        (lambda: tensor.layer_norm(leaf(1.0)), "numbers on the last axis"),
        (lambda: tensor.layer_norm(leaf(np.ones((2, 0)))), "numbers on the last axis"),
        (lambda: tensor.embedding(leaf(1.0), 0), "a table of rows"),
        (lambda: tensor.scaled_dot_product_attention(*[np.ones((2, 0))] * 3), "positions and a width"),
        (lambda: tensor.scaled_dot_product_attention(*[np.ones((0, 2))] * 3), "positions and a width"),
        (lambda: tensor.scaled_dot_product_attention(MATRIX, MATRIX.T, MATRIX), "does not fit"),
        (lambda: tensor.conv2d(MATRIX, WEIGHTS), "images"),
        (lambda: tensor.conv2d(IMAGES, MATRIX), "weights"),
        (lambda: tensor.conv2d(IMAGES, WEIGHTS[:, :1]), "1 groups of images with 2 channels"),
        (lambda: tensor.conv2d(IMAGES, WEIGHTS[:1, :1], groups=2), "a multiple of 2"),
        (lambda: tensor.conv2d(IMAGES, WEIGHTS, groups=0), "groups from 1 up"),
        (lambda: tensor.conv2d(IMAGES, WEIGHTS, stride=0), "stride to be an integer or two of them, from 1 up, got 0"),
        (lambda: tensor.conv2d(IMAGES, WEIGHTS, padding=-1), "padding"),
        (lambda: tensor.conv2d(IMAGES, WEIGHTS, padding=(1, 1, 1)), "two of them"),
        (lambda: tensor.conv2d(IMAGES, WEIGHTS, padding="same"), "padding to be an integer"),
        (lambda: tensor.conv2d(IMAGES, WEIGHTS, np.ones(5)), r"a bias of shape \(2,\), got \(5,\)"),
        (lambda: tensor.conv2d(IMAGES, np.ones((1, 2, 5, 5))), "does not fit images"),
        (lambda: tensor.max_pool2d(IMAGES, 5), "does not fit images"),
        (lambda: tensor.max_pool2d(IMAGES, 2, padding=2), "up to half the size"),
        (lambda: tensor.max_pool2d(IMAGES[0], 2), r"images \(N, C, H, W\), got shape \(2, 4, 4\)"),
        (lambda: tensor.avg_pool2d(IMAGES[0], 2), r"images \(N, C, H, W\), got shape \(2, 4, 4\)"),
        (lambda: tensor.avg_pool2d(IMAGES, 0), "size to be"),
    ],
)
def test_shapes_that_do_not_fit(f, match):
    refuses(tapegrad.ShapeError, match, f)


def test_arguments_that_mean_nothing():
    x = leaf(MATRIX)
    refuses(tapegrad.InputError, "'none' or 'tanh', got 'erf'", tensor.gelu, x, "erf")
    refuses(tapegrad.InputError, "'mean', 'sum' or 'none'", tensor.softmax_cross_entropy, x, [0, 1], "all")
    refuses(tapegrad.InputError, "labels from 0 to 2", tensor.softmax_cross_entropy, x, [0, 3])
    refuses(tapegrad.InputError, "labels from 0 to 2", tensor.softmax_cross_entropy, x, [-1, 0])
    refuses(tapegrad.InputError, "indices of 2 rows", tensor.embedding, x, [2])
    refuses(tapegrad.InputError, "indices of 2 rows", tensor.embedding, x, [-3])
    refuses(tapegrad.InputError, "a rate from 0", tensor.dropout, x, 1.0, 0)
    refuses(tapegrad.InputError, "a rate from 0", tensor.dropout, x, -0.1, 0)
    refuses(tapegrad.InputError, "use maximum and minimum", tensor.clip, x, leaf(0.0))
    refuses(tapegrad.DtypeError, r"labels of integers.*astype\(int\)", tensor.softmax_cross_entropy, x, [0.0, 1.0])
    refuses(tapegrad.DtypeError, "indices of integers", tensor.embedding, x, [True])
    refuses(tapegrad.DtypeError, "indices of integers", tensor.take_along_axis, x, [[0.5]], 0)


@pytest.mark.parametrize("wrong", [None, "1", 1j, {}, object(), np.array(["a"]), np.array([1j]), np.datetime64("2020")])
def test_operands_that_are_no_real_numbers(wrong):
    for f in (lambda x: x + wrong, lambda x: wrong * x, lambda x: x**wrong, lambda x: tensor.where(True, x, wrong)):
        refuses(tapegrad.OperandError, "an array of real numbers", f, leaf([1.0]))


def test_a_condition_gets_no_gradient():
    x = leaf([1.0, 0.0])
    tensor.where(x, x, 2.0).sum().backward()
    assert x.grad.tolist() == [1.0, 0.0]
