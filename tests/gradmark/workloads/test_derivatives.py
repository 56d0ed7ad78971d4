"""The suite of derivatives: every function gives what it says, counts rightly, and has three decades of sizes."""

import dataclasses
import math

import numpy as np
import pytest

import tapegrad
from gradmark import workload
from gradmark.engines.floats import FLOATS
from gradmark.engines.numpy_arrays import ARRAYS
from gradmark.engines.tapegrad import operations
from gradmark.errors import WorkloadError
from gradmark.measure.reference import along, flat, probes
from gradmark.measure.worker.asked import derivative_of
from gradmark.records import Cell, Settings
from gradmark.records.derivative import has
from gradmark.workloads.lookup import available, named

SUITE = [w for w in available() if w.suite == "derivatives"]
CELLS = [(w, params) for w in SUITE for params in w.points(full=False)]


def shown(part):
    return getattr(part, "name", None) or str(part)


def test_the_suite_has_what_it_promises():
    assert {w.name: (w.kind, w.result) for w in SUITE} == {
        "rosenbrock": ("scalar", "number"), "rosenbrock_array": ("tensor", "number"), "broyden": ("scalar", "array"),
        "arrowhead": ("scalar", "array"), "wide_map": ("tensor", "array"), "tall_map": ("tensor", "array"),
        "logistic": ("tensor", "number"), "oscillator": ("scalar", "array"), "mlp": ("tensor", "number"),
        "transformer": ("tensor", "number"),
    }  # fmt: skip
    assert not any(w.extra for w in SUITE)


@pytest.mark.parametrize("one", [w for w in SUITE if w.name not in ("mlp", "transformer")], ids=shown)
def test_three_decades(one):
    (sizes,) = one.sizes.values()
    assert max(sizes) / min(sizes) >= 1000


@pytest.mark.parametrize(("one", "params"), CELLS, ids=shown)
def test_results_are_as_they_say(one, params):
    result = one(FLOATS if one.kind == "scalar" else ARRAYS, *one.draw(0, params, one.dtypes[0]), **params)
    if one.result == "number":
        assert np.shape(result) == ()
    elif one.kind == "scalar":
        assert all(isinstance(y, float) for y in result)
    assert np.all(np.isfinite(result))
    assert set(one.derivatives) <= set(has(one.result))


@pytest.mark.parametrize(("one", "params"), [c for c in CELLS if c[0].kind == "scalar"], ids=shown)
def test_operations_are_those_that_are_recorded(one, params):
    tape = tapegrad.Tape()
    one.function(operations(tape.const), *[tape.var(x) for x in one.draw(0, params)], **params)
    assert tape.stats().instrs == one.count(params)


def test_rosenbrock_on_numbers_and_on_an_array_are_one_function():
    xs = np.linspace(0.5, 1.5, 100)
    numbers = named("rosenbrock")[0](FLOATS, *xs.tolist(), n=100)
    assert math.isclose(named("rosenbrock_array")[0](ARRAYS, xs, n=100), numbers, rel_tol=1e-12)


def test_the_networks_are_those_of_the_tensor_suite():
    for name, other in (("mlp", "mlp_step"), ("transformer", "transformer_block")):
        ours, theirs = named(name)[0], named(other)[0]
        assert ours.function is theirs.function
        assert ours.derivatives == ["gradient", "jvp", "hvp"]
        assert theirs.usual_derivatives == ["gradient"]


def test_every_other_workload_is_measured_for_its_gradient():
    others = [w for w in available() if w.suite not in ("derivatives", "literature")]
    assert {tuple(w.usual_derivatives) for w in others} == {("gradient",)}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"result": "list"}, "result must be 'number' or 'array', got 'list'"),
        ({"derivatives": "hvp"}, r"derivatives must be a list of names, such as \['hvp'\]"),
        ({"derivatives": ["hesian"]}, "no derivative is called 'hesian'; choose from: gradient, jvp"),
        ({"derivatives": ["jacobian"]}, "derivatives names jacobian, but f gives one number, whose jacobian is its"),
        ({"result": "array", "derivatives": ["hvp"]}, "derivatives names hvp, but f gives an array"),
        ({"sizes": {"derivative": [1]}}, "a size cannot be called derivative"),
        (
            {"result": "array", "arrays": list, "gradient": list},
            "its result is an array, which has no gradient; leave gradient= out",
        ),
    ],
)
def test_what_contradicts_itself(more, message):
    with pytest.raises(WorkloadError, match=message):
        workload(suite="s", stresses="x", name="f", **more)(lambda ops, x: x)


def test_what_is_measured_if_nobody_says():
    one = named("poly")[0]
    assert dataclasses.replace(one, result="array").usual_derivatives == ["jvp"]


KNOWN = [(w, name) for w in SUITE for name in w.known]


@pytest.mark.parametrize(("one", "derivative"), KNOWN, ids=lambda part: getattr(part, "name", part))
def test_an_exact_derivative_agrees_with_differences(one, derivative):
    params = {"rosenbrock": {"n": 200}, "broyden": {"n": 200}}.get(one.name, one.points(full=False)[0])
    cell = Cell(engine="e", workload=one.name, suite=one.suite, params=params, kind=one.kind, dtype="float64",
                derivative=derivative)  # fmt: skip
    inputs = one.draw(0, params, "float64")
    asked = derivative_of(one, inputs, cell, Settings())
    looked_at = probes.probes_of(asked, one.kind, flat.sizes_of(one, inputs))
    reference = along.reference_of(one, inputs, params, asked, looked_at)
    known = along.exactly(one, inputs, params, asked)
    judged, _ = along.judge(looked_at, known, reference, asked, "float64", 1e-9)
    assert judged.relative_error <= (1e-13 if one.kind == "scalar" else 1e-7)
    exact = along.judge_exactly(known, known, reference, asked, "float64", 1e-9)
    assert (exact.relative_error, exact.reference) == (0.0, f"exact {derivative}, float64; {reference.name}")
    wrong = known.copy()
    (wrong.data if hasattr(wrong, "tocsr") else wrong).flat[3] *= 1 + 1e-6
    assert along.judge_exactly(wrong, known, reference, asked, "float64", 1e-9).relative_error > 1e-9
