"""Does gradmark say the same five times? The numbers of both short suites over runs one after another.

    python benchmarks/repeatability.py                            five runs and their verdict
    python benchmarks/repeatability.py --runs 5 --folder FOLDER   the same, and the run files stay there
    python benchmarks/repeatability.py --folder FOLDER            judge the run files that are there

Each run is `gradmark run` with its default settings: the scalar suite, and the short part of the tensor suite. Prints
the wall time of each and for how much of it the machine was calm, then by how much the numbers of each cell differ.

Promised, on a machine that others use too: at least 95 % of the cells have numbers within 3 % of each other, and none
beyond 8 %; every run takes at most 90 s. Exit code 1 if that is not kept. `truth.py` says whether the numbers are right
as well, `hogs.py` what other work on the machine does to them.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from measured_runs import apart, described, load_all, measure, say, times, wall_times

from gradmark.records import Run

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


def differences(recorded: list[Run]) -> dict[str, float]:
    """By how much the numbers of each cell differ; of a cell that lacks one in some run, by infinity."""
    by_run = [times(run) for run in recorded]
    cells = dict.fromkeys(cell for found in by_run for cell in found)
    cells |= dict.fromkeys(m.cell.id for run in recorded for m in run.measurements)
    return {
        cell: apart([found[cell].value for found in by_run]) if all(cell in found for found in by_run) else float("inf")
        for cell in cells
    }


def never_calm(recorded: list[Run], cell: str) -> int:
    """In how many runs the cell says that no process saw a calm machine."""
    return sum(cell in found and not found[cell].calm for found in map(times, recorded))


def show(recorded: dict[str, Run], seconds: dict[str, float]) -> None:
    for name, run in recorded.items():
        print(f"{name:16} {described(run, seconds.get(name))}")
    print(f"\n{'apart':>7}  {'least':>12}  cell")
    runs = list(recorded.values())
    for cell, difference in sorted(differences(runs).items(), key=lambda pair: -pair[1]):
        found = [number.value for run in runs if (number := times(run).get(cell))]
        least = f"{min(found):9,.0f} ns" if found else "no number"
        unsure = never_calm(runs, cell)
        remark = f"; never calm in {unsure} of {len(runs)} runs" if unsure else ""
        shown = "lacking" if difference == float("inf") else f"{difference:.1%}"
        print(f"{shown:>7}  {least:>12}  {cell}{remark}")


def judge(recorded: dict[str, Run], seconds: dict[str, float]) -> bool:
    """Prints the verdicts; whether all promises are kept."""
    found = list(differences(list(recorded.values())).values())
    close = sum(difference <= WITHIN for difference in found)
    far = sum(difference > NONE_BEYOND for difference in found)
    over = f"over {len(recorded)} runs"
    if len(recorded) < 2:
        print("one run says nothing of repeatability; measure more with --runs")
        return False
    kept = [
        say(
            close >= SHARE_WITHIN * len(found),
            f"at least {SHARE_WITHIN:.0%} of the cells within {WITHIN:.0%}: {close} of {len(found)} {over}",
        ),
        say(far == 0, f"no cell beyond {NONE_BEYOND:.0%}: {far} {'is' if far == 1 else 'are'}"),
    ]
    known = [seconds[name] for name in recorded if name in seconds]
    if known:
        promise = f"every run at most {MOST_SECONDS:.0f} s: the longest of {len(known)} took {max(known):.1f} s"
        kept.append(say(max(known) <= MOST_SECONDS, promise))
    else:
        print("the wall times of these runs were not written down, and are not judged")
    return all(kept)


def judge_folder(folder: Path) -> bool:
    recorded, seconds = load_all(folder), wall_times(folder)
    show(recorded, seconds)
    print()
    return judge(recorded, seconds)


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
