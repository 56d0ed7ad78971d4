"""Everybody is asked for the same; what comes back is looked at; a wrong second derivative is never timed."""

import msgspec
import pytest

from gradmark.measure.job import Job
from gradmark.measure.worker.asked import derivative_of
from gradmark.measure.worker.jobs import run
from gradmark.records import Cell, Settings, Sparsity
from gradmark.workloads.lookup import named

QUICK = Settings(blocks=2, block_ns=10_000, memory=False)


def cell(engine, derivative="hvp", workload="rosenbrock", **more):
    more = {"params": {"n": 10}} | more
    return Cell(engine=engine, workload=workload, suite="derivatives", derivative=derivative, **more)


def inspected(engine, derivative="hvp", workload="rosenbrock", kind="inspect", settings=QUICK, **more):
    return run(Job(kind=kind, cell=cell(engine, derivative, workload, **more), settings=settings))


def fault(name):
    return f"faults.derivatives:{name}"


def test_directions_are_the_same_each_time_and_of_each_size_others():
    rosenbrock = named("rosenbrock")[0]

    def tangents(n, seed=0):
        asked = cell("e", params={"n": n})
        return derivative_of(
            rosenbrock, rosenbrock.draw(seed, {"n": n}), asked, msgspec.structs.replace(QUICK, seed=seed)
        ).tangents

    assert tangents(10) == tangents(10)
    assert len(tangents(30)) == 30
    assert tangents(10) != tangents(30)[:10]
    assert tangents(10) != tangents(10, seed=1)
    assert all(0.5 <= abs(t) <= 1.0 for t in tangents(10))


def test_what_is_asked_has_what_it_needs():
    for name, (tangents, cotangent, shape) in {
        "jvp": (10, False, (10,)), "vjp": (0, True, (10,)), "jacobian": (0, False, (10,))
    }.items():  # fmt: skip
        broyden = named("broyden")[0]
        asked = derivative_of(broyden, broyden.draw(0, {"n": 10}), cell("e", name, "broyden"), QUICK)
        assert (len(asked.tangents), asked.cotangent is not None, asked.shape) == (tangents, cotangent, shape)


def test_cotangents_of_arrays_have_the_dtype_and_shape_of_the_result():
    wide = named("wide_map")[0]
    asked = cell("e", "vjp", "wide_map", params={"n": 100}, kind="tensor", dtype="float32")
    cotangent = derivative_of(wide, wide.draw(0, {"n": 100}, "float32"), asked, QUICK).cotangent
    assert (cotangent.shape, cotangent.dtype.name) == ((10,), "float32")


@pytest.mark.parametrize("derivative", ["hvp", "hessian", "sparse-hessian"])
def test_what_is_right_is_timed(derivative):
    result = inspected(fault("Right"), derivative)
    assert (result.status, result.mode) == ("ok", "closed form"), result.message
    assert result.accuracy.reference == "mpmath, 50 digits"
    assert result.accuracy.relative_error < 1e-14
    assert inspected(fault("Right"), derivative, kind="time").sample.phases.keys() == {"total"}


@pytest.mark.parametrize(
    ("engine", "derivative", "message"),
    [
        ("OffByLittle", "hvp", "the hvp is off by 1.0e-06 relative"),
        ("OneEntryWrong", "hvp", "the hvp is off by 1.0e-03 relative"),
        ("OneEntryMissing", "hessian", "the hessian is off by 1.0e+00 relative"),
        ("OneEntryMissing", "sparse-hessian", "the sparse-hessian is off by 1.0e+00 relative"),
        ("NotANumber", "hvp", "the hvp with respect to input 0 is nan"),
        ("FirstInputs", "hvp", "after its inputs changed, the hvp of total is off by"),
    ],
)
def test_what_is_wrong_is_not(engine, derivative, message):
    for kind in ("inspect", "time") if engine != "FirstInputs" else ("inspect",):
        job = Job(kind="inspect", cell=cell(fault(engine), derivative), settings=QUICK)
        known = run(job)
        result = (
            known
            if kind == "inspect"
            else run(
                msgspec.structs.replace(
                    job,
                    kind="time",
                    reference=known.reference,
                    reference_name="mpmath, 50 digits",
                    expected=known.expected,
                )
            )
        )
        assert result.status == "wrong-gradient"
        assert result.message.startswith(message), result.message
        assert result.sample is None


