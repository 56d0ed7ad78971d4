"""Hoisting: products of matrices that a loop backwards would add up step by step become one product after it.

In: what a step adds to the cotangent of something constant, and which primitive made what. Out: `Product`s, whose rows
the loop gives back, and their sum over all steps: Σ leftᵀ·right is one product of all rows, which reads and writes the
sum once instead of in every step, and is one call of BLAS with a long inner sum.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tapegrad.compile.bodies import Equation, mark
from tapegrad.tensor.rules import elementwise, products, shapes
from tapegrad.tensor.tensor import Tensor, apply

# A step's sum must be more numbers than its factors, which are kept for it. Where it stays in the first cache, adding
# to it costs little: with 64×64 numbers a step of 8 rows gained 1.1 ×, of 16 nothing, and of 32 it lost as much; with
# 128×128 all gained.
FIRST_CACHE_BYTES = 1 << 15
IN_FIRST_CACHE = 4


@dataclass
class Product:
    """leftᵀ·right, of one step: each a tensor of as many rows of numbers, in whatever shape."""

    left: Tensor
    right: Tensor
    shape: tuple[int, int]


def products_in(added: Any, makers: Mapping[int, Equation]) -> list[Product] | None:
    """The products whose sum a tensor is; None if it is anything else."""
    equation = makers.get(mark(added))
    if equation is None:
        return None
    if equation.primitive is elementwise.ADD:
        terms = [products_in(x, makers) for x in equation.operands if getattr(x, "shape", ()) == added.shape]
        if len(terms) < 2 or any(term is None for term in terms):
            return None
        return [product for term in terms for product in term or []]
    if equation.primitive is not products.MATMUL:
        return None
    left, right = equation.operands
    if not (mark(left) and mark(right)) or left.ndim != 2 or right.ndim != 2 or left.dtype != right.dtype:
        return None
    (rows, inner), columns = left.shape, right.shape[1]
    transposed = upright(left, makers)
    margin = IN_FIRST_CACHE if rows * columns * left.dtype.itemsize <= FIRST_CACHE_BYTES else 1
    if transposed is None or rows * columns < margin * inner * (rows + columns):
        return None
    return [Product(transposed, reshaped(right, makers), (rows, columns))]


def upright(left: Tensor, makers: Mapping[int, Equation]) -> Tensor | None:
    """A tensor that holds the transpose of a matrix, row by row, without moving a number; None if none is known."""
    if 1 in left.shape:
        return reshaped(left, makers)
    equation = makers.get(mark(left))
    if equation is None or equation.primitive is not shapes.TRANSPOSE:
        return None
    operand = equation.operands[0]
    return reshaped(operand, makers) if mark(operand) else None


def reshaped(x: Tensor, makers: Mapping[int, Equation]) -> Tensor:
    """The tensor whose numbers, in the same order, another one has."""
    while True:
        equation = makers.get(mark(x))
        if equation is None or not mark(equation.operands[0]):
            return x
        operand = equation.operands[0]
        vector = sum(n > 1 for n in x.shape) <= 1  # whose axes may change places
        if equation.primitive is shapes.RESHAPE or (equation.primitive is shapes.TRANSPOSE and vector):
            x = operand
        else:
            return x


def summed(terms: Iterable[tuple[Product, Tensor, Tensor]]) -> Tensor:
    """The sum over all steps; for each product the rows of all steps of its left and of its right tensor."""
    total = None
    for product, left, right in terms:
        rows, columns = product.shape
        tall = apply(shapes.TRANSPOSE, (matrix(left, rows),), None)
        term = apply(products.MATMUL, (tall, matrix(right, columns)), None)
        total = term if total is None else apply(elementwise.ADD, (total, term))
    assert total is not None
    return total


def matrix(x: Tensor, columns: int) -> Tensor:
    """The rows of all steps below each other."""
    return apply(shapes.RESHAPE, (x,), (math.prod(x.shape) // columns, columns))
