"""The array that records."""

import numpy as np
import pytest

from tapegrad import Tensor
from tapegrad.tensor.namespaces import namespace
from tapegrad.tensor.nesting.batching import seeds
from tapegrad.tensor.nesting.traced import Traced, plain, settled, tracing


def traced(array):
    return Traced(Tensor(array, requires_grad=True))


def test_it_looks_like_the_array_inside():
    x = traced(np.ones((2, 3), np.float32))
    assert (x.shape, x.ndim, x.size, x.dtype) == ((2, 3), 2, 6, np.float32)
    assert namespace(x) is tracing(np)
    assert tracing(tracing(np)) is tracing(np)
    assert not x.flags.c_contiguous


def test_every_step_is_recorded():
    x = traced(np.array([1.0, 2.0, 3.0]))
    for made in (x + 1, 1 - x, x * x, 2 / x, -x, x.sum(), x[1:], x.reshape(3, 1), x.dot(x), x.take(np.array([0, 2]))):
        assert type(made) is Traced
        assert made.tensor.requires_grad
    assert plain(1 - x).tolist() == [0.0, -1.0, -2.0]
    assert (x > 1.5).tolist() == [False, True, True]
    assert type(np.ones(3) * x) is Traced


def test_writes_replace_the_tensor_inside():
    x = traced(np.array([1.0, 2.0, 3.0]))
    y, before = x.copy(), x.tensor
    y += 1
    y[1] = 0.0
    y[0:2] *= 5.0
    assert plain(y).tolist() == [10.0, 0.0, 4.0]
    assert x.tensor is before
    y.tensor.sum().backward()
    assert before.grad.tolist() == [5.0, 0.0, 1.0]


def test_results_go_where_they_are_wanted_in_the_dtype_of_that():
    x, made = traced(np.ones(2)), Traced(Tensor(np.zeros(2, np.float32)))
    xp = namespace(x)
    assert xp.exp(x, out=made) is made
    assert made.dtype == np.float32
    assert plain(made).tolist() == [np.float32(np.e)] * 2


def test_constants_are_plain_again():
    constant = Traced(Tensor([1.0]))
    assert type(settled(constant)) is np.ndarray
    wanted = traced(np.ones(1))
    assert settled(wanted) is wanted


def test_several_seeds_have_the_shape_of_one():
    several = seeds(np.ones((4, 2, 3)), 1)
    assert several.shape == (2, 3)
    with pytest.raises(TypeError, match="numbers of several seeds at once"):
        plain(several)
