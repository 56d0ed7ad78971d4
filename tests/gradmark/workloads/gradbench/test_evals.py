"""Evals: what is written is read again as the same, in both forms of a workload; what is not of that form is said."""

import json

import numpy as np
import pytest

from gradmark.workloads.gradbench import ht
from gradmark.workloads.gradbench.eval import array, number, whole
from gradmark.workloads.gradbench.evals import EVALS, of_message, of_workload
from gradmark.workloads.lookup import named

SIZES = [
    ("lse", {"n": 5}), ("lse_array", {"n": 5}), ("llsq", {"n": 4, "m": 3}), ("llsq_array", {"n": 4, "m": 3}),
    ("det", {"ell": 3}), ("det_array", {"ell": 3}), ("gmm", {"d": 3, "k": 2, "n": 4}),
    ("gmm_array", {"d": 3, "k": 2, "n": 4}), ("lstm", {"l": 2, "c": 4}), ("lstm_array", {"l": 2, "c": 4}),
    ("kmeans", {"k": 2, "n": 5, "d": 3}), ("kmeans_array", {"k": 2, "n": 5, "d": 3}),
    ("ht", {"model": "small", "c": 2}), ("ht_array", {"model": "small", "c": 2}),
    ("ht_complicated", {"model": "small", "c": 2}), ("ht_complicated_array", {"model": "small", "c": 2}),
]  # fmt: skip


def by_name(workload, inputs, problem, params):
    if workload.kind == "scalar":
        return problem.named(inputs, params)
    return dict(zip(workload.names(len(inputs)), inputs, strict=True))


@pytest.mark.parametrize(("name", "params"), SIZES, ids=lambda thing: thing if isinstance(thing, str) else "")
def test_what_is_written_is_read_again(name, params):
    (workload,) = named(name)
    problem = of_workload(name)
    inputs = by_name(workload, workload.draw(0, params), problem, params)
    message = json.loads(json.dumps(problem.written(inputs, params)))
    sizes, values = of_message(problem.module, message).read(message)
    assert sizes == params
    for key, value in values.items():
        if key in inputs:
            assert np.array_equal(np.asarray(value).ravel(), np.asarray(inputs[key]).ravel()), key
    written_again = problem.written({**inputs, **values}, params)
    assert json.loads(json.dumps(written_again)) == message


@pytest.mark.parametrize("name", ["gmm", "kmeans"])
def test_a_derivative_is_formed_and_flattened_again(name):
    params = dict(SIZES)[name]
    (workload,) = named(name)
    problem = of_workload(name)
    numbers = workload.draw(0, params)
    inputs = problem.named(numbers, params)
    flat = np.arange(1.0, len(numbers) + 1.0)
    if name == "kmeans":  # the output is divided by the diagonal, which flat puts back
        points, centres = inputs["points"], inputs["centres"]
        nearest = [min(range(2), key=lambda j: float(((p - centres[j]) ** 2).sum())) for p in points]
        diagonal = np.repeat([2.0 * nearest.count(j) for j in range(2)], params["d"])
        output = problem.form([flat, diagonal], inputs)
    else:
        output = problem.form([flat], inputs)
    assert problem.flat(json.loads(json.dumps(output)), inputs) == pytest.approx(flat, rel=1e-15)


def test_a_compressed_jacobian_is_spread_out():
    inputs = {"angles": np.zeros(26), "inside": np.zeros((2, 2))}
    output = [[10.0 * row + column for column in range(28)] for row in range(6)]
    matrix = ht.COMPLICATED.flat(output, inputs).toarray()
    assert matrix.shape == (6, 30)
    assert matrix[:, :26].tolist() == [row[2:] for row in output]
    assert matrix[:, 26:].tolist() == [
        [0.0, 1.0, 0.0, 0.0], [10.0, 11.0, 0.0, 0.0], [20.0, 21.0, 0.0, 0.0],
        [0.0, 0.0, 30.0, 31.0], [0.0, 0.0, 40.0, 41.0], [0.0, 0.0, 50.0, 51.0],
    ]  # fmt: skip


def test_every_eval_is_of_a_workload_that_there_is():
    for module, problem in EVALS.items():
        assert problem.module == module
        assert [workload.suite for workload in named(problem.workload)] == ["literature"]
        assert (problem.asks is None) == bool(problem.unlike)


@pytest.mark.parametrize(
    ("given", "shape", "message"),
    [
        ([1, 2], (3,), "expected numbers of shape (3), got (2)"),
        ([[1], [2, 3]], (None, None), "expected numbers of shape (any, any), got [[1], [2, 3]]"),
        ("x" * 100, (None,), f"expected numbers of shape (any), got '{'x' * 59}…"),
        ({"a": 1}, (), "expected numbers of shape (), got {'a': 1}"),
    ],
)
def test_arrays_that_are_none(given, shape, message):
    with pytest.raises(ValueError, match=r"expected") as raised:
        array(given, *shape)
    assert str(raised.value) == message


def test_numbers_that_are_none():
    with pytest.raises(ValueError, match=r"^expected a number, got True$"):
        number(True)
    with pytest.raises(ValueError, match=r"^expected a whole number as n, got None$"):
        whole({}, "n")
