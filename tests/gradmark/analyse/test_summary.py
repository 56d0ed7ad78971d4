"""Estimates over processes, and the summary of a measurement, on recorded numbers."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradmark.analyse.estimates import estimate, estimate_once, summarise
from gradmark.records import Cell, Estimate, Measurement, Phase, Sample

CELL = Cell(engine="null", workload="poly", suite="scalar", params={"n": 10})


def phase(*block_ns, how="measured"):
    return Phase(how=how, iterations=1, block_ns=list(block_ns))


def sample(process=0, once_ns=None, harness_ns=20.0, warnings=(), **phases):
    return Sample(
        process=process,
        phases=phases,
        once_ns=once_ns or {},
        harness_ns=harness_ns,
        clock_ns=1.0,
        warnings=list(warnings),
    )


def measurement(*samples, **fields):
    return Measurement(cell=CELL, status="ok", samples=list(samples), **fields)


def test_process_is_the_unit_of_analysis():
    # Pooled, the many slow blocks of the third process would pull the median to 900.
    samples = [sample(total=phase(100, 110, 120)), sample(total=phase(105, 115, 125)), sample(total=phase(*[900] * 9))]
    assert estimate(samples, "total") == Estimate(median=115, low=110, high=900, floor=100, processes=3)


def test_one_process_has_no_interval():
    found = estimate([sample(total=phase(3.0, 1.0, 2.0))], "total")
    assert found == Estimate(median=2.0, low=2.0, high=2.0, floor=1.0, processes=1)


def test_identical_processes_have_no_interval_and_give_no_warning():
    found = estimate([sample(total=phase(7.0, 7.0))] * 5, "total")
    assert found == Estimate(median=7.0, low=7.0, high=7.0, floor=7.0, processes=5)


def test_interval_is_the_bootstrap_over_processes():
    # 97.5 % of resamples of nine values have a median between the second and the eighth.
    found = estimate([sample(total=phase(float(value))) for value in range(1, 10)], "total")
    assert (found.low, found.median, found.high) == (2.0, 5.0, 8.0)


def test_same_samples_give_the_same_interval():
    samples = [sample(total=phase(value)) for value in (1.0, 1.3, 1.7, 2.9, 5.1)]
    assert estimate(samples, "total") == estimate(samples, "total")


@given(st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=6))
def test_interval_holds_the_median_and_the_values_hold_the_interval(values):
    found = estimate([sample(total=phase(value)) for value in values], "total")
    assert min(values) == found.floor <= found.low <= found.median <= found.high <= max(values)


def test_one_derived_process_makes_the_estimate_derived():
    samples = [sample(backward=phase(5.0)), sample(backward=phase(6.0, how="derived"))]
    assert estimate(samples, "backward").how == "derived"
    assert estimate(samples[:1], "backward").how == "measured"


def test_phase_that_was_not_timed_is_none_and_not_zero():
    assert estimate([], "total") is None
    assert estimate([sample(forward=phase(1.0))], "total") is None
    assert estimate([sample(total=phase())], "total") is None


def test_process_without_the_phase_does_not_count():
    assert estimate([sample(total=phase(4.0)), sample(forward=phase(1.0))], "total").processes == 1


def test_once():
    samples = [sample(once_ns={"import": value}) for value in (30.0, 10.0, 20.0)]
    assert estimate_once(samples, "import") == Estimate(median=20.0, low=10.0, high=30.0, floor=10.0, processes=3)
    assert estimate_once(samples, "prepare") is None


def test_summary():
    found = summarise(
        measurement(
            sample(
                0,
                once_ns={"import": 5.0},
                harness_ns=10.0,
                primal=phase(100.0, 101.0),
                forward=phase(200.0),
                backward=phase(300.0, how="derived"),
                total=phase(500.0),
            ),
            sample(1, once_ns={"import": 5.0, "prepare": 7.0}, harness_ns=30.0, total=phase(505.0)),
            operations=1000,
            flops=2500.0,
            message="said",
        )
    )
    assert list(found.phases) == ["primal", "forward", "backward", "total"]
    assert found.phases["backward"].how == "derived"
    assert list(found.once) == ["import", "prepare"]
    assert found.ratio == 300.0 / 200.0
    assert found.gradient_ratio == 500.0 / 100.0
    assert (found.operations_per_s, found.flops_per_s, found.bytes_per_s) == (2e9, 5e9, None)
    assert found.harness_ns == 20.0
    assert (found.cell, found.status, found.message) == (CELL, "ok", "said")
    assert found.steady
    assert found.warnings == []


def test_summary_of_what_was_not_measured():
    found = summarise(Measurement(cell=CELL, status="timeout", message="60 s", operations=10, warnings=["slow"]))
    assert (found.phases, found.once) == ({}, {})
    assert (found.ratio, found.gradient_ratio, found.operations_per_s, found.harness_ns) == (None, None, None, None)
    assert found.steady
    assert found.warnings == ["slow"]


@pytest.mark.parametrize("lost", [0.0, -0.5])
def test_time_lost_in_the_subtraction_gives_no_ratio(lost):
    found = summarise(
        measurement(
            sample(primal=phase(lost), forward=phase(lost), backward=phase(3.0), total=phase(lost)), operations=10
        )
    )
    assert (found.ratio, found.gradient_ratio, found.operations_per_s) == (None, None, None)
    assert found.phases["total"].floor == lost


def test_warnings_are_told_once_in_their_order():
    samples = [sample(warnings=["b", "a"], total=phase(1.0)), sample(warnings=["a", "c"], total=phase(1.0))]
    assert summarise(measurement(*samples, warnings=["m", "c"])).warnings == ["m", "c", "b", "a"]


def test_process_that_disagrees_is_told():
    found = summarise(measurement(*(sample(forward=phase(ns), total=phase(900.0)) for ns in (100.0, 104.0, 134.0))))
    assert not found.steady
    assert found.warnings == [
        "unsteady: the floors of 3 processes for forward are 34.0 % apart. Close other programs, see what "
        "`gradmark doctor` says of this machine, and measure again with `--full`, which takes more processes."
    ]


def test_blocks_far_above_the_floor_are_told():
    found = summarise(measurement(sample(total=phase(100.0, 180.0, 190.0), forward=phase(100.0))))
    assert not found.steady
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith("unsteady: the median of total is 80.0 % above its floor. Close")


def test_all_unsteady_phases_are_in_one_warning():
    found = summarise(measurement(*(sample(forward=phase(ns), total=phase(2 * ns)) for ns in (100.0, 120.0))))
    assert len(found.warnings) == 1
    assert "for forward are 20.0 % apart; the floors of 2 processes for total are 20.0 % apart." in found.warnings[0]


@pytest.mark.parametrize(
    "samples",
    [
        [sample(total=phase(100.0)), sample(total=phase(110.0))],  # at the limit of floors
        [sample(total=phase(100.0, 150.0, 150.0))],  # at the limit of medians
        [sample(total=phase(50.0, 90.0)), sample(total=phase(500.0))],  # too short to be judged
        [sample(total=phase(100.0)), sample(total=phase()), sample(forward=phase(900.0))],  # one process has the phase
    ],
)
def test_no_false_alarm(samples):
    found = summarise(measurement(*samples))
    assert found.steady
    assert found.warnings == []


def test_stage_starts_without_numpy_and_scipy():
    code = (
        "import sys, gradmark.analyse.estimates, gradmark.analyse.scaling, gradmark.analyse.paired; "
        "print([name for name in ('numpy', 'scipy') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"
