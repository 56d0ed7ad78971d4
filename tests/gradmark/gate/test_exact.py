import typing
from dataclasses import replace

import msgspec
import pytest

from gradmark.gate.configuration import DEFAULTS, Configuration
from gradmark.gate.exact import RECOUNTS, agreeing, compare, confirmed, unlike
from gradmark.records import Budget, Instructions, Memory, TapeSize
from gradmark.records import metric as registry
from gradmark.records.finding import Finding, FindingCode
from gradmark.records.measurement import LACKING, Status
from gradmark.records.metric import metric
from gradmark.store.baselines import Kept, baseline, described

NAME = "poly@e"


@pytest.fixture
def words(here):
    def of(before, *measurements, environment=here):
        found = compare(before, measurements, described(environment), Configuration())
        return {finding.metric: finding.word for finding in found}

    return of


def test_nothing_changed(words, kept, measured):
    assert words(kept, measured()) == dict.fromkeys(
        ["allocations", "leaked_bytes", "peak_bytes", "tape_instructions", "gradient_error"], "pass"
    )


@pytest.mark.parametrize(
    ("metric", "change"),
    [
        ("allocations", {"allocations": 1.0}),
        ("leaked_bytes", {"leaked_bytes": 8.0}),
        ("peak_bytes", {"peak_bytes": 1060}),
        ("tape_instructions", {"tape": 21}),
        ("gradient_error", {"error": 1.1e-14}),
        ("gradient_error", {"error": 1e-10}),
    ],
)
def test_each_metric_fails_by_itself(words, kept, measured, metric, change):
    found = words(kept, measured(**change))
    assert [name for name, word in found.items() if word == "fail"] == [metric]


@pytest.mark.parametrize("change", [{"peak_bytes": 1049}, {"error": 9.9e-15}, {"error": 0.0}])
def test_within_the_budget(words, kept, measured, change):
    assert set(words(kept, measured(**change)).values()) == {"pass"}


def test_errors_of_rounding_are_no_news(words, measured, here):
    assert words(baseline([measured(error=0.0)], here), measured(error=15 * 2**-52))["gradient_error"] == "pass"
    assert words(baseline([measured(error=0.0)], here), measured(error=17 * 2**-52))["gradient_error"] == "fail"
    single = baseline([measured(error=0.0, dtype="float32")], here)
    assert (
        words(single, measured(error=15 * 2**-23, dtype="float32"))["gradient_error"] == "fail"
    )  # above the tolerance


def test_an_improvement_beyond_the_budget(measured, here):
    before = baseline([measured(allocations=12.0, tape=30, error=1e-12)], here)
    found = compare(before, [measured()], described(here), Configuration())
    better = {f.metric: f.code for f in found if f.word == "improved"}
    assert better == dict.fromkeys(["allocations", "tape_instructions", "gradient_error"], FindingCode.BETTER)


def test_new_and_vanished_cells_are_named(kept, measured, here):
    found = compare(kept, [measured("other")], described(here), Configuration())
    assert [(f.cell, f.word) for f in found] == [("other@e", "new"), (NAME, "inconclusive")]
    assert [f.code for f in found] == [FindingCode.NEW, FindingCode.VANISHED]


@pytest.mark.parametrize(
    ("before", "now", "word"),
    [
        ("ok", "wrong-gradient", "fail"),
        ("error", "error", "pass"),
        ("error", "crash", "fail"),
        ("error", "ok", "improved"),
    ],
)
def test_a_cell_that_does_not_work(measured, here, before, now, word):
    found = compare(baseline([measured(status=before)], here), [measured(status=now)], described(here), Configuration())
    assert [(f.metric, f.word) for f in found] == [("status", word)]


@pytest.mark.parametrize("change", [{"python": "CPython 3.12.1"}, {"packages": {"numpy": "2.5.0", "memray": "1.20.1"}}])
def test_elsewhere_only_what_still_compares_is_judged(words, kept, measured, here, change):
    there = msgspec.structs.replace(here, **change)
    found = words(kept, measured(allocations=5.0, tape=21, error=1e-12, leaked_bytes=8.0), environment=there)
    assert found == {
        "allocations": "not compared",
        "peak_bytes": "not compared",
        "leaked_bytes": "fail",
        "tape_instructions": "fail",
        "gradient_error": "fail",
    }


