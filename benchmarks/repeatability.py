"""Does gradmark say the same five times? The numbers of both short suites over runs one after another.

    python benchmarks/repeatability.py                            five runs and their verdict
    python benchmarks/repeatability.py --runs 5 --folder FOLDER   the same, and the run files stay there
    python benchmarks/repeatability.py --folder FOLDER            judge the run files that are there

Each run is `gradmark run` with its default settings: the scalar suite, and the short part of the tensor suite. Prints
the wall time of each and for how much of it the machine was calm, then by how much the numbers of each cell differ, and
by how much they would if a process's time were its middle calm block, or the number the fastest of all.

Promised, on a machine that others use too: at least 95 % of the cells have numbers within 3 % of each other, and none
beyond 8 %; every run takes at most 90 s. Exit code 1 if that is not kept. `truth.py` says whether the numbers are right
as well, `hogs.py` what other work on the machine does to them.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from measured_runs import apart, described, load_all, measure, say, times, wall_times

from gradmark.records import Run
from gradmark.records.number import OF_ROW
from gradmark.records.times import counting

WITHIN, SHARE_WITHIN = 0.03, 0.95
NONE_BEYOND = 0.08
MOST_SECONDS = 90.0
RUNS = 5


def record(folder: Path, count: int, arguments: list[str]) -> None:
    """Adds runs to the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    there = len(list(folder.glob("run-*.json")))
    for number in range(there + 1, there + count + 1):
        seconds = measure(folder / f"run-{number:02}.json", *arguments)
        print(f"measured run {number - there} of {count} in {seconds:.1f} s", flush=True)


@dataclass(frozen=True)
class Seen:
    """One cell in all runs."""

    values: list[float]  # its numbers, one of each run that has one
    never_calm: int  # how many of them say that no process saw a calm machine
    runs: int

    @property
    def apart(self) -> float:
        """By what share the numbers differ; by infinity if a run lacks one."""
        return apart(self.values) if len(self.values) == self.runs else float("inf")

    @property
    def said(self) -> str:
        """The columns before the name of the cell."""
        share = "lacking" if len(self.values) < self.runs else f"{self.apart:.1%}"
        least = f"{min(self.values):9,.0f} ns" if self.values else "no number"
        return f"{share:>7}  {least:>12}"


def seen_in(recorded: Sequence[Run]) -> dict[str, Seen]:
    """Every cell that any of the runs has."""
    by_run = [times(run) for run in recorded]
    cells = dict.fromkeys(m.cell.id for run in recorded for m in run.measurements)
    there = {cell: [found[cell] for found in by_run if cell in found] for cell in cells}
    return {
        cell: Seen([number.value for number in numbers], sum(not number.calm for number in numbers), len(by_run))
        for cell, numbers in there.items()
    }


def of_middle_blocks(processes: Sequence[Sequence[float]]) -> float:
    """The median over processes of the median of their calm blocks."""
    return median(median(blocks) for blocks in processes)


def of_fastest_blocks(processes: Sequence[Sequence[float]]) -> float:
    """The fastest calm block."""
    return min(min(blocks) for blocks in processes)


Rule = Callable[[Sequence[Sequence[float]]], float]
OTHER_RULES: dict[str, Rule] = {"middle": of_middle_blocks, "fastest": of_fastest_blocks}


def by_rule(recorded: Sequence[Run], rule: Rule) -> list[float]:
    """By what share the numbers of each cell would differ, if another rule made them of the same calm blocks."""
    cells: dict[str, list[float]] = {}
    for run in recorded:
        for m in run.measurements:
            phase = next((name for name in OF_ROW if counting(m.samples, name)), None)
            if phase is not None:
                processes = [sample.phases[phase].calm_ns for sample in counting(m.samples, phase)]
                cells.setdefault(m.cell.id, []).append(rule(processes))
    return [apart(values) for values in cells.values() if len(values) == len(recorded)]


def show(seen: dict[str, Seen]) -> None:
    print(f"{'apart':>7}  {'least':>12}  cell")
    for cell, one in sorted(seen.items(), key=lambda pair: -pair[1].apart):
        print(f"{one.said}  {cell}{f'; never calm in {one.never_calm} runs' * bool(one.never_calm)}")


def judge(seen: dict[str, Seen], seconds: Sequence[float]) -> bool:
    """Prints the verdicts; whether all promises are kept."""
    runs = max(one.runs for one in seen.values())
    if runs < 2:
        print("one run says nothing of repeatability; measure more with --runs")
        return False
    close = sum(one.apart <= WITHIN for one in seen.values())
    far = sum(one.apart > NONE_BEYOND for one in seen.values())
    kept = [
        say(
            close >= SHARE_WITHIN * len(seen),
            f"at least {SHARE_WITHIN:.0%} of the cells within {WITHIN:.0%}: {close} of {len(seen)} over {runs} runs",
        ),
        say(far == 0, f"no cell beyond {NONE_BEYOND:.0%}: {far} {'is' if far == 1 else 'are'}"),
    ]
    if seconds:
        promise = f"every run at most {MOST_SECONDS:.0f} s: the longest of {len(seconds)} took {max(seconds):.1f} s"
        kept.append(say(max(seconds) <= MOST_SECONDS, promise))
    else:
        print("the wall times of these runs were not written down, and are not judged")
    return all(kept)


def judge_folder(folder: Path) -> bool:
    recorded, seconds = load_all(folder), wall_times(folder)
    for name, run in recorded.items():
        print(f"{name:16} {described(run, seconds.get(name))}")
    print()
    seen = seen_in(list(recorded.values()))
    show(seen)
    print("\nby other calm blocks of the same runs:")
    for name, rule in OTHER_RULES.items():
        shares = by_rule(list(recorded.values()), rule)
        close = sum(share <= WITHIN for share in shares)
        print(f"{name:>8}: {close} of {len(shares)} within {WITHIN:.0%}, worst {max(shares, default=0.0):.1%}")
    print()
    return judge(seen, [seconds[name] for name in recorded if name in seconds])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, help=f"runs to measure; default {RUNS}, or none with --folder")
    parser.add_argument("--folder", type=Path, help="where run files are, and where measured ones stay")
    parser.add_argument("arguments", nargs="*", help="for `gradmark run`, after --; such as: -- poly --processes 2")
    options = parser.parse_args()
    if options.folder is None:
        with tempfile.TemporaryDirectory() as folder:
            record(Path(folder), RUNS if options.runs is None else options.runs, options.arguments)
            return 0 if judge_folder(Path(folder)) else 1
    record(options.folder, options.runs or 0, options.arguments)
    return 0 if judge_folder(options.folder) else 1


if __name__ == "__main__":
    sys.exit(main())
