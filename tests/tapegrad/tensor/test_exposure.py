"""In-place writes: those that would make a gradient wrong are found, all others are allowed."""

import gc

import numpy as np
import pytest

import tapegrad
from tapegrad import Tensor, tensor
from tapegrad.tensor.exposure import exposed


def leaf(values, dtype=float):
    return Tensor(np.array(values, dtype=dtype), requires_grad=True)


def found(y, *leaves):
    """Whether backward finds the write; then it has given no gradient to anyone."""
    with pytest.raises(tapegrad.InPlaceWriteError, match=r"written to in place.*x\.data\.copy\(\)"):
        y.backward()
    assert all(x.grad is None for x in leaves)


def index(x):
    x.data[0] = 7


def everything(x):
    x.data[...] = 7


def a_view(x):
    x.data[1:][0] = 7


def another_shape(x):
    x.data.reshape(-1, 1).T[0, 0] = 7


def an_output(x):
    np.add(x.data, 1, out=x.data)


def in_place(x):
    array = x.data
    array *= 2


def a_flat_iterator(x):
    x.data.flat[0] = 7


def a_method(x):
    x.data.fill(7)


def a_memoryview(x):
    memoryview(x.data.reshape(-1))[0] = 7.0


def a_detached_tensor(x):
    x.detach().data[0] = 7


def a_reshaped_tensor(x):
    tensor.reshape(x, (-1, 1)).data[0, 0] = 7


def a_slice_of_the_tensor(x):
    x[1:].data[0] = 7


def not_a_number(x):
    x.data[0] = np.nan


def a_number_again(x):
    x.data[-1] = 0.0


WRITES = [index, everything, a_view, another_shape, an_output, in_place, a_flat_iterator, a_method, a_memoryview]
WRITES += [a_detached_tensor, a_reshaped_tensor, a_slice_of_the_tensor, not_a_number, a_number_again]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("early", [False, True], ids=["data is taken late", "data is taken early"])
def test_writes_into_a_leaf(write, early):
    x = leaf([1.0, 2.0, np.nan])
    if early:
        _ = x.data
    y = (x * x).sum()
    write(x)
    found(y, x)


@pytest.mark.parametrize("write", WRITES)
def test_writes_into_a_result_that_was_saved(write):
    x = leaf([1.0, 2.0, np.nan])
    h = tensor.exp(x)
    y = h.sum()
    write(h)
    found(y, x)


@pytest.mark.parametrize("write", WRITES)
def test_writes_through_a_view_that_was_saved(write):
    x = leaf([[1.0, 2.0], [3.0, np.nan]])
    y = (x.T @ x.T).sum()
    write(x)
    found(y, x)


def test_writes_into_an_operand_of_the_users():
    for take in (lambda a: a, lambda a: a[:3], lambda a: a[::-2][:3], lambda a: np.broadcast_to(a[:1], 3)):
        for write in (lambda a: a.__setitem__(..., 7), lambda a: a[:].fill(7), lambda a: np.negative(a, out=a)):
            for f in (
                lambda x, a: x * a,
                lambda x, a: a @ x,
                lambda x, a: x / a,
                lambda x, a: tensor.where(a, x, 0.0),
                lambda x, a: tensor.einsum("i,i->", x, a),
                lambda x, a: x**a,
            ):
                array = np.array([1.0, 0.5, 3.0, 4.0, 5.0, 6.0])
                x = leaf(np.arange(1.0, 1 + len(take(array))))
                y = f(x, take(array)).sum()
                write(array)
                found(y, x)


def test_a_single_number():
    x = leaf(3.0)
    y = x * x
    x.data[...] = 4
    found(y, x)


def test_writes_between_two_backward_passes():
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    y.backward(retain=True)
    x.data[0] = 7
    with pytest.raises(tapegrad.InPlaceWriteError):
        y.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_the_message_names_the_primitive_and_the_shape():
    x = leaf([1.0, 2.0])
    y = tensor.sin(x).sum()
    x.data[0] = 7
    with pytest.raises(tapegrad.InPlaceWriteError, match=r"shape \(2,\) that 'sin' saved"):
        y.backward()


