"""Killing a command at any moment: earlier files are as they were, or replaced as a whole, and nothing kept is lost."""

import random
import time

import pytest

from gradmark.store import baselines, runs

KILLS = 50
STORE = ["--store", "runs"]
COMMANDS = [
    ["run", "expression", "-e", "null", "--processes", "2", "--no-memory", *STORE],
    ["baseline", "update", "expression", "-e", "null", "--baseline", "baseline.json", *STORE],
    ["check", "expression", "-e", "null", "--baseline", "baseline.json", "--output", "check.json", *STORE],
]


@pytest.fixture
def earlier(gradmark, finished, tmp_path):
    """A kept run and a baseline from before."""
    (tmp_path / "runs").mkdir()
    runs.save(runs.load(finished), tmp_path / "runs" / "earlier.json")
    assert gradmark("baseline", "update", "expression", "-e", "null", "--baseline", "baseline.json").code == 0
    return tmp_path


def undisturbed_s(started, command, folder):
    start_s = time.monotonic()
    process = started(*command, cwd=folder)
    process.communicate()
    assert process.returncode == 0
    return time.monotonic() - start_s


@pytest.mark.slow
def test_fifty_kills_at_random_moments(gradmark, started, earlier):
    run, baseline = (earlier / "runs" / "earlier.json"), earlier / "baseline.json"
    takes_s = [undisturbed_s(started, command, earlier) for command in COMMANDS]
    before = run.read_bytes(), baselines.load(baseline)
    draw = random.Random(0)
    killed, seen = 0, {}
    for number in range(KILLS):
        which = number % len(COMMANDS)
        process = started(*COMMANDS[which], cwd=earlier, start_new_session=True)
        time.sleep(draw.uniform(0.0, takes_s[which]))
        seen |= {path: path.read_bytes() for path in (earlier / "runs").glob("*.jsonl")}
        process.kill()
        process.communicate()
        killed += process.returncode < 0
        assert (run.read_bytes(), baselines.load(baseline)) == before
        for path, text in seen.items():
            assert path.read_bytes().startswith(text)  # whatever a reader saw is still there
            runs.load(path)
    assert killed >= KILLS // 2  # else the moments were too late to say anything
    for path in seen:
        begun = runs.load(path)
        if not begun.finished and begun.verb == "run":
            assert gradmark("run", "--resume", path).code == 0
            (measurement,) = runs.load(path).measurements
            assert [sample.process for sample in measurement.samples] == [0, 1]
            return
