"""What an adapter gets wrong is said with what was expected and how to mend it; an assertion of ours is never seen."""

import dataclasses
import functools

import numpy as np
import pytest

from gradmark import Capabilities, Session
from gradmark.errors import EngineError
from gradmark.measure.worker.session import capabilities_of, checked, gradients_of, number, value_of
from gradmark.records import Cell
from gradmark.workloads.selection import select
from gradmark.workloads.workload import workload

CELL = Cell(engine="mine:Engine", workload="poly", suite="scalar", params={"n": 10})


def nothing():
    """Does nothing."""


class Thing:
    def method(self):
        """Needs nothing more."""


WHOLE = Session(forward=nothing, backward=nothing, gradients=nothing)


@pytest.mark.parametrize(
    "session",
    [
        WHOLE,
        Session(total=nothing, gradients=nothing),
        dataclasses.replace(WHOLE, phases={"update": nothing}),
        dataclasses.replace(WHOLE, value=nothing, move=lambda new: None),
        dataclasses.replace(WHOLE, forward=lambda x=1, *more, **named: x),
        dataclasses.replace(WHOLE, forward=[].copy, backward=functools.partial(max, 1, 2)),
        dataclasses.replace(WHOLE, forward=Thing().method),
    ],
)
def test_what_is_right(session):
    assert checked(session, Capabilities(), CELL) is session


@pytest.mark.parametrize(
    ("session", "message"),
    [
        (None, "prepare returned nothing; expected a gradmark.Session"),
        ({}, "prepare returned dict; expected a gradmark.Session"),
        (Session(forward=nothing, backward=nothing), "its session has no gradients; give a function that returns them"),
        (Session(forward=nothing, gradients=nothing), "neither backward nor total, so nothing computes its gradients"),
        (Session(backward=nothing, gradients=nothing), "backward without forward; give both, or total alone"),
        (Session(total=3.0, gradients=nothing), "has float as total; expected a function without arguments"),
        (dataclasses.replace(WHOLE, gradients=[1.0]), "has list as gradients; expected a function"),
        (dataclasses.replace(WHOLE, synchronize=None), "has nothing as synchronize; expected a function"),
        (dataclasses.replace(WHOLE, value=1.0), "has float as value; expected a function without arguments"),
        (dataclasses.replace(WHOLE, move=1.0), "has float as move; expected a function that takes the new inputs"),
        (dataclasses.replace(WHOLE, move=lambda x, y: x), "as move; expected a function that takes the new inputs"),
        (dataclasses.replace(WHOLE, phases=[nothing]), "has list as phases; expected a dict of functions by name"),
        (dataclasses.replace(WHOLE, phases={"update": 1}), "has int as phase 'update'; expected a function"),
        (dataclasses.replace(WHOLE, phases={"total": nothing}), "called 'total', which is the name of a metric"),
        (dataclasses.replace(WHOLE, phases={"peak_bytes": nothing}), "'peak_bytes', which is the name of a metric"),
        (dataclasses.replace(WHOLE, phases={"a b": nothing}), "a phase called 'a b'; expected a word"),
        (dataclasses.replace(WHOLE, device_name="cuda"), "is on cuda, but cpu was planned"),
        (dataclasses.replace(WHOLE, forward=lambda x: x), "has forward(x); forward takes no arguments"),
        (dataclasses.replace(WHOLE, phases={"update": lambda a, b: a}), "has phase 'update' with arguments (a, b)"),
    ],
)
def test_what_is_wrong(session, message):
    with pytest.raises(EngineError) as caught:
        checked(session, Capabilities(), CELL)
    assert str(caught.value).startswith("engine 'mine:Engine': ")
    assert message in str(caught.value)


def test_without_gradients_something_must_be_there_to_call():
    can = Capabilities(gradients=False, reason="it evaluates only")
    assert checked(Session(primal=nothing), can, CELL).primal is nothing
    with pytest.raises(EngineError, match="has nothing to call; an engine without gradients gives primal"):
        checked(Session(), can, CELL)


class Says:
    name = "says"

    def __init__(self, can):
        self.can = can

    def capabilities(self):
        return self.can

    def prepare(self, workload, inputs, params):
        return WHOLE


