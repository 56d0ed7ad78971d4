"""Jobs of a worker: what an engine can do, what it lacks, where it computes, and gradients that are no numbers."""

from pathlib import Path

import pytest

from gradmark.measure.job import Job
from gradmark.measure.worker.jobs import run
from gradmark.records import Cell, Code, Measurement, Settings
from gradmark.records.metric import metrics_of, numbers

FUNCTIONS = str(Path(__file__).parents[3] / "faults" / "functions.py")
QUICK = Settings(blocks=2, block_ns=10_000, memory=False)


def done(kind, engine, workload="expression", device="cpu", file=None, **params):
    cell = Cell(engine=engine, workload=workload, suite="scalar", params=params, device=device, file=file)
    return run(Job(kind=kind, cell=cell, settings=QUICK))


def test_a_survey():
    result = done("survey", "tapegrad")
    assert (result.status, result.capabilities.kinds) == ("ok", ("scalar", "tensor"))
    assert done("survey", "faults.engines:OnCuda").capabilities.devices == ("cuda",)


@pytest.mark.parametrize(
    ("engine", "missing", "message"),
    [
        ("no_such_module:X", True, "cannot be imported"),
        ("faults.engines:Nope", False, "has no 'Nope'"),
        ("faults.engines:NotAnEngine", False, "lacks name, capabilities, prepare"),
        ("faults.engines:NoCapabilities", False, "capabilities() returned dict; expected a gradmark.Capabilities"),
        ("faults.engines:KindsAsAWord", False, "expected a tuple of words"),
        ("faults.engines:StrangeDtype", False, "expected some of float32, float64"),
        ("faults.engines:NoDevices", False, "expected at least one, such as 'cpu'"),
        ("faults.engines:CannotSay", False, "no licence"),
        ("faults.engines:TwoDevicesUntold", False, "its prepare cannot be told which"),
        ("faults.engines:NeedsAnArgument", False, "() needs an argument level; engines are created without arguments"),
        ("faults.engines:ShortPrepare", False, "takes (w); write prepare(self, workload, inputs, params)"),
    ],
)
def test_a_survey_of_what_cannot_be_used(engine, missing, message):
    result = done("survey", engine)
    assert (result.status, result.missing, result.capabilities) == ("error", missing, None)
    assert message in result.message


@pytest.mark.parametrize("engine", ["PlainNamespace", "PlainModule"])
def test_an_operation_that_a_plain_object_lacks_is_unsupported(engine):
    name = f"faults.engines:{engine}"
    result = done("inspect", name, "chain", f="softplus")
    assert (result.status, result.message) == ("unsupported", f"{name} has no softplus, which this function needs")
    assert result.lacks == ["softplus"]


def test_published_inputs_come_from_the_folder_that_was_given(tmp_path):
    cell = Cell(engine="tapegrad", workload="adbench_gmm", suite="literature", params={"d": 2, "k": 3, "n": 1})
    given = Settings(blocks=2, block_ns=10_000, memory=False, data=str(tmp_path))
    result = run(Job(kind="try", cell=cell, settings=given))
    assert result.status == "invalid"
    assert result.message.startswith(f"--data {tmp_path}: expected a file that ends with 'test.txt' and 'gmm' in its")
    assert run(Job(kind="try", cell=cell, settings=QUICK)).status == "ok"


def test_an_attribute_that_is_no_operation_is_an_error(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from gradmark import workload\n@workload(suite='mine', stresses='x')\ndef f(ops, x):\n    return x.softplus\n"
    )
    result = done("inspect", "faults.engines:PlainNamespace", "f", file=str(path))
    assert result.status == "error"
    assert "'float' object has no attribute 'softplus'" in result.message


def test_further_phases_are_timed_and_become_metrics():
    result = done("time", "faults.engines:Phased")
    assert set(result.sample.phases) == {"primal", "forward", "backward", "total", "update"}
    cell = Cell(engine="e", workload="expression", suite="scalar")
    measurement = Measurement(cell=cell, status="ok", samples=[result.sample])
    assert metrics_of(measurement)[-1].name == "update"
    assert numbers(measurement)["update"].value == result.sample.phases["update"].time_ns


def test_a_phase_that_is_timed_alone():
    cell = Cell(engine="tapegrad", workload="expression", suite="scalar")
    jobs = [Job(kind="time", cell=cell, settings=QUICK, alone=phase) for phase in ("", "total")]
    together, alone = (run(job).sample for job in jobs)
    assert (list(together.phases), list(alone.phases)) == (["primal", "forward", "backward", "total"], ["total"])
    assert set(together.once_ns) - set(alone.once_ns) == {"warm_up"}  # which is that of all phases


