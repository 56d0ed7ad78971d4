"""Scripts under benchmarks/: one of them is named like a module of Python's, which the others must still get."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_other_scripts_get_pythons_own_statistics():
    code = (
        f"import sys; sys.path.insert(0, {str(BENCHMARKS)!r}); "
        "import gradmark.analyse.unpaired, statistics; assert statistics.median([1, 3, 2]) == 2"
    )
    called = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (called.returncode, called.stderr) == (0, "")


def test_the_recorded_times_are_of_many_processes_of_equal_cells():
    import json

    sessions = json.loads((BENCHMARKS / "data" / "shared_machine.json").read_text())["sessions"]
    assert len(sessions) >= 2
    assert {len(times) for session in sessions for times in session["cells"].values()} == {160}
    assert len({tuple(session["cells"]) for session in sessions}) == 1
    assert len(sessions[0]["cells"]) == 6


@pytest.mark.slow
def test_a_simulated_machine_that_is_always_calm_is_measured_as_it_is():
    code = (
        f"import sys; sys.path.append({str(BENCHMARKS)!r}); import two_states as t; import numpy as np; "
        "(row,) = t.simulate('exponential', 1.0, 0.0, [(1.0, 0.0)], seed=1); "
        "assert (row.none, row.miss) == (0.0, 0.0), (row.none, row.miss); "
        "assert row.false < 0.01, row.false; "
        "assert abs(np.median(row.said['pilots']) - 1.0) < 0.01, row.said['pilots']"
    )
    called = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (called.returncode, called.stderr) == (0, "")


@pytest.mark.parametrize(
    ("floors", "measured", "stops"),
    [
        ([1.0, 1.01, 1.014, 1.2, 1.3, 1.4], 6, True),
        ([1.0, 1.01, 1.016, 1.2, 1.3, 1.4], 6, False),
        ([1.0, 1.0, 1.0, 1.0, 1.0], 5, False),
        ([1.0, 1.0], 11, False),
        ([], 12, True),
    ],
)
def test_a_cell_is_measured_until_its_third_fastest_process_is_close(floors, measured, stops):
    spec = importlib.util.spec_from_file_location("two_states", BENCHMARKS / "two_states.py")
    two_states = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = two_states
    try:
        spec.loader.exec_module(two_states)
    finally:
        del sys.modules[spec.name]
    assert two_states.enough(floors, measured) is stops
