"""The simulated machines under benchmarks/: they settle as measured cells do, and are judged as is said."""

import importlib
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gradmark.commands.options import MOST_PROCESSES
from gradmark.records import Cell, Measurement, Phase, Sample
from gradmark.records.agreement import LEAST_PROCESSES, agreed
from gradmark.records.order import interval_of_median

pytestmark = pytest.mark.slow
BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_a_simulated_machine_that_is_always_calm_is_measured_as_it_is():
    code = (
        f"import sys; sys.path.append({str(BENCHMARKS)!r}); import estimates as t; import numpy as np; "
        "(row,) = t.simulate('exponential', 1.0, 0.0, [(1.0, 0.0)], seed=1); "
        "assert (row.none, row.miss) == (0.0, 0.0), (row.none, row.miss); "
        "assert row.false < 0.01, row.false; "
        "assert abs(np.median(row.errors('gradmark'))) < 0.01, row.errors('gradmark'); "
        "assert row.held().mean() > 0.8, row.held()"
    )
    called = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (called.returncode, called.stderr) == (0, "")


@pytest.fixture(scope="module")
def script():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path, str(BENCHMARKS)])
        yield importlib.import_module
    for name in ("estimates", "intervals", "machines"):
        sys.modules.pop(name, None)


CALM = {"core": [(9.0, 9.0)] * 3}
# Of nine processes the second and the last but one bound the interval: half of its width is 0.74 %, or 1.79 %.
NINE = {
    "narrow": ([1.0, 1.015, 0.95, 1.0, 1.01, 1.01, 1.005, 1.4, 1.01], True),
    "wide": ([1.0, 1.035, 0.95, 1.0, 1.01, 1.02, 1.005, 1.4, 0.999], False),
    "eight": ([1.0] * 8, False),
}


@pytest.mark.parametrize("case", NINE)
def test_a_simulated_cell_settles_as_a_measured_one_does(script, case):
    times, stops = NINE[case]
    measured = Measurement(
        cell=Cell(engine="e", workload="w", suite="s"),
        status="ok",
        samples=[
            Sample(
                process=k,
                phases={"total": Phase(iterations=1, block_ns=[ns] * 3, pilots=CALM, reference={"core": 9.0})},
                once_ns={},
                harness_ns=0.0,
                clock_ns=1.0,
            )
            for k, ns in enumerate(times)
        ],
    )
    assert script("estimates").settled(times) is stops
    assert agreed(measured) is stops


def test_many_cells_stop_where_one_does(script):
    settled = script("estimates").settled
    times = np.exp(np.random.default_rng(0).normal(0.0, 0.02, (20, MOST_PROCESSES)))
    taken, low, high, coverage = script("intervals").stops(times)
    for cell in range(20):
        counts = [n for n in range(1, MOST_PROCESSES + 1) if settled(times[cell, :n].tolist())]
        assert taken[cell] == min(counts, default=MOST_PROCESSES)
        assert (low[cell], high[cell], coverage[cell]) == interval_of_median(times[cell, : taken[cell]].tolist())
    assert len(set(taken)) > 3


def test_a_cell_of_a_simulated_machine_that_is_never_slow_takes_the_least_processes(script):
    estimates = script("estimates")
    pairs = {"core": [(9.0, 9.0)] * 20}
    blocks = np.full((1, MOST_PROCESSES, 20), 0.5)
    blocks[..., 3] = 0.4
    lanes = SimpleNamespace(
        cell=[0],
        blocks=blocks,
        count=np.full((1, MOST_PROCESSES), 20),
        pilots=lambda lane, process: pairs,
    )
    cell = estimates.Cell(lanes, 0)
    level = estimates.until_settled([cell])
    assert cell.taken == LEAST_PROCESSES
    assert cell.times(9, level) == pytest.approx([0.5] * 9, rel=0.001)
    assert cell.floors(9, level) == pytest.approx([0.4] * 9, rel=0.001)


def test_the_errors_of_a_rule_are_those_against_its_own_truth(script):
    row = script("estimates").empty_row("exponential", 1.0, 0.0, 1.0, 0.0)
    row.said["gradmark"][:, 0], row.true["gradmark"][:] = [1.0, 1.02, 1.04, np.nan, 1.0], 1.0
    row.said["floor"][:, 0], row.true["floor"][:, 0] = 0.95, 0.9
    row.low[:2, 0], row.high[:2, 0], row.coverage[:2, 0] = [0.99, 1.01], 1.03, 0.96
    assert row.errors("gradmark").round(6).tolist() == [0.0, 0.02, 0.04, 0.0]
    assert row.errors("floor").round(6).tolist() == [0.055556] * 5
    assert row.apart("gradmark").round(6).tolist() == [0.04]
    assert row.held().tolist() == [True, False]
    assert row.stated().tolist() == [0.96, 0.96]
