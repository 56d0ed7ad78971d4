"""The timer, on a clock that only moves when it is told to."""

import gc
import sys

import pytest

from gradmark.measure.worker import timer
from gradmark.measure.worker.timer import (
    LEAST_BLOCKS,
    PATIENCE,
    WARM_UP_BLOCKS,
    Block,
    SelfTimed,
    Timed,
    carry_out,
    clock_resolution_ns,
    elapsed_ns,
    nothing,
    time_together,
)


class Clock:
    def __init__(self):
        self.now = 0

    def perf_counter_ns(self):
        return self.now

    def call(self, ns):
        """A function that takes so long."""

        def work():
            self.now += ns

        return work


class Watch:
    """A machine that is calm or slow as a list says, look by look; after its end as at its end."""

    def __init__(self, clock, calm=(True,)):
        self.clock, self.course, self.looks = clock, calm, -1
        self.last = {"core": 0.0}
        self.look()

    @property
    def is_calm(self):
        return self.course[min(self.looks, len(self.course) - 1)]

    is_free = is_calm

    def look(self):
        self.looks += 1
        self.clock.now += 1
        self.last = {"core": 10.0 if self.is_calm else 16.0}
        return self.last

    def wait(self, until_ns):
        while not self.is_calm and self.clock.now < until_ns:
            self.look()
        return self.is_calm


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(timer, "time", made)
    return made


def test_the_smallest_step_is_the_resolution(monkeypatch):
    class Steps(Clock):
        def perf_counter_ns(self):
            self.calls = getattr(self, "calls", 0) + 1
            return self.calls // 3 * 40  # each value is read three times

    monkeypatch.setattr(timer, "time", Steps())
    assert clock_resolution_ns() == 40.0


def test_one_call(clock):
    assert elapsed_ns((clock.call(7),), 10, nothing) == 70


def test_two_calls_take_turns(clock):
    order = []
    elapsed_ns((lambda: order.append("f"), lambda: order.append("b")), 2, lambda: order.append("end"))
    assert order == ["f", "b", "f", "b", "end"]
    assert elapsed_ns((clock.call(7), clock.call(2)), 10, nothing) == 90


def test_waiting_for_the_device_is_timed(clock):
    assert elapsed_ns((nothing,), 10, clock.call(500)) == 500


def test_blocks_are_called_from_where_the_steps_are_carried_out():
    depths = []

    def depth():
        frame, count = sys._getframe(), 0
        while frame is not None:
            frame, count = frame.f_back, count + 1
        depths.append(count)

    def deep(levels):
        if levels:
            return (yield from deep(levels - 1))
        return (yield Block((depth,), 3, nothing))

    depth()
    own = depths.pop()
    carry_out(deep(20))
    assert depths == [own + 2] * 3  # `carry_out` and `elapsed_ns`


def test_an_error_in_a_block_is_raised_in_the_steps():
    def steps():
        try:
            yield Block((lambda: 1 / 0,), 1, nothing)
        except ZeroDivisionError:
            yield Block((nothing,), 1, nothing)
            return "went on"

    assert carry_out(steps()) == "went on"


def test_as_many_iterations_come_before_the_clock(clock):
    called = []
    phase = Timed((lambda: called.append(1) or clock.call(10)(),))
    phase.iterations = 60
    carry_out(phase.add_block(Watch(clock)))
    assert (len(called), phase.block_ns) == (119, [10.0])
    called.clear()
    phase.iterations = 1  # what takes long is not called twice
    carry_out(phase.add_block(Watch(clock)))
    assert (len(called), phase.block_ns) == (1, [10.0, 10.0])


def test_what_must_happen_before_is_not_timed(clock):
    phase = Timed((clock.call(10),), before=clock.call(1_000_000))
    carry_out(phase.add_block(Watch(clock)))
    assert phase.block_ns == [10.0]


@pytest.mark.parametrize("ns", [1, 7, 130, 5_000, 2_000_000])
def test_a_block_is_long_enough(clock, ns):
    phase = Timed((clock.call(ns),))
    carry_out(phase.warm_up(1_000_000))
    assert phase.iterations * ns >= 1_000_000
    assert phase.iterations == 1 or phase.iterations * ns < 1_300_000
    assert phase.warm_up_ns == clock.now


def blocks(clock, durations):
    """How many blocks of one iteration a warm-up takes, if they last so long, the last one for ever after."""
    taken = []

    def call():
        clock.now += durations[min(len(taken), len(durations) - 1)]
        taken.append(clock.now)

    phase = Timed((call,))
    carry_out(phase.warm_up(1))
    return len(taken)


# The first block may compile and two show that the length is right; what comes after is compared with the one before.
FIRST = 3


def test_a_steady_phase_needs_one_block_more(clock):
    assert blocks(clock, [100]) == FIRST + 1


def test_the_first_block_says_nothing(clock):
    assert blocks(clock, [9_000_000, 100]) == FIRST + 1


def test_warm_up_goes_on_while_blocks_are_unlike(clock):
    assert blocks(clock, [100, 100, 100, 150, 200, 205]) == FIRST + 3


def test_warm_up_goes_on_while_blocks_get_faster(clock):
    assert blocks(clock, [1000, 1000, 500, 250, 100, 100]) == FIRST + 3


def test_warm_up_ends_even_if_it_is_never_steady(clock):
    assert blocks(clock, [100, 200] * 50) == FIRST + WARM_UP_BLOCKS


