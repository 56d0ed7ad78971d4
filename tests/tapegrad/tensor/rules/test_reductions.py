"""What is particular to reductions: stable forms and special cases."""

import math

import numpy as np
import pytest
from oracles import stable

from tapegrad import tensor
from tapegrad.tensor import Tensor


@pytest.mark.parametrize("row", stable.ROWS, ids=str)
def test_logsumexp_is_stable(row):
    x = Tensor(np.array(row, np.float32), requires_grad=True)
    y = tensor.logsumexp(x)
    y.backward()
    exact, slopes = stable.value_and_gradient(stable.logsumexp, row)
    assert y.dtype == x.grad.dtype == np.float32
    assert stable.close(y.item(), exact)
    assert all(map(stable.close, x.grad, slopes))


def test_logsumexp_of_infinities():
    x = Tensor(np.array([[-np.inf, 0.0], [np.inf, 0.0]]), requires_grad=True)
    assert tensor.logsumexp(x[0]).item() == 0.0
    with np.errstate(invalid="ignore"):
        assert tensor.logsumexp(x[1]).item() == np.inf
    tensor.logsumexp(x[0]).backward()
    assert x.grad.tolist() == [[0.0, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(256, 256), (65536,), (2, 128, 256), (255, 257)])
def test_large_sums(shape, dtype):
    """They are added up in another way; so are means. The reference adds in float64, exactly rounded."""
    values = np.random.default_rng(0).uniform(0, 1, shape).astype(dtype)
    x = Tensor(values, requires_grad=True)
    exact = math.fsum(values.reshape(-1).tolist())
    for keepdims in (False, True):
        total, mean = x.sum(keepdims=keepdims), x.mean(keepdims=keepdims)
        assert total.shape == mean.shape == ((1,) * len(shape) if keepdims else ())
        assert abs(total.item() - exact) <= 100 * np.finfo(dtype).eps * exact
        assert abs(mean.item() - exact / values.size) <= 100 * np.finfo(dtype).eps
    total.backward()
    assert (x.grad == 1).all()
    mean.backward()
    assert (x.grad == dtype(1) + dtype(1) / dtype(values.size)).all()