def test_of_many_numbers_a_wrong_entry_is_found_too():
    result = inspected(fault("OneEntryWrong"), params={"n": 300})
    assert (result.status, result.accuracy.reference) == ("wrong-gradient", "mpmath, 50 digits, 3 directions")
    small = inspected(fault("OneSmallEntryWrong"), params={"n": 300})
    assert small.accuracy.reference == "exact hvp, float64; mpmath, 50 digits, 3 directions"
    assert small.status == "wrong-gradient"
    assert inspected(fault("Transposed"), params={"n": 300}).status == "wrong-gradient"
    assert inspected(fault("Right"), params={"n": 300}).status == "ok"


def test_work_that_is_done_when_the_result_is_read():
    result = inspected(fault("WhenRead"))
    assert result.status == "untimed-work"
    assert "computed when it is read" in result.message or "the work is done" in result.message


@pytest.mark.parametrize(
    ("engine", "derivative", "message"),
    [
        ("TooShort", "hvp", "result() of an hvp returned 9; expected 10, one number for each input"),
        ("AWord", "hvp", "result() of an hvp returned 4; expected 10"),
        ("NotSparse", "sparse-hessian", "of a sparse-hessian returned list; expected a matrix of scipy.sparse"),
        ("WrongSide", "hessian", "result() of a hessian has shape (10, 9); expected (10, 10)"),
        ("NoResult", "hvp", "its session has no result for an hvp; total computes it, result gives it after total"),
        (
            "Untold",
            "hvp",
            "but its prepare cannot be told which; write prepare(self, workload, inputs, params, *, deri",
        ),
        ("NoSuchDerivative", "hvp", "a derivative 'hesian'; expected some of gradient, jvp, vjp, jacobian, hvp"),
    ],
)
def test_what_an_adapter_gets_wrong_is_its_error(engine, derivative, message):
    result = inspected(fault(engine), derivative)
    assert (result.status, message in result.message) == ("error", True), result.message


@pytest.mark.parametrize(
    ("engine", "derivative", "workload", "message"),
    [
        (fault("Right"), "vjp", "rosenbrock", "has no vjp: it has hvp, jvp, sparse-hessian, hessian"),
        ("tapegrad:fresh", "hvp", "rosenbrock", "tapegrad:fresh has no hvp: it has gradient only"),
        ("python-floats", "hvp", "rosenbrock", "python-floats has no hvp: python-floats evaluates only"),
        (fault("Heir"), "hvp", "rosenbrock", "Heir has no hvp: it has "),
        (fault("Right"), "hvp", "broyden", "broyden gives an array, and an hvp is of one number; it has jvp, vjp"),
        (fault("Right"), "jacobian", "rosenbrock", "has no jacobian: it has"),
    ],
)
def test_what_an_engine_or_a_function_does_not_have_is_unsupported(engine, derivative, workload, message):
    result = inspected(engine, derivative, workload)
    assert (result.status, message in result.message) == ("unsupported", True), result.message


def test_a_dense_matrix_that_would_not_fit_is_refused_before_it_is_tried():
    result = inspected(
        fault("Right"), "hessian", params={"n": 3000}, settings=msgspec.structs.replace(QUICK, memory_limit_bytes=2**27)
    )
    assert (result.status, result.message) == (
        "unsupported",
        "a hessian of 3,000 × 3,000 numbers is 68.7 MiB, and is held 3 times: more than the limit of 128 MiB. Measure "
        "-d sparse-hessian, choose a smaller size, or raise --memory-limit",
    )


def test_evaluations_are_counted_and_compiled_engines_may_say():
    assert inspected("finite-difference").evaluations == 80
    assert inspected(fault("Right")).evaluations is None


@pytest.mark.peers("casadi")
def test_a_sparse_matrix_says_how_it_is_compressed():
    assert inspected("casadi", "sparse-jacobian", "broyden").sparsity == Sparsity(nonzeros=28, colours=3)
    assert inspected("casadi", "sparse-jacobian", "arrowhead").sparsity == Sparsity(nonzeros=28, colours=10)


def test_gradients_of_many_numbers_are_compared_along_directions():
    known = run(Job(kind="inspect", cell=cell("tapegrad", "gradient", params={"n": 300}), settings=QUICK))
    assert (known.status, known.accuracy.reference) == ("ok", "mpmath, 50 digits, 3 directions")
