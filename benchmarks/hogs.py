"""What does other work on the machine do to the numbers? Runs with a hog beside them, and without, in turns.

    python benchmarks/hogs.py                              four hogs, three pairs of runs each: 20 minutes
    python benchmarks/hogs.py --hog memory --pairs 5       one of them
    python benchmarks/hogs.py --folder FOLDER              the run files stay there
    python benchmarks/hogs.py --pairs 0 --folder FOLDER    judge what is there

The hogs, each a process that this script starts before a run and ends after it:

    busy           a busy loop on another core than the workers'
    memory         copies of 256 MB, one after another, on another core
    bursts         busy for 5 to 50 ms at random, then idle for as long, on another core
    bursts-beside  the same on the very core that workers are pinned to

The table has for each hog and cell by how much the number with the hog exceeds the one without, of the medians over the
pairs. Each run with a hog is compared with the one before it as `gradmark compare` does.

Promised: within 3 %, or the cell says that it never saw a calm machine; and never a wrong "slower". Exit code 1 if that
is not kept.
"""

import argparse
import contextlib
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

CELLS = ["poly/n=100", "chain/f=exp", "tree/depth=6", "constants/n=1000", "matmul/n=256", "broadcast_add/n=1024"]
CELLS += ["elementwise/depth=4/n=100000", "mlp_step/batch=8/width=32"]
WITHIN = 0.03
COPIED_BYTES = 256 << 20
BURST_S = (0.005, 0.05)
SETTLE_S = 1.0  # until a hog has allocated what it copies


# --- the hogs


def be_busy() -> None:
    while True:
        pass