def test_patch_levels_the_kernel_and_other_packages_change_no_count(words, kept, measured, here):
    there = msgspec.structs.replace(
        here, python="CPython 3.11.9", os="Linux 7.0", packages={"numpy": "2.4.9", "memray": "1.20.3"}, cpu="6502"
    )
    assert words(kept, measured(allocations=1.0), environment=there)["allocations"] == "fail"


def test_what_differs_is_named(here):
    there = msgspec.structs.replace(here, machine="aarch64", packages={"numpy": "2.4.0"})
    assert unlike(described(here), described(there)) == {"machine": ("x86_64", "aarch64"), "memray": ("1.20", "none")}


def test_a_number_that_is_missing_is_doubt(kept, measured, here):
    without = msgspec.structs.replace(measured(), memory=Memory(reason="no room"))
    found = compare(kept, [without], described(here), Configuration())
    doubt = {f.metric: (f.code, f.detail) for f in found if f.word == "inconclusive"}
    assert doubt == dict.fromkeys(["allocations", "leaked_bytes", "peak_bytes"], (FindingCode.MISSING, "no room"))


def test_what_was_not_asked_for_is_no_doubt(measured, here):
    counted = msgspec.structs.replace(measured(), instructions=Instructions(total=1e6))
    found = compare(baseline([counted], here), [measured()], described(here), Configuration())
    (finding,) = [f for f in found if f.metric == "instructions"]
    assert (finding.word, finding.code, finding.before) == ("not compared", FindingCode.ON_DEMAND, 1_000_000)
    assert finding.detail == "counted only with --instructions"


def test_a_finding_carries_its_numbers(kept, measured, here):
    found = compare(kept, [measured(peak_bytes=1060)], described(here), Configuration())
    (finding,) = [f for f in found if f.word == "fail"]
    assert finding == Finding(
        cell=NAME, metric="peak_bytes", word="fail", code=FindingCode.OVER, before=1000, now=1060, limit=1050,
        budget=Budget(share=0.05),
    )  # fmt: skip


def test_a_wrong_gradient_says_how_wrong(measured, here):
    wrong = msgspec.structs.replace(measured(error=0.5), status="wrong-gradient", message="is off")
    (finding,) = compare(baseline([measured()], here), [wrong], described(here), Configuration())
    assert (finding.metric, finding.word, finding.code) == ("gradient_error", "fail", FindingCode.STATUS)
    assert (finding.before, finding.now, finding.limit) == (1e-15, 0.5, 1e-9)
    assert (finding.statuses, finding.detail) == (("ok", "wrong-gradient"), "is off")


def test_every_gated_metric_of_the_registry_is_compared(measured, here, monkeypatch):
    """Adding a metric is one entry: the baseline keeps it and the gate judges it without a list of their own."""
    adjoints = replace(metric("tape_adjoints"), exact=True, budget=Budget())
    monkeypatch.setattr(registry, "REGISTRY", (*registry.REGISTRY, replace(adjoints, name="new_metric")))

    def counted(adjoints):
        return msgspec.structs.replace(measured(), tape=TapeSize(instructions=20, adjoints=adjoints))

    before = baseline([counted(3)], here)
    assert before.cells[NAME].metrics["new_metric"] == 3
    found = compare(before, [counted(4)], described(here), Configuration(budgets={**DEFAULTS, "new_metric": Budget()}))
    assert [f.metric for f in found if f.word == "fail"] == ["new_metric"]


def test_a_metric_of_a_newer_gradmark_is_passed_over(words, kept, measured):
    newer = Kept(metrics={**kept.cells[NAME].metrics, "launches": 3})
    assert "launches" not in words(msgspec.structs.replace(kept, cells={NAME: newer}), measured())


def test_a_baseline_with_old_names_still_compares(words, kept, measured, here):
    old = msgspec.structs.replace(kept, cells={"poly/float64/cpu@e": kept.cells[NAME]})
    assert set(words(old, measured()).values()) == {"pass"}
    assert words(old, measured(allocations=1.0))["allocations"] == "fail"
    found = compare(old, [measured(allocations=1.0)], described(here), Configuration())
    assert {f.cell for f in found} == {NAME}  # findings have the names of today


