"""Times: one number for each phase, parts that fit the whole, and no claim that noise alone supports."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradmark.records import Cell, Code, Measurement, Number, Phase, Sample, Warning, metric, readings
from gradmark.records.times import process_times, times, unrepeatable, warnings

CELL = Cell(engine="tapegrad", workload="poly", suite="scalar", params={"n": 10})
PHASES = ("primal", "forward", "backward", "total")


def phase(*block_ns, how="measured"):
    return Phase(iterations=1, block_ns=list(block_ns), how=how)


def sample(process=0, own_total=False, **phases):
    blocks = {name: p if isinstance(p, Phase) else phase(p) for name, p in phases.items()}
    return Sample(process=process, phases=blocks, once_ns={}, harness_ns=20.0, clock_ns=1.0, own_total=own_total)


def measurement(*samples, **fields):
    return Measurement(cell=CELL, status="ok", samples=list(samples), **fields)


def values(*samples):
    """Each number and whether it was computed."""
    return {name: (number.value, number.how) for name, number in times(measurement(*samples)).items()}


def reason(name, *samples):
    measured = measurement(*samples)
    return metric.metric(name).why_missing(measured, metric.numbers(measured))


# --- one number


def watched(*block_ns, calm=True):
    pilots = {"core": [(10.0, 10.0 if calm else 16.0)] * len(block_ns)}
    return Phase(iterations=1, block_ns=list(block_ns), pilots=pilots, reference={"core": 10.0})


def test_the_number_is_the_median_over_processes_of_the_lower_quartile_of_their_calm_blocks():
    blocks = [
        (90.0, 101.0, 900.0, 900.0, 900.0),
        (80.0, 103.0, 104.0, 105.0, 106.0),
        (70.0, 99.0, 900.0, 901.0, 902.0),
        (100.0, 110.0, 120.0, 130.0, 140.0),
        (1.0, 102.0, 300.0, 300.0, 300.0),
    ]
    found = times(measurement(*(sample(total=watched(*ns)) for ns in blocks)))
    assert found["total"] == Number(
        value=102.0, processes=5, spread=5.5 / 102.0, median=102.0, low=99.0, high=110.0, coverage=0.9375
    )


def test_with_nine_processes_the_interval_leaves_out_one_at_either_end():
    each = [100.0, 50.0, 101.0, 102.0, 99.0, 98.0, 103.0, 400.0, 104.0]
    total = times(measurement(*(sample(total=watched(ns, ns, ns)) for ns in each)))["total"]
    assert (total.value, total.low, total.high, total.spread) == (101.0, 98.0, 104.0, 3.0 / 101.0)
    assert total.coverage == pytest.approx(1 - 20 / 512)


def test_processes_that_were_not_calm_do_not_count_unless_all_were_not():
    slow = [sample(total=watched(*[ns] * 3, calm=False)) for ns in (160.0, 170.0)]
    calm = [sample(total=watched(*[ns] * 3)) for ns in (100.0, 102.0, 104.0)]
    both, alone = (times(measurement(*samples))["total"] for samples in ([*slow, *calm], slow))
    assert (both.value, both.processes, both.calm) == (102.0, 3, True)
    assert (alone.value, alone.processes, alone.calm) == (165.0, 2, False)


def test_without_pilots_the_number_is_the_fastest_block_over_all_processes():
    found = times(measurement(sample(total=phase(120, 110)), sample(total=phase(300, 100)), sample(total=phase(105))))
    assert found["total"].value == 100
    assert found["total"].processes == 3


def test_the_spread_is_half_of_the_interval_of_the_median():
    found = times(measurement(*(sample(total=phase(ns, 3 * ns)) for ns in (100.0, 140.0, 110.0))))
    assert (found["total"].median, found["total"].spread) == (220.0, 40.0 / 220.0)


def test_the_process_is_the_unit_of_the_median():
    # Pooled, the many slow blocks of the third process would pull the median to 900.
    found = times(
        measurement(
            sample(total=phase(100, 110, 120)), sample(total=phase(105, 115, 125)), sample(total=phase(*[900] * 9))
        )
    )
    assert found["total"] == Number(
        value=100, processes=3, spread=395 / 115, median=115, low=110, high=900, coverage=0.75
    )


def test_one_process_has_neither_spread_nor_coverage():
    found = times(measurement(sample(total=phase(3.0, 1.0, 2.0))))
    assert found["total"] == Number(value=1.0, processes=1, median=2.0, low=2.0, high=2.0)


def test_what_the_subtraction_of_the_harness_left_of_nothing_has_no_spread():
    assert times(measurement(sample(total=-3.5), sample(total=3.0)))["total"].spread is None


def test_what_was_not_timed_is_missing_and_not_zero():
    assert times(measurement()) == {}
    assert values(sample(total=phase())) == {}
    assert values(sample(primal=4.0)) == {"primal": (4.0, "measured")}


def test_a_process_without_the_phase_does_not_count():
    samples = [sample(total=4.0), sample(total=phase()), sample(primal=1.0)]
    assert process_times(samples, "total") == [4.0]
    assert times(measurement(*samples))["total"].processes == 1


# --- parts and the whole


def test_backward_is_computed_from_the_numbers_that_are_shown():
    # Each process for itself would give 150 and 110.
    samples = [sample(forward=100.0, total=250.0), sample(forward=130.0, total=240.0)]
    assert values(*samples)["backward"] == (140.0, "derived")


def test_a_measured_backward_stays():
    assert values(sample(forward=100.0, backward=120.0, total=210.0)) == {
        "forward": (100.0, "measured"),
        "backward": (120.0, "measured"),
        "total": (210.0, "measured"),
    }


def test_a_part_beyond_the_whole_is_computed_from_the_other():
    slow_forward = sample(forward=220.0, backward=90.0, total=210.0)
    assert values(slow_forward)["forward"] == (120.0, "derived")
    assert values(slow_forward)["backward"] == (90.0, "measured")
    slow_backward = sample(forward=100.0, backward=211.0, total=210.0)
    assert values(slow_backward)["backward"] == (110.0, "derived")


@pytest.mark.parametrize(("part", "other"), [("forward", "backward"), ("backward", "forward")])
def test_a_total_of_its_own_is_not_the_sum_of_parts(part, other):
    fused = sample(own_total=True, **{part: 220.0, other: 90.0, "total": 210.0})
    assert values(fused) == {other: (90.0, "measured"), "total": (210.0, "measured")}
    assert reason(part, fused) == f"{part} was not faster than total in any block"


def test_a_total_of_its_own_still_gives_a_backward_that_was_never_timed():
    assert values(sample(own_total=True, forward=100.0, total=210.0))["backward"] == (110.0, "derived")


def test_both_parts_beyond_the_whole():
    noisy = sample(forward=220.0, backward=230.0, total=210.0)
    assert values(noisy) == {"total": (210.0, "measured")}
    for part in ("forward", "backward"):
        assert reason(part, noisy) == f"{part} was not faster than total in any block"
    assert reason("backward_forward", noisy) == "backward was not faster than total in any block"


def test_forward_as_long_as_the_whole_leaves_nothing_for_backward():
    for forward, how in ((201.0, "measured"), (210.0, "measured"), (220.0, "derived")):
        for own in (False, True):
            short = sample(forward=forward, total=210.0, own_total=own)
            assert values(short)["forward"] == (min(forward, 210.0), how)
            assert "backward" not in values(short)
            assert reason("backward", short) == "total takes barely longer than forward: the difference is noise"


def test_a_forward_far_beyond_the_whole_says_nothing_of_it():
    fused = sample(forward=300.0, total=210.0, own_total=True)
    assert values(fused) == {"total": (210.0, "measured")}
    assert reason("forward", fused) == "forward was not faster than total in any block"


def test_what_older_files_computed_is_not_used():
    old = [
        sample(forward=100.0, backward=phase(7.0, how="derived"), total=250.0),
        sample(forward=130.0, backward=phase(8.0, how="derived"), total=240.0),
    ]
    assert values(*old)["backward"] == (140.0, "derived")
    assert process_times(old, "backward") == []
    assert not unrepeatable(old)


def test_further_phases_are_numbers_too():
    assert values(sample(total=250.0, replay=70.0))["replay"] == (70.0, "measured")


# --- backward that does less when it is repeated

REPEATED = {"forward": 1000.0, "backward": 200.0, "total": 5000.0}


def test_an_unrepeatable_backward_is_computed_and_told():
    lazy = [sample(process, **REPEATED) for process in range(4)]
    assert values(*lazy)["backward"] == (4000.0, "derived")
    assert warnings(measurement(*lazy)) == [
        Warning(code=Code.UNREPEATABLE, numbers={"apart_ns": 1200.0, "together_ns": 5000.0})
    ]


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_few_processes_prove_nothing(processes):
    few = [sample(process, **REPEATED) for process in range(processes)]
    assert warnings(measurement(*few)) == []
    assert values(*few)["backward"] == (200.0, "measured")


def test_one_process_that_explains_it_is_enough():
    calm = sample(4, forward=1000.0, backward=200.0, total=1250.0)
    seen = [*(sample(process, **REPEATED) for process in range(4)), calm]
    assert warnings(measurement(*seen)) == []
    assert values(*seen)["backward"] == (200.0, "measured")


def test_a_process_without_all_three_says_nothing():
    seen = [sample(process, **REPEATED) for process in range(3)]
    seen += [sample(3, total=5000.0), sample(4, forward=1000.0, backward=phase(), total=5000.0)]
    assert not unrepeatable(seen)


def test_an_engine_with_a_total_of_its_own_says_that_it_does_more():
    assert warnings(measurement(*(sample(process, own_total=True, **REPEATED) for process in range(4)))) == []


def test_noise_on_a_shared_machine_does_not_look_unrepeatable():
    """Blocks that vary by half, and bursts that slow some blocks in a row to a third, on what takes 2 µs and 0.5 µs."""
    draw = random.Random(12)

    def blocks(ns):
        return phase(*(ns * (1 + draw.lognormvariate(-1.5, 1.0)) * draw.choice([1, 1, 3]) for _ in range(8)))

    told = 0
    for _ in range(500):
        samples = [
            sample(process, forward=blocks(2000.0), backward=blocks(500.0), total=blocks(2600.0))
            for process in range(4)
        ]
        told += bool(warnings(measurement(*samples)))
    assert told == 0


slowness = st.lists(st.floats(1.0, 50.0), min_size=1, max_size=4)


@given(
    noise=st.lists(st.fixed_dictionaries(dict.fromkeys(PHASES, slowness)), max_size=4),
    calm=st.lists(st.floats(1.0, 1.4), min_size=1, max_size=3),
    parts=st.tuples(slowness, slowness),
    place=st.integers(0, 4),
)
def test_no_noise_looks_unrepeatable_if_one_process_met_a_calm_moment(noise, calm, parts, place):
    true = {"primal": 900.0, "forward": 2000.0, "backward": 500.0, "total": 2500.0}
    seen = [{name: phase(*(true[name] * s for s in factors)) for name, factors in one.items()} for one in noise]
    forward, backward = (phase(*(true[name] * s for s in f)) for name, f in zip(PHASES[1:3], parts, strict=True))
    seen.insert(place, {"forward": forward, "backward": backward, "total": phase(*(2500.0 * s for s in calm))})
    samples = [sample(process, **phases) for process, phases in enumerate(seen)]
    assert not unrepeatable(samples)
    assert warnings(measurement(*samples)) == []


# --- what holds for any samples

some_phase = st.builds(
    lambda blocks, how: Phase(iterations=1, block_ns=blocks, how=how),
    st.lists(st.floats(-4.0, 1e6), max_size=3),
    st.sampled_from(["measured", "measured", "measured", "derived"]),
)
some_samples = st.lists(
    st.builds(
        lambda phases, own: sample(own_total=own, **phases),
        st.dictionaries(st.sampled_from([*PHASES, "replay"]), some_phase),
        st.booleans(),
    ),
    max_size=4,
)


@given(some_samples)
def test_a_part_never_exceeds_the_whole(samples):
    found = times(measurement(*samples))
    if "total" not in found:
        return
    total = found["total"].value
    parts = [found[name] for name in ("forward", "backward") if name in found]
    assert all(part.value <= total for part in parts)
    if any(part.how == "derived" for part in parts):
        together = sum(part.value for part in parts)
        assert together <= total + 1e-12 * abs(total)
        if all(part.value > 0 for part in parts):
            assert together == pytest.approx(total, rel=1e-12)
    assert [part.how for part in parts].count("derived") <= 1


@given(some_samples)
def test_a_measured_number_is_the_least_block_that_was_measured(samples):
    for name, number in times(measurement(*samples)).items():
        if number.how == "measured":
            timed = [s.phases[name] for s in samples if name in s.phases]
            assert number.value == min(ns for p in timed if p.how == "measured" for ns in p.block_ns)


@given(some_samples, st.integers(1, 10**6))
def test_ratios_and_rates_are_quotients_of_the_numbers_that_are_shown(samples, operations):
    found = metric.numbers(measurement(*samples, operations=operations, flops=3.0 * operations))
    for name, above, below in (("backward_forward", "backward", "forward"), ("gradient_primal", "total", "primal")):
        if name in found:
            assert found[name].value == found[above].value / found[below].value
            assert (found[name].how == "derived") == ("derived" in (found[above].how, found[below].how))
    for name, count in (("operations_per_s", operations), ("flops_per_s", 3.0 * operations)):
        if name in found:
            assert found[name].value == pytest.approx(1e9 * count / found["total"].value, rel=1e-14)
            assert found["total"].value > readings.LEAST_NS


@given(some_samples)
def test_every_missing_number_has_a_reason(samples):
    measured = measurement(*samples)
    found = metric.numbers(measured)
    for entry in metric.metrics_of(measured):
        if entry.name not in found:
            assert len(entry.why_missing(measured, found)) > 3
