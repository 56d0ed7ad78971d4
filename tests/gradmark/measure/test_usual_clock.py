"""The usual clock: the first run finds it, later ones keep to it, and a machine set up anew gets another."""

import msgspec
import pytest
from oracles.watched import all_watched

from gradmark.measure import usual_clock
from gradmark.records import Cell, Environment, Measurement, Phase, Run, Sample, Settings

HERE = Environment(cpu="a processor", cores=2, memory_bytes=1, os="Linux 6", python="CPython 3", packages={})


@pytest.fixture(autouse=True)
def _state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def run(core_ns: float | None, *, clock_ns: float | None = None, machine: Environment = HERE) -> Run:
    sample = Sample(
        process=0, phases={"total": Phase(iterations=1, block_ns=[5.0])}, once_ns={}, harness_ns=0.0, clock_ns=1.0
    )
    row = Measurement(cell=Cell(engine="e", workload="w", suite="s"), status="ok", samples=[sample])
    rows = [row if core_ns is None else all_watched(row, core_ns=core_ns)]
    return Run(
        id="r", started="2026-01-01T00:00:00+00:00", environment=machine, settings=Settings(), measurements=rows,
        clock_ns=clock_ns,
    )  # fmt: skip


def test_the_first_run_of_a_machine_finds_its_clock_and_later_ones_leave_it():
    assert usual_clock.known(HERE) is None
    usual_clock.learn(run(8000.0))
    usual_clock.learn(run(7500.0))
    assert usual_clock.known(HERE) == 8000.0
    assert [file.name for file in usual_clock.path().parent.iterdir()] == ["clocks.json"]


def test_a_clock_that_is_far_from_the_usual_one_takes_its_place():
    usual_clock.learn(run(8000.0))
    usual_clock.learn(run(6000.0, clock_ns=8000.0))
    assert usual_clock.known(HERE) == 6000.0


def test_each_machine_has_its_own():
    other = msgspec.structs.replace(HERE, cores=4)
    usual_clock.learn(run(8000.0))
    usual_clock.learn(run(5000.0, machine=other))
    assert [usual_clock.known(machine) for machine in (HERE, other)] == [8000.0, 5000.0]


def test_a_run_without_pilots_teaches_nothing():
    usual_clock.learn(run(None))
    assert usual_clock.known(HERE) is None
    assert not usual_clock.path().exists()


@pytest.mark.parametrize("content", [b"", b"\xff", b"[1]", b'{"a machine": "fast"}'])
def test_what_is_no_list_of_clocks_is_made_anew(content):
    usual_clock.path().parent.mkdir()
    usual_clock.path().write_bytes(content)
    assert usual_clock.known(HERE) is None
    usual_clock.learn(run(8000.0))
    assert usual_clock.known(HERE) == 8000.0


@pytest.mark.parametrize("ns", ["0.0", "-1.0"])
def test_a_clock_that_cannot_be_is_none(ns):
    usual_clock.learn(run(8000.0))
    usual_clock.path().write_text(usual_clock.path().read_text().replace("8000.0", ns))
    assert usual_clock.known(HERE) is None


def test_where_nothing_can_be_kept_runs_do_without(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    usual_clock.learn(run(8000.0))
    assert usual_clock.known(HERE) is None