def test_an_engine_with_one_call_is_timed():
    assert set(done("time", "faults.engines:TotalOnly").sample.phases) == {"total"}


def test_an_engine_with_two_devices_is_told_which():
    for device in ("cpu", "cuda"):
        assert done("inspect", "faults.engines:TwoDevices", device=device).status == "ok"


def test_an_engine_that_is_not_where_it_says():
    result = done("inspect", "faults.engines:Elsewhere", device="cuda")
    assert (result.status, "is on cpu, but cuda was planned" in result.message) == ("error", True)


@pytest.mark.parametrize("kind", ["inspect", "time"])
def test_a_gradient_that_is_no_number_is_wrong_even_where_there_is_no_reference(kind):
    result = done(kind, "faults.engines:NotANumber", "kinked", file=FUNCTIONS)
    assert (result.status, result.sample) == ("wrong-gradient", None)
    assert result.message == "the gradient with respect to x is nan"


@pytest.mark.parametrize(
    ("workload", "kind", "params", "message"),
    [
        ("expression", "scalar", {}, "the gradient with respect to x is nan"),
        ("reduce_sum", "tensor", {"n": 8}, "the gradient with respect to x has entries that are nan"),
    ],
)
def test_a_gradient_that_is_no_number_is_no_number_away(workload, kind, params, message):
    cell = Cell(engine="faults.engines:NotANumber", workload=workload, suite=kind, params=params, kind=kind)
    result = run(Job(kind="inspect", cell=cell, settings=QUICK))
    assert (result.status, result.message, result.accuracy) == ("wrong-gradient", message, None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reference_name", "ulps"),
    [("mpmath, 50 digits", True), ("central differences", False)],
    ids=["exact", "not exact"],
)
def test_a_gradient_that_turns_wrong_has_the_error_that_condemned_it(reference_name, ulps):
    cell = Cell(engine="faults.engines:WrongLater", workload="expression", suite="scalar")
    inspected = run(Job(kind="inspect", cell=cell, settings=QUICK))
    assert inspected.status == "ok"
    job = Job(kind="time", cell=cell, settings=QUICK, reference=inspected.reference, reference_name=reference_name)
    result = run(job)
    assert (result.status, result.sample) == ("wrong-gradient", None)
    assert result.accuracy.relative_error > result.accuracy.tolerance > inspected.accuracy.relative_error
    assert (result.accuracy.reference, result.accuracy.ulps is not None) == (reference_name, ulps)


def test_a_gradient_at_a_kink_is_unchecked():
    result = done("inspect", "finite-difference", "kinked", file=FUNCTIONS)
    assert (result.status, [warning.code for warning in result.warnings]) == ("ok", [Code.UNCHECKED])


def test_a_function_whose_derivative_is_not_finite_is_no_engine_s_fault():
    result = done("inspect", "tapegrad", "steep", file=FUNCTIONS)
    assert (result.status, "is not finite" in result.message) == ("invalid", True)


@pytest.mark.slow
def test_what_only_some_engines_can_run_is_measured_unchecked():
    """The function needs more than plain numbers: nothing is taken off its allocations, and nothing checks it."""
    counted = Settings(blocks=2, block_ns=10_000)
    cell = Cell(engine="faults.engines:WithMethods", workload="methods", suite="mine", file=FUNCTIONS)
    result = run(Job(kind="inspect", cell=cell, settings=counted))
    assert (result.status, [warning.code for warning in result.warnings]) == ("ok", [Code.UNCHECKED])
    assert done("inspect", "tapegrad", "methods", file=FUNCTIONS).status == "error"


def test_the_engine_is_imported_before_a_workload_that_imports_it(tmp_path, monkeypatch):
    """Else what that takes would be in no metric."""
    (tmp_path / "imported_engine.py").write_text("from gradmark.engines.tapegrad import Tapegrad\n")
    path = tmp_path / "mine.py"
    path.write_text(
        "import sys\nfrom gradmark import workload\nassert 'imported_engine' in sys.modules\n"
        "@workload(suite='mine', stresses='x')\ndef f(ops, x):\n    return x * x\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert done("inspect", "imported_engine:Tapegrad", "f", file=str(path)).status == "ok"
