"""What every adapter with tensors must do, run over all of them."""

import numpy as np
import pytest

from gradmark.engines import discovery
from gradmark.errors import UnsupportedError
from gradmark.measure.directional import judge, reference_of
from gradmark.workloads.selection import available

ENGINES = [name for name in discovery.known() if "tensor" in discovery.load(name).capabilities().kinds]
DIFFERENTIATING = [name for name in ENGINES if discovery.load(name).capabilities().gradients]
CELLS = [(w, w.points(full=False)[0]) for w in available() if w.kind == "tensor" and w.suite == "tensor"]


def named(part):
    return getattr(part, "name", None) or str(part)


def prepared(name, workload, params, dtype="float64"):
    inputs = workload.draw(0, params, dtype)
    try:
        return inputs, discovery.load(name).prepare(workload, inputs, params)
    except UnsupportedError:
        return inputs, None


def iterate(session):
    if session.total is not None:
        session.total()
    else:
        session.forward()
        session.backward()
    session.synchronize()


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(("workload", "params"), CELLS, ids=named)
def test_the_gradient_is_right_each_time(name, workload, params):
    engine = discovery.load(name)
    can = engine.capabilities()
    for dtype in can.dtypes:
        inputs, session = prepared(name, workload, params, dtype)
        if session is None:
            continue
        session.primal()
        if not can.gradients:
            continue
        slopes = reference_of(workload, inputs, params)
        for _ in range(3):
            iterate(session)
            got = session.gradients()
            accuracy, words = judge(workload, inputs, params, got, slopes, can.tolerance)
            assert accuracy.relative_error <= accuracy.tolerance, words
            assert {g.dtype.name for g in got} == {dtype}


@pytest.mark.parametrize("name", DIFFERENTIATING)
def test_backward_can_be_repeated_on_one_recording(name):
    """Or, where an engine does both in one call, that call."""
    workload, params = next(cell for cell in CELLS if cell[0].name == "matmul")
    _, session = prepared(name, workload, params)
    session.forward()
    propagate = session.backward or session.total
    propagate()
    once = [g.copy() for g in session.gradients()]
    propagate()
    assert all(np.array_equal(a, b) for a, b in zip(once, session.gradients(), strict=True))


@pytest.mark.parametrize("name", DIFFERENTIATING)
def test_inputs_are_left_alone(name):
    workload, params = next(cell for cell in CELLS if cell[0].name == "mlp_step")
    inputs, session = prepared(name, workload, params)
    before = [x.copy() for x in inputs]
    iterate(session)
    assert all(np.array_equal(a, b) for a, b in zip(before, inputs, strict=True))


@pytest.mark.parametrize("name", DIFFERENTIATING)
def test_two_sessions_do_not_meet(name):
    workload, params = next(cell for cell in CELLS if cell[0].name == "matmul")
    engine = discovery.load(name)
    first, second = (engine.prepare(workload, workload.draw(seed, params), params) for seed in (0, 1))
    iterate(first)
    before = [g.copy() for g in first.gradients()]
    iterate(second)
    assert all(np.array_equal(a, b) for a, b in zip(before, first.gradients(), strict=True))
    assert not np.array_equal(before[0], second.gradients()[0])
