"""What keeping a run costs: bytes written, time for each event, and how fast runs are listed and loaded.

A synthetic run of 400 cells, 10 processes, 8 blocks and 4 phases is written event by event, as the orchestrator does.

    python benchmarks/storage.py
"""

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import msgspec

from gradmark.records import Accuracy, Cell, Environment, Measurement, Memory, Phase, Run, Sample, Settings, TapeSize
from gradmark.records.event import Event, Finished, Inspected, Sampled
from gradmark.store import listing, runs
from gradmark.store.journal import Journal

CELLS, PROCESSES, BLOCKS = 400, 10, 8
PHASES = ("primal", "forward", "backward", "total")
# Events at either end of the run whose times are compared.
ENDS = 500
RUNS = 1000
# Cells of each of the runs that are listed: what `gradmark run` has, about.
CELLS_OF_LISTED = 75

MOST_WRITTEN = 1.5  # times the size of the final file
MOST_LISTING_S = 1.0


def begun(name: str, cells: int) -> Run:
    """A run of which nothing is measured yet."""
    packages = {f"package{k}": "1.2.3" for k in range(20)}
    return Run(
        id=name,
        started="2026-01-01T00:00:00+00:00",
        environment=Environment(cpu="c", cores=2, memory_bytes=1 << 34, os="o", python="p", packages=packages),
        settings=Settings(processes=PROCESSES, blocks=BLOCKS),
        measurements=[],
        planned=[
            Cell(engine=f"engine{k % 8}", workload=f"workload{k // 8}", suite="scalar", params={"n": 1000})
            for k in range(cells)
        ],
        format_version=3,
    )


def events(run: Run, processes: int) -> Iterator[Event]:
    """All that happens in it: inspections, then samples round by round."""
    draw = random.Random(0)
    for cell in run.planned:
        yield Inspected(
            measurement=Measurement(
                cell=cell,
                status="ok",
                tape=TapeSize(instructions=2000, values=2001, adjoints=2001, saved_bytes=50000),
                memory=Memory(allocations=0.0, gross_allocations=1.0, allocated_bytes=0.0, peak_bytes=123456),
                accuracy=Accuracy(reference="mpmath, 50 digits", relative_error=1.1e-16, ulps=0.5, tolerance=1e-9),
                operations=2000,
            )
        )
    for process in range(processes):
        for cell in draw.sample(run.planned, len(run.planned)):
            phases = {
                name: Phase(iterations=1234, block_ns=[draw.uniform(1e4, 2e4) for _ in range(BLOCKS)])
                for name in PHASES
            }
            once = {name: draw.uniform(1e6, 1e8) for name in ("import", "prepare", "first_call", "warm_up")}
            sample = Sample(process=process, phases=phases, once_ns=once, harness_ns=23.4, clock_ns=60.0)
            yield Sampled(cell=cell.id, sample=sample)
    yield Finished()


class Counted:
    """Counts the bytes that go to the system, by every way that the store has."""

    def __init__(self) -> None:
        self.written, self._write = 0, os.write

    def __enter__(self) -> "Counted":
        def write(descriptor: int, data: bytes) -> int:
            taken = self._write(descriptor, data)
            self.written += taken
            return taken

        os.write = write  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        os.write = self._write


def timed(work: Callable[[], object], times: int = 3) -> float:
    """The fastest of several calls, in seconds."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def kept(text: str, holds: bool) -> bool:
    """Prints a line with its verdict."""
    print(f"{'KEPT' if holds else 'NOT KEPT':9} {text}")
    return holds


def writing(folder: Path) -> tuple[Path, bool]:
    """A run, event by event."""
    run = begun("big", CELLS)
    happened = list(events(run, PROCESSES))
    costs = []
    with Counted() as count, Journal.begin(run, folder) as journal:
        for event in happened:
            start = time.perf_counter()
            journal(event)
            costs.append(time.perf_counter() - start)
    size = journal.path.stat().st_size
    ratio = count.written / size
    samples = costs[CELLS:-1]
    first, last = (1e6 * median(part) for part in (samples[:ENDS], samples[-ENDS:]))
    print(f"{len(happened)} events of {CELLS} cells × {PROCESSES} processes × {BLOCKS} blocks × {len(PHASES)} phases")
    print(f"          a sample costs {first:.0f} µs at the start and {last:.0f} µs at the end (medians of {ENDS})")
    holds = kept(
        f"written {count.written / 2**20:.1f} MiB for a file of {size / 2**20:.1f} MiB: {ratio:.2f} times; "
        f"at most {MOST_WRITTEN}",
        ratio <= MOST_WRITTEN,
    )
    return journal.path, holds


def before() -> None:
    """What format 2 did: the whole run again after each event. Only its bytes are counted."""
    run = begun("before", CELLS)
    grown, written = len(msgspec.json.encode(run)), 0
    for event in events(run, PROCESSES):
        grown += len(msgspec.json.encode(event))
        written += grown
    print(f"          rewriting the file after each event wrote {written / 2**30:.1f} GiB: {written / grown:.0f} times")


def reading(path: Path) -> bool:
    """The same run back."""
    run = runs.load(path)
    samples = sum(len(m.samples) for m in run.measurements)
    print(f"          loading takes {1e3 * timed(lambda: runs.load(path)):.0f} ms")
    return kept(f"{samples} samples read of {CELLS * PROCESSES}", run.finished and samples == CELLS * PROCESSES)


def list_of_many(folder: Path) -> bool:
    """Many runs of the usual size."""
    run = begun("template", CELLS_OF_LISTED)
    with Journal.begin(run, folder) as journal:
        for event in events(run, 5):
            journal(event)
    text = journal.path.read_bytes()
    journal.path.unlink()
    for k in range(RUNS):
        name = f"20260101T{k:06}-abc123"
        (folder / f"{name}.jsonl").write_bytes(text.replace(b'"id":"template"', f'"id":"{name}"'.encode(), 1))
    taken = timed(lambda: listing.headers(folder))
    complete = all(run.finished and run.ok == CELLS_OF_LISTED for run in listing.headers(folder))
    size = RUNS * len(text) / 2**20
    return kept(
        f"{RUNS} runs ({size:.0f} MiB) listed in {taken:.2f} s; at most {MOST_LISTING_S:g} s",
        complete and taken <= MOST_LISTING_S,
    )


def main() -> None:
    """All of it, in a temporary folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, written = writing(folder)
        before()
        held = [written, reading(path)]
        path.unlink()
        held.append(list_of_many(folder))
    sys.exit(0 if all(held) else 1)


if __name__ == "__main__":
    main()
