"""Pairs: two revisions measured side by side, in fresh processes, so that a slow moment falls on both.

In: cells and the places of two revisions. Out: for each cell what an inspection says of both, and floors in pairs.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

import msgspec

from gradmark.gate import exact, timing
from gradmark.gate.configuration import Configuration
from gradmark.measure import environment, inspector, process
from gradmark.measure.job import Job, Result
from gradmark.records import Cell, Code, Measurement, Settings
from gradmark.records.finding import Finding, Gate, merged
from gradmark.revisions.checkout import Revision
from gradmark.store.baselines import baseline, described, key

# With 12 pairs the least p-value is 1/4096, so that 200 rows can be told apart by Holm's procedure.
PAIRS = 12
# Most of a worker's life is imports, so more blocks cost little, and a floor needs a calm one.
BLOCKS = 24

Said = Callable[[str], None]


@dataclass
class Side:
    """One revision: what its inspection said, and the floors of each phase of each cell, one per pair."""

    place: process.Place
    engine: str | None = None  # in place of the cell's own
    results: dict[str, Result] = field(default_factory=dict)
    floors: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    unfinished: dict[str, str] = field(default_factory=dict)  # cells whose work goes on after the clock was read

    def run(self, job: Job) -> Result:
        """A job in this revision."""
        if self.engine is not None:
            cell = msgspec.structs.replace(job.cell, engine=self.engine)
            job = msgspec.structs.replace(job, cell=cell)
        return process.run(job, place=self.place)


class Contest:
    """Two revisions on the same cells."""

    def __init__(
        self, revision: Revision, cells: Sequence[Cell], settings: Settings, engine: str | None = None
    ) -> None:
        self.name = revision.name
        self.sides = (Side(revision.before), Side(revision.now, engine))
        self.cells = list(cells)
        self.settings = msgspec.structs.replace(settings, blocks=BLOCKS)
        self.draw = random.Random(settings.seed)
        self.lost: dict[str, str] = {}  # cells that stopped working while they were timed, and why

    def inspect(self) -> Iterator[str]:
        """Exact metrics of both sides; several at once, for nothing is timed."""
        free = msgspec.structs.replace(self.settings, pin=False)

        def one(side: Side, cell: Cell) -> str:
            job = Job(kind="inspect", cell=cell, settings=free)
            side.results[cell.id] = side.run(job)
            return f"inspect: {cell.row} {cell.engine}"

        with ThreadPoolExecutor(environment.cores()) as pool:
            futures = [pool.submit(one, side, cell) for cell in self.cells for side in self.sides]
            try:
                yield from (future.result() for future in as_completed(futures))
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def timed(self) -> list[Cell]:
        """The cells that work on both sides."""
        return [
            cell
            for cell in self.cells
            if cell.id not in self.lost and all(side.results[cell.id].status == "ok" for side in self.sides)
        ]

    def time(self, cells: Sequence[Cell], pairs: int) -> Iterator[str]:
        """Rounds of pairs: cells in random order, the two sides of each one after the other, in random order."""
        for number in range(pairs):
            for cell in self.draw.sample(list(cells), len(cells)):
                yield f"pair {number + 1} of {pairs}: {cell.row} {cell.engine}"
                self._pair(cell, number)

    def _pair(self, cell: Cell, number: int) -> None:
        """Both floors or neither: a pair that lacks one is no pair."""
        if cell.id in self.lost:
            return
        found = {}
        for side in self.draw.sample(self.sides, 2):
            job = Job(
                kind="time", cell=cell, settings=self.settings, process=number,
                reference=self.sides[1].results[cell.id].reference,
            )  # fmt: skip
            result = side.run(job)
            if result.sample is None:
                which = "before" if side is self.sides[0] else "now"
                self.lost[cell.id] = f"{result.status} while it was timed, {which}: {result.message}"
                return
            found[id(side)] = result.sample.phases
            for said in result.sample.warnings:
                if said.code is Code.UNFINISHED:
                    side.unfinished[cell.id] = f"{said.numbers['late_ns'] / 1e3:.0f} µs of work were left"
        for phase in timing.PHASES:
            if all(phase in phases and phases[phase].how == "measured" for phases in found.values()):
                for side in self.sides:
                    side.floors.setdefault((cell.id, phase), []).append(found[id(side)][phase].floor_ns)

    def rows(self, cells: Sequence[Cell], start: int = 0) -> list[timing.Row]:
        """The floors so far, from pair number `start` on."""
        before, now = (side.floors for side in self.sides)
        return [
            timing.Row(key(cell), cell.workload, phase, before[cell.id, phase][start:], now[cell.id, phase][start:])
            for cell in cells
            for phase in timing.PHASES
            if cell.id not in self.lost and len(before.get((cell.id, phase), [])) > start
        ]

    def exact(self, configuration: Configuration) -> list[Finding]:
        """Exact metrics against the other revision's."""
        here = environment.collect()
        before, now = ([self._measurement(side, cell) for cell in self.cells] for side in self.sides)
        return exact.compare(baseline(before, here), now, described(here), configuration)

    def _measurement(self, side: Side, cell: Cell) -> Measurement:
        return inspector.of(cell, side.results[cell.id])

    def decide(self, configuration: Configuration, pairs: int, said: Said) -> Gate:
        """Measures, measures again what is flagged, and judges."""
        for text in self.inspect():
            said(text)
        found = self.exact(configuration)
        cells = self.timed()
        for text in self.time(cells, pairs):
            said(text)
        times = timing.judge(self.rows(cells), configuration)
        doubtful = {finding.cell for finding in times if finding.word in ("fail", "inconclusive")}
        again = [cell for cell in cells if key(cell) in doubtful and cell.id not in self.lost]
        for text in self.time(again, pairs):
            said(f"again, {text}")
        fresh = self.rows(again, pairs)
        names = {(row.cell, row.phase) for row in fresh}
        first = [
            timing.Row(row.cell, row.workload, row.phase, row.before[:pairs], row.now[:pairs])
            for row in self.rows(again)
            if (row.cell, row.phase) in names
        ]
        times = merged(times, timing.twice(times, first, fresh, configuration))
        lost = [
            Finding(cell=key(cell), metric="status", word="inconclusive", reason=self.lost[cell.id])
            for cell in cells
            if cell.id in self.lost
        ]
        before, now = self.sides
        lost += [
            Finding(cell=key(cell), metric="synchronisation", word="fail", reason=now.unfinished[cell.id])
            for cell in cells
            if cell.id in now.unfinished and cell.id not in before.unfinished
        ]
        notes = [f"times: floors of {pairs} interleaved pairs of processes, {2 * pairs} where they were flagged"]
        return Gate(against=self.name, findings=[*found, *times, *lost], notes=notes)
