import msgspec
import pytest

from gradmark.gate.configuration import Configuration
from gradmark.gate.exact import agreeing, compare, unlike
from gradmark.records import Memory
from gradmark.store.baselines import baseline, described

NAME = "poly/float64/cpu@e"


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


def test_an_improvement_names_the_command_that_renews(measured, here):
    before = baseline([measured(allocations=12.0, tape=30, error=1e-12)], here)
    found = compare(before, [measured()], described(here), Configuration())
    better = {f.metric: f.reason for f in found if f.word == "improved"}
    renewed = "`gradmark baseline update` keeps it so"
    assert better == {"allocations": renewed, "tape_instructions": renewed, "gradient_error": renewed}


def test_new_and_vanished_cells_are_named(kept, measured, here):
    found = compare(kept, [measured("other")], described(here), Configuration())
    assert [(f.cell, f.word) for f in found] == [("other/float64/cpu@e", "new"), (NAME, "inconclusive")]
    assert found[1].reason.startswith("vanished: in the baseline, but not measured")


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


def test_what_differs_is_said_in_words(here):
    there = msgspec.structs.replace(here, machine="aarch64", packages={"numpy": "2.4.0"})
    assert list(unlike(described(here), described(there)).values()) == [
        "machine: x86_64 in the baseline, aarch64 here",
        "memray: 1.20 in the baseline, none here",
    ]


def test_a_number_that_is_missing_is_doubt(kept, measured, here):
    without = msgspec.structs.replace(measured(), memory=Memory(reason="no room"))
    found = compare(kept, [without], described(here), Configuration())
    doubt = {f.metric: f.reason for f in found if f.word == "inconclusive"}
    assert doubt == dict.fromkeys(["allocations", "leaked_bytes", "peak_bytes"], "could not be obtained: no room")


def test_what_fails_only_once_does_not_fail(kept, measured, here):
    def seen(*measurements):
        return compare(kept, measurements, described(here), Configuration())

    once = seen(measured(allocations=1.0))
    assert [f.word for f in agreeing(once, seen(measured()))] == ["pass"]
    assert [f.word for f in agreeing(once, seen(measured(allocations=1.0, tape=99)))] == ["fail"]
    crashed = seen(measured(status="crash", message="bang"))
    assert [(f.word, f.reason) for f in agreeing(crashed, seen(measured()))] == [
        ("inconclusive", "only once: crash (ok before): bang")
    ]
