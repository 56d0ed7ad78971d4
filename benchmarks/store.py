"""Ten thousand runs in a folder and in a database: how fast they are uploaded, asked for a history, and opened.

The runs are made by a generator: 5 classes of machines, 4 machines of each, 500 nights; 30 cells on 3 engines, 3
processes of each, two phases of 8 blocks with the pilots of the core around each. The database is a PostgreSQL that
this script starts in a temporary folder, with its usual settings: what it says to have is on the disk.

    python benchmarks/store.py               all of it: some minutes, 2 GB of disk
    python benchmarks/store.py --nights 50   a tenth

Exit code 1 if a promise is not kept.
"""

import argparse
import contextlib
import datetime
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from gradmark.commands import report
from gradmark.records import (
    FORMAT_VERSION,
    Calibration,
    Cell,
    Environment,
    Measurement,
    Phase,
    Run,
    Sample,
    Settings,
)
from gradmark.store import copying, index, journal
from gradmark.store.bundle import of_run
from gradmark.store.store import open_store

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
import database

CLASSES, MACHINES, NIGHTS = 5, 4, 500
ENGINES = ("tapegrad", "torch", "jax")
WORKLOADS = [("poly", n) for n in (10, 100, 1000, 10_000)] + [(f"row{k}", 100) for k in range(6)]
PROCESSES, BLOCKS = 3, 8
# One machine in so many became slower for good, in the middle, and one engine on one class.
STEP = 1.12
MOST_S = {"database": 2.0, "folder": 5.0}
LEAST_RATE = 200.0
# Pilots of a phase, some of them: drawing them all would take longer than all that is measured.
PILOTS = [[(9000.0 + (7 * k + j) % 50, 9000.0 + (5 * k + 3 * j) % 50) for j in range(BLOCKS)] for k in range(64)]
# A question is asked so many times: the first reads what the others find in memory.
TIMES = 3


def runs(nights: int) -> Iterator[Run]:
    """The runs, night after night."""
    draw = random.Random(0)
    cells = [Cell(engine=e, workload=w, suite="scalar", params={"n": n}) for e in ENGINES for w, n in WORKLOADS]
    first = datetime.datetime(2025, 1, 1, 2, tzinfo=datetime.UTC)
    for night in range(nights):
        for kind in range(CLASSES):
            for machine in range(MACHINES):
                started = first + datetime.timedelta(days=night, minutes=machine)
                slow = 1.3 if draw.random() < 0.01 else 1.0  # a slow night of the whole machine
                yield Run(
                    id=f"{started:%Y%m%dT%H%M%S}-{kind}{machine}abcd",
                    started=started.isoformat(timespec="seconds"),
                    environment=Environment(
                        cpu=f"Model {kind}",
                        cores=2 + kind,
                        memory_bytes=16 << 30,
                        os="Linux 6.1.0",
                        python="CPython 3.13.1",
                        packages={"numpy": "2.4.0", "torch": f"2.{night // 100}.0", "gradmark": "0.1.0"},
                        machine="x86_64",
                        microcode="0x1",
                        instance=f"machine{kind}{machine}",
                        commit=f"{night:040x}",
                    ),
                    settings=Settings(),
                    measurements=[measured(cell, kind, night / nights, slow, draw) for cell in cells],
                    planned=cells,
                    calibrations=[calibration(started, slow, draw)],
                    finished=True,
                    format_version=FORMAT_VERSION,
                )


def measured(cell: Cell, kind: int, when: float, slow: float, draw: random.Random) -> Measurement:
    """One cell: noise of 1 %, and a step of one engine on one class."""
    size = 50.0 * float(cell.params["n"]) * (1 + kind / 10) * slow
    own = STEP if cell.engine == "torch" and kind == 2 and when >= 0.5 else 1.0
    times = {"primal": size, "total": 3 * size * own}
    samples = [
        Sample(
            process=process,
            phases={name: phase(ns * math.exp(draw.gauss(0.0, 0.01)), draw) for name, ns in times.items()},
            once_ns={"import": 1e8, "prepare": 1e5, "first_call": 1e6},
            harness_ns=23.4,
            clock_ns=30.0,
        )
        for process in range(PROCESSES)
    ]
    return Measurement(cell=cell, status="ok", samples=samples, operations=1000)


def phase(ns: float, draw: random.Random) -> Phase:
    """Calm blocks of about so long."""
    blocks = [ns * (1.0 + 0.01 * draw.random()) for _ in range(BLOCKS)]
    pilots = draw.choice(PILOTS)
    return Phase(iterations=1234, block_ns=blocks, pilots={"core": pilots}, reference={"core": 9000.0, "clock": 9010.0})


def calibration(started: datetime.datetime, slow: float, draw: random.Random) -> Calibration:
    """Fixed work of five kinds."""
    work = {kind: phase(1000.0 * slow, draw) for kind in ("integer", "floating", "memory", "allocation", "interpreter")}
    return Calibration(started=started.isoformat(timespec="seconds"), work=work)


