"""What derivatives of tensors in every mode should be: jvps and second derivatives, from values and from other engines.

In: a problem, which is one primitive applied to drawn operands. Out: an AssertionError where the engine disagrees. The
function is L = Σ seed·y², y the primitive's result: also what is linear has second derivatives then.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import tapegrad
from oracles.problems import PROBLEMS
from oracles.problems.drawing import Draw
from oracles.tensor import CERTAINTY, TOLERANCE, Array, Difference, Problem, differences
from tapegrad import Tensor, tensor
from tapegrad.tensor.differentiate import hvp_of, jacobian_of, jvp_of, vjp_of

# Second differences are divided by the step's square: larger ones, within the distance that problems keep from kinks.
LARGEST_STEP = 0.08
SHRINKING = 1.3
STEPS = 8


def agree(
    name: str, check: Callable[["Case"], None], examples: int, wrap: Callable[[Array], Array] = np.asarray
) -> None:
    """Draws cases with a primitive and checks each; an AssertionError comes out as it is. wrap: what is done to each
    array before."""

    @settings(
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=examples,
        phases=[Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def checked(data: st.DataObject) -> None:
        draw = Draw(data.draw)
        problem = PROBLEMS[name](draw)
        setting = draw.setting(problem)
        check(case(problem, setting.dtypes, setting.roles, draw.rng, wrap))

    checked()


class Case(NamedTuple):
    """A problem with what is differentiated by, in which direction."""

    problem: Problem
    operands: list[Array]
    roles: Sequence[str]
    leaves: list[int]  # which operands are differentiated by
    directions: list[Array]  # for each of these
    seed: Array  # of the result's shape
    wrap: Callable[[Array], Array]  # what is done to each array before the engine gets it

    @property
    def dtype(self) -> Any:
        return min((x.dtype for x in self.operands), key=lambda dtype: dtype.itemsize)

    def exact(self) -> list[Array]:
        return [x.astype(np.float64) for x in self.operands]

    def result(self, *leaves: Tensor) -> Tensor:
        """The primitive, in this engine."""
        given: list[Any] = [
            self.wrap(x) if role == "array" else Tensor(self.wrap(x))
            for x, role in zip(self.operands, self.roles, strict=True)
        ]
        for k, leaf in zip(self.leaves, leaves, strict=True):
            given[k] = leaf
        return self.problem.ours(*given)

    def loss(self, *leaves: Tensor) -> Tensor:
        """L, in this engine."""
        return (tensor.square(self.result(*leaves)) * self.wrap(self.seed)).sum()

    def points(self) -> list[Array]:
        return [self.wrap(self.operands[k]) for k in self.leaves]

    def tangents(self) -> list[Array]:
        return [self.wrap(direction) for direction in self.directions]

    def argnums(self) -> tuple[int, ...]:
        return tuple(range(len(self.leaves)))

    def along(self, f: Callable[..., Array]) -> Callable[[float], Array]:
        """A function of operands along the direction, from values in float64."""
        exact = self.exact()

        def moved(step: float) -> Array:
            operands = list(exact)
            for k, direction in zip(self.leaves, self.directions, strict=True):
                operands[k] = exact[k] + step * direction
            return f(*operands)

        return moved


def case(
    problem: Problem,
    dtypes: Sequence[Any],
    roles: Sequence[str],
    rng: np.random.Generator,
    wrap: Callable[[Array], Array],
) -> Case:
    """A problem in the dtypes and roles that were drawn."""
    operands = [np.asarray(x).astype(dtype) for x, dtype in zip(problem.operands, dtypes, strict=True)]
    leaves = [k for k, role in enumerate(roles) if role == "leaf"]
    directions = [rng.uniform(-1, 1, operands[k].shape).astype(operands[k].dtype) for k in leaves]
    value = np.asarray(problem.numpy(*[x.astype(np.float64) for x in operands]))
    seed = rng.uniform(-1, 1, value.shape).astype(np.result_type(*operands))
    return Case(problem, operands, roles, leaves, directions, seed, wrap)


def close(got: Any, expected: Any, dtype: Any, error: float = 0.0) -> None:
    got, expected = np.asarray(got, np.float64), np.asarray(expected, np.float64)
    assert got.shape == expected.shape
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    apart = float(np.max(np.abs(got - expected), initial=0.0))
    assert apart <= TOLERANCE[dtype] * scale + error, (got, expected)


def check_first(c: Case) -> None:
    """The jvp is what differences of values say, and the vjp its adjoint."""
    value, tangent = jvp_of(c.result, c.points(), c.argnums(), c.tangents())
    tangent = np.asarray(tangent, np.float64)
    close(value, c.problem.numpy(*c.exact()), c.dtype)
    along = c.along(c.problem.numpy)
    for _ in range(2):
        weights = np.random.default_rng(0).uniform(-1, 1, tangent.shape)
        expected = differences(lambda step, weights=weights: float(np.sum(weights * along(step))))
        scale = 1 + float(np.sum(np.abs(weights * tangent)))
        assert expected.error <= CERTAINTY * scale, "the differences are too uncertain to show anything"
        got = float(np.sum(weights * tangent))
        assert abs(got - expected.value) <= TOLERANCE[c.dtype] * scale + 4 * expected.error, (got, expected)
    gradients = vjp_of(c.result, c.points(), c.argnums())[1](c.wrap(c.seed))
    forward = np.sum(c.seed * np.asarray(tangent, np.float64))
    terms = [np.asarray(g, np.float64) * d for g, d in zip(gradients, c.directions, strict=True)]
    scale = 1 + sum(np.sum(np.abs(term)) for term in terms)
    assert abs(forward - sum(np.sum(term) for term in terms)) <= 4 * TOLERANCE[c.dtype] * scale


def second_difference(f: Callable[[float], float]) -> Difference:
    """f''(0) from second differences, step by step smaller, extrapolated to step 0."""
    best, step, last = Difference(np.nan, np.inf), LARGEST_STEP, []
    for _ in range(STEPS):
        row = [(f(step) - 2 * f(0.0) + f(-step)) / step**2]
        factor = SHRINKING**2
        for left in last:
            row.append((row[-1] * factor - left) / (factor - 1))
            factor *= SHRINKING**2
            error = max(abs(row[-1] - row[-2]), abs(row[-1] - left))
            if error <= best.error:
                best = Difference(row[-1], error)
        last = row
        step /= SHRINKING
    return best


def products(c: Case) -> dict[str, list[Array]]:
    """The Hessian of L times the direction, in every combination of modes."""
    points, argnums = c.points(), c.argnums()

    def gradient_along(*leaves: Tensor) -> Any:
        gradients = tapegrad.grad(c.loss, argnums)(*leaves)
        return sum((g * d).sum() for g, d in zip(gradients, c.tangents(), strict=True))

    def slope(*leaves: Tensor) -> Any:
        return jvp_of(c.loss, leaves, argnums, c.tangents())[1]

    return {
        "forward over reverse": list(hvp_of(c.loss, points, argnums, c.tangents())[1]),
        "reverse over reverse": list(tapegrad.grad(gradient_along, argnums)(*points)),
        "reverse over forward": list(tapegrad.grad(slope, argnums)(*points)),
    }


def check_second(c: Case) -> None:
    """All combinations of modes agree, and say what second differences of values say."""
    found = products(c)
    expected = found["forward over reverse"]
    for product in found.values():
        for got, wanted in zip(product, expected, strict=True):
            assert np.asarray(got).dtype == np.asarray(wanted).dtype
            close(got, wanted, c.dtype)
    along = c.along(c.problem.numpy)
    seed = c.seed.astype(np.float64)
    curvature = second_difference(lambda step: float(np.sum(seed * np.square(along(step)))))
    terms = [np.asarray(p, np.float64) * d for p, d in zip(expected, c.directions, strict=True)]
    scale = 1 + float(sum(np.sum(np.abs(term)) for term in terms))
    assert curvature.error <= 100 * CERTAINTY * scale, "the differences are too uncertain to show anything"
    got = float(sum(np.sum(term) for term in terms))
    assert abs(got - curvature.value) <= 4 * TOLERANCE[c.dtype] * scale + 4 * curvature.error, (got, curvature)

    def slope(*leaves: Tensor) -> Any:
        return jvp_of(c.loss, leaves, c.argnums(), c.tangents())[1]

    twice = jvp_of(slope, c.points(), c.argnums(), c.tangents())[1]
    assert abs(twice - got) <= 4 * TOLERANCE[c.dtype] * scale


def check_seeds(c: Case) -> None:
    """Jacobians with several seeds at once are those of one seed after the other, in both modes."""
    k = len(c.leaves) - 1
    forward = jacobian_of(c.result, c.points(), k, "forward")
    reverse = jacobian_of(c.result, c.points(), k, "reverse")
    close(forward, reverse, c.dtype)
    points, point = c.points(), c.points()[k]
    units = [unit.reshape(point.shape).astype(point.dtype) for unit in np.eye(point.size)]
    columns = [np.asarray(jvp_of(c.result, points, (k,), (c.wrap(unit),))[1], np.float64) for unit in units]
    expected = (
        np.moveaxis(np.asarray(columns), 0, -1).reshape((*columns[0].shape, *point.shape)) if columns else forward
    )
    close(forward, expected, c.dtype)


def torch_products(c: Case, torch: Any) -> list[Array]:
    """The Hessian of L times the direction, as PyTorch has it in float64."""
    operands = [torch.tensor(x, requires_grad=k in c.leaves) for k, x in enumerate(c.exact())]
    leaves = [operands[k] for k in c.leaves]
    value = (torch.square(c.problem.torch(torch, *operands)) * torch.tensor(c.seed.astype(np.float64))).sum()
    gradients = torch.autograd.grad(value, leaves, create_graph=True)
    slope = sum((g * torch.tensor(d.astype(np.float64))).sum() for g, d in zip(gradients, c.directions, strict=True))
    products = torch.autograd.grad(slope, leaves, allow_unused=True)
    return [np.zeros(x.shape) if p is None else p.numpy() for p, x in zip(products, leaves, strict=True)]


def jax_products(c: Case, jax: Any) -> list[Array]:
    """The Hessian of L times the direction, as JAX has it in float64."""
    seed = c.seed.astype(np.float64)

    def loss(leaves: list[Any]) -> Any:
        operands: list[Any] = list(c.exact())
        for k, leaf in zip(c.leaves, leaves, strict=True):
            operands[k] = leaf
        return (jax.numpy.square(c.problem.jax(jax, *map(jax.numpy.asarray, operands))) * seed).sum()

    def product(leaves: list[Any], directions: list[Any]) -> Any:
        return jax.jvp(jax.grad(loss), (leaves,), (directions,))[1]

    exact = [c.exact()[k] for k in c.leaves]
    return [np.asarray(p) for p in jax.jit(product)(exact, [d.astype(np.float64) for d in c.directions])]