def test_what_fails_only_once_does_not_fail(kept, measured, here):
    def seen(*measurements):
        return compare(kept, measurements, described(here), Configuration())

    once = seen(measured(allocations=1.0))
    assert [f.word for f in agreeing(once, seen(measured()))] == ["pass"]
    assert [f.word for f in agreeing(once, seen(measured(allocations=1.0, tape=99)))] == ["fail"]
    crashed = seen(measured(status="crash", message="bang"))
    (doubt,) = agreeing(crashed, seen(measured()))
    assert (doubt.word, doubt.once, doubt.statuses, doubt.detail) == ("inconclusive", True, ("ok", "crash"), "bang")


def test_only_what_failed_is_counted_again(kept, measured, here):
    def seen(*measurements):
        return compare(kept, measurements, described(here), Configuration())

    asked = []

    def count_again(doubtful):
        asked.append(set(doubtful))
        return seen(measured())

    assert confirmed(seen(measured()), count_again) == seen(measured())
    assert asked == []
    assert {finding.word for finding in confirmed(seen(measured(allocations=1.0)), count_again)} == {"pass"}
    assert asked == [{NAME}]


# --- cells that the baseline does not know


@pytest.mark.parametrize("status", typing.get_args(Status))
def test_a_new_cell_must_work(kept, measured, here, status):
    """Seen: a gradient off by 1e-3, and a row that raises, passed if the baseline did not know them."""
    found = compare(
        kept, [measured(), measured("other", status=status, message="why")], described(here), Configuration()
    )
    (new,) = [finding for finding in found if finding.cell == "other@e"]
    if status == "ok" or status in LACKING:
        assert (new.word, new.code) == ("new", FindingCode.NEW)
    else:
        assert (new.word, new.code) == ("fail", FindingCode.NEW_FAILURE)
        assert (new.statuses, new.detail) == (("", status), "why")


def test_what_is_neither_right_nor_lacking_is_a_failure():
    neutral = {"ok", *LACKING}
    assert neutral == {"ok", "unsupported", "skipped"}


def test_a_new_wrong_gradient_says_how_wrong(kept, measured, here):
    wrong = msgspec.structs.replace(measured("other", error=1e-3), status="wrong-gradient", message="is off")
    new, _ = compare(kept, [wrong], described(here), Configuration())
    assert (new.metric, new.word, new.before, new.now, new.limit) == ("gradient_error", "fail", None, 1e-3, 1e-9)


def test_a_new_cell_that_fails_only_once_is_doubt(kept, measured, here):
    def seen(status):
        return compare(kept, [measured(), measured("other", status=status)], described(here), Configuration())

    assert [f.word for f in confirmed(seen("crash"), lambda _: seen("crash")) if f.cell == "other@e"] == ["fail"]
    (doubt,) = [f for f in confirmed(seen("crash"), lambda _: seen("ok")) if f.cell == "other@e"]
    assert (doubt.word, doubt.once) == ("inconclusive", True)


# --- counts of several processes


@pytest.fixture
def counted(measured):
    """A measurement of several processes, each with its own numbers."""

    def of(**numbers):
        last = {name: values[-1] for name, values in numbers.items()}
        return msgspec.structs.replace(measured(**last), counts=numbers)

    return of


def test_what_the_baseline_s_processes_differ_by_is_no_change(words, counted, measured, here):
    before = baseline([counted(least_allocations=[175.0, 178.0, 176.0])], here)
    assert before.cells[NAME].scatter == {"least_allocations": 3}
    assert words(before, measured(least_allocations=179.0))["least_allocations"] == "pass"
    assert words(before, measured(least_allocations=180.0))["least_allocations"] == "fail"
    assert words(before, measured(least_allocations=173.0))["least_allocations"] == "pass"
    assert words(before, measured(least_allocations=172.0))["least_allocations"] == "improved"


def test_zero_stays_zero(words, counted, measured, here):
    """One allocation more, a leak, an instruction more: always, whatever other metrics do by chance."""
    steady = {"allocations": [0.0] * 3, "least_allocations": [0.0] * 3, "leaked_bytes": [0.0] * 3}
    before = baseline([counted(**steady, peak_bytes=[1000, 1500, 1200])], here)
    assert before.cells[NAME].scatter == {"peak_bytes": 500}
    assert words(before, measured(least_allocations=0.0, allocations=0.02))["allocations"] == "fail"
    assert words(before, measured(least_allocations=1.0, allocations=1.0))["least_allocations"] == "fail"
    assert words(before, measured(leaked_bytes=0.5))["leaked_bytes"] == "fail"
    assert words(before, measured(tape=21))["tape_instructions"] == "fail"


