"""`gradmark doctor`: findings on machines made by hand, and what it says of cores and noise on known data."""

import os
import shutil
import sys

import pytest

from gradmark.analyse.states import States, Stretch
from gradmark.commands import doctor
from gradmark.commands.doctor import aa_error, calm_times, choice, cores, machine, noise, one_core, smallest, tools
from gradmark.errors import GradmarkError
from gradmark.measure import environment, fitness, process, watching
from gradmark.measure.job import Result
from gradmark.measure.watching import Visited
from gradmark.records import Phase, Sample

MS = 1_000_000


def test_equal_times_have_no_error():
    assert aa_error([100.0] * 10, 5) == 0.0


def test_one_slow_process_is_not_seen_because_medians_are_compared():
    assert aa_error([100.0] * 9 + [900.0], 5) == 0.0


def test_two_levels_are_seen():
    # One arm has mostly fast ones and the other mostly slow ones often, so the 95th percentile is the whole difference.
    assert aa_error([100.0] * 6 + [150.0] * 6, 3) == pytest.approx(0.5)


def test_the_error_is_the_same_each_time():
    times_ns = [100.0 + k for k in range(12)]
    assert aa_error(times_ns, 6) == aa_error(times_ns, 6) > 0


def core(calm, slow=0.0, taken=0.0):
    """A core that was in each state for so many milliseconds."""
    visit, now_ns = [], 0
    for state, ms in (("calm", calm), ("slow", slow), ("taken", taken)):
        if ms:
            visit.append(Stretch(state, now_ns, now_ns + ms * MS))
            now_ns += ms * MS
    return States(visits=[visit], ratio=1.6 if slow else None, drift=0.002)


def test_a_calm_core():
    found = one_core("core 3", core(90, slow=10))
    assert (found.good, found.what, found.advice) == (True, "core 3: 90 % calm", "")
    assert found.details[1:] == (
        "calm: 90.0 ms at a time (longest 90.0 ms); the clock drifts by 0.2 %",
        "slow, 10 %: 1.60 times as long; 10.0 ms at a time (longest 10.0 ms)",
    )


@pytest.mark.parametrize(
    ("seen", "advice"),
    [
        (core(50, slow=50), "measure with --full: with more processes, enough of them meet calm moments"),
        (core(2, slow=98), "measure on another machine, or at another time"),
        (
            core(40, slow=20, taken=40),
            "close other programs; if there are none, the host takes the core: measure on another machine, or at "
            "another time",
        ),
    ],
)
def test_what_to_do_about_a_core_that_is_seldom_calm(seen, advice):
    found = one_core("core 0", seen)
    assert (found.good, found.advice) == (False, advice)


def test_the_same_advice_is_given_once():
    found = [doctor.Check(False, "a", "wait"), doctor.Check(True, "b"), doctor.Check(False, "c", "wait")]
    assert [check.advice for check in doctor.said_once(found)] == ["", "", "wait"]


def test_the_core_that_runs_use_is_kept_unless_another_is_clearly_calmer():
    found = choice({0: core(95, slow=5), 1: core(90, slow=10)}, usable=[0, 1])
    assert (found.good, found.what) == (True, "best core: 1, which runs use; no other is clearly calmer")


def test_another_core_is_clearly_calmer():
    found = choice({0: core(84, slow=16), 1: core(31, slow=69)}, usable=[0, 1])
    assert not found.good
    assert found.what == "best core: 0, 84 % calm; runs use core 1, 31 % calm"
    assert (
        found.advice == "`taskset -c 0 gradmark run …` measures on core 0: workers take the last core that they may use"
    )


def test_the_calmest_core_has_others_before_it():
    found = choice({4: core(84, slow=16), 5: core(95, slow=5), 6: core(0, slow=100)}, usable=[2, 3, 4, 5, 6])
    assert found.what == "best core: 5, 95 % calm; runs use core 6, 0 % calm"
    assert found.advice.startswith("`taskset -c 2-5 gradmark run …` measures on core 5:")


def test_no_core_is_calm():
    found = choice({0: core(1, slow=99), 1: core(2, taken=98)}, usable=[0, 1])
    assert (found.good, found.what) == (False, "best core: none; all are slow or taken")
    assert found.advice == "measure on another machine, or at another time"


@pytest.fixture
def watched(monkeypatch):
    """`cores` on a machine with these cores, on which pilots take this long; gives the order, too."""
    orders = []

    def on(pilots_ns):
        def watch(order):
            orders.append(order)
            return [
                Visited(core=core, pilots=[(pilots_ns[core] * k, pilots_ns[core]) for k in range(100)])
                for _ in range(order.rounds)
                for core in order.cores or [0]
            ]

        monkeypatch.setattr(watching, "allowed", lambda: list(pilots_ns) if len(pilots_ns) > 1 else [])
        monkeypatch.setattr(watching, "watch", watch)
        return cores(4.0), orders[-1]

    return on


