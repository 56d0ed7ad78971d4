"""Scripts under benchmarks/: one of them is named like a module of Python's, which the others must still get."""

import subprocess
import sys
from pathlib import Path

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
