"""Faults planted in the engine: the oracle that the rules are tested with finds each of them."""

import numpy as np
import pytest
from oracles import agreement
from oracles import tensor as oracle
from oracles.problems import PROBLEMS

from tapegrad.tensor import backward
from tapegrad.tensor.instruction import PRIMITIVES, Piece


def found(name):
    """Whether the differences contradict the engine, not merely fail to converge."""
    with pytest.raises(AssertionError) as caught:
        agreement.with_differences(name, shrink=False)
    return "too uncertain" not in str(caught.value)


def faulty(monkeypatch, name, change):
    """Replaces the cotangents that a rule gives by others."""
    rule = PRIMITIVES[name].vjp
    monkeypatch.setattr(PRIMITIVES[name], "vjp", lambda i, g: change(rule(i, g)))


def scaled(cotangent):
    if isinstance(cotangent, Piece):
        return Piece(cotangent.index, cotangent.values * cotangent.values.dtype.type(1.001), once=cotangent.once)
    return None if cotangent is None else cotangent * cotangent.dtype.type(1.001)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_slope_that_is_a_thousandth_off(monkeypatch, name):
    faulty(monkeypatch, name, lambda cotangents: tuple(map(scaled, cotangents)))
    assert found(name)


@pytest.mark.parametrize("name", ["sub", "mul", "div", "pow", "maximum", "matmul"])
def test_operands_exchanged(monkeypatch, name):
    def exchanged(cotangents):
        left, right = cotangents
        return (right, left) if left is not None and right is not None and left.shape == right.shape else cotangents

    faulty(monkeypatch, name, exchanged)
    assert found(name)


@pytest.mark.parametrize("name", ["add", "mul", "maximum", "where", "broadcast_to", "matmul"])
def test_broadcasting_not_summed(monkeypatch, name):
    def first_of_each(cotangent, shape):
        added = cotangent.ndim - len(shape)
        cotangent = cotangent[(0,) * added]
        return cotangent[tuple(slice(length) for length in shape)]

    monkeypatch.setattr(backward, "unbroadcast", first_of_each)
    assert found(name)


def test_an_index_that_is_read_twice_counted_once(monkeypatch):
    faulty(monkeypatch, "getitem", lambda pieces: (Piece(pieces[0].index, pieces[0].values, once=True),))
    assert found("getitem")


def test_one_number_of_a_gradient_wrong(monkeypatch):
    def wrong(cotangents):
        (cotangent,) = cotangents
        made = np.array(cotangent)
        made[(0,) * made.ndim] += 1e-3
        return (made,)

    faulty(monkeypatch, "exp", wrong)
    assert found("exp")


def test_differences_know_how_uncertain_they_are():
    exact = oracle.differences(np.exp)
    assert abs(exact.value - 1) <= 4 * exact.error + 1e-12
    assert exact.error < 1e-10
    assert oracle.differences(lambda step: abs(step - 0.001)).error > 1e-3  # a kink inside the sweep
