"""Probes: along what a derivative is compared with its reference: entry by entry, or along directions.

In: what was asked for, and how large it is. Out: numbers that the result must give, each a product of it with one or
two vectors. The reference knows the same numbers from the function alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradmark.engines.protocol import Derivative
from gradmark.measure.reference.flat import Vector, joined
from gradmark.records.cell import Kind
from gradmark.records.derivative import FACTS, USUAL_DERIVATIVE

# Directions of each input. One alone may be nearly at right angles to an error; three hardly all are.
DIRECTIONS = 3
# Functions of numbers are compared entry by entry up to so many: each takes four evaluations at 250 digits.
MOST_ENTRIES, MOST_SIDE, MOST_OF_RESULT = 128, 32, 500
# Of more numbers than this one direction has to do: a function of 10,000 takes a second for an evaluation.
MANY = 2000


@dataclass(frozen=True)
class Probes:
    """What is read from a result: the products of each left with it; of a matrix, between a left and a right."""

    entries: bool  # the numbers are the entries of the result, in order
    lefts: Vector
    rights: Vector | None
    groups: list[int]  # of each number: those of one group are judged by the size of the largest of them
    # What the reference needs for each number: one direction of the inputs, and of first derivatives the weights of the
    # function's result, of second derivatives another direction.
    along: Vector
    beside: Vector

    def read(self, result: Any) -> Vector:
        """The numbers of a result: a vector, a matrix, or one of SciPy's."""
        if self.rights is None:
            return self.lefts @ result
        return ((result @ self.rights.T).T * self.lefts).sum(axis=1)

    def size(self, result: Any, place: int) -> float:
        """What a number is made of: the root of the sum of the squares of its terms."""
        if self.rights is None:
            return float(np.sqrt(((self.lefts[place] * result) ** 2).sum()))
        squares = result.multiply(result) if hasattr(result, "multiply") else result**2
        return float(np.sqrt(self.lefts[place] ** 2 @ (squares @ self.rights[place] ** 2)))


def probes_of(derivative: Derivative, kind: Kind, sizes: Sequence[int]) -> Probes:
    """The probes of a derivative of a function of so many numbers, or arrays of so many entries."""
    facts, count = FACTS[derivative.name], sum(sizes)
    results = int(np.prod(derivative.shape))
    matrix = facts.form in ("matrix", "sparse")
    rows = results if facts.form == "result" or (matrix and facts.order == 1) else count
    entries = _is_small(kind, rows, count, matrix, derivative)
    if entries:
        lefts, rights = _units(rows, count) if matrix else (np.eye(rows), None)
        groups = list(range(len(lefts)))
    elif facts.form == "result":
        lefts, rights, groups = _whole(rows, DIRECTIONS, 1), None, [0] * DIRECTIONS
    elif kind == "scalar":
        number = DIRECTIONS if count <= MANY else 1
        groups = [0] * number
        lefts, rights = _whole(rows, number, 2), _whole(count, number, 5) if matrix else None
    else:
        blocks, groups = _blocks(sizes)
        lefts, rights = (_whole(rows, len(blocks), 2), blocks) if matrix else (blocks, None)
    return Probes(entries, lefts, rights, groups, *_for_reference(derivative, lefts, rights, count, results))


def overall(derivative: Derivative, sizes: Sequence[int]) -> Probes:
    """One number of everything: what must change when all inputs do."""
    facts, count = FACTS[derivative.name], sum(sizes)
    results = int(np.prod(derivative.shape))
    matrix = facts.form in ("matrix", "sparse")
    rows = results if facts.form == "result" or (matrix and facts.order == 1) else count
    rights = _whole(count, 1, 4) if matrix else None
    lefts = _whole(rows, 1, 3)
    return Probes(False, lefts, rights, [0], *_for_reference(derivative, lefts, rights, count, results))


def _is_small(kind: Kind, rows: int, count: int, matrix: bool, derivative: Derivative) -> bool:
    if FACTS[derivative.name].form == "result":
        return rows == 1 or (kind == "scalar" and rows <= MOST_OF_RESULT)
    return kind == "scalar" and (max(rows, count) <= MOST_SIDE if matrix else rows <= MOST_ENTRIES)


def _units(rows: int, count: int) -> tuple[Vector, Vector]:
    """Every pair of a row and a column, row by row."""
    return np.repeat(np.eye(rows), count, axis=0), np.tile(np.eye(count), (rows, 1))


def _whole(count: int, number: int, seed: int) -> Vector:
    """Directions in which every entry counts, with either sign, and not all alike: else equal errors would cancel."""
    numbers = np.random.default_rng([seed, count]).uniform(-1.0, 1.0, size=(number, count))
    return numbers + np.copysign(0.5, numbers)


def _blocks(sizes: Sequence[int]) -> tuple[Vector, list[int]]:
    """Directions of each input by itself."""
    blocks = np.zeros((DIRECTIONS * len(sizes), sum(sizes)))
    start = 0
    for place, size in enumerate(sizes):
        rows = slice(DIRECTIONS * place, DIRECTIONS * (place + 1))
        blocks[rows, start : start + size] = _whole(size, DIRECTIONS, 5 + place)
        start += size
    return blocks, [place for place in range(len(sizes)) for _ in range(DIRECTIONS)]


def _for_reference(
    derivative: Derivative, lefts: Vector, rights: Vector | None, count: int, results: int
) -> tuple[Vector, Vector]:
    """What the reference needs for each number: see `Probes`."""
    facts, number = FACTS[derivative.name], len(lefts)
    if facts.form == "result":
        return np.broadcast_to(joined(derivative.tangents), (number, count)), lefts
    if rights is not None:
        return (rights, lefts) if facts.order == 1 else (lefts, rights)
    return lefts, _beside(derivative, number, count, results)


def _beside(derivative: Derivative, number: int, count: int, results: int) -> Vector:
    """The other vector of a gradient, vjp or hvp: the same for all numbers."""
    if derivative.name == USUAL_DERIVATIVE:
        return np.ones((number, results))
    if FACTS[derivative.name].order == 1:
        return np.broadcast_to(joined([derivative.cotangent]), (number, results))
    return np.broadcast_to(joined(derivative.tangents), (number, count))
