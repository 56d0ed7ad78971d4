"""Does a fleet lose anything? Workers, schedulers and connections are killed during campaigns, and what is kept is
seen.

    python benchmarks/fleet_kills.py               50 kills: about 10 minutes
    python benchmarks/fleet_kills.py --kills 10    some
    python benchmarks/fleet_kills.py --seed 7      other moments

A scheduler and three workers run on this machine, each worker with a machine identity of its own, of one class, and a
wire of its own to the scheduler. Campaigns of 12 cells are submitted one after another; every few seconds something
is killed that is drawn: a worker (SIGKILL; another one comes in its place), the scheduler (SIGKILL; it is started
again, and the run goes on with --resume), the connection of a worker, or of whoever submits (closed for a second).

Promised of each campaign, by the lines of its run file:

    finished    it comes to its end
    once        each cell was inspected once, and has each of its samples once
    whole       each cell works, and has all its samples
    marked      each sample names the machine that it was taken on, and that machine took part

Exit code 1 if one of these is broken. Linux and macOS.
"""

import argparse
import contextlib
import json
import os
import random
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from gradmark.store import runs

PROCESSES = 3
ROWS = ["expression", "poly/n=10", "poly/n=30", "reuse", "tree/depth=2", "shared/k=4"]
MEASURING = ["-e", "tapegrad", "-e", "python-floats", "--processes", str(PROCESSES), "--no-memory", "--format", "csv"]
CAMPAIGN = ["run", *ROWS, *MEASURING]
MACHINES = ("left", "middle", "right")
EVERY_S = (1.0, 5.0)
# A campaign that takes longer than this does not come to its end.
MOST_S = 900.0
GRADMARK = [sys.executable, "-m", "gradmark.commands.main"]