def be_copying() -> None:
    import numpy as np

    source, target = (np.full(COPIED_BYTES // 8, value) for value in (1.0, 2.0))
    while True:
        np.copyto(target, source)


def be_bursting() -> None:
    draw = random.Random()
    while True:
        until = time.monotonic() + draw.uniform(*BURST_S)
        while time.monotonic() < until:
            pass
        time.sleep(draw.uniform(*BURST_S))


@dataclass(frozen=True)
class Hog:
    """What it does, and whether on the workers' own core."""

    work: Callable[[], None]
    beside: bool = False


HOGS = {
    "busy": Hog(be_busy),
    "memory": Hog(be_copying),
    "bursts": Hog(be_bursting),
    "bursts-beside": Hog(be_bursting, beside=True),
}


def core_of(hog: Hog) -> int | None:
    """The core that a hog is pinned to: the last, which workers have, or the first; None if there is no other."""
    cores = sorted(os.sched_getaffinity(0))
    return cores[-1] if hog.beside else cores[0] if len(cores) > 1 else None


def be(name: str) -> None:
    """Is the hog, in a process of its own, until that is ended."""
    core = core_of(HOGS[name])
    assert core is not None
    os.sched_setaffinity(0, [core])
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG: it does not outlive the one who started it
    HOGS[name].work()


@contextlib.contextmanager
def running(name: str) -> Iterator[None]:
    """A hog beside what is done meanwhile."""
    process = subprocess.Popen([sys.executable, __file__, "--be", name])
    try:
        time.sleep(SETTLE_S)
        if process.poll() is not None:
            raise SystemExit(f"the hog {name} ended by itself, with exit code {process.returncode}")
        yield
        if process.poll() is not None:
            raise SystemExit(f"the hog {name} ended during a run, with exit code {process.returncode}")
    finally:
        process.kill()
        process.wait()


# --- runs


def record(folder: Path, hogs: list[str], pairs: int, arguments: list[str]) -> None:
    """Adds pairs of runs, `HOG-NN-without.json` and `HOG-NN-with.json`; the hogs take turns."""
    from measured_runs import measure

    folder.mkdir(parents=True, exist_ok=True)
    there = max((number for _, number in recorded(folder)), default=0)
    for number in range(there + 1, there + pairs + 1):
        for name in hogs:
            without = measure(folder / f"{name}-{number:02}-without.json", *arguments)
            with running(name):
                beside = measure(folder / f"{name}-{number:02}-with.json", *arguments)
            place = f"pair {number - there} of {pairs}"
            print(f"{place}, {name}: {without:.1f} s without, {beside:.1f} s with", flush=True)


def recorded(folder: Path) -> list[tuple[str, int]]:
    """Hogs and numbers of the pairs that are there whole."""
    found = (re.fullmatch(r"(.+)-(\d+)-with\.json", path.name) for path in sorted(folder.glob("*-with.json")))
    pairs = [(match[1], int(match[2])) for match in found if match]
    return sorted(pairs, key=lambda pair: ([*HOGS, pair[0]].index(pair[0]), pair[1]))


# --- judging


@dataclass
class Seen:
    """One cell with one hog, over all pairs."""

    without: list[float] = field(default_factory=list)  # numbers that say that the machine was calm
    beside: list[float] = field(default_factory=list)
    never_calm: int = 0  # runs with the hog whose number says that no process saw a calm machine
    words: list[str] = field(default_factory=list)  # of `gradmark compare`

    @property
    def difference(self) -> float | None:
        """By what share the hog raises the number; None where the cell says that it was never calm."""
        return median(self.beside) / median(self.without) - 1 if self.beside and self.without else None

    @property
    def said(self) -> str:
        """What the table shows."""
        if self.difference is not None:
            return f"{self.difference:+.1%}{'*' * bool(self.never_calm)}"
        if not self.without:
            return "not judged"
        return "never calm" if self.never_calm else "no number"

    @property
    def right(self) -> bool:
        """Whether the number is what it is without the hog, or says that it cannot be trusted."""
        return bool(self.never_calm) if self.difference is None else abs(self.difference) <= WITHIN


def judge_pairs(folder: Path) -> dict[str, dict[str, Seen]]:
    """By hog and cell."""
    from measured_runs import calm_share, times

    from gradmark.analyse.unpaired import differences
    from gradmark.store import runs

    found: dict[str, dict[str, Seen]] = {}
    for name, number in recorded(folder):
        without, beside = (runs.load(folder / f"{name}-{number:02}-{how}.json") for how in ("without", "with"))
        shares = ["–" if share is None else f"{share:.0%}" for share in map(calm_share, (without, beside))]
        print(f"{name:14} pair {number}: calm {shares[0]:>4} of the time without, {shares[1]:>4} with")
        cells = found.setdefault(name, {})
        for cell, time_ in times(without).items():
            if time_.calm:
                cells.setdefault(cell, Seen()).without.append(time_.value)
        for cell, time_ in times(beside).items():
            seen = cells.setdefault(cell, Seen())
            seen.never_calm += not time_.calm
            if time_.calm:
                seen.beside.append(time_.value)
        for row in differences(without, beside):
            cells.setdefault(row.cell.id, Seen()).words.append(row.verdict)
    return found


def show(found: dict[str, dict[str, Seen]]) -> None:
    print("\n" + f"{'':38}" + "".join(f"{name:>15}" for name in found))
    for cell in dict.fromkeys(cell for cells in found.values() for cell in cells):
        shown = (cells[cell].said if cell in cells else "–" for cells in found.values())
        print(f"{cell:38}" + "".join(f"{text:>15}" for text in shown))
    print("* without the runs with the hog whose number says that it never saw a calm machine")
    print("\nwhat `gradmark compare` says of without and with:")
    for name, cells in found.items():
        words = [word for seen in cells.values() for word in seen.words]
        counted = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
        print(f"{name:14} {counted}")
        for cell, seen in cells.items():
            if "slower" in seen.words:
                print(f"{'':14} slower, wrongly: {cell}")


def judge(found: dict[str, dict[str, Seen]]) -> bool:
    from measured_runs import say

    seen = [one for cells in found.values() for one in cells.values()]
    judged = [one for one in seen if one.without]
    right = sum(one.right for one in judged)
    wrong = sum(one.words.count("slower") for one in seen)
    compared = sum(len(one.words) for one in seen)
    if len(judged) < len(seen):
        print(f"{len(seen) - len(judged)} of {len(seen)} cells are not judged: without a hog they were never calm")
    return all(
        [
            say(0 < right == len(judged), f"within {WITHIN:.0%}, or never calm: {right} of {len(judged)} cells"),
            say(wrong == 0 < compared, f'never a wrong "slower": {wrong} of {compared} comparisons'),
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", nargs="*", help=f"rows of tapegrad; default: {' '.join(CELLS)}")
    parser.add_argument("--hog", action="append", dest="hogs", choices=HOGS, help="repeatable; default: all")
    parser.add_argument("--pairs", type=int, default=3, help="of runs without and with; default 3, 0 only judges")
    parser.add_argument("--processes", help="for `gradmark run`, to try the script; default: its own")
    parser.add_argument("--folder", type=Path, help="where run files stay; default: nowhere")
    parser.add_argument("--be", choices=HOGS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.be:
        be(options.be)
    hogs = []
    for name in options.hogs or HOGS:
        if core_of(HOGS[name]) is None:
            print(f"{name} is not measured: there is no other core")
        else:
            hogs.append(name)
    arguments = [*(options.cells or CELLS), "--no-memory"]
    arguments += ["--processes", options.processes] if options.processes else []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        record(folder, hogs, options.pairs, arguments)
        found = judge_pairs(folder)
    if not found:
        print("nothing was measured")
        return 1
    show(found)
    print()
    return 0 if judge(found) else 1


if __name__ == "__main__":
    sys.exit(main())
