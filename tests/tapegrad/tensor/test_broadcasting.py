"""Broadcasting undone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from tapegrad.tensor.broadcasting import unbroadcast


@settings(derandomize=True, database=None, deadline=None, max_examples=100)
@given(mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=3, min_side=0))
def test_the_adjoint_of_broadcasting(shapes):
    """⟨broadcast(x), g⟩ = ⟨x, unbroadcast(g)⟩ for all x and g; the numbers are small integers, so exactly."""
    rng = np.random.default_rng(0)
    x = rng.integers(-5, 5, shapes.input_shapes[0]).astype(float)
    g = rng.integers(-5, 5, shapes.result_shape).astype(float)
    undone = unbroadcast(g, x.shape)
    assert undone.shape == x.shape
    assert np.sum(np.broadcast_to(x, g.shape) * g) == np.sum(x * undone)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((2, 3), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        ((3,), [5.0, 7.0, 9.0]),
        ((1, 3), [[5.0, 7.0, 9.0]]),
        ((2, 1), [[6.0], [15.0]]),
        ((1, 1), [[21.0]]),
        ((), 21.0),
    ],
)
def test_sums(shape, expected):
    g = np.arange(1.0, 7.0).reshape(2, 3)
    assert unbroadcast(g, shape).tolist() == expected
    assert g.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
