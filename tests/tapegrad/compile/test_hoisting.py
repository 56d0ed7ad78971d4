"""Weight gradients of loops: one product of all steps after the loop, where that is less to read and write."""

from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad import tensor
from tapegrad.compile import hoisting

STEPS, SIZE = 6, 16


def drawn(*shapes: tuple[int, ...]) -> list[Any]:
    draw = np.random.default_rng(0)
    return [draw.normal(size=shape) / 3 for shape in shapes]


def loss(step: Any, reverse: bool = False, checkpoint: bool = False) -> Any:
    def f(w: Any, xs: Any, h: Any) -> Any:
        last, ys = tapegrad.scan(lambda h, x: step(w, h, x), h, xs, reverse=reverse, checkpoint=checkpoint)
        return (last * last).sum() + (ys * ys).sum()

    return f


def carried(compiled: Any, *args: Any) -> list[tuple[int, ...]]:
    """The shapes of what loops carry, those inside of loops too."""
    waiting, shapes = [compiled._executable(args)[0]], []
    while waiting:
        for repeating in waiting.pop().loops.values():
            loop = repeating.loop
            shapes += [node.shape for node in loop.body.results[: loop.carried]]
            waiting.append(repeating.inner)
    return shapes


def rnn(w: Any, h: Any, x: Any) -> Any:
    h = tensor.tanh(h @ w + x)
    return h, h * x


def check(f: Any, *args: Any) -> list[tuple[int, ...]]:
    """Values, gradients and Hessian products are the interpreted engine's; gives what loops of the gradient carry."""
    both = tapegrad.value_and_grad(f, (0, 1, 2))
    direction = np.ones_like(args[0])

    def product(*args: Any) -> Any:
        return tapegrad.hvp(lambda w: f(w, *args[1:]), (args[0],), (direction,))

    for g in (both, product):
        for got, expected in zip(
            tapegrad.tensor.trees.flat(tapegrad.jit(g)(*args)), tapegrad.tensor.trees.flat(g(*args)), strict=True
        ):
            np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-11)
    compiled = tapegrad.jit(both)
    compiled(*args)
    return carried(compiled, *args)


W, XS, H = drawn((SIZE, SIZE), (STEPS, SIZE), (SIZE,))
BATCH_XS, BATCH_H = drawn((STEPS, 2, SIZE), (2, SIZE))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("xs", "h"), [(XS, H), (BATCH_XS, BATCH_H)])
def test_a_recurrent_network_adds_up_nothing_in_its_steps(xs: Any, h: Any, reverse: bool) -> None:
    assert W.shape not in check(loss(rnn, reverse), W, xs, h)


STEPS_OF: dict[str, tuple[Any, Any, Any]] = {
    "a matrix times a vector": (lambda w, h, x: (tensor.sin(w @ h + x), h * x), XS, H),
    "a weight used twice": (lambda w, h, x: (tensor.tanh((h @ w + x) @ w), h * x), BATCH_XS, BATCH_H),
    "a stack": (
        lambda w, h, x: (tensor.tanh(h @ w + x), h * x),
        *drawn((STEPS, 2, 1, SIZE), (2, 1, SIZE)),
    ),
    "a product of rows": (lambda w, h, x: (h + (x @ w), h * x), BATCH_XS, BATCH_H),
}


@pytest.mark.parametrize("name", STEPS_OF)
def test_forms_of_products(name: str) -> None:
    step, xs, h = STEPS_OF[name]
    assert W.shape not in check(loss(step), W, xs, h)


@pytest.mark.parametrize(("size", "rows", "hoisted"), [(16, 2, True), (16, 3, False), (96, 48, True), (96, 49, False)])
def test_factors_of_many_rows_are_added_up_step_by_step(size: int, rows: int, hoisted: bool) -> None:
    """Keeping them would be more to write than their product; the more so while that stays in the first cache."""
    w, xs, h = drawn((size, size), (3, rows, size), (rows, size))
    both = tapegrad.jit(tapegrad.value_and_grad(loss(rnn)))
    both(w / size, xs, h)
    assert (w.shape not in carried(both, w, xs, h)) == hoisted


def test_a_weight_that_is_not_only_multiplied_is_added_up_step_by_step() -> None:
    def step(w: Any, h: Any, x: Any) -> Any:
        return tensor.tanh(h @ w + x) + (h[:, :, None] * w).sum(1), h * x

    assert W.shape in check(loss(step), W, BATCH_XS, BATCH_H)


def test_checkpoints_keep_no_factors_of_all_steps() -> None:
    """The loop over segments adds up what the products after each segment give."""
    assert check(loss(rnn, checkpoint=True), W, BATCH_XS, BATCH_H).count(W.shape) == 1


@pytest.mark.parametrize(("length", "added_up"), [(2, 0), (3, 1)])
def test_a_loop_in_a_loop(length: int, added_up: int) -> None:
    """The factors of all inner steps are those of an outer step: two are few enough for their sum, three are not."""

    def f(w: Any, xs: Any, h: Any) -> Any:
        def outer(h: Any, x: Any) -> Any:
            h, _ = tapegrad.scan(lambda h, _: (tensor.tanh(h @ w + x), None), h, length=length)
            return h, h * x

        last, ys = tapegrad.scan(outer, h, xs)
        return (last * last).sum() + (ys * ys).sum()

    assert check(f, W, XS, H).count(W.shape) == added_up


def test_no_steps_and_one() -> None:
    for count in (0, 1):
        check(loss(rnn), W, XS[:count], H)


def test_a_wrong_factor_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this file compares does depend on what is hoisted."""
    right = hoisting.summed

    def wrong(terms: Any) -> Any:
        return right([(product, left, left) for product, left, _ in terms])

    monkeypatch.setattr("tapegrad.compile.loops.summed", wrong)
    with pytest.raises(AssertionError):
        check(loss(rnn), W, XS, H)
