"""What is particular to elementwise rules: special points and stable forms."""

import numpy as np
import pytest
from oracles import stable

from tapegrad import tensor
from tapegrad.tensor import Tensor


@pytest.mark.parametrize("name", ["sigmoid", "softplus"])
def test_stable_from_minus_to_plus_ten_thousand(name):
    x = Tensor(np.array(stable.POINTS, np.float32), requires_grad=True)
    y = getattr(tensor, name)(x)
    y.sum().backward()
    assert y.dtype == x.grad.dtype == np.float32
    for point, value, slope in zip(x.data, y.data, x.grad, strict=True):
        exact, (exact_slope,) = stable.value_and_gradient(lambda row: getattr(stable, name)(*row), [point])
        assert stable.close(value, exact)
        assert stable.close(slope, exact_slope)


@pytest.mark.parametrize("name", ["tanh", "erf", "gelu", "gelu_tanh", "relu", "abs"])
def test_finite_from_minus_to_plus_ten_thousand(name):
    x = Tensor(np.array(stable.POINTS, np.float32), requires_grad=True)
    y = tensor.gelu(x, "tanh") if name == "gelu_tanh" else getattr(tensor, name)(x)
    y.sum().backward()
    assert np.isfinite(y.data).all()
    assert np.isfinite(x.grad).all()