def test_a_gradient_that_is_an_operand_and_grows():
    x = leaf([1.0, 2.0])
    (x * x).sum().backward()
    y = (x * x.grad).sum()
    (x * x).sum().backward()
    with pytest.raises(tapegrad.InPlaceWriteError):
        y.backward()


# what is allowed


def test_training_steps():
    w = leaf([1.0, 2.0])
    seen = []
    for _ in range(3):
        w.grad = None
        ((w - 1) * w).sum().backward()
        w.data -= 0.1 * w.grad
        seen.append(w.grad.tolist())
    assert seen[0] == [1.0, 3.0]
    assert w.data.tolist() == pytest.approx([0.5 + 0.5 * 0.8**3, 0.5 + 1.5 * 0.8**3])
    array = w.data
    for _ in range(3):
        w.grad = None
        ((w - 1) * w).sum().backward()
        array -= 0.1 * w.grad
    assert w.data.tolist() == pytest.approx([0.5 + 0.5 * 0.8**6, 0.5 + 1.5 * 0.8**6])


def test_writes_before_forward_and_after_backward():
    x, array = leaf([1.0, 2.0]), np.array([3.0, 4.0])
    x.data[0] = 5
    array[0] = 6
    y = (x * array).sum()
    y.backward()
    x.data[0] = 7
    array[0] = 8
    assert x.grad.tolist() == [6.0, 4.0]


def test_writes_into_what_no_rule_has_saved():
    x, array = leaf([1.0, 2.0]), np.array([3.0, 4.0])
    y = (x + array - x * 2).sum() + tensor.sum(x.reshape(2, 1))
    array[0] = 7
    x.data[0] = 7
    y.backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_writes_of_the_same_numbers():
    x = leaf([1.0, np.nan, np.inf])
    y = (x * x).sum()
    x.data[...] = x.data.copy()
    y.backward()
    assert x.grad[0] == 2.0


def test_writes_into_copies():
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    x.numpy()[0] = 7
    x.data.copy()[0] = 7
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_what_the_seed_was_made_of_is_left_alone():
    for size in (3, 10_000):
        x, seed = leaf(np.ones(size)), np.ones(size)
        y = tensor.exp(-(x * 2.0))
        y.backward(seed, retain=True)
        y.backward(seed)
        assert (seed == 1).all()
        assert x.grad.tolist() == [-4 * np.exp(-2.0)] * size


def test_nothing_is_kept_of_memory_that_is_gone():
    gc.collect()
    before = len(exposed)
    tensors = [leaf([1.0, 2.0]) for _ in range(10)]
    for x in tensors:
        assert x.data is not (x * x).data
    assert len(exposed) >= before + 10
    del tensors, x
    gc.collect()
    assert len(exposed) == before


# what a tensor was made a view of, or indexed with


@pytest.mark.parametrize(
    "view",
    [
        lambda a: tensor.reshape(a, (3, 1)),
        lambda a: tensor.transpose(a),
        lambda a: tensor.expand_dims(a, 0),
        lambda a: tensor.broadcast_to(a, (2, 3)),
        lambda a: tensor.einsum("i->i", a),
    ],
)
def test_writes_into_an_array_that_a_constant_is_a_view_of(view):
    x, array = leaf([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    y = (x * view(array)).sum()
    array[0] = 7
    found(y, x)


@pytest.mark.parametrize(
    ("index", "place", "value"),
    [
        (np.array([0, 1]), 0, 2),
        (np.array([True, False, True]), 1, True),
        ([0, 1], 0, 2),
        ((slice(None), np.array([0, 0])), 1, np.array([0, 1])),
    ],
    ids=["array", "mask", "list", "tuple"],
)
def test_an_index_is_taken_as_it_was(index, place, value):
    """It is no operand, so nobody watches it: it must be copied."""
    expected, x = leaf(np.ones((3, 3))), leaf(np.ones((3, 3)))
    expected[index].sum().backward()
    y = x[index].sum()
    if isinstance(index, tuple):
        index[place][...] = value
    else:
        index[place] = value
    try:
        y.backward()
    except ValueError as error:
        raise AssertionError from error
    assert x.grad.tolist() == expected.grad.tolist()
