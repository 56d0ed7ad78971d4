"""The simulated machines under benchmarks/: they settle as measured cells do."""

import importlib
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gradmark.records import Cell, Measurement, Phase, Sample
from gradmark.records.agreement import agreed

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.slow
def test_a_simulated_machine_that_is_always_calm_is_measured_as_it_is():
    code = (
        f"import sys; sys.path.append({str(BENCHMARKS)!r}); import estimates as t; import numpy as np; "
        "(row,) = t.simulate('exponential', 1.0, 0.0, [(1.0, 0.0)], seed=1); "
        "assert (row.none, row.miss) == (0.0, 0.0), (row.none, row.miss); "
        "assert row.false < 0.01, row.false; "
        "assert abs(np.median(row.said['gradmark']) - 1.0) < 0.01, row.said['gradmark']"
    )
    called = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (called.returncode, called.stderr) == (0, "")


@pytest.fixture(scope="module")
def estimates():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path, str(BENCHMARKS)])
        yield importlib.import_module("estimates")
    for name in ("estimates", "machines"):
        del sys.modules[name]


@pytest.mark.parametrize(
    ("floors", "stops"),
    [
        ([1.3, 1.01, 1.014, 1.2, 1.0, 1.4], True),
        ([1.0, 1.01, 1.016, 1.2, 1.3, 1.4], False),
        ([1.0, 1.0, 1.0, 1.0, 1.0], False),
    ],
)
def test_a_simulated_cell_settles_as_a_measured_one_does(estimates, floors, stops):
    measured = Measurement(
        cell=Cell(engine="e", workload="w", suite="s"),
        status="ok",
        samples=[
            Sample(
                process=k,
                phases={"total": Phase(iterations=1, block_ns=[ns])},
                once_ns={},
                harness_ns=0.0,
                clock_ns=1.0,
            )
            for k, ns in enumerate(floors)
        ],
    )
    assert estimates.settled(floors) is stops
    assert agreed(measured) is stops


def test_a_cell_of_a_simulated_machine_that_is_never_slow_takes_the_least_processes(estimates):
    pairs = {"core": [(9.0, 9.0)] * 20}
    lanes = SimpleNamespace(
        cell=[0],
        blocks=np.full((1, 12, 20), 0.5),
        count=np.full((1, 12), 20),
        pilots=lambda lane, process: pairs,
    )
    row = estimates.Row("exponential", 1.0, 0.0, 1.0, 0.0, said={"gradmark": np.full((5, 10), np.nan)})
    cells = [estimates.Cell(lanes, 0)]
    estimates._until_settled(row, 0, cells)
    assert cells[0].taken == 6
    assert row.said["gradmark"][0, 0] == pytest.approx(1.0, rel=0.001)
