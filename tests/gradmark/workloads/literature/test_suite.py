"""The suite of the literature: every problem gives what it says, counts rightly, and says where it is from."""

import importlib

import numpy as np
import pytest

import tapegrad
from gradmark.engines.floats import FLOATS
from gradmark.engines.numpy_arrays import ARRAYS
from gradmark.engines.tapegrad import operations
from gradmark.records.derivative import has
from gradmark.workloads.literature import EVALS, OTHERS
from gradmark.workloads.lookup import LITERATURE, built_in, named

SUITE = [w for w in built_in() if w.suite == "literature"]
CELLS = [(w, params) for w in SUITE for params in w.points(full=False)]
# Derivatives inside: what they record is the engine's own.
NESTED = ("particle", "saddle")


def shown(part):
    return getattr(part, "name", None) or str(part)


def test_the_suite_has_what_it_promises():
    promised = [name for names in EVALS.values() for name in names] + list(OTHERS)
    assert sorted(w.name for w in SUITE) == sorted(promised)
    assert len(EVALS) == 12


def test_the_name_says_how_it_is_written():
    assert {w.name for w in SUITE if w.kind == "tensor"} == {w.name for w in SUITE if w.name.endswith("_array")}


@pytest.mark.parametrize("name", LITERATURE)
def test_a_problem_says_its_formula_and_its_source(name):
    words = importlib.import_module(f"gradmark.workloads.literature.{name}").__doc__
    assert "Source" in words
    assert " = " in words or "←" in words


@pytest.mark.parametrize("one", SUITE, ids=shown)
def test_a_quick_run_has_few_small_sizes(one):
    assert 1 <= len(one.points(full=False)) <= 2
    assert all(set(point) == set(one.sizes) for point in one.points(full=False))


@pytest.mark.parametrize(("one", "params"), CELLS, ids=shown)
def test_results_are_as_they_say(one, params):
    result = one(FLOATS if one.kind == "scalar" else ARRAYS, *one.draw(0, params, "float64"), **params)
    assert np.ndim(result) == (1 if one.result == "array" else 0)
    assert np.all(np.isfinite(np.asarray(result, dtype=float)))
    assert set(one.derivatives) <= set(has(one.result))


@pytest.mark.parametrize(
    ("one", "params"), [c for c in CELLS if c[0].kind == "scalar" and c[0].name not in NESTED], ids=shown
)
def test_operations_are_those_that_are_recorded(one, params):
    tape = tapegrad.Tape()
    one.function(operations(tape.const), *[tape.var(x) for x in one.draw(0, params)], **params)
    assert tape.stats().instrs == one.count(params)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("lse", {"n": 100}),
        ("llsq", {"n": 16, "m": 16}),
        ("ode", {"n": 50, "s": 3}),
        ("det", {"ell": 5}),
        ("gmm", {"d": 3, "k": 4, "n": 10}),
        ("adbench_gmm", {"d": 3, "k": 4, "n": 10}),
        ("lstm", {"l": 2, "c": 8}),
        ("kmeans", {"k": 5, "n": 20, "d": 3}),
        ("ba", {"p": 20}),
        ("ht", {"model": "small", "c": 7}),
        ("ht_complicated", {"model": "small", "c": 7}),
        ("libor", {"n": 20, "paths": 3}),
        ("heston", {"paths": 7, "steps": 5}),
        ("hierarchical", {"n": 20, "groups": 4}),
    ],
    ids=shown,
)
def test_both_writings_are_one_function(name, params):
    numbers, arrays = named(name)[0], named(f"{name}_array")[0]
    one = np.asarray(numbers(FLOATS, *numbers.draw(0, params), **params))
    other = np.asarray(arrays(ARRAYS, *arrays.draw(0, params, "float64"), **params))
    assert np.allclose(one, other, rtol=1e-12, atol=1e-13)


def test_the_sizes_are_the_published_ones():
    assert named("lse")[0].sizes["n"] == [2500 * 2**k for k in range(10)]
    assert named("llsq_array")[0].sizes["n"][-2:] == [8196, 16392]
    assert len(named("gmm")[0].points()) == 25
    assert len(named("adbench_gmm")[0].points()) == 36
    assert len(named("kmeans")[0].points()) == 12
    assert (len(named("ba")[0].points()), len(named("ht")[0].points())) == (14, 24)


def test_the_published_result_of_the_chain_depends_on_nothing():
    """Of the last of 1000 entries, after 10 steps: the reason why `ode` is their sum."""
    from gradmark.workloads.literature import ode

    xs = np.random.RandomState(0).random_sample(1000)
    steps, y = 10, np.zeros(1000)
    for _ in range(steps):
        y = ode._slopes(xs, y)  # each takes a change one entry further, and there are four in a step
    assert y[9] != 0.0
    assert y[4 * steps] == 0.0


def test_a_model_that_gradmark_lacks_has_the_structure_of_one():
    one = named("ht_array")[0]
    _, _, base, inverse, vertices, weights, which, points, angles = one.draw(0, {"model": "big", "c": 50}, "float64")
    assert (base.shape, inverse.shape, vertices.shape) == ((22, 3, 4), (22, 3, 4), (10_000, 3))
    assert np.allclose(weights.sum(axis=1), 1.0)
    assert (which.shape, points.shape, angles.shape) == ((50,), (50, 3), (26,))