def write(folder: Path, nights: int) -> int:
    """The run files with their index, as runs that end write them; their bytes."""
    if folder.is_dir():
        return sum(path.stat().st_size for path in folder.glob("*.jsonl"))
    written, lines = 0, []
    folder.mkdir(parents=True)
    for run in runs(nights):
        data = journal.lines(run)
        path = folder / f"{run.id}{journal.EXTENSION}"
        path.write_bytes(data)
        lines.append(index.line_of(path, of_run(run, data).outline))
        written += len(data)
    index.append(folder, lines)
    return written


def asked(*arguments: str) -> tuple[float, float, str]:
    """A command in a process of its own, as a user types it: its wall time, the least of several, its processor time
    likewise, and its output."""
    best, least, out = math.inf, math.inf, ""
    for _ in range(TIMES):
        start, spent = time.perf_counter(), children_s()
        done = subprocess.run(
            [sys.executable, "-m", "gradmark.commands.main", *arguments], capture_output=True, text=True, check=True
        )
        best, out = min(best, time.perf_counter() - start), done.stdout
        least = min(least, children_s() - spent)
    return best, least, out


def children_s() -> float:
    """Processor time of the processes that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def kept(text: str, holds: bool) -> bool:
    """Prints a line with its verdict."""
    print(f"{'KEPT' if holds else 'NOT KEPT':9} {text}", flush=True)
    return holds


def measure(folder: Path, url: str, nights: int) -> list[bool]:
    """Everything, promise by promise."""
    start = time.perf_counter()
    written = write(folder, nights)
    count = nights * CLASSES * MACHINES
    cells = len(ENGINES) * len(WORKLOADS)
    shape = f"{cells} cells × {PROCESSES} processes × 2 phases × {BLOCKS} blocks"
    took = time.perf_counter() - start
    print(f"          {count} runs of {shape}: {written / 2**20:.0f} MiB, made in {took:.0f} s", flush=True)
    busy = f"{os.cpu_count()} cores; load of the last minute: {os.getloadavg()[0]:.1f}"
    print(f"          {busy}", flush=True)
    source, target = open_store(folder), open_store(url)
    start, spent = time.perf_counter(), children_s()
    copied = copying.copy(source, target)
    rate = copied.copied / (time.perf_counter() - start)
    each_ms = 1e3 * (children_s() - spent) / count
    text = f"uploaded {copied.copied} of {count} runs at {rate:.0f} runs/s ({each_ms:.1f} ms of a core each)"
    complete = copied.copied == count and not copied.problems
    held = [kept(f"{text}; at least {LEAST_RATE:.0f}", complete and rate >= LEAST_RATE)]
    start = time.perf_counter()
    again = copying.copy(source, target)
    held.append(
        kept(
            f"uploaded again: {again.copied} runs, in {time.perf_counter() - start:.1f} s",
            again.copied == 0 and again.there == count,
        )
    )
    answers = {}
    for name, store in (("database", url), ("folder", str(folder))):
        took, core_s, answers[name] = asked("history", "poly", "--store", store)
        text = f"history poly from the {name}: {took:.2f} s ({core_s:.2f} s of a core); at most {MOST_S[name]:g} s"
        held.append(kept(text, took <= MOST_S[name]))
    held.append(kept("both give the same answer", answers["database"] == answers["folder"]))
    held.append(kept("the step of torch on one class is found", answers["folder"].count("together on torch") == 1))
    name = source.listed()[-1].id
    held.append(kept("a run from the database is the same, bit for bit", downloaded(target, source, name)))
    pages = [page(store, name, Path(f"{k}.html")) for k, store in enumerate((url, str(folder)))]
    held.append(kept("its page is the same from both", pages[0] == pages[1]))
    print(
        f"          the database takes {size(url) / 2**20:.0f} MiB, {size(url) / count / 1024:.1f} KiB a run",
        flush=True,
    )
    return held


def downloaded(target: object, source: object, name: str) -> bool:
    """Whether the database gives back the bytes of the file."""
    return target.contents(name) == source.local(source.find(name)).read_bytes()  # type: ignore[attr-defined]


def page(store: str, name: str, output: Path) -> bytes:
    """The page of a run."""
    opened = open_store(store)
    report.write(report.load([name], opened), output)
    return output.read_bytes()


def size(url: str) -> int:
    """Of the database, in bytes."""
    import psycopg

    with psycopg.connect(url) as connection:
        row = connection.execute("select pg_database_size(current_database())").fetchone()
    assert row is not None
    return int(row[0])


def main(arguments: Sequence[str] | None = None) -> None:
    """All of it, in a temporary folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nights", type=int, default=NIGHTS)
    parser.add_argument("--runs", type=Path, help="Keep the run files there, and take those that are there already.")
    asked_for = parser.parse_args(arguments)
    nights = asked_for.nights
    if missing := database.missing():
        sys.exit(missing)
    folder = asked_for.runs.absolute() if asked_for.runs else None
    with tempfile.TemporaryDirectory() as name, contextlib.closing(database.Server(durable=True)) as server:
        os.chdir(name)  # what waits to be uploaded is in the current folder
        url = server.new()
        open_store(url).address.migrate()  # type: ignore[attr-defined]
        held = measure(folder or Path(name) / "runs", url, nights)
    sys.exit(0 if all(held) else 1)


if __name__ == "__main__":
    main()
