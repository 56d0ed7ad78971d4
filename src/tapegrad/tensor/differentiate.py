"""Differentiation of functions of arrays, for the transforms: what `tapegrad.transforms` calls where an argument holds
an array."""

from tapegrad.tensor.directions import hvp_of, jvp_of, vjp_of
from tapegrad.tensor.gradients import value_and_gradients
from tapegrad.tensor.jacobians import hessian_of, jacobian_of
from tapegrad.tensor.trees import flat, holds_array, is_array, rebuilt

__all__ = [
    "flat",
    "hessian_of",
    "holds_array",
    "hvp_of",
    "is_array",
    "jacobian_of",
    "jvp_of",
    "rebuilt",
    "value_and_gradients",
    "vjp_of",
]
