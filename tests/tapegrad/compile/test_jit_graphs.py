"""Random functions under jit to second order: with the interpreted engine, at ordinary and extreme numbers; and the
interpreted engine with differences."""

import os

import numpy as np
import pytest
from oracles.array_graphs import drawn, function_of

import tapegrad
from tapegrad.tensor.trees import flat

# How many: 20,000 with GRADMARK_GRAPHS=20000. Processes that share the work take a seed each, so that each draws other
# graphs: GRADMARK_GRAPHS=5000 GRADMARK_GRAPHS_SEED=0, 1, …
COUNT = int(os.environ.get("GRADMARK_GRAPHS", "40"))
SEEDS = range(
    COUNT * int(os.environ.get("GRADMARK_GRAPHS_SEED", "0")),
    COUNT * (1 + int(os.environ.get("GRADMARK_GRAPHS_SEED", "0"))),
)
TOGETHER = 10  # in one test

BOUND = {np.dtype(np.float32): 2e-4, np.dtype(np.float64): 1e-11}
# Where numbers cancel, a result may differ by so many times what it moves by when numbers move by their last bits, or
# is computed with more of them; by anything where that is more than this part of itself: of tanh(1e30 - 1e30), say.
MOVED, LOST = 50, 0.01


def everything_of(f):
    """Value, gradient and Hessian product."""

    def everything(x, y, v, w):
        return tapegrad.value_and_grad(f, (0, 1))(x, y), tapegrad.hvp(f, (x, y), (v, w))

    return everything


def numbers(results):
    return [np.asarray(x) for x in flat(results)]


def interpreted(everything, args):
    with np.errstate(all="ignore"):
        return numbers(everything(*args))


def nearby(args):
    """The same numbers but for their last bits, and the same with more bits."""
    draw = np.random.default_rng(0)
    bits = 4 * np.finfo(args[0].dtype).eps
    with np.errstate(all="ignore"):
        for _ in range(4):
            yield [(x * (1 + bits * draw.uniform(-1, 1, x.shape))).astype(x.dtype) for x in args]
    yield [x.astype(float if x.dtype == np.float32 else np.longdouble) for x in args]


def unlike(got, expected, dtype):
    """Where two results differ by more than rounding: nan, infinities, or numbers beyond the bound."""
    finite = np.isfinite(expected) & np.isfinite(got)
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0, where=finite)))
    with np.errstate(all="ignore"):
        near = np.abs(got - expected) <= BOUND[dtype] * scale
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    return ~(same | (finite & near))


def check(everything, compiled, args):
    """Machine code's results are the interpreted ones, or as near as these are to those of the neighbouring numbers."""
    dtype = args[0].dtype
    got, expected = numbers(compiled(*args)), interpreted(everything, args)
    neighbours = None
    for k, (mine, theirs) in enumerate(zip(got, expected, strict=True)):
        assert mine.shape == theirs.shape
        if mine.shape:
            assert mine.dtype == theirs.dtype
        odd = unlike(mine.astype(float), theirs.astype(float), dtype)
        if not odd.any():
            continue
        neighbours = neighbours or [interpreted(everything, near) for near in nearby(args)]
        others = np.array([results[k].astype(float) for results in neighbours])
        with np.errstate(all="ignore"):
            reach = MOVED * np.max(np.abs(others - theirs.astype(float)), axis=0, initial=0.0)
            lost = np.abs(others - theirs) > LOST * np.abs(theirs)
            jumps = ((np.isfinite(others) != np.isfinite(theirs)) | lost).any(0)
            excused = jumps | (np.abs(mine.astype(float) - theirs) <= reach)
        assert not (odd & ~excused).any(), f"result {k}: {mine[odd]} for {theirs[odd]}"


def checked(seed):
    f = function_of(seed)
    everything = everything_of(f)
    compiled = tapegrad.jit(everything)
    for awkward in (False, True):
        point = drawn(seed, awkward)
        along = [np.ones_like(x) * 0.5 for x in point]
        check(everything, compiled, [*point, *along])


@pytest.mark.slow
@pytest.mark.parametrize("first", SEEDS[::TOGETHER])
def test_random_functions_and_their_derivatives(first):
    for seed in range(first, min(first + TOGETHER, SEEDS.stop)):
        try:
            checked(seed)
        except Exception as error:
            error.add_note(f"of the function with seed {seed}")
            raise


# ---- the interpreted engine itself -------------------------------------------------------------------------------


def slopes(f, point, along, step):
    """The derivatives of the value and of the gradient in a direction, by central differences."""
    both = tapegrad.value_and_grad(f, (0, 1))
    ahead, behind = (
        numbers(both(*[x + sign * step * v for x, v in zip(point, along, strict=True)])) for sign in (1, -1)
    )
    return [(a - b) / (2 * step) for a, b in zip(ahead, behind, strict=True)]


def compared(seed):
    """Whether differences tell anything, at such a point; then the derivatives must be theirs."""
    f = function_of(seed)
    draw = np.random.default_rng(seed)
    point = [x.astype(float) for x in drawn(seed, awkward=False)]
    along = [draw.normal(size=x.shape) for x in point]
    with np.errstate(all="ignore"):
        wide, narrow = (slopes(f, point, along, step) for step in (2e-5, 1e-5))
        _, *gradient = numbers(tapegrad.value_and_grad(f, (0, 1))(*point))
        product = numbers(tapegrad.hvp(f, tuple(point), tuple(along)))
    found = [sum((g * v).sum() for g, v in zip(gradient, along, strict=True)), *product]
    for mine, one, other in zip(found, wide, narrow, strict=True):
        scale = 1e-5 * max(1.0, float(np.max(np.abs(one), initial=0.0)))
        if not np.all(np.abs(one - other) <= scale):  # a kink, or something steep
            return False
        np.testing.assert_allclose(mine, other, rtol=0, atol=3 * scale, err_msg=f"seed {seed}")
    return True


@pytest.mark.slow
def test_differences_agree_with_the_derivatives_of_random_functions():
    told = [compared(seed) for seed in SEEDS]
    assert sum(told) > 0.6 * len(told)


# ---- the comparison ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "seed"),
    [
        (lambda x: x * (1 + 1e-3), 0),
        (lambda x: np.where(np.arange(x.size).reshape(x.shape) == 0, np.nan, x), 0),
        (lambda x: x.astype(np.float16), 1),
    ],
)
def test_a_fault_in_machine_code_is_found(wrong, seed):
    everything = everything_of(lambda x, y: (tapegrad.tensor.sin(x) * y * y).sum())
    args = [np.full(3, 0.5, (np.float32, np.float64)[seed])] * 4

    def faulty(*args):
        value, gradient, product = interpreted(everything, args)[0], *interpreted(everything, args)[1:3]
        return [value, wrong(gradient), product, *interpreted(everything, args)[3:]]

    check(everything, tapegrad.jit(everything), args)
    with pytest.raises(AssertionError):
        check(everything, faulty, args)
