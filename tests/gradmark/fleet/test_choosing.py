"""Which machines measure, and what is said where none can. Nothing has been measured by then."""

import re

import pytest

from gradmark.errors import FleetError
from gradmark.fleet import machine
from gradmark.fleet.choosing import by_class, chosen
from gradmark.fleet.machine import Condition

ADDRESS = "tcp://s:1"
BUSY = Condition(good=False, what="busy: 90 % of the cores' time", needed=True)


@pytest.fixture(autouse=True)
def _here(monkeypatch):
    monkeypatch.setattr(machine, "versions", lambda: {"gradmark's code": "abc", "distributed": "1", "msgspec": "2"})


def names(groups):
    return [(known.name.rpartition("-")[0], [each.id for each in members]) for known, members in groups]


def refused(message):
    return pytest.raises(FleetError, match=f"^{re.escape(message)}")


def test_machines_of_one_class(machine_of):
    assert names(chosen([machine_of("a"), machine_of("b")], ADDRESS)) == [("zen-3-2c-16g", ["a", "b"])]


def test_each_class_or_one(machine_of):
    machines = [machine_of("a"), machine_of("b", cpu="Apple M2"), machine_of("c")]
    both = [("apple-m2-2c-16g", ["b"]), ("zen-3-2c-16g", ["a", "c"])]
    assert names(by_class(machines)) == both
    assert names(chosen(machines, ADDRESS, each=True)) == both
    assert names(chosen(machines, ADDRESS, on="apple")) == both[:1]


def test_several_classes_and_none_was_chosen(machine_of):
    with refused("the fleet has machines of 2 classes, whose times cannot be compared: apple-m2-2c-16g-"):
        chosen([machine_of("a"), machine_of("b", cpu="Apple M2")], ADDRESS)


def test_a_class_that_no_machine_has(machine_of):
    with refused("no machine of the fleet is of a class called 'arm'; choose from: zen-3-2c-16g-"):
        chosen([machine_of()], ADDRESS, on="arm")


def test_a_name_that_two_classes_have(machine_of):
    machines = [machine_of("a", cpu="Zen 3"), machine_of("b", cpu="Zen 4")]
    with refused("'zen' is ambiguous: it may be zen-3-2c-16g-"):
        chosen(machines, ADDRESS, on="zen")


def test_a_scheduler_without_workers():
    with refused("the scheduler at tcp://s:1 has no workers; start them with `gradmark fleet worker tcp://s:1`"):
        chosen([], ADDRESS)
    with refused("the scheduler at tcp://s:1 has no workers (3 that it has are not for measuring: they were not"):
        chosen([], ADDRESS, others=3)


def test_packages_that_differ(machine_of):
    with refused("the machines of the fleet differ, so nothing was measured: numpy: 3 on a and c, 4 on b. Install"):
        chosen([machine_of("a"), machine_of("b", versions={"numpy": "4"}), machine_of("c")], ADDRESS)


def test_a_package_that_one_machine_lacks(machine_of):
    lacking = machine_of("a")
    del lacking.versions["numpy"]
    with refused("the machines of the fleet differ, so nothing was measured: numpy: none on a, 3 on b."):
        chosen([lacking, machine_of("b")], ADDRESS)


def test_code_that_differs_from_this_machines(machine_of):
    with refused(
        "the machines of the fleet differ, so nothing was measured: gradmark's code: abc on this machine, "
        "def on a, b, c and 1 more."
    ):
        chosen([machine_of(name, versions={"gradmark's code": "def"}) for name in "abcd"], ADDRESS)


def test_machines_of_a_class_that_is_not_measured_may_differ(machine_of):
    other = machine_of("b", cpu="Apple M2", versions={"numpy": "4"})
    assert names(chosen([machine_of("a"), other], ADDRESS, on="zen")) == [("zen-3-2c-16g", ["a"])]


def test_a_machine_that_is_not_fit_takes_no_work(machine_of):
    machines = [machine_of("a", conditions=[BUSY]), machine_of("b")]
    assert names(chosen(machines, ADDRESS)) == [("zen-3-2c-16g", ["b"])]
    with refused("no machine of class zen-3-2c-16g-"):
        chosen(machines[:1], ADDRESS)
    despite = machine_of("a", conditions=[BUSY], despite=True)
    assert names(chosen([despite], ADDRESS)) == [("zen-3-2c-16g", ["a"])]


def test_advice_alone_makes_no_machine_unfit(machine_of):
    virtual = Condition(good=False, what="virtualisation: KVM")
    assert machine_of("a", conditions=[virtual]).unfit == []
