"""How well does a fleet use its machines? A simulation of a thousand of them for a night, with all that fails.

    python benchmarks/fleet.py                   1,000 machines, 20 engines, 60 problems: a minute
    python benchmarks/fleet.py --machines 100    others
    python benchmarks/fleet.py --seed 7          another night

What gives machines their tasks is gradmark's own board (`fleet/board.py`), driven by a clock of its own. Simulated
are the machines and the time that work takes, with these assumptions:

    machines    5 classes, each a fifth of the fleet; machines of a class differ by 3 % in speed
    work        60 problems of 8 sizes each, on every class; a row is 20 engines, each with 9 to 60 processes of
                about 1.2 s (log-normal, so that some take ten times as long), and 5 s to be inspected
    failures    a machine dies once in 50 hours and is back after 10 minutes; it is cut off once in 20 hours, which
                the scheduler sees at once, and is back after 1 minute; 2 % of the looks of `doctor` find others at work
    arrival     a machine is there after up to 5 minutes

Printed: the makespan beside the ideal (all work, without failures, spread over all machines without a gap; and no
shorter than the longest row); the share of work that was lost, which is what a machine had not handed on when it went
away: the process that it was timing, and all that it must do again elsewhere before the next one (inspections);
machines' idle time. The size of a year of nights is that of a real run file's lines, of the tests' data or of one
that is named (--run).
"""

import argparse
import heapq
import itertools
import random
import statistics
from dataclasses import dataclass
from pathlib import Path

from gradmark.fleet.board import Board, Work

CLASSES, SIZES = 5, 8
PROCESS_S, INSPECTION_S, SPREAD = 1.2, 5.0, 0.8
LEAST, MOST = 9, 60
SPEED = 0.03
DEATH_S, DOWN_S = 50 * 3600.0, 600.0
CUT_S, AWAY_S = 20 * 3600.0, 60.0
BUSY, ARRIVAL_S = 0.02, 300.0
NIGHTS = 365
RECORDED = Path(__file__).parents[1] / "tests" / "data" / "runs" / "format-4.jsonl"


@dataclass
class Row:
    """A row: what each of its rounds takes, and how many are done."""

    inspection_s: float
    rounds_s: list[float]
    done: int = 0
    inspected: bool = False

    @property
    def total_s(self) -> float:
        """All of it, on a machine of usual speed, without failures."""
        return self.inspection_s + sum(self.rounds_s)


@dataclass
class Night:
    """What came of a night."""

    makespan_s: float
    even_s: float  # all work, spread over all machines without a gap
    longest_s: float  # the longest row
    work_s: float
    lost_s: float
    again_s: float
    losses: int
    refusals: int
    given_up: int
    used: float  # the share of the machines' time until the last row was done


