"""What problems are drawn from."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import broadcastable_shapes, mutually_broadcastable_shapes

from oracles.tensor import LAYOUTS, Array, Problem, Setting

LONGEST = 4  # of any axis: enough to tell axes apart and to repeat some


class Draw:
    """Choices of hypothesis, and random numbers from a seed that it chose."""

    def __init__(self, draw: Callable[[Any], Any]):
        self.draw = draw
        self.rng = np.random.default_rng(draw(st.integers(0, 999)))

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def choice(self, choices: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(choices))

    def flag(self) -> bool:
        return self.draw(st.booleans())

    def shape(self, low: int = 0, high: int = 3) -> tuple[int, ...]:
        return tuple(self.draw(st.lists(st.integers(1, LONGEST), min_size=low, max_size=high)))

    def broadcast(self, count: int) -> tuple[tuple[int, ...], ...]:
        """Shapes that go together."""
        return self.draw(mutually_broadcastable_shapes(num_shapes=count, max_dims=3, max_side=LONGEST)).input_shapes

    def broadcast_of(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that a shape can be repeated to."""
        other = self.draw(broadcastable_shapes(shape, min_dims=len(shape), max_dims=3, max_side=LONGEST))
        return np.broadcast_shapes(shape, other)

    def batches(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shapes of two stacks of matrices: equal ones, and such that are repeated on either side or on both."""
        return self.choice(
            [((), ()), ((2,), (2,)), ((2,), ()), ((), (3,)), ((1,), (3,)), ((2, 1), (3,)), ((2, 1), (1, 3)), ((0,), ())]
        )

    def axis(self, ndim: int) -> int:
        return self.integer(-ndim, ndim - 1)

    def axes(self, ndim: int) -> Any:
        """None, one axis or several."""
        if not ndim or self.integer(0, 3) == 0:
            return None
        if self.flag():
            return self.axis(ndim)
        chosen = self.draw(st.lists(st.integers(0, ndim - 1), min_size=1, unique=True))
        return tuple(axis - ndim * self.flag() for axis in chosen)

    def numbers(self, shape: tuple[int, ...]) -> Array:
        return self.rng.uniform(-2, 2, shape)

    def positive(self, shape: tuple[int, ...]) -> Array:
        return self.rng.uniform(0.3, 2.5, shape)

    def away(self, shape: tuple[int, ...]) -> Array:
        """No number near 0."""
        return self.rng.uniform(0.3, 2, shape) * self.rng.choice([-1, 1], shape)

    def apart(self, shape: tuple[int, ...], offset: float = 0.0) -> Array:
        """No two numbers near each other, nor near those with another offset from 0 to 1/4."""
        count = int(np.prod(shape))
        return (self.rng.permutation(count).reshape(shape) - count // 2) * 0.25 + offset

    def setting(self, problem: Problem) -> Setting:
        count = len(problem.operands)
        dtype = self.choice([np.float32, np.float64])
        mixed = self.integer(0, 5) == 0
        roles = [self.choice(["leaf", "leaf", "leaf", "constant", "array"]) for _ in range(count)]
        if "leaf" not in roles:
            roles[self.integer(0, count - 1)] = "leaf"
        return Setting(
            [self.choice([np.float32, np.float64]) if mixed else dtype for _ in range(count)],
            roles,
            [self.choice(LAYOUTS) for _ in range(count)],
            self.flag(),
        )
