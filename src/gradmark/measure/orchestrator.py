"""The orchestrator: visits all cells, round after round, each in a fresh process, and keeps what was measured.

In: cells and settings. Out: a run that grows; it is handed to `keep` after every cell, so that nothing is lost.
"""

import datetime
import random
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from gradmark.measure import environment, inspector, process
from gradmark.measure.job import Job, Result
from gradmark.measure.pool import Workers
from gradmark.records import FORMAT_VERSION, Cell, Instructions, Measurement, Run, Sample, Settings

# callgrind slows a worker down by about 50 times.
CALLGRIND_SLOWDOWN = 100
# Instructions that the difference of two callgrind runs should hold, so that start-up noise is below 0.1 %.
CALLGRIND_WORK_NS = 4e6


@dataclass(frozen=True)
class Step:
    """Something the orchestrator is about to do, for a progress display: number `done` of `steps`."""

    done: int
    steps: int
    text: str


def new_run(cells: Sequence[Cell], settings: Settings) -> Run:
    """A run of which nothing is measured yet."""
    now = datetime.datetime.now(datetime.UTC)
    return Run(
        id=f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(3)}",
        started=now.isoformat(timespec="seconds"),
        environment=environment.collect(),
        settings=settings,
        measurements=[],
        planned=list(cells),
        format_version=FORMAT_VERSION,
    )


class Orchestrator:
    """Carries a run to its end. One that was interrupted goes on where it stopped."""

    def __init__(self, run: Run, keep: Callable[[Run], None]) -> None:
        self.settings = run.settings
        self.keep = keep
        self.run = run
        self.measured = {m.cell.id: m for m in run.measurements}
        self.references: dict[str, list[tuple[float, float]]] = {}
        self.first_calls: dict[str, float] = {}
        self.workers = Workers(run.settings)

    def steps(self) -> Iterator[Step]:
        """Does everything; yields before each step. What is timed is timed alone."""
        settings, cells = self.settings, self.run.planned
        new = [cell for cell in cells if cell.id not in self.measured]
        plan: list[tuple[str, Callable[[Cell], None], Cell]] = []
        for number in range(settings.processes):
            order = list(cells)
            random.Random(f"{settings.seed}/{number}").shuffle(order)
            plan += [(f"round {number + 1} of {settings.processes}", self._sampler(number), cell) for cell in order]
        if settings.instructions:
            plan += [("instructions", self.count, cell) for cell in cells]
        count = len(new) + len(plan)
        try:
            yield Step(0, count, "inspect")
            found = inspector.inspect(new, self.workers.run, self.workers.close, settings, list(self.measured.values()))
            for done, (measurement, result) in enumerate(found):
                self._remember(measurement.cell, result)
                self._put(measurement)
                yield Step(done + 1, count, f"inspected: {measurement.cell.row} {measurement.cell.engine}")
            for done, (text, work, cell) in enumerate(plan):
                yield Step(len(new) + done, count, f"{text}: {cell.row} {cell.engine}")
                work(cell)
        finally:
            self.workers.close()
        self._keep(finished=True)

    def _sampler(self, number: int) -> Callable[[Cell], None]:
        def sample(cell: Cell) -> None:
            known = self.measured[cell.id]
            if known.status != "ok" or any(s.process == number for s in known.samples):
                return
            if cell.id not in self.references and known.accuracy is not None:
                again = self.workers.run(self._job("inspect", cell))  # resumed: the reference is not kept
                if again.status != "ok":
                    self._put(msgspec.structs.replace(known, status=again.status, message=again.message))
                    return
                self._remember(cell, again)
            result = self.workers.run(self._job("time", cell, number))
            if result.sample is None:
                self._put(msgspec.structs.replace(known, status=result.status, message=result.message))
            else:
                cold = {"first_call": self.first_calls[cell.id]} if cell.id in self.first_calls else {}
                sample = msgspec.structs.replace(result.sample, once_ns={**result.sample.once_ns, **cold})
                samples: list[Sample] = sorted([*known.samples, sample], key=lambda s: s.process)
                self._put(msgspec.structs.replace(known, samples=samples))

        return sample

    def count(self, cell: Cell) -> None:
        """Instructions per iteration: callgrind over 2N and over N iterations, the difference divided by N."""
        known = self.measured[cell.id]
        if known.status != "ok" or known.instructions is not None:
            return
        floors = [s.phases["total"].floor_ns for s in known.samples if "total" in s.phases]
        if not floors:
            found = Instructions(reason="the engine only evaluates")
        else:
            iterations = max(5, int(CALLGRIND_WORK_NS / max(min(floors), 1.0)))
            slow = msgspec.structs.replace(self.settings, timeout_s=self.settings.timeout_s * CALLGRIND_SLOWDOWN)
            counts = [
                process.count_instructions(Job(kind="repeat", cell=cell, settings=slow, iterations=times * iterations))
                for times in (1, 2)
            ]
            once, twice = counts
            if isinstance(once, str) or isinstance(twice, str):
                found = Instructions(reason=next(c for c in counts if isinstance(c, str)), lacks_tool=True)
            else:
                found = Instructions(total=(twice - once) / iterations)
        self._put(msgspec.structs.replace(known, instructions=found))

    def _job(self, kind: str, cell: Cell, number: int = 0) -> Job:
        return Job(
            kind="inspect" if kind == "inspect" else "time",
            cell=cell,
            settings=self.settings,
            process=number,
            reference=self.references.get(cell.id),
        )

    def _remember(self, cell: Cell, result: Result) -> None:
        if result.reference is not None:
            self.references[cell.id] = result.reference
        if self.settings.forked and result.first_call_ns is not None:  # what is timed will find it on disk
            self.first_calls[cell.id] = result.first_call_ns

    def _put(self, measurement: Measurement) -> None:
        self.measured[measurement.cell.id] = measurement
        self._keep()

    def _keep(self, *, finished: bool = False) -> None:
        ordered = [self.measured[cell.id] for cell in self.run.planned if cell.id in self.measured]
        self.run = msgspec.structs.replace(self.run, measurements=ordered, finished=finished)
        self.keep(self.run)
