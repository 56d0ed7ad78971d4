"""The tensor suite: every workload gives one number of its dtype, its exact gradient is exact, its counts are right."""

import math

import numpy as np
import pytest

from gradmark.engines import discovery
from gradmark.engines.numpy_arrays import ARRAYS
from gradmark.measure.reference import directional
from gradmark.workloads.lookup import available

TENSORS = [w for w in available() if w.suite == "tensor"]
CELLS = [(w, params) for w in TENSORS for params in w.points(full=False)]
# A composite counts as one call, but an engine may record what it is made of.
COMPOSITE = {"convolution"}


def named(part):
    return getattr(part, "name", None) or str(part)


@pytest.mark.parametrize(("workload", "params"), CELLS, ids=named)
def test_one_number_of_the_dtype(workload, params):
    for dtype in workload.dtypes:
        value = workload(ARRAYS, *workload.draw(0, params, dtype), **params)
        assert (np.shape(value), value.dtype.name) == ((), dtype)
        assert math.isfinite(value)


@pytest.mark.parametrize(("workload", "params"), [c for c in CELLS if c[0].gradient is not None], ids=named)
def test_the_exact_gradient_agrees_with_differences(workload, params):
    inputs = workload.draw(0, params)
    slopes = directional.reference_of(workload, inputs, params)
    exact = workload.exact(inputs, params)
    places = workload.active(inputs)
    assert [g.shape for g in exact] == [inputs[k].shape for k in places]
    for k, (gradient, place) in enumerate(zip(exact, places, strict=True)):
        directions = directional.directions(gradient.shape, place)
        along = [float(np.sum(gradient * v)) for v in directions]
        ours = [value for value, _ in slopes[directional.DIRECTIONS * k :][: directional.DIRECTIONS]]
        assert along == pytest.approx(ours, rel=1e-7, abs=1e-8 * max(map(abs, ours)))


@pytest.mark.parametrize(("workload", "params"), CELLS, ids=named)
def test_operations_are_those_that_are_recorded(workload, params):
    session = discovery.load("tapegrad").prepare(workload, workload.draw(0, params), params)
    recorded = session.tape().instructions
    assert recorded >= workload.count(params) if workload.name in COMPOSITE else recorded == workload.count(params)


@pytest.mark.parametrize("workload", TENSORS, ids=named)
def test_flops_or_bytes_are_declared_and_grow(workload):
    work = [workload.work(params, "float32") for params in (workload.points()[0], workload.points()[-1])]
    (small, large) = [flops or moved for flops, moved in work]
    assert 0 < small < large


@pytest.mark.parametrize("workload", TENSORS, ids=named)
def test_quick_points_draw_the_same_names_as_all(workload):
    assert {tuple(p) for p in workload.points(full=False)} == {tuple(p) for p in workload.points()}


def test_the_suite_has_what_it_promises():
    short = {w.name for w in TENSORS if not w.extra}
    assert short == {"elementwise", "matmul", "broadcast_add", "reduce_sum", "softplus", "logsumexp", "mlp_step"}
    assert {w.name for w in TENSORS} - short == {
        "cross_entropy",
        "convolution",
        "reduce_axis",
        "layer_norm",
        "attention",
        "transformer_block",
        "lstm_step",
        "embedding",
    }
    assert all(w.stresses and w.dtypes == ("float32", "float64") for w in TENSORS)


def test_what_is_data_is_not_differentiated():
    inputs = {w.name: w.draw(0, w.points()[0]) for w in TENSORS}
    active = {w.name: [w.names(9)[k] for k in w.active(inputs[w.name])] for w in TENSORS}
    assert active["mlp_step"] == ["w1", "b1", "w2", "b2"]
    assert active["cross_entropy"] == ["logits"]
    assert active["embedding"] == ["table"]
    assert active["lstm_step"] == ["h", "c", "wx", "wh", "bias"]
