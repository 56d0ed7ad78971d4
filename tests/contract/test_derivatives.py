"""Derivatives beyond gradients: every adapter has those that it says, right, along inputs that change, in its mode."""

import pytest

from contract import adapters
from gradmark.engines import discovery
from gradmark.measure.job import Job
from gradmark.measure.worker.jobs import run
from gradmark.measure.worker.session import capabilities_of
from gradmark.records import Cell, Settings
from gradmark.records.derivative import DERIVATIVES, has
from gradmark.workloads.lookup import named

# PyTorch's, of itself
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning")
QUICK = Settings(blocks=2, block_ns=10_000, memory=False)
FUNCTIONAL = ["gradient", "jvp", "vjp", "jacobian", "hvp", "hessian"]
# What each has, so that one that disappears is noticed; all others have gradients, or nothing.
HAVE = {
    "finite-difference": FUNCTIONAL,
    "tapegrad": FUNCTIONAL,
    "tapegrad:jit": FUNCTIONAL,
    "tapegrad:compiled": ["gradient", "jvp", "vjp", "hvp"],
    "tapegrad:program": ["gradient", "jvp", "vjp", "hvp", "sparse-jacobian", "sparse-hessian"],
    "manual": ["gradient", "jvp", "hvp", "sparse-jacobian", "sparse-hessian"],
    "torch": FUNCTIONAL,
    "torch:compile": FUNCTIONAL,
    "torch:cuda": FUNCTIONAL,
    "jax": FUNCTIONAL,
    "jax:eager": FUNCTIONAL,
    "asdex": ["gradient", "jacobian", "hessian", "sparse-jacobian", "sparse-hessian"],
    "autograd": FUNCTIONAL,
    "casadi": list(DERIVATIVES),
    "xad": ["gradient", "jvp", "vjp", "jacobian"],
    "tapegrad:recording-constants": ["gradient"],
}
# The smallest of each kind: compilers take a second for every function.
FUNCTIONS = {
    "rosenbrock": {"n": 3},
    "broyden": {"n": 3},
    "logistic": {"n": 2},
    "tall_map": {"m": 30},
}
# Operation by operation, or compiled, each takes JAX and PyTorch longer than all other tests.
LONG = ("torch:compile", "jax:eager", "torch:cuda")
CELLS = [
    adapters.cell(engine, workload, derivative)
    for engine, derivatives in HAVE.items()
    if engine not in (*LONG, "manual")
    for workload in FUNCTIONS
    for derivative in derivatives
    if derivative != "gradient" and derivative in has(named(workload)[0].result)
    if engine in (adapters.SCALAR if named(workload)[0].kind == "scalar" else adapters.TENSOR)
    if engine != "asdex" or (derivative.startswith("sparse") and workload != "tall_map")  # the others are JAX's
]


@pytest.mark.parametrize("name", [*map(adapters.cell, adapters.EVERY)])
def test_what_it_says_that_it_has(name):
    can = capabilities_of(name, discovery.load(name))
    assert set(can.derivatives) == set(HAVE.get(name, ["gradient"]))
    assert all(mode for derivative, mode in can.derivatives.items() if derivative != "gradient")


def inspected(engine, workload, derivative, params=None):
    made = named(workload)[0]
    cell = Cell(
        engine=engine, workload=workload, suite=made.suite, params=params or FUNCTIONS[workload], kind=made.kind,
        dtype="float64", derivative=derivative,
    )  # fmt: skip
    return run(Job(kind="inspect", cell=cell, settings=QUICK))


@pytest.mark.parametrize(("engine", "workload", "derivative"), CELLS)
def test_it_is_right_and_follows_the_inputs(engine, workload, derivative):
    result = inspected(engine, workload, derivative)
    assert result.status == "ok", result.message
    assert result.mode
    assert result.accuracy.relative_error <= result.accuracy.tolerance
    assert result.expected.other_slope is not None


WRITTEN = [("rosenbrock", name) for name in ("gradient", "hvp", "sparse-hessian")]


@pytest.mark.parametrize(("workload", "derivative"), [*WRITTEN, ("broyden", "jvp"), ("broyden", "sparse-jacobian")])
def test_what_was_written_by_hand(workload, derivative):
    result = inspected("manual", workload, derivative)
    assert (result.status, result.mode, result.warnings) == ("ok", "by hand", [])


def test_what_nobody_wrote():
    result = inspected("manual", "rosenbrock", "jvp")
    assert (result.status, result.message) == ("unsupported", "there is no hand-written jvp of rosenbrock")


@pytest.mark.parametrize(
    ("workload", "params", "mode"), [("tall_map", {"m": 30}, "fwd"), ("wide_map", {"n": 30}, "rev")]
)
@pytest.mark.parametrize("engine", [adapters.cell("jax"), adapters.cell("torch")])
def test_a_dense_jacobian_takes_the_mode_with_fewer_passes(engine, workload, params, mode):
    result = inspected(engine, workload, "jacobian", params)
    assert (result.status, result.mode) == ("ok", mode)


@pytest.mark.peers("torch")
@pytest.mark.slow
def test_attention_has_second_derivatives_without_its_fused_kernel():
    params = {"batch": 1, "length": 4, "width": 8}
    assert inspected("torch", "transformer", "hvp", params).status == "ok"
