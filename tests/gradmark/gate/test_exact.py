from dataclasses import replace

import msgspec
import pytest

from gradmark.gate.configuration import DEFAULTS, Configuration
from gradmark.gate.exact import agreeing, compare, unlike
from gradmark.records import Budget, Instructions, Memory, TapeSize
from gradmark.records import metric as registry
from gradmark.records.finding import Finding, FindingCode
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
