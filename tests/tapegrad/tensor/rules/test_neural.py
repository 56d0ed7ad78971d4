"""What is particular to the rules of networks: stable forms and special cases."""

import numpy as np
import pytest
from oracles import stable

from tapegrad import tensor
from tapegrad.tensor import Tensor


@pytest.mark.parametrize("row", stable.ROWS, ids=str)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_is_stable(name, row):
    for k in range(len(row)):
        x = Tensor(np.array(row, np.float32), requires_grad=True)
        y = getattr(tensor, name)(x)
        y[k].backward()
        exact, slopes = stable.value_and_gradient(lambda row, k=k: getattr(stable, name)(row)[k], row)
        assert y.dtype == x.grad.dtype == np.float32
        assert stable.close(y.data[k], exact)
        assert all(map(stable.close, x.grad, slopes))


@pytest.mark.parametrize("row", stable.ROWS, ids=str)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_is_stable(row, reduction):
    for label in range(len(row)):
        x = Tensor(np.array([row], np.float32), requires_grad=True)
        y = tensor.softmax_cross_entropy(x, [label], reduction)
        y.backward()
        exact, slopes = stable.value_and_gradient(lambda row, label=label: -stable.log_softmax(row)[label], row)
        assert y.dtype == x.grad.dtype == np.float32
        assert stable.close(y.item(), exact)
        assert all(map(stable.close, x.grad[0], slopes))


def test_attention_with_large_scores_is_finite():
    q = Tensor(np.array([[100.0], [-100.0]], np.float32), requires_grad=True)
    y = tensor.scaled_dot_product_attention(q, q, np.array([[1.0], [2.0]], np.float32))
    y.sum().backward()
    assert y.data.tolist() == [[1.0], [2.0]]
    assert q.grad.tolist() == [[0.0], [0.0]]
