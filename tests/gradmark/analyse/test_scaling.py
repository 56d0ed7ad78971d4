"""Verdicts on growth: exact counts, noisy times, planted faults, and measurements that do not belong together."""

import doctest
import math

import msgspec
import numpy as np
import pytest
from oracles.watched import never_calm

from gradmark.analyse import scaling
from gradmark.analyse.scaling import fit, fits
from gradmark.errors import GradmarkError
from gradmark.records import Cell, Measurement, Memory, Phase, Sample, TapeSize
from gradmark.records.metric import metrics_of, numbers, phases

THREE = [10, 100, 1000]
FOUR = [10, 100, 1000, 10000]
SEVEN = [10, 30, 100, 300, 1000, 3000, 10000]


def verdict(sizes, costs, **kwargs):
    return fit("tape_instructions", sizes, costs, **kwargs).verdict


@pytest.mark.parametrize("sizes", [THREE, FOUR, SEVEN])
@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        (lambda n: n, "linear"),
        (lambda n: 3 * n, "linear"),
        (lambda n: n**2, "superlinear"),
        (lambda n: n**3, "superlinear"),
        (lambda n: math.isqrt(100 * n**1), "sublinear"),
        (lambda n: 5, "constant"),
        (lambda n: 0, "constant"),
    ],
)
def test_exact_counts(sizes, cost, expected):
    assert verdict(sizes, [cost(n) for n in sizes]) == expected


@pytest.mark.parametrize("sizes", [FOUR, SEVEN])
@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        (lambda n: n + 7, "linear"),
        (lambda n: 2 * n + 5000, "linear"),
        (lambda n: n**2 + n, "superlinear"),
        (lambda n: n * (n - 1) // 2 + 3, "superlinear"),
    ],
)
def test_exact_counts_with_a_constant_part_have_tight_intervals(sizes, cost, expected):
    found = fit("tape_instructions", sizes, [cost(n) for n in sizes])
    assert found.verdict == expected
    assert found.high - found.low == pytest.approx(0.04, abs=0.01)


def test_fields_of_a_fit():
    found = fit("tape_instructions", FOUR, [17, 107, 1007, 10007])
    assert (found.metric, found.sizes, found.costs) == ("tape_instructions", FOUR, [17, 107, 1007, 10007])
    assert (found.a, found.b, found.p) == pytest.approx((7, 1, 1))
    assert (found.low, found.high) == pytest.approx((0.98, 1.02))


def test_fields_of_a_constant():
    found = fit("allocations", THREE, [4, 4, 4])
    assert (found.a, found.b, found.p, found.low, found.high) == (4, 0, 0, 0, 0.02)


def test_growth_within_the_error_of_the_model_is_constant():
    assert verdict(FOUR, [1000, 1030, 990, 1040]) == "constant"
    assert verdict(FOUR, [1000, 1030, 1060, 1300]) != "constant"


@pytest.mark.parametrize("sizes", [THREE, FOUR, SEVEN])
def test_n_log_n_at_small_sizes_is_superlinear_because_its_interval_says_so(sizes):
    found = fit("total", sizes, [n * math.log(n) for n in sizes])
    assert found.p == pytest.approx(1.2, abs=0.04)
    assert found.low > 1.1
    assert found.verdict == "superlinear"


@pytest.mark.parametrize(("start", "expected"), [(100, "unclear"), (10**6, "linear")])
def test_n_log_n_at_larger_sizes_is_not(start, expected):
    sizes = [start * 10**decade for decade in range(4)]
    assert verdict(sizes, [n * math.log(n) for n in sizes]) == expected


def test_quadratic_part_that_only_the_largest_sizes_show_needs_more_sizes():
    assert verdict(FOUR, [n + n**2 / 1000 for n in FOUR]) == "unclear"
    assert verdict(SEVEN, [n + n**2 / 1000 for n in SEVEN]) == "superlinear"


def test_one_step_up_is_no_exponent():
    found = fit("allocations", FOUR, [0, 0, 0, 1])
    assert (found.low, found.verdict) == (0, "unclear")
    assert verdict(FOUR, [8, 8, 8, 16]) == "unclear"


def test_counts_below_zero_are_none():
    found = fit("allocations", THREE, [-1, 0, -2])
    assert (found.verdict, found.costs, found.a) == ("constant", [-1, 0, -2], 0)
    assert verdict(FOUR, [-3, 100, 10000, 1000000]) == "superlinear"


def test_leak_that_starts_late_is_seen():
    assert verdict(SEVEN, [0, 0, 0, 9, 100, 900, 10000]) == "superlinear"


def test_visits_that_double_are_seen():
    assert verdict([4, 8, 12, 16], [2**n for n in (4, 8, 12, 16)]) == "superlinear"


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("p", "expected"), [(1, "linear"), (2, "superlinear"), (0.5, "sublinear")])
def test_noise_of_five_percent(seed, p, expected):
    noise = np.random.default_rng(seed).uniform(0.95, 1.05, len(SEVEN))
    assert verdict(SEVEN, [3.0 * n**p * part for n, part in zip(SEVEN, noise, strict=True)]) == expected