def test_cores_are_watched_in_turns(watched):
    found, order = watched({0: 1600, 1: 1000})
    assert (order.cores, order.rounds, order.visit_ns) == ([0, 1], 4, 500 * MS)
    assert [check.what for check in found] == [
        "watched: all cores, in turns: two may be halves of one physical core",
        "core 0: 0 % calm",
        "core 1: 100 % calm",
        "best core: 1, which runs use; no other is clearly calmer",
    ]


def test_many_cores(watched):
    found, order = watched(dict.fromkeys(range(64), 1000))
    assert (order.cores, order.rounds, order.visit_ns) == (list(range(56, 64)), 1, 500 * MS)
    assert found[0].what == "watched: the last 8 of 64 cores, in turns: two may be halves of one physical core"


def test_a_platform_that_cannot_pin(watched):
    found, order = watched({0: 1000})
    assert (order.cores, order.rounds, order.visit_ns) == ([], 1, 4000 * MS)
    assert [check.what for check in found] == [
        "watched: whichever core the system chose; this platform cannot pin a process",
        "the core: 100 % calm",
    ]


def test_the_only_core():
    assert doctor.how_watched([3], [3]) == "watched: core 3, the only one that may be used"


def test_cores_that_cannot_be_watched(monkeypatch):
    def fail(order):
        raise GradmarkError("no luck")

    monkeypatch.setattr(watching, "watch", fail)
    (found,) = cores(1.0)
    assert (found.good, found.what) == (False, "cores: could not be watched: no luck")


def finding(found, what):
    return next(f for f in found if f.what.startswith(what))


def test_tools_that_are_absent(monkeypatch):
    monkeypatch.setitem(sys.modules, "memray", None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    found = list(tools())
    assert [(f.good, f.what) for f in found] == [(False, "memray: not installed"), (False, "valgrind: not installed")]
    assert all(f.advice for f in found)


def test_tools_that_are_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "memray", sys)
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    assert [f.good for f in tools()] == [True, True]


def test_a_machine_that_is_not_fit(monkeypatch):
    monkeypatch.setattr(environment, "cores", lambda: 1)
    monkeypatch.setattr(environment, "governor", lambda: "powersave")
    monkeypatch.setattr(environment, "virtualisation", lambda: "QEMU")
    monkeypatch.setattr(os, "getloadavg", lambda: (3.0, 0.0, 0.0))
    monkeypatch.setattr(fitness, "_free_bytes", lambda: 1 << 30)
    found = list(machine())
    for what in (
        "cores: 1",
        "load: 3.00",
        "free memory: 1.00 GiB",
        "CPU frequency governor: powersave",
        "virtualisation: QEMU",
    ):
        assert not finding(found, what).good
        assert finding(found, what).advice


def test_a_machine_that_is_fit(monkeypatch):
    monkeypatch.setattr(environment, "cores", lambda: 8)
    monkeypatch.setattr(environment, "governor", lambda: "performance")
    monkeypatch.setattr(environment, "virtualisation", lambda: None)
    monkeypatch.setattr(os, "getloadavg", lambda: (0.1, 0.0, 0.0))
    monkeypatch.setattr(fitness, "_free_bytes", lambda: 8 << 30)
    found = [f for f in machine() if not f.what.startswith("clock")]
    assert [(f.good, f.advice) for f in found] == [(True, "")] * 5


def test_noise_that_cannot_be_measured(monkeypatch):
    monkeypatch.setattr(process, "run", lambda job: Result(status="crash", message="no luck"))
    (found,) = noise(10.0)
    assert (found.good, found.what) == (False, "noise: could not be measured: no luck")


def sample(block_ns, pilots_ns):
    """One process: its blocks, and the pilots around each."""
    pilots = {"core": [(ns, ns) for ns in pilots_ns]}
    phase = Phase(iterations=1, block_ns=block_ns, pilots=pilots, reference={"core": min(pilots_ns)})
    return Sample(process=0, phases={"primal": phase}, once_ns={}, harness_ns=1.0, clock_ns=1.0)


def test_only_processes_on_a_calm_machine_have_a_time():
    calm, slow = sample([100.0] * 4, [1000.0] * 4), sample([160.0] * 4, [1600.0] * 4)
    drifted = sample([103.0] * 4, [1030.0] * 4)
    assert calm_times([calm, slow, drifted], {"core": 1000.0}) == [100.0, pytest.approx(100.0)]


