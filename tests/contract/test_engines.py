"""What every adapter must do, and every adapter with scalars, run over all of them."""

import functools
import sys

import pytest

from gradmark.engines import discovery
from gradmark.engines.protocol import Capabilities
from gradmark.measure.reference.exact import exact_gradient
from gradmark.records import TapeSize
from gradmark.workloads.selection import available

# torch.compile imports what PyTorch itself warns of
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")
ALL = list(discovery.known())
ENGINES = [name for name in ALL if "scalar" in discovery.load(name).capabilities().kinds]
DIFFERENTIATING = [
    name
    for name in ENGINES
    if discovery.load(name).capabilities().gradients and name not in ("torch:cuda", "micrograd")
]
WORKLOADS = {w.name: w for w in available() if w.suite == "scalar"}
# A long loop takes these longer than all other tests together: they get the shortest.
SHORT = ("jax", "jax:eager", "torch:compile", "tinygrad", "autograd", "mygrad")
LOOPS = {"add_chain", "mul_chain", "chain", "constants"}
# What an engine refuses, so that a row which disappears is noticed. tinygrad's interpreter takes a minute for a kernel.
REFUSED = {
    "jax:eager": LOOPS,
    "torch:compile": LOOPS,
    "torch:cuda": set(WORKLOADS),
    "tinygrad": LOOPS,
    "micrograd": set(WORKLOADS) - {"chain"},  # the last function of `chain` is a power
}
COMPILES = {"torch:compile": ["expression", "add_chain"], "tinygrad": ["expression", "add_chain"]}
# Whether micrograd gets through it depends on the order of its sets: it is as deep as Python allows.
CHANCE = ("micrograd", "constants")
CELLS = [
    (name, workload)
    for name in ENGINES
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


def prepared(name, workload):
    inputs, params, _ = exact(workload, 0)
    return discovery.load(name).prepare(WORKLOADS[workload], inputs, params)


@pytest.mark.parametrize("name", ALL)
def test_capabilities_are_capabilities(name):
    can = discovery.load(name).capabilities()
    assert isinstance(can, Capabilities)
    assert set(can.kinds) <= {"scalar", "tensor"}
    assert set(can.dtypes) <= {"float32", "float64"}
    assert can.gradients or can.reason


@pytest.mark.parametrize(("name", "workload"), CELLS)
def test_the_gradient_is_right_each_time_or_refused(name, workload, runs, iterate):
    engine = discovery.load(name)
    inputs, params, expected = exact(workload, 0 if name in SHORT else -1)
    session = runs(engine, WORKLOADS[workload], inputs, params)
    assert isinstance(session, str) == (workload in REFUSED.get(name, ())), session
    if isinstance(session, str):
        assert session
        return
    if not engine.capabilities().gradients:
        assert session.primal is not None
        session.primal()
        return
    for _ in range(2):
        got = list(session.gradients())
        assert all(type(g) is float for g in got)
        assert got == pytest.approx(expected, rel=engine.capabilities().tolerance)
        iterate(session)


@pytest.mark.parametrize("name", DIFFERENTIATING)
def test_backward_can_be_repeated_on_one_recording(name):
    """Or, where an engine does both in one call, that call."""
    session = prepared(name, "expression")
    session.forward()
    propagate = session.backward or session.total
    propagate()
    once = list(session.gradients())
    propagate()
    assert list(session.gradients()) == once


@pytest.mark.parametrize("name", [name for name in DIFFERENTIATING if name not in COMPILES])
def test_two_sessions_do_not_meet(name, iterate):
    engine = discovery.load(name)
    first, second = (
        engine.prepare(WORKLOADS["difference_check"], inputs, {}) for inputs in ([1.0, 2.0, 3.0], [0.5, 1.5, 2.5])
    )
    iterate(first)
    before = list(first.gradients())
    iterate(second)
    assert list(first.gradients()) == before
    assert list(second.gradients()) != before


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "torch:cuda" and name not in COMPILES])
def test_the_tape_is_a_size_or_none(name):
    session = prepared(name, "poly")
    if session.forward is not None:
        session.forward()
    size = session.tape()
    assert size is None or (isinstance(size, TapeSize) and (size.instructions or 0) >= 0)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("torch", TapeSize(instructions=3, saved_bytes=8)),  # mul, sin, add; x is saved, and counts once
        ("jax", TapeSize(saved_bytes=2 * 8)),
        ("casadi", TapeSize(instructions=9, values=3, saved_bytes=24)),
    ],
)
def test_the_tape_of_an_expression(name, size):
    session = prepared(name, "expression")
    session.forward()
    assert session.tape() == size