def test_noise_without_growth_is_not_superlinear():
    for seed in range(10):
        costs = np.random.default_rng(seed).uniform(0.7, 1.3, len(SEVEN)).tolist()
        assert verdict(SEVEN, costs) != "superlinear"


@pytest.mark.parametrize(("sizes", "costs"), [([], []), ([10, 100], [1, 2]), ([10, 10, 100], [1, 1, 2])])
def test_fewer_than_three_sizes(sizes, costs):
    with pytest.raises(
        GradmarkError, match=r"Expected tape_instructions at 3 different sizes or more, got \d .*Measure more sizes"
    ):
        fit("tape_instructions", sizes, costs)


def test_repeated_sizes_are_welcome():
    assert verdict([10, 10, 100, 1000], [10, 10, 100, 1000]) == "linear"


@pytest.mark.parametrize(
    ("sizes", "costs", "spreads"),
    [
        (THREE, [1, 2], None),
        (THREE, [1, 2, 3], [0.1]),
        ([0, 1, 2], [1, 2, 3], None),
        (THREE, [1, math.nan, 3], None),
        (THREE, [1, math.inf, 3], None),
        (THREE, [1, 2, 3], [0.1, 0.0, 0.1]),
    ],
)
def test_numbers_that_cannot_be_fitted(sizes, costs, spreads):
    with pytest.raises(GradmarkError, match=r"^Expected .*(Give as many|Leave out the sizes)"):
        fit("tape_instructions", sizes, costs, spreads)


def measured(n, *, times=None, status="ok", params=None, **fields):
    """A measurement of three processes whose floors are 0, 1 and 2 % above the given times."""
    samples = [
        Sample(
            process=process,
            phases={
                name: Phase(how="measured", iterations=1, block_ns=[ns * (1 + process / 100)])
                for name, ns in (times or {}).items()
            },
            once_ns={},
            harness_ns=20.0,
            clock_ns=1.0,
        )
        for process in range(3)
    ]
    cell = Cell(engine="own", workload="poly", suite="scalar", params=params or {"n": n})
    return Measurement(cell=cell, status=status, samples=samples if times else [], **fields)


def swept(sizes=SEVEN):
    return [
        measured(
            n,
            times={
                "primal": 9.0 * n,
                "forward": 60.0 + 30 * n,
                "backward": 0.2 * n**2,
                "total": 60 + 30 * n + 0.2 * n**2,
            },
            memory=Memory(allocations=0.02, allocated_bytes=24.0 * n**2, peak_bytes=4096 + 25 * n),
            tape=TapeSize(instructions=2 * n + 1),
        )
        for n in sizes
    ]


def test_fits_of_a_sweep_with_a_quadratic_planted_in_backward():
    found = {item.metric: item for item in fits(swept(), "n")}
    assert {metric: item.verdict for metric, item in found.items()} == {
        "primal": "linear",
        "forward": "linear",
        "backward": "superlinear",
        "total": "superlinear",
        "allocations": "constant",
        "allocated_bytes": "superlinear",
        "tape_instructions": "linear",
        "peak_bytes": "linear",
    }
    assert found["backward"].costs == pytest.approx([0.2 * n**2 for n in SEVEN])
    assert found["tape_instructions"].costs == [2 * n + 1 for n in SEVEN]
    assert found["allocations"].costs == [0] * 7


def test_every_metric_that_the_registry_marks_is_fitted_and_no_other():
    item = next(iter(swept([100])))
    marked = [entry.name for entry in metrics_of(item) if entry.fitted]
    assert {"allocated_bytes", "tape_instructions", *phases()} <= set(marked)
    assert [curve.metric for curve in fits(swept(), "n")] == [name for name in marked if name in numbers(item)]


def test_a_phase_that_a_session_declares_is_fitted():
    (curve,) = fits([measured(n, times={"compile": 7.0 * n**2}) for n in FOUR], "n")
    assert (curve.metric, curve.verdict) == ("compile", "superlinear")


def test_a_derived_backward_is_the_number_that_is_shown_and_scatters_as_its_parts_do():
    """6 % of total are backward, and total and forward are uncertain by 1 % each: so is backward, by a quarter."""
    derived = [measured(n, times={"forward": 1000.0 * n, "total": 1060.0 * n}) for n in SEVEN]
    clear = [measured(n, times={"forward": 10.0 * n, "total": 1010.0 * n}) for n in SEVEN]
    for sweep in (derived, clear):
        assert [numbers(item)["backward"].how for item in sweep] == ["derived"] * 7
        curve = next(curve for curve in fits(sweep, "n") if curve.metric == "backward")
        assert curve.costs == [numbers(item)["backward"].value for item in sweep]
    wide, narrow = (next(c for c in fits(sweep, "n") if c.metric == "backward") for sweep in (derived, clear))
    assert narrow.verdict == "linear"
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_a_forward_that_is_as_long_as_the_whole_is_fitted_as_the_whole():
    sweep = [measured(n, times={"forward": 1020.0 * n, "total": 1000.0 * n}) for n in SEVEN]
    curves = {curve.metric: curve for curve in fits(sweep, "n")}
    assert curves["forward"].costs == curves["total"].costs
    assert (curves["forward"].low, curves["forward"].high) == (curves["total"].low, curves["total"].high)


