"""The janitor: finds processes by their marks and their parents, whatever session they are in, and ends them."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gradmark.isolation import janitor

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the processes")


@pytest.fixture
def started():
    children = []

    def start(command, **more):
        children.append(subprocess.Popen(command, start_new_session=True, **more))
        return children[-1]

    yield start
    for child in children:
        child.kill()
        child.wait()


def test_a_mark_is_found_also_below(started, tmp_path):
    child = started(["sh", "-c", "sleep 600 & sleep 601"], env={**os.environ, "MARKED": "a-mark-of-this-test;"})
    while len(found := janitor.marked("a-mark-of-this-test;")) < 3:
        time.sleep(0.01)
    assert child.pid in found
    assert janitor.below(child.pid) == found - {child.pid}
    assert janitor.marked("another-mark-of-this-test;") == set()
    janitor.end(lambda: janitor.marked("a-mark-of-this-test;"))
    assert janitor.marked("a-mark-of-this-test;") == set()
    assert child.wait() in (-9, 137)  # the shell may hear of its child's end first, and end with that


def test_what_ended_and_was_not_collected_does_not_run(started):
    child = started(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert child.pid not in janitor.running()
    assert os.getpid() in janitor.running()


def test_it_looks_twice(monkeypatch):
    """Seen: a process that was just given another parent was missed once, and stayed."""
    killed = []
    monkeypatch.setattr(os, "kill", lambda pid, _: killed.append(pid))
    looks = iter([{1001}, set(), {1002}, set(), set()])
    janitor.end(lambda: next(looks))
    assert killed == [1001, 1002]
    assert list(looks) == []


@pytest.mark.parametrize("ended", ["killed", "closed"])
def test_when_its_owner_is_over_it_cleans_up(started, tmp_path, ended):
    """Whether the owner ends or is killed: groups and marked processes end, its folder goes, and no other's."""
    owner = (
        "import subprocess, sys\n"
        f"janitor = subprocess.Popen([sys.executable, '-I', '-S', {janitor.__file__!r}, 'owned-by-a-test;'],\n"
        "    stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)\n"
        "print(janitor.stdout.readline().decode().strip(), janitor.pid, flush=True)\n"
        "janitor.stdin.write(sys.stdin.readline().encode()); janitor.stdin.flush()\n"
        "sys.stdin.read()\n"
        "import os; os._exit(0)\n"
    )
    neighbour = tmp_path / "gradmark-neighbour"
    neighbour.mkdir()
    process = started(
        [sys.executable, "-c", owner],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    folder, pid = process.stdout.readline().split()
    assert Path(folder).parent == tmp_path
    (Path(folder) / "cache").mkdir()
    (Path(folder) / "cache" / "file").write_text("x")
    group = started(["sleep", "600"])
    marked = started(["sleep", "600"], env={**os.environ, "MARKED": "owned-by-a-test;"})
    other = started(["sleep", "600"])
    process.stdin.write(f"+{group.pid}\n")
    process.stdin.flush()
    if ended == "killed":
        time.sleep(0.1)  # until the owner has handed it on
        process.kill()
    process.stdin.close()
    assert (group.wait(10), marked.wait(10)) == (-9, -9)
    deadline = time.monotonic() + 10
    while int(pid) in janitor.running() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert list(tmp_path.iterdir()) == [neighbour]
    assert other.poll() is None
    process.stdout.close()


def test_one_that_nobody_hears_cleans_up_too(tmp_path):
    """Seen: killed in its first moment, an owner left an empty folder behind."""
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run(
        [sys.executable, "-I", "-S", janitor.__file__, "unheard;"],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        check=False,
    )
    os.close(theirs)
    assert (done.returncode, list(tmp_path.iterdir())) == (0, [])