def test_only_what_every_process_counts_fails(words, kept, counted):
    assert words(kept, counted(allocations=[1.0, 1.0, 2.0]))["allocations"] == "fail"
    assert words(kept, counted(allocations=[1.0, 0.0, 2.0]))["allocations"] == "pass"


def test_what_an_engine_moves_by_chance_is_compared_by_its_steadier_metric(counted, measured, here):
    noisy = counted(allocations=[180.1, 186.8, 182.0], least_allocations=[178.0, 178.0, 178.0])
    before = baseline([noisy], here)
    assert before.cells[NAME].scatter == {"allocations": 6.7}
    found = {
        f.metric: f
        for f in compare(
            before, [measured(allocations=199.0, least_allocations=179.0)], described(here), Configuration()
        )
    }
    mean, least = found["allocations"], found["least_allocations"]
    assert (mean.word, mean.code, mean.scatter) == ("not compared", FindingCode.BY_CHANCE, 6.7)
    assert (least.word, least.before, least.now) == ("fail", 178, 179)


def test_an_older_baseline_has_no_steadier_metric(words, measured, here, counted):
    before = baseline([counted(allocations=[180.0, 184.0, 182.0])], here)
    assert words(before, measured(allocations=187.0, least_allocations=178.0))["allocations"] == "fail"


@pytest.mark.parametrize(("before", "now", "word"), [
    (1072.4, 1072.7, "pass"),
    (1072.4, 1076.0, "pass"),
    (1072.4, 1136.4, "fail"),
    (1072.4, 1000.0, "improved"),
    (0.0, 1.0, "fail"),
])  # fmt: skip
def test_a_leak_fails_if_it_becomes_larger(words, measured, here, before, now, word):
    """Seen: an engine that keeps 1 KiB an iteration on both sides failed with "+0.0 %"."""
    kept = baseline([measured(leaked_bytes=before)], here)
    assert words(kept, measured(leaked_bytes=now))["leaked_bytes"] == word


class Processes:
    """What a cell counts, one process after another."""

    def __init__(self, before, here, counted, numbers):
        self.before, self.here, self.counted, self.numbers = before, here, counted, numbers
        self.seen = 0

    def again(self, doubtful=frozenset({NAME})):
        assert doubtful == {NAME}
        self.seen += 1
        counts = {name: values[: self.seen] for name, values in self.numbers.items()}
        return compare(self.before, [self.counted(**counts)], described(self.here), Configuration())


@pytest.fixture
def checked(counted, here, kept):
    def of(before=kept, **numbers):
        processes = Processes(before, here, counted, numbers)
        findings = confirmed(processes.again(), processes.again)
        words = {f.metric: (f.word, f.code) for f in findings if f.word != "pass"}
        return words, processes.seen

    return of


def test_what_passes_is_counted_once(checked):
    assert checked(allocations=[0.0, 9.0]) == ({}, 1)


def test_three_processes_that_agree_are_enough(checked):
    fails = {"allocations": ("fail", FindingCode.OVER)}
    assert checked(allocations=[1.0, 1.0, 1.0, 0.0]) == (fails, 3)


def test_a_count_is_repeated_until_one_process_is_within(checked):
    assert checked(peak_bytes=[1200, 1210, 1190, 1000, 1200]) == ({}, 4)
    fails = {"peak_bytes": ("fail", FindingCode.OVER)}
    assert checked(peak_bytes=[1200, 1210, 1190, 1230, 1220, 1000]) == (fails, 1 + RECOUNTS)


def test_a_mean_that_begins_to_move_by_chance_is_doubt(checked):
    erratic = {"allocations": ("inconclusive", FindingCode.ERRATIC)}
    assert checked(allocations=[0.2, 0.3, 0.1, 0.4, 0.3]) == (erratic, 1 + RECOUNTS)
    fails = {"allocations": ("fail", FindingCode.OVER)}
    assert checked(allocations=[0.5] * 5) == (fails, 3)  # half an allocation, but always


def test_what_does_not_work_is_tried_again_once(kept, measured, here):
    calls = []

    def crash(_doubtful=None):
        calls.append(1)
        return compare(kept, [measured(status="crash")], described(here), Configuration())

    assert [f.word for f in confirmed(crash(), crash)] == ["fail"]
    assert len(calls) == 2