def test_what_a_minute_can_see():
    found = smallest([100.0] * 40, processes=50, seconds=6.0)
    assert (found.good, found.advice) == (True, "")
    assert found.what == "smallest detectable slowdown in one minute: about 1 %"
    assert found.details == (
        "40 of 50 processes met a calm machine; the medians of two equal groups of 40 differ by up to 0.0 % (95th "
        "percentile)",
        "in one minute 500 processes of a short row can be measured, 250 pairs, which may show smaller differences",
    )


def test_arms_are_no_larger_than_those_of_a_minute():
    found = smallest([100.0] * 40, processes=40, seconds=240.0)
    assert "of two equal groups of 5 " in found.details[0]
    assert found.details[1] == "in one minute 10 processes of a short row can be measured, 5 pairs"


@pytest.mark.parametrize(
    ("processes", "cause"),
    [(12, "processes differ on a calm machine too"), (13, "not every process met a calm machine")],
)
def test_noise_is_seen(processes, cause):
    """Halves of six differ by up to 5 %, arms of twelve by less: by the root of two."""
    found = smallest([100.0] * 6 + [105.0] * 6, processes, seconds=6.0)
    assert (found.good, found.what) == (False, "smallest detectable slowdown in one minute: about 7 %")
    assert "two equal groups of 12 differ by up to 3.5 %" in found.details[0]
    assert found.advice == f"{cause}: measure with --full, which uses more processes"


@pytest.mark.parametrize(
    ("processes", "advice"),
    [(5, "give it more time with --seconds"), (40, "measure on another machine, or at another time")],
)
def test_too_few_calm_processes(processes, advice):
    found = smallest([100.0] * 5, processes, seconds=6.0)
    assert (found.good, found.advice) == (False, advice)
    assert found.what == (
        f"smallest detectable slowdown: unknown; 5 of {processes} processes met a calm machine, and 6 are needed"
    )


def test_noise_with_too_few_processes(monkeypatch):
    jobs = []

    def run(job):
        jobs.append(job)
        return Result(sample=sample([100.0] * 4, [1000.0] * 4))

    monkeypatch.setattr(process, "run", run)
    ticks = iter([0.0, 0.0, 0.5, 2.0])  # the first is that of the progress line
    monkeypatch.setattr("time.monotonic", lambda: next(ticks))
    (found,) = noise(1.0)
    assert (found.good, found.advice) == (False, "give it more time with --seconds")
    assert "2 of 2 processes met a calm machine" in found.what
    assert jobs[0].pilots == {}
    assert jobs[1].pilots == dict.fromkeys(("core", "clock"), pytest.approx(1000.0, rel=1e-3))


def test_without_the_noise(gradmark):
    called = gradmark("doctor", "--seconds", "0")
    assert (called.code, called.err) == (0, "")
    marks = [line[:4].strip() for line in called.out.splitlines()]
    assert set(marks) <= {"ok", "look", ""}
    assert "smallest slowdown" not in called.out
    assert "watched" not in called.out
    assert "clock: steps of" in called.out


@pytest.mark.slow
def test_a_log_has_lines(monkeypatch, capsys):
    """Seen: `measuring noise: 1 processesmeasuring noise: 2 processes`, with control characters between."""
    monkeypatch.setattr(process, "run", lambda job: Result(sample=sample([100.0] * 4, [1000.0] * 4)))
    noise(0.01)
    assert capsys.readouterr() == ("", "measuring noise for 0.01 s\n")


def test_lines_fit_into_80_columns(gradmark, monkeypatch):
    long = doctor.Check(False, "word " * 40, "advice " * 40)
    monkeypatch.setattr(doctor, "machine", lambda: [long])
    lines = gradmark("doctor", "--seconds", "0").out.splitlines()
    assert lines[0].startswith("look  word word")
    assert all(line.startswith("      ") for line in lines[1:6])
    assert max(map(len, lines)) <= 80


def test_details_stand_between_what_and_advice(capsys):
    doctor.show([doctor.Check(False, "what", "advice", ("one", "two"))])
    assert capsys.readouterr().out == "look  what\n      one\n      two\n      advice\n"


def test_a_whole_consultation(gradmark):
    called = gradmark("doctor", "--seconds", "0.05")
    assert called.code == 0
    assert called.err == "watching the cores for 0.02 s\nmeasuring noise for 0.03 s\n"
    assert max(map(len, called.out.splitlines())) <= 80
    whats = [line[6:].split(":")[0] for line in called.out.splitlines() if not line.startswith(" ")]
    assert "watched" in whats
    assert whats[-1].startswith("smallest detectable slowdown")
