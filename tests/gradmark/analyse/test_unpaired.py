"""Two runs cell by cell: verdicts only where they may be given, exact changes always."""

import msgspec
import pytest

from gradmark.analyse.unpaired import differences, environments
from gradmark.records import Cell, Environment, Measurement, Memory, Phase, Run, Sample, Settings, TapeSize

HERE = Environment(cpu="c", cores=2, memory_bytes=1, os="o", python="p", packages={"numpy": "2.0"}, commit="a" * 40)


def measured(totals, *, allocations=0.0, status="ok", engine="e"):
    samples = [
        Sample(process=k, phases={"total": Phase(how="measured", iterations=1, block_ns=[ns])}, once_ns={},
               harness_ns=0.0, clock_ns=1.0)
        for k, ns in enumerate(totals)
    ]  # fmt: skip
    return Measurement(
        cell=Cell(engine=engine, workload="w", suite="s"),
        status=status,
        samples=samples,
        memory=Memory(allocations=allocations),
        tape=TapeSize(instructions=3),
    )


def run(*measurements, environment=HERE, **settings):
    return Run(id="r", started="", environment=environment, settings=Settings(**settings), measurements=measurements)


@pytest.mark.parametrize(
    ("totals", "verdict"),
    [
        ([120.0, 121.0, 122.0], "slower"),
        ([80.0, 81.0, 82.0], "faster"),
        ([103.0, 104.0, 105.0], "no difference"),  # all slower, by less than two sessions differ
        ([99.0, 101.0, 103.0], "no difference"),
        ([200.0], "undecided"),
    ],
)
def test_verdicts(totals, verdict):
    (found,) = differences(run(measured([100.0, 101.0, 102.0])), run(measured(totals)))
    assert found.verdict == verdict
    assert found.time.ratio == min(totals) / 100.0
    assert found.time.low <= found.time.ratio <= found.time.high


def test_times_of_another_machine_are_shown_and_not_judged():
    other = msgspec.structs.replace(HERE, cpu="d", packages={"numpy": "2.1", "torch": "2.13"}, commit=None)
    old, new = run(measured([100.0] * 3)), run(measured([300.0] * 3), environment=other, threads=2)
    assert environments(old, new) == (
        ["cpu: c → d", "threads: 1 → 2"],
        ["numpy: 2.0 → 2.1", "torch: none → 2.13", "commit: aaaaaaaaaa → none"],
    )
    (found,) = differences(old, new)
    assert (found.verdict, found.time.ratio) == ("unlike runs", 3.0)


def test_exact_changes_and_failures():
    old = run(measured([100.0] * 3))
    (found,) = differences(old, run(measured([100.0] * 3, allocations=12.0)))
    assert found.changes == ["allocations: 0 → 12"]
    (found,) = differences(old, run(measured([], status="wrong-gradient")))
    assert (found.verdict, found.changes) == ("undecided", ["status: ok → wrong-gradient"])


def test_cells_of_one_run_alone():
    found = differences(run(measured([1.0], engine="a")), run(measured([1.0], engine="b")))
    assert [(d.engine, d.verdict, d.reason) for d in found] == [
        ("a", "not in both", "the newer run lacks it"),
        ("b", "not in both", "the older run lacks it"),
    ]
