"""What gradients of tensors should be, from values alone: differences of NumPy's functions, and other engines.

In: a problem, which is one primitive applied to drawn operands. Out: an AssertionError where the engine disagrees. No
derivative rule is written down here, so a wrong rule in the engine cannot be wrong here in the same way.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from tapegrad.tensor import Tensor

Array = Any

# Steps of the sweep: the largest stays below half the distance that problems keep from kinks; each next one is smaller
# by a factor that is no power of 2, so that rounding differs from step to step.
LARGEST_STEP = 0.04
SHRINKING = 1.4
STEPS = 10
DIRECTIONS = 2

# How far a gradient may be off, against the sum of the magnitudes that were added up to compare it.
TOLERANCE = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 2e-5}
# Differences that are less certain than this show nothing.
CERTAINTY = 1e-7


class Problem(NamedTuple):
    """A primitive applied to operands: in this engine, in NumPy (values), in PyTorch and in JAX (None: not there)."""

    operands: Sequence[Array]
    ours: Callable[..., Tensor]
    numpy: Callable[..., Array]
    torch: Callable[..., Any] | None
    jax: Callable[..., Any] | None


class Setting(NamedTuple):
    """How a problem is put to the engine."""

    dtypes: Sequence[Any]  # one for each operand
    roles: Sequence[str]  # leaf, constant (a tensor) or array
    layouts: Sequence[str]  # how the leaf lies in memory
    seeded: bool  # a seed for backward; otherwise the product with it, summed


class Difference(NamedTuple):
    """A derivative, and how uncertain it is."""

    value: float
    error: float


def differences(f: Callable[[float], float]) -> Difference:
    """f'(0) from central differences, step by step smaller, extrapolated to step 0 (Ridders 1982).

    The entry of the table that changed least from its two neighbours is the result, and that change its uncertainty.
    """
    best = Difference(np.nan, np.inf)
    step = LARGEST_STEP
    last: list[float] = []
    for _ in range(STEPS):
        row = [(f(step) - f(-step)) / (2 * step)]
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


def lay(array: Array, layout: str) -> tuple[Array, Callable[[Any], Any]]:
    """An array to make a leaf of, and how to read from it what the problem wants: a view with other strides."""
    if layout == "plain" or not array.ndim:
        return array, lambda x: x
    if layout == "transposed":
        return np.ascontiguousarray(array.T), lambda x: x.T
    if layout == "reversed":
        return np.ascontiguousarray(array[..., ::-1]), lambda x: x[..., ::-1]
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::2] = array
    return wide, lambda x: x[..., ::2]


LAYOUTS = ["plain", "transposed", "reversed", "strided"]


class Outcome(NamedTuple):
    """What the engine gave, with what it was asked."""

    problem: Problem
    exact: list[Array]  # the operands, rounded to their dtype, in float64
    leaves: list[int]  # which operands were leaves
    seed: Array
    value: Array
    gradients: list[Array]  # of the leaves
    dtype: Any  # of the least exact operand


def solve(problem: Problem, setting: Setting, rng: np.random.Generator, wrap: Callable[[Array], Array]) -> Outcome:
    """Runs a problem through the engine; wrap: what is done to each array before."""
    rounded = [np.asarray(x).astype(dtype) for x, dtype in zip(problem.operands, setting.dtypes, strict=True)]
    given: list[Any] = []
    leaves: dict[int, tuple[Tensor, Callable[[Any], Any]]] = {}
    for k, (array, role, layout) in enumerate(zip(rounded, setting.roles, setting.layouts, strict=True)):
        if role == "array":
            given.append(wrap(array))
        elif role == "constant":
            given.append(Tensor(wrap(array)))
        else:
            stored, read = lay(array, layout)
            leaf = Tensor(wrap(stored), requires_grad=True)
            leaves[k] = leaf, read
            given.append(read(leaf))
    result = problem.ours(*given)
    seed = rng.uniform(-1, 1, result.shape).astype(result.dtype)
    if setting.seeded:
        result.backward(wrap(lay(seed, "transposed")[0].T))
    else:
        (result * wrap(seed)).sum().backward()
    assert result.dtype == np.result_type(*rounded)
    for leaf, _ in leaves.values():
        assert type(leaf.grad) is type(leaf.data)
        assert leaf.grad.dtype == leaf.dtype
        assert leaf.grad.shape == leaf.shape
    return Outcome(
        problem,
        [array.astype(np.float64) for array in rounded],
        list(leaves),
        seed.astype(np.float64),
        np.asarray(result.data, dtype=np.float64),
        [np.asarray(read(leaf.grad), dtype=np.float64) for leaf, read in leaves.values()],
        min((array.dtype for array in rounded), key=lambda dtype: dtype.itemsize),
    )


def check_value(outcome: Outcome) -> None:
    """The value is NumPy's."""
    expected = np.asarray(outcome.problem.numpy(*outcome.exact))
    assert outcome.value.shape == expected.shape
    scale = np.max(np.abs(expected), initial=1.0)
    assert np.max(np.abs(outcome.value - expected), initial=0.0) <= TOLERANCE[outcome.dtype] * scale


