"""What every adapter must do, and every adapter with scalars, run over all of them."""

import pytest

from gradmark.engines import discovery
from gradmark.engines.protocol import Capabilities
from gradmark.measure.accuracy import exact_gradient
from gradmark.records import TapeSize
from gradmark.workloads.selection import available

ALL = list(discovery.known())
ENGINES = [name for name in ALL if "scalar" in discovery.load(name).capabilities().kinds]
DIFFERENTIATING = [name for name in ENGINES if discovery.load(name).capabilities().gradients]
CELLS = [(w, w.points(full=False)[-1]) for w in available() if w.suite == "scalar"]


def prepared(name, workload, params):
    return discovery.load(name).prepare(workload, workload.draw(0, params), params)


def iterate(session):
    if session.total is not None:
        session.total()
    else:
        session.forward()
        session.backward()
    session.synchronize()


@pytest.mark.parametrize("name", ALL)
def test_capabilities_are_capabilities(name):
    can = discovery.load(name).capabilities()
    assert isinstance(can, Capabilities)
    assert set(can.kinds) <= {"scalar", "tensor"}
    assert set(can.dtypes) <= {"float32", "float64"}
    assert can.gradients or can.reason


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(("workload", "params"), CELLS, ids=lambda part: getattr(part, "name", None) or str(part))
def test_the_gradient_is_right_each_time(name, workload, params):
    engine = discovery.load(name)
    session = prepared(name, workload, params)
    if not engine.capabilities().gradients:
        assert session.primal is not None
        session.primal()
        return
    exact = [high for high, _ in exact_gradient(workload, workload.draw(0, params), params)]
    for _ in range(3):
        iterate(session)
        got = list(session.gradients())
        assert all(type(g) is float for g in got)
        assert got == pytest.approx(exact, rel=engine.capabilities().tolerance)


@pytest.mark.parametrize("name", DIFFERENTIATING)
def test_backward_can_be_repeated_on_one_recording(name):
    """Or, where an engine does both in one call, that call."""
    workload, params = next(cell for cell in CELLS if cell[0].name == "expression")
    session = prepared(name, workload, params)
    session.forward()
    propagate = session.backward or session.total
    propagate()
    once = list(session.gradients())
    propagate()
    assert list(session.gradients()) == once


@pytest.mark.parametrize("name", DIFFERENTIATING)
def test_two_sessions_do_not_meet(name):
    workload, params = next(cell for cell in CELLS if cell[0].name == "difference_check")
    engine = discovery.load(name)
    first, second = (engine.prepare(workload, inputs, params) for inputs in ([1.0, 2.0, 3.0], [0.5, 1.5, 2.5]))
    iterate(first)
    before = list(first.gradients())
    iterate(second)
    assert list(first.gradients()) == before
    assert list(second.gradients()) != before


@pytest.mark.parametrize("name", ENGINES)
def test_the_tape_is_a_size_or_none(name):
    workload, params = next(cell for cell in CELLS if cell[0].name == "poly")
    session = prepared(name, workload, params)
    if session.forward is not None:
        session.forward()
    size = session.tape()
    assert size is None or (isinstance(size, TapeSize) and (size.instructions or 0) >= 0)
