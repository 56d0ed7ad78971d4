"""The scalar suite: every workload is differentiable where it is used, and counts its operations rightly."""

import math
import sys

import pytest

import tapegrad
from gradmark.engines.floats import FLOATS
from gradmark.engines.protocol import namespace
from gradmark.engines.tapegrad import operations
from gradmark.measure.reference.exact import exact_gradient
from gradmark.workloads.lookup import available
from gradmark.workloads.vocabulary import SCALAR_FUNCTIONS
from tapegrad import plain

# The gradient of an operator at 50 points is 50 times 100 evaluations with 250 digits.
CELLS = [
    pytest.param(w, params, marks=[pytest.mark.slow] * (w.name == "operator"))
    for w in available()
    if w.suite in ("scalar", "operators") and w.kind == "scalar"
    for params in w.points()
]

OPERATIONS_TO_READ = namespace({name: getattr(plain, name, float) for name in SCALAR_FUNCTIONS}, "tapegrad:plain")


def recorded(workload, params):
    tape = tapegrad.Tape()
    xs = [tape.var(x) for x in workload.draw(0, params)]
    y = workload.function(operations(tape.const), *xs, **params)
    tape.backward(y)
    return tape, xs, y


@pytest.mark.parametrize(("workload", "params"), CELLS, ids=lambda part: getattr(part, "name", None) or str(part))
def test_value_gradient_and_count(workload, params):
    inputs = workload.draw(0, params)
    value = workload.function(FLOATS, *inputs, **params)
    assert math.isfinite(value)
    tape, xs, y = recorded(workload, params)
    assert y.value == pytest.approx(value, rel=1e-9)
    if params.get("n", 0) <= 1000:
        exact = [high for high, _ in exact_gradient(workload, inputs, params)]
        assert [x.grad for x in xs] == pytest.approx(exact, rel=1e-9)
    declared = workload.count(params)
    if workload.name == "constants":
        assert tape.stats().instrs == declared // 100
    elif workload.suite == "scalar":
        assert tape.stats().instrs == declared


@pytest.mark.parametrize(("workload", "params"), CELLS, ids=lambda part: getattr(part, "name", None) or str(part))
def test_no_number_is_subnormal(workload, params):
    """Subnormal numbers cost some processors twenty cycles, at some times and not at others: no time would repeat."""
    tape = plain.Tape()
    xs = [tape.var(x) for x in workload.draw(0, params)]
    tape.backward(workload.function(OPERATIONS_TO_READ, *xs, **params))
    subnormal = [number for number in (*tape.values, *tape.adjoints) if 0 < abs(number) < sys.float_info.min]
    assert subnormal == []


def test_the_suite_has_what_it_promises():
    names = {w.name for w in available() if w.suite == "scalar"}
    assert names >= {"expression", "poly", "add_chain", "mul_chain", "chain", "tree", "reuse", "shared", "constants"}
    assert "difference_check" in names
    poly = next(w for w in available() if w.name == "poly")
    assert poly.points(full=False) == [{"n": 10}, {"n": 100}, {"n": 1000}, {"n": 10_000}]
