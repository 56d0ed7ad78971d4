"""Published results: what ADBench's unit tests and GradBench's evals expect, within their own tolerance."""

import json

import numpy as np
import pytest

import tapegrad
from gradmark.engines.floats import FLOATS
from gradmark.engines.numpy_arrays import ARRAYS
from gradmark.engines.tapegrad import Tapegrad, operations
from gradmark.workloads.literature import files
from gradmark.workloads.literature.descent import lowest
from gradmark.workloads.literature.particle import particle
from gradmark.workloads.literature.saddle import START, saddle
from gradmark.workloads.lookup import named

EXPECTED = json.loads((files.OWN / "expected.json").read_text())
WITHIN = 1e-8


def gradient_of(name, params):
    one = named(name)[0]
    session = Tapegrad().prepare(one, one.draw(0, params, "float64"), params)
    session.forward()
    session.backward()
    value = session.value()
    gradient = np.concatenate([np.ravel(np.asarray(part, dtype=float)) for part in session.gradients()])
    return float(getattr(value, "data", value)), gradient


@pytest.mark.parametrize("name", ["adbench_gmm", "adbench_gmm_array"])
def test_adbench_gmm(name):
    value, gradient = gradient_of(name, {"d": 2, "k": 3, "n": 1})
    # ours: weights, means, q, l; ADBench's: weights, means, then q and l of each component
    own = np.concatenate([gradient[9:15].reshape(3, 2), gradient[15:].reshape(3, 1)], axis=1).ravel()
    assert abs(value - EXPECTED["gmm"]["objective"]) <= WITHIN
    assert np.abs(np.concatenate([gradient[:9], own]) - EXPECTED["gmm"]["gradient"]).max() <= WITHIN


def test_the_two_mixtures_differ_by_the_sign_of_the_prior():
    params = {"d": 2, "k": 5, "n": 3}
    one, other = named("gmm_array")[0], named("adbench_gmm_array")[0]
    with_prior = one(ARRAYS, *one.draw(0, params, "float64"), **params)
    without = other(ARRAYS, *other.draw(0, params, "float64"), **params)
    assert with_prior < without  # a density below 1, squared, is the difference


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lstm", "lstm_array"])
def test_lstm(name):
    value, gradient = gradient_of(name, {"l": 2, "c": 1024})
    assert abs(value - EXPECTED["lstm"]["objective"]) <= WITHIN
    assert np.abs(gradient - EXPECTED["lstm"]["gradient"]).max() <= WITHIN


@pytest.mark.parametrize("name", ["ht", "ht_complicated"])
def test_hand_tracking(name):
    params = {"model": "small", "c": 2}
    for written, ops in ((name, FLOATS), (f"{name}_array", ARRAYS)):
        one = named(written)[0]
        errors = one(ops, *one.draw(0, params, "float64"), **params)
        assert np.abs(np.asarray(errors) - EXPECTED[name]["objective"]).max() <= WITHIN
    one = named(name)[0]
    xs = one.draw(0, params)
    matrix = tapegrad.jacobian(lambda xs: one(operations(float), *xs, **params))(xs)
    if name == "ht_complicated":  # its own two numbers of every point, in two columns before all others
        own = np.concatenate([matrix[3 * k : 3 * k + 3, 26 + 2 * k : 28 + 2 * k] for k in range(2)])
        matrix = np.concatenate([own, matrix[:, :26]], axis=1)
    assert np.abs(matrix - np.array(EXPECTED[name]["jacobian"]).reshape(-1, 6).T).max() <= WITHIN


def test_bundle_adjustment():
    one, params = named("ba")[0], {"p": 10}
    xs = one.draw(0, params)
    errors = np.array(one(FLOATS, *xs, **params))
    assert np.abs(errors[:20] - EXPECTED["ba"]["reprojection"] * 10).max() <= WITHIN
    assert np.abs(errors[20:] - EXPECTED["ba"]["weight"]).max() <= WITHIN
    matrix = tapegrad.jacobian(lambda xs: one(operations(float), *xs, **params))(xs)
    columns = [*range(11), *range(22, 25), 52]
    block = [*matrix[0, columns], *matrix[1, columns], matrix[-1, -1]]
    assert np.abs(np.array(block) - EXPECTED["ba"]["jacobian"]).max() <= WITHIN


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "inner", "start", "end"),
    [
        (particle, "reverse", [0.0], [0.2071918746486116]),
        (saddle, "forward", list(START), [8.246324826140356e-06] * 2),
    ],
    ids=["particle", "saddle"],
)
def test_descents_end_where_gradbench_expects(one, inner, start, end):
    slope = tapegrad.grad(lambda xs: one(operations(float), *xs, inner=inner))
    got = lowest(FLOATS, lambda xs: one(FLOATS, *xs, inner=inner), lambda xs: slope(list(xs)), start)
    assert np.allclose(got, end, rtol=1e-9, atol=0.0)