def check_differences(outcome: Outcome, rng: np.random.Generator) -> None:
    """The gradient along random directions, of all leaves at once, is what differences of values say."""
    for _ in range(DIRECTIONS):
        directions = {k: rng.uniform(-1, 1, outcome.exact[k].shape) for k in outcome.leaves}

        def along(step: float, directions: dict[int, Array] = directions) -> float:
            moved = [x + step * directions[k] if k in directions else x for k, x in enumerate(outcome.exact)]
            return float(np.sum(outcome.problem.numpy(*moved) * outcome.seed))

        terms = [g * directions[k] for k, g in zip(outcome.leaves, outcome.gradients, strict=True)]
        got = float(sum(np.sum(term) for term in terms))
        scale = 1 + float(sum(np.sum(np.abs(term)) for term in terms))
        expected = differences(along)
        assert expected.error <= CERTAINTY * scale, "the differences are too uncertain to show anything"
        allowed = TOLERANCE[outcome.dtype] * scale + 4 * expected.error
        assert abs(got - expected.value) <= allowed, (got, expected)


def check_gradients(outcome: Outcome, expected: list[Array]) -> None:
    """The gradients are these, number by number."""
    for got, wanted in zip(outcome.gradients, expected, strict=True):
        assert got.shape == wanted.shape
        scale = np.max(np.abs(wanted), initial=1.0)
        # differences are no limit here: what is compared was computed in float64
        tolerance = TOLERANCE[outcome.dtype] * scale
        assert np.max(np.abs(got - wanted), initial=0.0) <= tolerance, (got, wanted)


def torch_gradients(outcome: Outcome, torch: Any) -> list[Array]:
    """What PyTorch gives in float64."""
    operands = [torch.tensor(x, requires_grad=k in outcome.leaves) for k, x in enumerate(outcome.exact)]
    result = outcome.problem.torch(torch, *operands)  # type: ignore[misc]
    assert tuple(result.shape) == outcome.seed.shape
    result.backward(torch.tensor(outcome.seed))
    return [operands[k].grad.numpy() for k in outcome.leaves]


def jax_gradients(outcome: Outcome, jax: Any) -> list[Array]:
    """What JAX gives in float64."""

    def f(*leaves: Any) -> Any:
        operands: list[Any] = list(outcome.exact)
        for k, leaf in zip(outcome.leaves, leaves, strict=True):
            operands[k] = leaf
        return outcome.problem.jax(jax, *map(jax.numpy.asarray, operands))  # type: ignore[misc]

    def gradients(leaves: list[Array], seed: Array) -> Any:
        return jax.vjp(f, *leaves)[1](seed)

    # compiled as a whole: one by one, each operation would be compiled for itself
    return [np.asarray(g) for g in jax.jit(gradients)([outcome.exact[k] for k in outcome.leaves], outcome.seed)]


@contextmanager
def environment(**values: str) -> Iterator[None]:
    """Environment variables that a library reads once, at its start; not for the processes that other tests start."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def import_torch() -> Any:
    """PyTorch with one thread."""
    import torch

    torch.set_num_threads(1)
    return torch


def import_jax() -> Any:
    """JAX with float64, one thread, and a compiler that does not optimise: each shape is run once."""
    with environment(
        JAX_PLATFORMS="cpu",
        XLA_FLAGS="--xla_cpu_multi_thread_eigen=false --xla_backend_optimization_level=0 "
        "--xla_llvm_disable_expensive_passes=true",
    ):
        import jax

        jax.config.update("jax_enable_x64", True)
        jax.numpy.zeros(1).block_until_ready()
    return jax
