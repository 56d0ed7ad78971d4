"""Are the numbers right? What `gradmark run` says beside minutes of measuring each cell.

    python benchmarks/truth.py --folder FOLDER                     all cells of both short suites, two minutes each
    python benchmarks/truth.py poly reuse --seconds 20 --folder …  some cells, for less time
    python benchmarks/truth.py --again FILE --folder FOLDER        judge a measurement that is there

FOLDER has ordinary runs: `repeatability.py --folder` makes them. The truth of a cell is its calm floor: the fastest
calm block, at the clock of the reference, of all fresh processes. One process of every cell follows another, so that
the truth of all is measured over the same span of time, an hour or so. It stays in .gradmark/truth.

The table has, for each cell, the truth; the fastest tenth, which is the number of the very same processes by the rule
of `gradmark run`; and by how much the median number of the ordinary runs exceeds the truth. Where the first two differ
the rule does not reach the floor; where only the last differs, an ordinary run is too short.

Promised: the bias is below 2 % for nine cells in ten. Exit code 1 if that is not kept.
"""

import argparse
import sys
import time
from pathlib import Path
from statistics import median

import msgspec
from measured_runs import described, load_all, say, times

from gradmark.commands.options import settings_of
from gradmark.measure import process
from gradmark.measure.orchestrator import Orchestrator, begin
from gradmark.measure.plan import Request, make_plan
from gradmark.records import Measurement, Run
from gradmark.records.number import OF_ROW
from gradmark.store import runs
from gradmark.workloads.selection import select_rows

BIAS, SHARE = 0.02, 0.9
KEPT_IN = Path(".gradmark") / "truth"


def record(select: list[str], engines: list[str], seconds: float, blocks: int, folder: Path) -> Path:
    """Rounds of all cells, a fresh process of each, until every cell has had its seconds."""
    settings = msgspec.structs.replace(settings_of(processes=1, memory=False), blocks=blocks)
    request = Request(chosen=select_rows(select, None), engines=engines)
    plan = make_plan(request, settings, process.run, stop=process.end_all)
    folder.mkdir(parents=True, exist_ok=True)
    journal = runs.Journal.begin(begin(plan), folder)
    until = seconds * len(plan.cells)
    print(f"{len(plan.cells)} cells, {seconds:g} s each: {until / 60:.0f} minutes, into {journal.path}", flush=True)
    try:
        with Orchestrator(journal.run, journal, known=plan.known) as orchestrator:
            orchestrator.inspect()
            start, number = time.monotonic(), 0
            while time.monotonic() - start < until:
                orchestrator.sample(orchestrator.cells, range(number, number + 1))
                number += 1
                print(f"\rround {number}, {(time.monotonic() - start) / 60:.1f} minutes", end="", flush=True)
            orchestrator.finish()
    finally:
        journal.close()
    print()
    return journal.path


def calm_floor_ns(measurement: Measurement) -> float | None:
    """The fastest calm block of all processes, at the clock of the reference; None if none saw a calm machine."""
    samples = measurement.samples
    name = next((name for name in OF_ROW if any(name in sample.phases for sample in samples)), None)
    phases = [sample.phases[name] for sample in samples if name in sample.phases] if name else []
    return min((min(phase.calm_ns) for phase in phases if phase.watched and phase.is_calm), default=None)


def biases(truth: Run, ordinary: list[Run]) -> dict[str, list[float]]:
    """By what share each ordinary run exceeds the truth of a cell; no list for a cell without truth or number."""
    by_run = [times(run) for run in ordinary]
    found = {}
    for measurement in truth.measurements:
        cell, floor = measurement.cell.id, calm_floor_ns(measurement)
        if floor is not None and all(cell in numbers for numbers in by_run):
            found[cell] = [numbers[cell].value / floor - 1 for numbers in by_run]
    return found


def show(truth: Run, found: dict[str, list[float]]) -> None:
    header = f"{'truth':>14} {'its tenth':>9} {'processes':>9} {'bias':>7}  of the runs"
    print(f"{header:60} cell")
    of_rule = times(truth)
    for measurement in sorted(truth.measurements, key=lambda m: -abs(median(found.get(m.cell.id, [0.0])))):
        cell, floor = measurement.cell.id, calm_floor_ns(measurement)
        if floor is None:
            print(f"{measurement.status if measurement.status != 'ok' else 'never calm':>14} {'':45} {cell}")
            continue
        shares = found.get(cell)
        bias = f"{median(shares):+7.1%}  {min(shares):+.1%} to {max(shares):+.1%}" if shares else f"{'–':>7}"
        left = f"{floor:11,.0f} ns {of_rule[cell].value / floor - 1:+9.1%} {len(measurement.samples):9} {bias}"
        print(f"{left:60} {cell}")


def judge(truth: Run, found: dict[str, list[float]]) -> bool:
    """Prints the verdict; a cell whose truth or number is lacking is not right."""
    cells = len(truth.measurements)
    right = sum(abs(median(shares)) < BIAS for shares in found.values())
    text = f"bias below {BIAS:.0%} for {SHARE:.0%} of the cells: {right} of {cells}"
    return say(right >= SHARE * cells, text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("select", nargs="*", help="workloads, suites or rows; default: both short suites")
    parser.add_argument("-e", "--engine", action="append", dest="engines", help="default: tapegrad")
    parser.add_argument("--seconds", type=float, default=120.0, help="for each cell; default 120")
    parser.add_argument("--blocks", type=int, default=40, help="calm ones of each phase in a process; default 40")
    parser.add_argument("--folder", type=Path, help="ordinary runs to judge")
    parser.add_argument("--again", type=Path, metavar="FILE", help="a truth that was measured before")
    options = parser.parse_args()
    engines = options.engines or ["tapegrad"]
    path = options.again or record(options.select, engines, options.seconds, options.blocks, KEPT_IN)
    truth = runs.load(path)
    print(f"{'truth':16} {described(truth)}")
    if options.folder is None:
        show(truth, {})
        print("\nno ordinary runs are given with --folder, and nothing is judged")
        return 0
    ordinary = load_all(options.folder)
    for name, run in ordinary.items():
        unlike = "; ".join(truth.environment.unlike(run.environment))
        print(f"{name:16} {described(run)}{f'; NOT THE SAME MACHINE: {unlike}' if unlike else ''}")
    found = biases(truth, list(ordinary.values()))
    print()
    show(truth, found)
    print()
    return 0 if judge(truth, found) else 1


if __name__ == "__main__":
    sys.exit(main())
