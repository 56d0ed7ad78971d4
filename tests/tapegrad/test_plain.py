"""The tape to read equals the compiled one, bit for bit."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from oracles import scalar as oracle
from oracles.graphs import graphs, run

import tapegrad
from tapegrad import plain
from tapegrad.rules.special import SPECIAL


def compiled(f, inputs):
    tape = tapegrad.Tape()
    xs = [tape.var(x) for x in inputs]
    y = f(tapegrad, *xs)
    tape.backward(y)
    return [repr(y.value), *(repr(x.grad) for x in xs)]


def read(f, inputs):
    tape = plain.Tape()
    xs = [tape.var(x) for x in inputs]
    y = f(plain, *xs)
    tape.backward(y)
    return [repr(y.value), *(repr(x.grad) for x in xs)]


@pytest.mark.parametrize("name", oracle.OPERATIONS)
def test_every_operation(name):
    def f(engine, *xs):
        return getattr(engine, name)(*xs)

    for point in oracle.points(name, 100):
        assert read(f, point) == compiled(f, point), point


@pytest.mark.parametrize("name", SPECIAL)
def test_special_points(name):
    for row in SPECIAL[name].strip().splitlines():
        arguments, _, expected = row.strip().partition(": ")
        point = [float(x) for x in arguments.split(",")]
        assert read(lambda engine, *xs: getattr(engine, name)(*xs), point) == expected.split(", ")


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_random_graphs(graph):
    """Shared subexpressions, constants on either side, choices: adjoints add up in the same order."""
    inputs, steps = graph

    def f(engine, *xs):
        def named(name):
            if name == "choose":
                return lambda a, b: engine.where(number(a) > number(b), a, 2.0 * b)
            return getattr(engine, name)

        return run(steps, xs, named)[-1]

    try:
        expected = compiled(f, inputs)
    except tapegrad.ConstantError:  # the last step used constants only
        return
    assert read(f, inputs) == expected


def number(x):
    return x if isinstance(x, float) else x.value


def test_operators_and_functions_are_the_same():
    tape = plain.Tape()
    x = tape.var(3.0)
    y = (2.0 - x) / (1.0 + x * 2.0) ** 2 + abs(-x) ** 0.5
    assert y.value == (2.0 - 3.0) / (7.0 * 7.0) + 3.0**0.5
    assert (x > 2.0, x <= 2.0, x == 3.0, bool(x)) == (True, False, True, True)
    with pytest.raises(AttributeError, match="has no gamma"):
        plain.gamma  # noqa: B018


def test_the_whole_is_short_enough_to_read():
    lines = Path(plain.__file__).read_text().splitlines()
    assert sum(bool(line.strip()) for line in lines) <= 180
