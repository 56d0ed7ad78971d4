"""Engines that start processes which want to stay, and engines that wait when they are imported."""

import os
import subprocess
import time
from pathlib import Path

from faults.engines import Faulty

# Each environment that an engine of this file starts a process with: the worker's own, and none at all.
ENVIRONMENTS = (None, {})


def sleeping():
    """Two processes in sessions of their own, one of them without its environment; their numbers in a folder."""
    for environment in ENVIRONMENTS:
        child = subprocess.Popen(["sleep", "600"], start_new_session=True, env=environment)
        (Path(os.environ["STARTED"]) / str(child.pid)).touch()


class LeavesSessions(Faulty):
    """Starts processes in sessions of their own, and goes on."""

    name = "leaves-sessions"

    def prepare(self, workload, inputs, params):
        sleeping()
        return super().prepare(workload, inputs, params)


class HangsWithSessions(Faulty):
    """Starts processes in sessions of their own, and hangs."""

    name = "hangs-with-sessions"

    def prepare(self, workload, inputs, params):
        sleeping()
        time.sleep(600)


class Second(HangsWithSessions):
    name = "second"


class Third(HangsWithSessions):
    name = "third"


class Fourth(HangsWithSessions):
    name = "fourth"


class Fifth(HangsWithSessions):
    name = "fifth"


class Talkative(Faulty):
    """An error of 50 million characters."""

    name = "talkative"

    def prepare(self, workload, inputs, params):
        raise ValueError("x" * 50_000_000)