def test_size_whose_processes_disagree_weighs_less():
    sweep = [measured(n, times={"total": 5.0 * n}) for n in SEVEN[:6]]
    calm = measured(10000, times={"total": 10.0 * 10000})  # twice too slow
    slow = Phase(how="measured", iterations=1, block_ns=[6 * 10.0 * 10000])
    scattered = msgspec.structs.replace(
        calm, samples=[*calm.samples[:2], msgspec.structs.replace(calm.samples[2], phases={"total": slow})]
    )
    assert fits([*sweep, calm], "n")[0].p > 1.05
    assert fits([*sweep, scattered], "n")[0].p == pytest.approx(1.0, abs=0.001)


def test_order_of_measurements_does_not_matter():
    assert fits(swept(SEVEN[::-1]), "n") == fits(swept(), "n")


def test_only_metrics_with_three_sizes_are_fitted():
    sweep = [measured(n, tape=TapeSize(instructions=n)) for n in FOUR]
    sweep[3] = measured(FOUR[3], memory=Memory(reason="no memray here"))
    assert [item.metric for item in fits(sweep, "n")] == ["tape_instructions"]
    assert fits(sweep[:2], "n") == []
    assert fits([], "n") == []


def test_failed_sizes_and_lost_times_are_left_out():
    sweep = swept()
    sweep[0] = measured(10, times={"primal": 0.0})
    sweep[1] = measured(30, times={"primal": 4.0})  # no more than the subtraction of the harness may leave of nothing
    sweep[6] = measured(10000, status="timeout", times={"primal": 1.0})
    assert fits(sweep, "n")[0].sizes == [100, 300, 1000, 3000]


def test_unlike_measurements_do_not_lie_on_one_curve():
    sweep = [measured(n, params={"n": n, "depth": n // 100}, tape=TapeSize(instructions=n)) for n in THREE]
    with pytest.raises(GradmarkError, match="differ in 'n' alone, got 3 kinds: poly/n=\\*/depth=0@own; poly/n"):
        fits(sweep, "n")


@pytest.mark.parametrize("params", [{"m": 3}, {"n": "wide"}])
def test_parameter_that_is_no_number(params):
    with pytest.raises(GradmarkError, match=r"Expected a number for parameter 'n' of poly/.*Its parameters are: \w="):
        fits([measured(0, params=params)], "n")


def test_examples_run():
    assert doctest.testmod(scaling) == (0, 3)


def tensors(sizes, **declared):
    """Measurements whose tape grows as the cube of n, with what a workload declares of each n."""
    return [
        Measurement(
            cell=Cell(engine="e", workload="w", suite="s", params={"n": n}),
            status="ok",
            tape=TapeSize(instructions=n**3),
            shapes={"x": [n, n]},
            operations=2,
            **{name: function(n) for name, function in declared.items()},
        )
        for n in sizes
    ]


@pytest.mark.parametrize(
    ("declared", "p", "counted"),
    [
        ({"flops": lambda n: 6.0 * n**3}, 1.0, "flops"),
        ({"bytes": lambda n: 8.0 * n**2}, 1.5, "bytes"),
        ({"flops": lambda n: 6.0 * n**3, "bytes": lambda n: 8.0 * n**2}, 1.0, "flops"),
        ({}, 3.0, "the parameter"),
    ],
    ids=["flops", "bytes", "both", "neither"],
)
def test_tensors_grow_against_their_work_and_not_their_calls(declared, p, counted):
    measurements = tensors(FOUR, **declared)
    (found,) = fits(measurements, "n")
    assert found.p == pytest.approx(p)
    assert {scaling.counted_in(item) for item in measurements} == {counted}


def test_numbers_grow_against_operations():
    item = Measurement(cell=Cell(engine="e", workload="w", suite="s"), status="ok", operations=7)
    assert (scaling.work(item), scaling.counted_in(item)) == (7, "operations")


def test_times_that_were_never_seen_on_a_calm_machine_are_left_out():
    rows = [measured(n, times={"total": 100.0 * n}, tape=TapeSize(instructions=n)) for n in FOUR]
    disturbed = never_calm(measured(10000, times={"total": 1e8}, tape=TapeSize(instructions=10000)))
    curves = {curve.metric: curve for curve in fits([*rows[:3], disturbed], "n")}
    assert (curves["total"].sizes, curves["total"].verdict) == (THREE, "linear")
    assert curves["tape_instructions"].sizes == FOUR
    assert [curve.metric for curve in fits([never_calm(row) for row in rows], "n")] == ["tape_instructions"]
