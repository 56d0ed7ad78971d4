"""Lookup: a worker finds its workload and imports little for it; an error shows the line of the user."""

import math
import statistics
import subprocess
import sys

import pytest

from gradmark.workloads.lookup import BUILT_IN, built_in, named, where_it_failed

# What inspections, trials, files, mistakes and engines need.
NOT_OF_A_SAMPLE = [
    *(f"gradmark.measure.worker.{name}" for name in ("inspection", "memory", "device_memory", "trial")),
    *("gradmark.workloads.selection", "gradmark.workloads.row"),
    *("difflib", "importlib.metadata", "pathlib", "tempfile"),
    *("memray", "mpmath", "numpy", "scipy"),
]


def loaded_by(code):
    """The modules that a fresh process imports for this."""
    code = f"import sys; before = set(sys.modules)\n{code}\nprint(*(sys.modules.keys() - before))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_a_worker_imports_what_a_sample_needs():
    loaded = loaded_by("import gradmark.measure.worker.jobs")
    assert "gradmark.measure.worker.sampling" in loaded
    assert sorted(loaded.intersection(NOT_OF_A_SAMPLE)) == []


def test_suites_are_imported_until_the_workload_is_found():
    loaded = loaded_by("from gradmark.workloads.lookup import named; assert named('matmul')")
    assert [name for name in BUILT_IN if name in loaded] == ["gradmark.workloads.scalar", "gradmark.workloads.tensor"]


def test_every_built_in_workload_is_found_by_its_name():
    assert [named(workload.name) for workload in built_in()] == [[workload] for workload in built_in()]
    assert named("no such workload") == []


def test_an_error_in_compiled_code_shows_the_line_of_the_user():
    import tapegrad

    def function(x):
        return math.cos(tapegrad.exp(x))

    with pytest.raises(Exception) as caught:
        function(tapegrad.Tape().var(1.0))
    said = where_it_failed(caught.value)
    assert said.startswith("test_lookup.py, line ")
    assert "`return math.cos(tapegrad.exp(x))`: " in said


def test_a_function_of_math_in_a_workload_says_what_to_write():
    """Seen: a workload's author was told to write tapegrad.sin."""
    import tapegrad

    def function(x):
        return math.sin(x)

    with pytest.raises(TypeError) as caught:
        function(tapegrad.Tape().var(1.0))
    assert where_it_failed(caught.value).endswith("; in a workload, write ops.sin(…) in place of math.sin(…)")
    with pytest.raises(TypeError) as caught:
        math.floor("x")  # no engine has it
    assert "in a workload" not in where_it_failed(caught.value)


def test_an_error_in_a_package_shows_the_line_of_the_user():
    def function():
        return statistics.mean([])

    with pytest.raises(statistics.StatisticsError) as caught:
        function()
    assert "`return statistics.mean([])`: StatisticsError" in where_it_failed(caught.value)
    assert where_it_failed(ValueError("x")) == "ValueError: x"