class Wire:
    """A connection that can be cut: a port of its own, of which everything goes to another."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.open: list[socket.socket] = []
        self.cut_until_s = 0.0
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self.listening.accept()
            except OSError:
                return
            try:
                if time.monotonic() < self.cut_until_s:
                    raise OSError
                far = socket.create_connection(("127.0.0.1", self.target), timeout=5)
            except OSError:
                near.close()
                continue
            far.settimeout(None)
            self.open += [near, far]
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    @staticmethod
    def _carry(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def cut(self, for_s: float) -> None:
        """Closes what is open, and takes nothing new for a while."""
        self.cut_until_s = time.monotonic() + for_s
        for end in self.open:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self.open.clear()

    def close(self) -> None:
        """For good."""
        self.listening.close()
        self.cut(1e9)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


class Cluster:
    """A scheduler on the loopback, and workers with machine identities of their own. Used with `with`.

    facts: of a machine, by its name; all others are those of this one.
    """

    def __init__(self, folder: Path, facts: dict[str, dict[str, object]] | None = None) -> None:
        self.folder = folder
        self.port = free_port()
        self.facts = facts or {}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.wires: dict[str, Wire] = {}
        self.scheduler: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Cluster":
        self.start_scheduler()
        return self

    def __exit__(self, *_: object) -> None:
        for process in [*self.processes.values(), self.scheduler]:
            if process is not None:
                process.kill()
                process.wait()
        for wire in self.wires.values():
            wire.close()

    @property
    def address(self) -> str:
        """Of the scheduler."""
        return f"tcp://127.0.0.1:{self.port}"

    def through(self, name: str) -> str:
        """The scheduler's address for somebody who has a wire of his own."""
        if name not in self.wires:
            self.wires[name] = Wire(self.port)
        return f"tcp://127.0.0.1:{self.wires[name].port}"

    def start_scheduler(self) -> None:
        """A new one at the old address; waits until it listens."""
        command = [sys.executable, "-W", "ignore", "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1"]
        with open(self.folder / "scheduler.log", "ab") as log:
            self.scheduler = subprocess.Popen(
                [*command, "--port", str(self.port), "--no-dashboard"], cwd=self.folder, stdout=log, stderr=log
            )
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
            time.sleep(0.1)
        raise RuntimeError((self.folder / "scheduler.log").read_text())

    def kill_scheduler(self) -> None:
        """It is gone."""
        assert self.scheduler is not None
        self.scheduler.kill()
        self.scheduler.wait()

    def start_worker(self, name: str, *options: str, **more: object) -> None:
        """A worker, as the machine of this name, through a wire of its own."""
        facts = json.dumps({"instance": name, **self.facts.get(name, {})})
        environment = {**os.environ, "GRADMARK_MACHINE": facts, "GRADMARK_CALIBRATION_S": "0", **more.pop("env", {})}  # type: ignore[dict-item]
        with open(self.folder / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(
                [*GRADMARK, "fleet", "worker", self.through(name), *(options or ("--despite-doctor",))],
                cwd=more.pop("cwd", self.folder), env=environment, stdout=log, stderr=log,
            )  # fmt: skip

    def kill_worker(self, name: str) -> None:
        """It is gone, in whatever it was doing."""
        self.processes[name].send_signal(signal.SIGKILL)
        self.processes[name].wait()

    def wait(self, count: int, within_s: float = 60.0) -> None:
        """Until so many workers are there."""
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            deadline = time.monotonic() + within_s
            while len(client.nthreads()) != count:
                if time.monotonic() > deadline:
                    logs = "\n".join(path.read_text()[-2000:] for path in self.folder.glob("*.log"))
                    raise RuntimeError(f"{len(client.nthreads())} workers, not {count}:\n{logs}")
                time.sleep(0.05)


def submitted(arguments: Sequence[str], folder: Path) -> "subprocess.Popen[str]":
    """`gradmark` with the fleet."""
    return subprocess.Popen(
        [*GRADMARK, *arguments], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def broken(path: Path, processes: int = PROCESSES) -> list[str]:
    """Which promises a run file breaks."""
    run = runs.load(path)
    events = [json.loads(line)["event"] for line in path.read_bytes().splitlines()[2:]]
    inspected = Counter(
        event["measurement"]["cell"]["engine"] + "@" + _row(event) for event in events if _is(event, "Inspected")
    )
    sampled = Counter((event["cell"], event["sample"].get("process", 0)) for event in events if _is(event, "Sampled"))
    joined = {machine.instance for machine in run.machines}
    problems = [] if run.finished else ["finished: it did not come to its end"]
    problems += [f"once: {cell} was inspected {count} times" for cell, count in inspected.items() if count != 1]
    problems += [f"once: {cell} has sample {n} {count} times" for (cell, n), count in sampled.items() if count != 1]
    for cell in run.planned:
        measurement = next((m for m in run.measurements if m.cell == cell), None)
        numbers = [s.process for s in measurement.samples] if measurement is not None else []
        if measurement is None or measurement.status != "ok" or numbers != list(range(processes)):
            problems.append(f"whole: {cell.id} has samples {numbers}, {measurement and measurement.message}")
        if measurement is not None and any(s.machine not in joined for s in measurement.samples):
            problems.append(f"marked: {cell.id} names machines that did not take part")
    return problems


def _is(event: dict[str, object], name: str) -> bool:
    return event["type"] == name


def _row(event: dict[str, object]) -> str:
    return msgspec.json.encode(event["measurement"]["cell"]).decode()  # type: ignore[index]


class Campaigns:
    """Campaigns one after another, with kills."""

    def __init__(self, cluster: Cluster, folder: Path, draw: random.Random, kills: int) -> None:
        self.cluster, self.folder, self.draw, self.left = cluster, folder, draw, kills
        self.killed: Counter[str] = Counter()
        self.resumed = self.moved = self.cells = self.samples = 0
        self.words: list[str] = []  # what was typed last
        self.problems: list[str] = []

    def one(self) -> None:
        """A campaign to its end, with as many kills on the way as there is time for."""
        before = set(self.folder.glob("*.jsonl"))
        words = [*CAMPAIGN, "--fleet", self.cluster.through("submitting"), "--store", str(self.folder)]
        process, self.words = submitted(words, self.folder), words
        start_s = time.monotonic()
        said = ""
        while time.monotonic() - start_s < MOST_S:
            with contextlib.suppress(subprocess.TimeoutExpired):
                _, said = process.communicate(timeout=self.draw.uniform(*EVERY_S))
                if process.returncode == 0:
                    break
                process = self._again(said, process.returncode, before)
                if self.problems:
                    break
                continue
            if self.left > 0 and set(self.folder.glob("*.jsonl")) > before:
                self._kill()
        process.kill()
        process.wait()
        (path,) = set(self.folder.glob("*.jsonl")) - before or {None}
        if path is None:
            self.problems.append(f"finished: no run file; {said[-300:]}")
            return
        run = runs.load(path)
        self.cells += len(run.planned)
        self.samples += sum(len(m.samples) for m in run.measurements)
        self.moved += sum(len({s.machine for s in m.samples}) > 1 for m in run.measurements)
        self.problems += [f"{path.stem}: {problem}" for problem in broken(path)]

    def _again(self, said: str, process_code: int, before: set[Path]) -> "subprocess.Popen[str]":
        """Goes on as the command says; from the start, if it had not begun."""
        if "Traceback" in said:
            self.problems.append(f"finished: a traceback: {said[-600:]}")
        time.sleep(0.5)
        if process_code == 2 and "on with" not in said and "scheduler" not in said:
            self.problems.append(f"finished: {said[-600:]}")
        advised = [
            line.partition("on with: gradmark ")[2] for line in said.splitlines() if "on with: gradmark " in line
        ]
        if not advised or set(self.folder.glob("*.jsonl")) == before:
            return submitted(self.words, self.folder)
        self.resumed += 1
        self.words = shlex.split(advised[-1])
        return submitted(self.words, self.folder)

    def _kill(self) -> None:
        kind = self.draw.choice(["worker", "worker", "scheduler", "connection of a worker", "connection of the run"])
        name = self.draw.choice(MACHINES)
        if kind == "worker":
            self.cluster.kill_worker(name)
            self.cluster.start_worker(name)
        elif kind == "scheduler":
            self.cluster.kill_scheduler()
            time.sleep(self.draw.uniform(0.0, 1.0))
            self.cluster.start_scheduler()
        else:
            self.cluster.wires[name if kind == "connection of a worker" else "submitting"].cut(1.0)
        self.killed[kind] += 1
        self.left -= 1


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kills", type=int, default=50)
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary, Cluster(Path(temporary)) as cluster:
        for name in MACHINES:
            cluster.start_worker(name)
        cluster.wait(len(MACHINES))
        (folder := Path(temporary) / "runs").mkdir()
        campaigns = Campaigns(cluster, folder, random.Random(chosen.seed), chosen.kills)
        count = 0
        while campaigns.left > 0 and not campaigns.problems:
            campaigns.one()
            count += 1
            print(f"campaign {count}: {sum(campaigns.killed.values())} kills so far", file=sys.stderr, flush=True)
    kills = ", ".join(f"{number} of a {kind}" for kind, number in sorted(campaigns.killed.items()))
    total = sum(campaigns.killed.values())
    print(f"{total} kills ({kills}) in {count} campaigns, resumed {campaigns.resumed} times")
    print(f"{campaigns.cells} cells, {campaigns.samples} samples; {campaigns.moved} cells measured on several machines")
    for problem in campaigns.problems:
        print(f"BROKEN    {problem}")
    state = "NOT KEPT" if campaigns.problems else "KEPT"
    print(f"{state:9} every cell is there once, with all its samples: {len(campaigns.problems)} broken")
    sys.exit(bool(campaigns.problems))


if __name__ == "__main__":
    main()