def test_what_was_timed_before_it_became_fast_is_dropped(clock):
    cost = [1000]
    watch = Watch(clock)
    phase = Timed((lambda: clock.call(cost[0])(),))
    carry_out(phase.warm_up(1000))
    carry_out(phase.add_block(watch))
    assert (phase.iterations, phase.block_ns, phase.calm) == (1, [1000.0], 1)
    cost[0] = 10
    carry_out(phase.add_block(watch))
    assert (phase.block_ns, phase.pilots, phase.calm) == ([], {}, 0)
    carry_out(phase.add_block(watch))
    assert phase.block_ns == [10.0]
    assert phase.iterations >= 100


def test_each_block_has_the_pilots_before_and_after_it(clock):
    watch = Watch(clock, [True, True, False, False, True])
    phase = Timed((clock.call(10),))
    for _ in range(4):
        carry_out(phase.add_block(watch))
    assert phase.pilots == {"core": [(10.0, 10.0), (10.0, 16.0), (16.0, 16.0), (16.0, 10.0)]}
    assert phase.calm == 1


def test_phases_take_turns(clock):
    order = []
    first, second = (Timed((lambda name=name: order.append(name) or clock.call(10)(),)) for name in "ab")
    carry_out(time_together([first, second], 3, 10, Watch(clock)))
    assert order[-6:] == ["a", "b"] * 3
    assert (first.block_ns, second.block_ns) == ([10.0] * 3, [10.0] * 3)


def test_the_core_forgets_before_each_block(clock, monkeypatch):
    """All blocks, so that none is nearer to it than another."""
    course = []
    monkeypatch.setattr(timer, "forget", lambda: course.append("forget"))
    phases = [Timed((clock.call(1000),)), Timed((clock.call(1000),))]
    for name, phase in zip("ab", phases, strict=True):
        monkeypatch.setattr(phase, "add_block", lambda watch, p=phase, n=name: (course.append(n), add(p, watch))[1])
    carry_out(time_together(phases, 2, 1000, Watch(clock)))
    assert course == ["forget", "a", "forget", "b"] * 2


def add(phase, watch):
    return Timed.add_block(phase, watch)


def test_it_waits_until_the_machine_is_calm(clock):
    phase = Timed((clock.call(10),))
    watch = Watch(clock, [True, True, *[False] * 20, True])
    carry_out(time_together([phase], 3, 10, watch))
    assert phase.block_ns == [10.0] * 4
    assert phase.pilots["core"] == [(10.0, 16.0), (10.0, 10.0), (10.0, 10.0), (10.0, 10.0)]


def test_patience_ends_and_there_is_something_to_show(clock):
    phases = [Timed((clock.call(10),)), Timed((clock.call(20),))]
    carry_out(time_together(phases, 5, 10, Watch(clock, [False])))
    assert [phase.block_ns for phase in phases] == [[10.0] * LEAST_BLOCKS, [20.0] * LEAST_BLOCKS]
    assert [phase.calm for phase in phases] == [0, 0]


def test_a_phase_that_needs_few_blocks_has_few(clock):
    phases = [Timed((clock.call(10),), most=3), Timed((clock.call(20),), most=9), Timed((clock.call(30),))]
    carry_out(time_together(phases, 5, 10, Watch(clock)))
    assert [len(phase.block_ns) for phase in phases] == [3, 5, 5]


def test_patience_is_a_multiple_of_what_a_calm_machine_takes(clock):
    phase = Timed((clock.call(1000),))
    watch = Watch(clock, [False])
    carry_out(time_together([phase], 5, 1000, watch))
    assert watch.looks == pytest.approx(PATIENCE * 5 * 1000, abs=10)


def test_patience_can_be_longer(clock):
    phase = Timed((clock.call(1000),))
    watch = Watch(clock, [False])
    carry_out(time_together([phase], 5, 1000, watch, patience_ns=50_000))
    assert watch.looks == pytest.approx(50_000, abs=10)


def test_the_collector_is_off_inside_and_on_after(clock):
    states = []
    carry_out(time_together([Timed((lambda: states.append(gc.isenabled()) or clock.call(10)(),))], 2, 10, Watch(clock)))
    assert set(states) == {False}
    assert gc.isenabled()


def test_the_collector_is_on_after_an_error(clock, thawed):
    with pytest.raises(ZeroDivisionError):
        carry_out(time_together([Timed((lambda: 1 / 0,))], 2, 10, Watch(clock)))
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


class Tool:
    """What times itself: so many nanoseconds for each run, and twice that and 5 more until it has answered."""

    def __init__(self, clock, ns):
        self.clock, self.ns, self.asked = clock, ns, []

    def __call__(self, runs):
        self.asked.append(runs)
        self.clock.now += int(2 * self.ns * runs) + 5
        return self.ns


def test_what_an_engine_says_is_the_time_of_a_block(clock):
    tool = Tool(clock, 50.0)
    phase = SelfTimed(tool, 1000)
    carry_out(time_together([phase], 3, 1000.0, Watch(clock)))
    assert (phase.block_ns, phase.iterations) == ([50.0] * 3, 22)
    assert phase.nominal_ns(10) == 10 * (22 * 100.0 + 5)  # what is waited for, not what it counts


def test_no_more_runs_than_it_does_at_once(clock):
    tool = Tool(clock, 0.5)
    phase = SelfTimed(tool, 8)
    carry_out(time_together([phase], 3, 1000.0, Watch(clock)))
    assert (phase.block_ns, max(tool.asked)) == ([0.5] * 3, 8)


def test_runs_that_take_no_time_come_to_an_end(clock):
    tool = Tool(clock, 0.0)
    phase = SelfTimed(tool, 1)
    carry_out(time_together([phase], 3, 1000.0, Watch(clock)))
    assert (phase.block_ns, set(tool.asked)) == ([0.0] * 3, {1})