class Simulation:
    """A night on simulated machines, with the real board."""

    def __init__(self, machines: int, engines: int, problems: int, seed: int) -> None:
        self.draw = random.Random(seed)
        self.engines = engines
        self.rows: dict[str, Row] = {}
        works = []
        for number in range(CLASSES):
            for problem, size in itertools.product(range(problems), range(SIZES)):
                key = f"class {number}/problem {problem}/size {size}"
                self.rows[key] = self._row(size)
                # as `fleet/campaign.py` weighs a row: how long it takes nobody knows before
                works.append(Work(key, f"class {number}", engines + 1e-12 * 4.0**size))
        self.board = Board(works)
        self.speed = {f"machine {number}": self.draw.lognormvariate(0.0, SPEED) for number in range(machines)}
        self.events: list[tuple[float, int, str, str]] = []
        self.counter = itertools.count()
        self.began: dict[str, tuple[Work, float]] = {}
        self.generation: dict[str, int] = {}
        self.life: dict[str, int] = {}
        self.lost_s = self.again_s = self.busy_s = 0.0
        self.losses = self.refusals = 0

    def _row(self, size: int) -> Row:
        rounds = self.draw.randint(LEAST, MOST)
        engines = [PROCESS_S * self.draw.lognormvariate(0.1 * size, SPREAD) for _ in range(self.engines)]
        return Row(INSPECTION_S * self.engines, [sum(engines)] * rounds)

    def at(self, time_s: float, kind: str, machine: str) -> None:
        """Something will happen."""
        heapq.heappush(self.events, (time_s, next(self.counter), kind, machine))

    def night(self) -> Night:
        """From the first machine to the last row."""
        names = list(self.speed)
        self.classes = {name: f"class {number % CLASSES}" for number, name in enumerate(names)}
        for machine in names:
            self.at(self.draw.uniform(0.0, ARRIVAL_S), "come", machine)
            self.generation[machine] = self.life[machine] = 0
        now_s = 0.0
        while self.board.open:
            now_s, _, kind, machine = heapq.heappop(self.events)
            if kind == "come":
                self.board.join(machine, self.classes[machine])
                self.life[machine] += 1
                self.at(now_s + self.draw.expovariate(1.0 / DEATH_S), f"die {self.life[machine]}", machine)
                self.at(now_s + self.draw.expovariate(1.0 / CUT_S), f"cut {self.life[machine]}", machine)
            elif kind in (f"die {self.life[machine]}", f"cut {self.life[machine]}") and machine in self.board.places:
                self._gone(machine, now_s, DOWN_S if kind.startswith("die") else AWAY_S)
            elif kind.startswith("done ") and kind == f"done {self.generation[machine]}":
                self._done(machine, now_s)
            for work, free in self.board.assign(now_s):
                self._begin(work, free, now_s)
        work_s = sum(row.total_s for row in self.rows.values())
        longest_s = max(row.total_s for row in self.rows.values())
        even_s = work_s / len(names)
        used = self.busy_s / (now_s * len(names))
        return Night(
            now_s,
            even_s,
            longest_s,
            work_s,
            self.lost_s,
            self.again_s,
            self.losses,
            self.refusals,
            len(self.board.given_up),
            used,
        )

    def _begin(self, work: Work, machine: str, now_s: float) -> None:
        if self.draw.random() < BUSY:
            self.refusals += 1
            self.board.refused(machine, now_s)
            self.at(self.board.places[machine].rests_until_s, "rested", machine)
            return
        row = self.rows[work.key]
        if row.inspected:  # references are not sent along: the next machine makes its own
            self.again_s += row.inspection_s
        left_s = (row.inspection_s + sum(row.rounds_s[row.done :])) * self.speed[machine]
        self.began[machine] = work, now_s
        self.generation[machine] += 1
        self.at(now_s + left_s, f"done {self.generation[machine]}", machine)

    def _done(self, machine: str, now_s: float) -> None:
        work, began_s = self.began.pop(machine)
        self.busy_s += now_s - began_s
        row = self.rows[work.key]
        row.done = len(row.rounds_s)
        self.board.done(machine)

    def _gone(self, machine: str, now_s: float, away_s: float) -> None:
        self.board.leave(machine)
        self.at(now_s + away_s, "come", machine)
        self.generation[machine] += 1
        if machine not in self.began:
            return
        self.losses += 1
        work, began_s = self.began.pop(machine)
        row = self.rows[work.key]
        spent_s = (now_s - began_s) / self.speed[machine]
        self.busy_s += now_s - began_s
        if spent_s < row.inspection_s:  # cells that were inspected are kept; the one that is being looked at is not
            self.lost_s += INSPECTION_S / 2
            return
        row.inspected = True
        spent_s -= row.inspection_s
        while row.done < len(row.rounds_s) and spent_s >= row.rounds_s[row.done]:
            spent_s -= row.rounds_s[row.done]
            row.done += 1
        self.lost_s += PROCESS_S / 2  # of a round that was cut short each sample is kept but the last


def bytes_of_night(path: Path, cells: int) -> tuple[float, float]:
    """The bytes of a cell in a run file, and of a night of so many cells."""
    from gradmark.store import runs

    run = runs.load(path)
    samples = sum(len(measurement.samples) for measurement in run.measurements)
    mean = statistics.mean(range(LEAST, MOST + 1))
    lines = path.read_bytes().splitlines()
    sampled = [len(line) for line in lines if b'"type":"Sampled"' in line]
    inspected = [len(line) for line in lines if b'"type":"Inspected"' in line]
    if not samples or not sampled or not inspected:
        raise SystemExit(f"{path} has no samples as lines; name another run with --run")
    each = statistics.mean(inspected) + mean * statistics.mean(sampled)
    return each, each * cells


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--machines", type=int, default=1000)
    options.add_argument("--engines", type=int, default=20)
    options.add_argument("--problems", type=int, default=60)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--run", type=Path, default=RECORDED, help="A run file, for the size of lines.")
    chosen = options.parse_args()
    simulation = Simulation(chosen.machines, chosen.engines, chosen.problems, chosen.seed)
    cells = len(simulation.rows) * chosen.engines
    night = simulation.night()
    print(f"{chosen.machines} machines of {CLASSES} classes, {len(simulation.rows)} rows, {cells} cells")
    print(f"work: {night.work_s / 3600:.0f} machine hours")
    ideal_s = max(night.even_s, night.longest_s)
    print(f"ideal: {night.even_s / 60:.1f} min if spread evenly, {night.longest_s / 60:.1f} min for the longest row")
    print(f"makespan: {night.makespan_s / 60:.1f} min, {night.makespan_s / ideal_s:.2f} times the longer of these")
    print(f"machines at work until the last row was done: {100 * night.used:.0f} % of the time")
    print(
        f"lost: {night.losses} rows with their machine, {100 * night.lost_s / night.work_s:.4f} % of the work; "
        f"{100 * night.again_s / night.work_s:.2f} % was inspected again"
    )
    print(f"{night.refusals} times a machine was not fit; {night.given_up} rows were given up")
    each, night_bytes = bytes_of_night(chosen.run, cells)
    year_bytes = NIGHTS * night_bytes
    print(
        f"run files: {each / 1e3:.0f} kB a cell, {night_bytes / 1e9:.2f} GB a night, {year_bytes / 1e9:.0f} GB a year"
    )


if __name__ == "__main__":
    main()
