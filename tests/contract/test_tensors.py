"""What every adapter with tensors must do, run over all of them."""

import functools

import numpy as np
import pytest

from contract import adapters
from gradmark.measure.reference.directional import judge, reference_of
from gradmark.measure.worker.session import checked
from gradmark.records import Cell
from gradmark.workloads.lookup import available

# torch.compile imports what PyTorch itself warns of
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")
DIFFERENTIATING = [name for name in adapters.TENSOR if name not in {*adapters.EVALUATE_ONLY, "torch:compile", "manual"}]
WORKLOADS = {w.name: w for w in available() if w.suite == "tensor"}
NETWORKS = {"convolution", "layer_norm", "attention", "transformer_block", "lstm_step", "embedding"}
# What an engine refuses, so that a row which disappears is noticed; and what is tried where trying takes long.
REFUSED = {
    "finite-difference": set(WORKLOADS) - {"elementwise", "matmul", "mlp_step", "cross_entropy", "layer_norm"},
    "manual": {"matmul", "mlp_step"} | NETWORKS,
    "autograd": {"convolution"},
}
COMPILES = {
    "jax": list(WORKLOADS),
    "jax:eager": ["matmul", "mlp_step", "logsumexp"],
    "torch:compile": ["matmul"],
    "tinygrad": ["matmul"],
}
CELLS = [adapters.cell(name, workload) for name in adapters.TENSOR for workload in COMPILES.get(name, WORKLOADS)]


@functools.cache
def reference(workload, dtype):
    params = WORKLOADS[workload].points(full=False)[0]
    inputs = WORKLOADS[workload].draw(0, params, dtype)
    return inputs, params, reference_of(WORKLOADS[workload], inputs, params)


@pytest.fixture
def prepared(load):
    def session(name, workload, seed=0):
        params = WORKLOADS[workload].points(full=False)[0]
        inputs = WORKLOADS[workload].draw(seed, params)
        return inputs, load(name).prepare(WORKLOADS[workload], inputs, params)

    return session


@pytest.mark.parametrize(("name", "workload"), CELLS)
def test_the_gradient_is_right_each_time_or_refused(name, workload, load, runs, iterate):
    engine = load(name)
    can = engine.capabilities()
    for dtype in can.dtypes[-1:] if name in COMPILES else can.dtypes:
        inputs, params, slopes = reference(workload, dtype)
        session = runs(engine, WORKLOADS[workload], inputs, params)
        assert isinstance(session, str) == (workload in REFUSED.get(name, ())), session
        if isinstance(session, str):
            assert session
            continue
        cell = Cell(engine=name, workload=workload, suite="tensor", params=params, dtype=dtype, device=can.devices[0])
        assert checked(session, can, cell) is session
        session.primal()
        if not can.gradients:
            continue
        for _ in range(2):
            got = session.gradients()
            accuracy, words = judge(WORKLOADS[workload], inputs, params, got, slopes, can.tolerance)
            assert accuracy.relative_error <= accuracy.tolerance, words
            assert {g.dtype.name for g in got} == {dtype}
            iterate(session)


@pytest.mark.parametrize("name", [*map(adapters.cell, DIFFERENTIATING)])
def test_backward_can_be_repeated_on_one_recording(name, prepared):
    """Or, where an engine does both in one call, that call."""
    _, session = prepared(name, "matmul")
    session.forward()
    propagate = session.backward or session.total
    propagate()
    once = [g.copy() for g in session.gradients()]
    propagate()
    assert all(np.array_equal(a, b) for a, b in zip(once, session.gradients(), strict=True))


@pytest.mark.parametrize("name", [adapters.cell(name) for name in DIFFERENTIATING if name != "tinygrad"])
def test_inputs_are_left_alone(name, prepared, iterate):
    inputs, session = prepared(name, "mlp_step")
    before = [x.copy() for x in inputs]
    iterate(session)
    assert all(np.array_equal(a, b) for a, b in zip(before, inputs, strict=True))


@pytest.mark.parametrize("name", [*map(adapters.cell, DIFFERENTIATING)])
def test_two_sessions_do_not_meet(name, prepared, iterate):
    (_, first), (_, second) = (prepared(name, "matmul", seed) for seed in (0, 1))
    iterate(first)
    before = [g.copy() for g in first.gradients()]
    iterate(second)
    assert all(np.array_equal(a, b) for a, b in zip(before, first.gradients(), strict=True))
    assert not np.array_equal(before[0], second.gradients()[0])
