"""Nothing is left behind: after a kill at any moment no process of a run goes on, and its folder is gone."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gradmark.isolation import janitor

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the processes")]
MARK = f"LEFT_BEHIND_BY={os.getpid()};"
FIVE = [f"--engine=faults.escaping:{name}" for name in ("HangsWithSessions", "Second", "Third", "Fourth", "Fifth")]
VERBS = {
    "fresh workers": ["run", "expression", FIVE[0]],
    "nurseries": ["run", "expression", *FIVE],
    "contract": ["contract", FIVE[0]],
    "hypothesis": ["hypothesis", "mine.py"],
    "a file": ["run", "mine.py"],
}
MINE = """
from faults.escaping import sleeping
from gradmark.analyse.hypotheses import Arm, Hypothesis
sleeping()
import time; time.sleep(600)
"""


@pytest.fixture
def run(started, tmp_path):
    """A run that hangs in the user's code, which has started processes; and their numbers."""
    for name in ("started", "temporary"):
        (tmp_path / name).mkdir()
    (tmp_path / "mine.py").write_text(MINE)
    environment = {
        "STARTED": str(tmp_path / "started"),
        "TMPDIR": str(tmp_path / "temporary"),
        "MARK": MARK,
    }

    def start(arguments):
        process = started(*arguments, "--timeout", "300", cwd=tmp_path, env=environment, start_new_session=True)
        while len(pids := [int(path.name) for path in (tmp_path / "started").iterdir()]) < 2:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        return process, pids

    yield start
    janitor.end(lambda: janitor.marked(MARK))


def left(pids):
    running = janitor.running()
    return janitor.marked(MARK) | {pid for pid in pids if pid in running}


def wait_until_none_is_left(pids):
    """For three seconds, as promised."""
    deadline = time.monotonic() + 3
    while left(pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert left(pids) == set()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
@pytest.mark.parametrize("verb", VERBS)
def test_an_orchestrator_that_is_ended_takes_all_along(run, tmp_path, verb, number):
    """Seen: nursery, worker, what they had started and a folder stayed until their limits, or for ever."""
    process, pids = run(VERBS[verb])
    process.send_signal(number)
    process.communicate()
    wait_until_none_is_left(pids)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_builds_and_watching_end_too(started, tmp_path):
    process = started("doctor", "--seconds", "600", cwd=tmp_path, env={"MARK": MARK}, start_new_session=True)
    while not any("watching" in Path(f"/proc/{pid}/cmdline").read_text() for pid in janitor.below(process.pid)):
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.communicate()
    wait_until_none_is_left([])


def test_what_a_good_worker_leaves_is_ended_before_the_next(gradmark, tmp_path, monkeypatch):
    """Seen: a process in a session of its own went on beside all that was timed after it."""
    (tmp_path / "started").mkdir()
    monkeypatch.setenv("STARTED", str(tmp_path / "started"))
    called = gradmark("run", "expression", "-e", "faults.escaping:LeavesSessions", "--processes", "1", "--no-memory")
    assert called.code == 0, called.err
    pids = [int(path.name) for path in (tmp_path / "started").iterdir()]
    assert len(pids) == 4  # of an inspection and a sample
    assert left(pids) == set()


def test_the_janitor_does_not_see_what_is_not_marked(run, tmp_path):
    neighbour = subprocess.Popen(["sleep", "600"], start_new_session=True)
    (tmp_path / "temporary" / "gradmark-neighbour").mkdir()
    try:
        process, pids = run(VERBS["fresh workers"])
        process.kill()
        process.communicate()
        wait_until_none_is_left(pids)
        assert neighbour.poll() is None
        assert [path.name for path in (tmp_path / "temporary").iterdir()] == ["gradmark-neighbour"]
    finally:
        neighbour.kill()
        neighbour.wait()
