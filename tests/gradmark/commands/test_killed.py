"""Killing a command at any moment leaves every earlier file as it was, or replaced as a whole."""

import random
import time

import pytest

from gradmark.store import baselines, listing, runs

KILLS = 50
COMMANDS = [
    ["run", "expression", "-e", "null", "--processes", "2", "--no-memory", "--store", "runs"],
    ["baseline", "update", "expression", "-e", "null", "--baseline", "baseline.json"],
    ["check", "expression", "-e", "null", "--baseline", "baseline.json", "--format", "json", "--output", "check.json"],
]


@pytest.fixture
def earlier(gradmark, finished, tmp_path):
    """A kept run and a baseline from before."""
    (tmp_path / "runs").mkdir()
    runs.save(runs.load(finished), tmp_path / "runs" / "earlier.json")
    assert gradmark("baseline", "update", "expression", "-e", "null", "--baseline", "baseline.json").code == 0
    return tmp_path


def test_fifty_kills_at_random_moments(started, earlier):
    run, baseline = (earlier / "runs" / "earlier.json"), earlier / "baseline.json"
    before = run.read_bytes(), baselines.load(baseline)
    draw = random.Random(0)
    killed = 0
    for number in range(KILLS):
        process = started(*COMMANDS[number % len(COMMANDS)], cwd=earlier, start_new_session=True)
        time.sleep(draw.uniform(0.0, 0.8))
        process.kill()
        process.communicate()
        killed += process.returncode < 0
        assert (run.read_bytes(), baselines.load(baseline)) == before
        for path in listing.files(earlier / "runs"):
            runs.load(path)  # whatever moment it was killed at
    assert killed >= KILLS // 2  # else the moments were too late to say anything