@pytest.mark.parametrize(
    ("can", "message"),
    [
        ({}, r"returned dict; expected a gradmark\.Capabilities"),
        (Capabilities(kinds="scalar"), r"kinds of its capabilities is 'scalar'; expected a tuple of words, such as"),
        (Capabilities(dtypes=("float16",)), r"dtypes of its capabilities is .* expected some of float32, float64"),
        (Capabilities(devices=()), r"devices of its capabilities is \(\); expected at least one, such as 'cpu'"),
        (Capabilities(devices=("cpu", "cuda")), r"its prepare cannot be told which; write prepare\(self, workload"),
    ],
)
def test_capabilities_that_are_none(can, message):
    with pytest.raises(EngineError, match=message):
        capabilities_of("says", Says(can))


def test_capabilities_that_fail():
    class Fails(Says):
        def capabilities(self):
            raise RuntimeError("no licence")

    with pytest.raises(EngineError, match=r"capabilities\(\) failed: test_session\.py, line .* no licence"):
        capabilities_of("says", Fails(None))


(POLY,) = select(["poly"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], r"gradients\(\) returned 0; expected 1, one number for each input \(x\)"),
        ([1.0, 2.0], r"returned 2; expected 1, one number for each input \(x\)"),
        (1.0, "returned float; expected a list, one number for each input"),
        ([None], "returned nothing first; expected one number for each input, as floats"),
        (["0.5"], "returned str first; expected one number for each input, as floats"),
        ([b"0.5"], "returned bytes first; expected one number for each input, as floats"),
    ],
)
def test_gradients_that_are_none(given, message):
    session = dataclasses.replace(WHOLE, gradients=lambda: given)
    with pytest.raises(EngineError, match=message):
        gradients_of(session, POLY, [0.5], CELL)


def test_the_gradient_that_is_no_number_is_named():
    @workload(suite="mine", stresses="x", inputs=lambda draw: [1.0, 2.0, 3.0, 4.0])
    def added(ops, *xs):
        return sum(xs)

    for place, words in [(1, "str second"), (3, "str as number 4")]:
        given = [1.0, 1.0, 1.0, 1.0]
        given[place] = "1.0"
        with pytest.raises(EngineError, match=f"returned {words}; expected"):
            gradients_of(dataclasses.replace(WHOLE, gradients=lambda given=given: given), added, [1.0] * 4, CELL)


def test_what_is_wrong_is_the_same_text_in_every_row():
    """Reports say it once for all rows."""

    def said(cell):
        with pytest.raises(EngineError) as of_session:
            checked(Session(total=3.0, gradients=nothing), Capabilities(), cell)
        with pytest.raises(EngineError) as of_prepare:
            checked(None, Capabilities(), cell)
        with pytest.raises(EngineError) as of_gradients:
            gradients_of(dataclasses.replace(WHOLE, gradients=list), POLY, [0.5], cell)
        return [str(caught.value) for caught in (of_session, of_prepare, of_gradients)]

    assert said(CELL) == said(Cell(engine="mine:Engine", workload="expression", suite="scalar"))


def test_gradients_of_arrays():
    @workload(suite="mine", stresses="x", arrays=lambda draw: [draw.normal(size=2), draw.normal(size=2)])
    def product(ops, a, b):
        return ops.sum(a * b)

    inputs = product.draw(0, {})

    def gradients(given):
        return gradients_of(dataclasses.replace(WHOLE, gradients=lambda: given), product, inputs, CELL)

    assert [g.tolist() for g in gradients([[1.0, 2.0], np.ones(2)])] == [[1.0, 2.0], [1.0, 1.0]]
    with pytest.raises(EngineError, match=r"returned 1; expected 2, one array for each differentiated input \(a, b\)"):
        gradients([np.ones(2)])
    with pytest.raises(EngineError, match="holds nothing; expected one array for each differentiated input"):
        gradients([np.ones(2), None])


class Dual:
    """A number of an engine's own."""

    def __float__(self):
        raise TypeError("not a float")


class OneEntry:
    def item(self):
        return 2.5


@pytest.mark.parametrize(
    ("result", "read"),
    [
        (2.5, 2.5), (3, 3.0), (np.float32(2.5), 2.5), (np.array(2.5), 2.5), (OneEntry(), 2.5),
        (None, None), (True, None), ("2.5", None), ([2.5], None), (Dual(), None), (np.zeros(3), None),
    ],
)  # fmt: skip
def test_what_is_a_number(result, read):
    assert number(result) == read


def test_a_value_is_returned_or_read():
    assert value_of(Session(value=lambda: 7.0), 2.5, CELL) == 2.5
    assert value_of(Session(value=lambda: 7.0), None, CELL) == 7.0
    assert value_of(Session(), None, CELL) is None
    with pytest.raises(EngineError, match=r"value\(\) returned list; expected one number"):
        value_of(Session(value=lambda: [7.0]), None, CELL)
