"""What every adapter must do, and every adapter with scalars, run over all of them."""

import functools
import sys

import pytest

from contract import adapters
from gradmark.engines import discovery
from gradmark.engines.protocol import Capabilities
from gradmark.measure.reference.exact import exact_gradient
from gradmark.measure.worker.session import capabilities_of, checked
from gradmark.records import Cell, TapeSize
from gradmark.workloads.lookup import available

# torch.compile imports what PyTorch itself warns of
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")
DIFFERENTIATING = [name for name in adapters.SCALAR if name not in {*adapters.EVALUATE_ONLY, "micrograd"}]
WORKLOADS = {w.name: w for w in available() if w.suite == "scalar"}
# A long loop takes these longer than all other tests together: they get the shortest.
SHORT = ("torch:cuda", "asdex", "jax", "jax:eager", "torch:compile", "tinygrad", "autograd", "mygrad")
LOOPS = {"add_chain", "mul_chain", "chain", "constants"}
# What an engine refuses, so that a row which disappears is noticed. tinygrad's interpreter takes a minute for a kernel.
REFUSED = {
    "jax:eager": LOOPS,
    "torch:compile": LOOPS,
    "tinygrad": LOOPS,
    "micrograd": set(WORKLOADS) - {"chain"},  # the last function of `chain` is a power
}
COMPILES = {"torch:compile": ["expression", "add_chain"], "tinygrad": ["expression", "add_chain"]}
# Whether micrograd gets through it depends on the order of its sets: it is as deep as Python allows.
CHANCE = ("micrograd", "constants")
CELLS = [
    adapters.cell(name, workload)
    for name in adapters.SCALAR
    for workload in WORKLOADS
    if workload in COMPILES.get(name, WORKLOADS) and (name, workload) != CHANCE
]


@pytest.fixture(autouse=True)
def _usual_depth():
    """Other tests' libraries raise Python's limit, and micrograd's refusal depends on it."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


@functools.cache
def exact(workload, place):
    params = WORKLOADS[workload].points(full=False)[place]
    inputs = WORKLOADS[workload].draw(0, params)
    return inputs, params, [high for high, _ in exact_gradient(WORKLOADS[workload], inputs, params)]


@pytest.fixture
def prepared(load):
    def session(name, workload):
        inputs, params, _ = exact(workload, 0)
        return load(name).prepare(WORKLOADS[workload], inputs, params)

    return session


@pytest.mark.parametrize("name", [*map(adapters.cell, adapters.EVERY)])
def test_capabilities_are_capabilities(name):
    can = capabilities_of(name, discovery.load(name))
    assert isinstance(can, Capabilities)
    assert ("scalar" in can.kinds, "tensor" in can.kinds) == (name in adapters.SCALAR, name in adapters.TENSOR)
    assert can.gradients == (name not in adapters.EVALUATE_ONLY)
    assert can.gradients or can.reason


@pytest.mark.parametrize(("name", "workload"), CELLS)
def test_the_gradient_is_right_each_time_or_refused(name, workload, load, runs, iterate):
    engine = load(name)
    inputs, params, expected = exact(workload, 0 if name in SHORT else -1)
    session = runs(engine, WORKLOADS[workload], inputs, params)
    assert isinstance(session, str) == (workload in REFUSED.get(name, ())), session
    if isinstance(session, str):
        assert session
        return
    cell = Cell(engine=name, workload=workload, suite="scalar", params=params, device=engine.capabilities().devices[0])
    assert checked(session, engine.capabilities(), cell) is session
    if not engine.capabilities().gradients:
        session.primal()
        return
    for _ in range(2):
        got = list(session.gradients())
        assert all(type(g) is float for g in got)
        assert got == pytest.approx(expected, rel=engine.capabilities().tolerance)
        iterate(session)


@pytest.mark.parametrize("name", [*map(adapters.cell, DIFFERENTIATING)])
def test_backward_can_be_repeated_on_one_recording(name, prepared):
    """Or, where an engine does both in one call, that call."""
    session = prepared(name, "expression")
    session.forward()
    propagate = session.backward or session.total
    propagate()
    once = list(session.gradients())
    propagate()
    assert list(session.gradients()) == once


@pytest.mark.parametrize("name", [adapters.cell(name) for name in DIFFERENTIATING if name not in COMPILES])
def test_two_sessions_do_not_meet(name, load, iterate):
    engine = load(name)
    first, second = (
        engine.prepare(WORKLOADS["difference_check"], inputs, {}) for inputs in ([1.0, 2.0, 3.0], [0.5, 1.5, 2.5])
    )
    iterate(first)
    before = list(first.gradients())
    iterate(second)
    assert list(first.gradients()) == before
    assert list(second.gradients()) != before


@pytest.mark.parametrize("name", [adapters.cell(name) for name in adapters.SCALAR if name not in COMPILES])
def test_the_tape_is_a_size_or_none(name, prepared):
    session = prepared(name, "poly")
    if session.forward is not None:
        session.forward()
    size = session.tape()
    assert size is None or (isinstance(size, TapeSize) and (size.instructions or 0) >= 0)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        adapters.cell("torch", TapeSize(instructions=3, saved_bytes=8)),  # mul, sin, add; x is saved, and counts once
        adapters.cell("jax", TapeSize(saved_bytes=2 * 8)),
        adapters.cell("casadi", TapeSize(instructions=9, values=3, saved_bytes=24)),
    ],
)
def test_the_tape_of_an_expression(name, size, prepared):
    session = prepared(name, "expression")
    session.forward()
    assert session.tape() == size
