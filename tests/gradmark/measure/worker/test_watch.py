"""The watch, with pilots that take what they are told to."""

import pytest

from gradmark.measure.worker import pilot, watch
from gradmark.measure.worker.watch import FIRST_LOOKS, Watch


class Clock:
    now = 0

    def perf_counter_ns(self):
        return self.now


@pytest.fixture
def machine(monkeypatch):
    """What the core's pilot takes, look by look; after the end as at the end. Each look takes as long as its pilot."""
    clock = Clock()
    monkeypatch.setattr(watch, "time", clock)
    monkeypatch.setattr(watch.Waiting, "since_last", lambda self: 0.0)

    def takes(course):
        left = list(course)

        def core():
            ns = left.pop(0) if len(left) > 1 else left[0]
            clock.now += ns
            return ns

        monkeypatch.setattr(watch.pilot, "core", core)
        return clock

    return takes


def test_a_reference_that_is_known_is_taken(machine):
    machine([1600] * 3 + [1000])
    watched = Watch(["core"], {"core": 1000.0, "memory": 7.0})
    assert watched.reference == {"core": 1000.0}
    assert (watched.last, watched.is_calm) == ({"core": 1600.0}, False)
    watched.look()
    assert watched.is_calm


def test_without_a_reference_it_finds_one(machine):
    machine([1600] * (FIRST_LOOKS - 20) + [1000] * 30)
    assert Watch(["core"], {}).reference["core"] == pytest.approx(1000, rel=1e-3)


def test_waiting_ends_when_the_machine_is_calm(machine):
    clock = machine([1600] * 5 + [1010, 1600])
    watched = Watch(["core"], {"core": 1000.0})
    assert not watched.is_calm
    assert watched.wait(clock.now + 1e9)
    assert clock.now == 5 * 1600 + 1010


def test_waiting_ends_when_patience_does(machine):
    clock = machine([1600])
    watched = Watch(["core"], {"core": 1000.0})
    assert not watched.wait(clock.now + 3 * 16_000)
    assert clock.now == 3 * 1600 + 3 * 16_000


def test_the_time_between_looks_counts_as_what_the_later_one_saw(machine):
    clock = machine([1000, 1600, 1600, 1600, 1000])
    watched = Watch(["core"], {"core": 1000.0})
    clock.now += 50_000
    watched.look()
    clock.now += 70_000
    watched.look()
    assert watched.spent_ns == {"calm": 1000 + 71_000, "slow": 50_000 + 3 * 1600}


def test_a_slow_pilot_is_taken_again_before_it_is_believed(machine):
    """After a block that used much memory the first pilot waits for the caches."""
    clock = machine([1000, 1600, 1200, 1005, 1000])
    watched = Watch(["core"], {"core": 1000.0})
    assert watched.look() == {"core": 1005.0}
    assert watched.is_calm
    assert clock.now == 1000 + 1600 + 1200 + 1005


def test_the_memory_has_a_say_after_a_block_only_and_is_not_taken_again(machine, monkeypatch):
    machine([1000])
    taken = iter([10.0, 20.0, 30.0, 14.0])
    monkeypatch.setattr(watch.pilot, "Memory", lambda: lambda: next(taken))
    watched = Watch(["core", "memory"], {"core": 1000.0, "memory": 12.0})
    assert (watched.last, watched.is_calm) == ({"core": 1000.0, "memory": 10.0}, True)
    assert watched.look() == {"core": 1000.0, "memory": 20.0}
    assert (watched.is_calm, watched.is_free) == (False, True)
    assert watched.wait(0.0)
    assert watched.look()["memory"] == 30.0
    assert watched.spent_ns["slow"] == 0.0
    watched.look()
    assert watched.is_calm


def test_what_the_memory_takes_is_learned_from_blocks(machine, monkeypatch):
    machine([1000])
    monkeypatch.setattr(watch.pilot, "Memory", lambda: lambda: 10.0)
    watched = Watch(["core", "memory"], {"core": 1000.0})
    assert watched.reference == {"core": 1000.0}
    assert watched.last["memory"] == 10.0


def test_a_device_is_watched_where_there_is_one(machine):
    machine([1000])
    watched = Watch(["core", "device"], {"core": 1000.0, "device": 500.0}, device_ns=lambda: 600.0)
    assert watched.last == {"core": 1000.0, "device": 600.0}
    assert not watched.is_calm
    assert Watch(["core", "device"], {"core": 1000.0, "device": 500.0}).last == {"core": 1000.0}


def test_the_pilots_take_time():
    memory = pilot.Memory()
    assert pilot.core() > 0
    assert memory() > 0


def test_a_core_that_others_had_counts_as_slow(machine, monkeypatch):
    """Eight of ten milliseconds were somebody else's, and no pilot saw it."""
    clock = machine([1000])
    watched = Watch(["core"], {"core": 1000.0})
    monkeypatch.setattr(watched._waiting, "since_last", lambda: 8e6)
    clock.now += 10_000_000 - 1000
    assert watched.look() == {"core": pytest.approx(5000.0)}
    assert not watched.is_calm


def test_a_moment_that_others_had_does_not(machine, monkeypatch):
    clock = machine([1000])
    watched = Watch(["core"], {"core": 1000.0})
    monkeypatch.setattr(watched._waiting, "since_last", lambda: 20_000.0)
    clock.now += 1_000_000
    watched.look()
    assert watched.is_calm
