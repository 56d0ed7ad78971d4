"""Whether the engine agrees with an oracle on problems with a primitive, drawn by hypothesis, always the same ones."""

import warnings
from collections.abc import Callable

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from oracles import tensor as oracle
from oracles.problems import PROBLEMS
from oracles.problems.drawing import Draw

# Shapes, axes, roles and layouts of each primitive are few; more examples found nothing more.
EXAMPLES = 25
# JAX compiles every problem anew, which takes most of the time of all these tests.
JAX_EXAMPLES = 5


def agree(
    name: str,
    check: Callable[[oracle.Outcome, np.random.Generator], None],
    examples: int = EXAMPLES,
    wrap: Callable[[oracle.Array], oracle.Array] = np.asarray,
    shrink: bool = True,
) -> None:
    """Solves problems with a primitive and checks each outcome; an AssertionError comes out as it is."""

    @settings(
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=examples,
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def solved(data: st.DataObject) -> None:
        draw = Draw(data.draw)
        problem = PROBLEMS[name](draw)
        check(oracle.solve(problem, draw.setting(problem), draw.rng, wrap), draw.rng)

    solved()


def with_differences(name: str, examples: int = EXAMPLES, shrink: bool = True) -> None:
    """Values are NumPy's, gradients those of differences."""

    def check(outcome: oracle.Outcome, rng: np.random.Generator) -> None:
        oracle.check_value(outcome)
        oracle.check_differences(outcome, rng)

    agree(name, check, examples, shrink=shrink)


def with_torch(name: str) -> int:
    """Gradients are PyTorch's. Gives the number of problems that it could solve."""
    torch = oracle.import_torch()
    solved = 0

    def check(outcome: oracle.Outcome, rng: np.random.Generator) -> None:
        nonlocal solved
        if outcome.problem.torch is not None:
            oracle.check_gradients(outcome, oracle.torch_gradients(outcome, torch))
            solved += 1

    agree(name, check)
    return solved


def with_jax(name: str) -> int:
    """Gradients are JAX's. Gives the number of problems that it could solve."""
    jax = oracle.import_jax()
    solved = 0

    def check(outcome: oracle.Outcome, rng: np.random.Generator) -> None:
        nonlocal solved
        if outcome.problem.jax is not None:
            oracle.check_gradients(outcome, oracle.jax_gradients(outcome, jax))
            solved += 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agree(name, check, JAX_EXAMPLES)
    return solved
