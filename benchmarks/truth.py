"""Are the numbers right? What `gradmark run` says beside minutes of measuring each cell.

    python benchmarks/truth.py --folder FOLDER                     all cells of both short suites, two minutes each
    python benchmarks/truth.py poly reuse --seconds 20 --folder …  some cells, for less time
    python benchmarks/truth.py --again FILE --folder FOLDER        judge a measurement that is there

FOLDER has ordinary runs: `repeatability.py --folder` makes them. The truth of a cell is its calm time over
minutes: the median over all processes of the lower quartile of their calm blocks, at the clock of the reference. This
is the statistic of `gradmark run`, of many times the processes. One process of every cell follows another, so that the
truth of all is measured over the same span of time, an hour or so. It stays in .gradmark/truth.

The table has, for each cell, the truth and its interval (half the width); by how much the median number of the ordinary
runs exceeds the truth; and how far above the calm floor that number is: the fastest calm block of the same minutes. The
floor is what a lucky layout takes in a lucky moment. To be above it is no error, and nothing is promised of it.

Promised: the bias is below 2 % for nine cells in ten. Exit code 1 if that is not kept.
"""

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import msgspec
from measured_runs import described, load_all, say, times

from gradmark.commands.options import settings_of
from gradmark.measure import process
from gradmark.measure.orchestrator import Orchestrator, begin
from gradmark.measure.plan import Request, make_plan
from gradmark.records import Measurement, Phase, Run
from gradmark.records.number import OF_ROW, Number
from gradmark.records.times import typical
from gradmark.store import runs
from gradmark.workloads.selection import select_rows

BIAS, SHARE = 0.02, 0.9
KEPT_IN = Path(".gradmark") / "truth"


def record(select: list[str], engines: list[str], seconds: float, blocks: int, folder: Path) -> Path:
    """Rounds of all cells, a fresh process of each, until every cell has had its seconds."""
    settings = msgspec.structs.replace(settings_of(quick=True, processes=1, memory=False), blocks=blocks)
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
                print(f"round {number}, {(time.monotonic() - start) / 60:.1f} minutes", file=sys.stderr, flush=True)
            orchestrator.finish()
    finally:
        journal.close()
    print()
    return journal.path


def calm_phases(measurement: Measurement) -> list[Phase]:
    """The phase that stands for the row, of every process that saw a calm machine for long enough."""
    samples = measurement.samples
    name = next((name for name in OF_ROW if any(name in sample.phases for sample in samples)), None)
    phases = [sample.phases[name] for sample in samples if name in sample.phases] if name else []
    return [phase for phase in phases if phase.watched and phase.is_calm]


def typical_of(measurement: Measurement) -> Number | None:
    """The calm time over all processes; None if none saw a calm machine."""
    phases = calm_phases(measurement)
    return typical([phase.time_ns for phase in phases]) if phases else None


def calm_floor_ns(measurement: Measurement) -> float | None:
    """The fastest calm block of all processes, at the clock of the reference; None if none saw a calm machine."""
    return min((min(phase.calm_ns) for phase in calm_phases(measurement)), default=None)


@dataclass(frozen=True)
class Distance:
    """By what share each ordinary run exceeds what the minutes say of a cell."""

    to_typical: list[float]
    to_floor: list[float]

    @property
    def bias(self) -> float:
        """That of the median run."""
        return median(self.to_typical)


def distances(truth: Run, ordinary: list[Run]) -> dict[str, Distance]:
    """By cell; nothing for a cell without truth, or without a number in one of the runs."""
    by_run = [times(run) for run in ordinary]
    found = {}
    for measurement in truth.measurements:
        cell, true, floor = measurement.cell.id, typical_of(measurement), calm_floor_ns(measurement)
        if true is not None and floor is not None and all(cell in numbers for numbers in by_run):
            values = [numbers[cell].value for numbers in by_run]
            found[cell] = Distance([ns / true.value - 1 for ns in values], [ns / floor - 1 for ns in values])
    return found


def show(truth: Run, found: dict[str, Distance]) -> None:
    header = f"{'truth':>14} {'within':>7} {'processes':>9} {'bias':>7}  {'of the runs':17} {'to floor':>8}"
    print(f"{header:68} cell")
    for measurement in sorted(
        truth.measurements, key=lambda m: -abs(found[m.cell.id].bias if m.cell.id in found else 0)
    ):
        cell, true = measurement.cell.id, typical_of(measurement)
        if true is None:
            print(f"{measurement.status if measurement.status != 'ok' else 'never calm':>14} {'':53} {cell}")
            continue
        left = f"{true.value:11,.0f} ns {_share(true.spread):>7} {true.processes:9}"
        if cell in found:
            one = found[cell]
            runs_said = f"{min(one.to_typical):+.1%} to {max(one.to_typical):+.1%}"
            left += f" {one.bias:+7.1%}  {runs_said:17} {median(one.to_floor):+8.1%}"
        print(f"{left:68} {cell}")


def _share(spread: float | None) -> str:
    return "–" if spread is None else f"±{spread:.1%}"


def judge(truth: Run, found: dict[str, Distance]) -> bool:
    """Prints the verdict; a cell whose truth or number is lacking is not right."""
    cells = len(truth.measurements)
    right = sum(abs(one.bias) < BIAS for one in found.values())
    kept = say(right >= SHARE * cells, f"bias below {BIAS:.0%} for {SHARE:.0%} of the cells: {right} of {cells}")
    above = sorted(median(one.to_floor) for one in found.values())
    if above:
        print(f"{'':9} above the calm floor: {median(above):+.1%} for the median cell, {above[-1]:+.1%} at most")
    return kept


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
    found = distances(truth, list(ordinary.values()))
    print()
    show(truth, found)
    print()
    return 0 if judge(truth, found) else 1


if __name__ == "__main__":
    sys.exit(main())
