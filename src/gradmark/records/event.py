"""Events: what happens during a run, one after another. A run file is a list of them; a run is what they add up to.

In: a begun run and events. Out: the run as it stands. Adding an event costs the same whatever the size of the run.
"""

import msgspec

from gradmark.records.calibration import Calibration
from gradmark.records.measurement import Accuracy, Instructions, Measurement, Status
from gradmark.records.metric import exact_numbers
from gradmark.records.pilots import MEMORY, Reference
from gradmark.records.quantities import PilotNs
from gradmark.records.record import Record
from gradmark.records.run import Environment, Run
from gradmark.records.sample import Sample, with_one_harness, with_reference


class Inspected(Record, frozen=True, kw_only=True, tag=True):
    """A cell was looked at before anything was timed: its exact metrics, or why it has none. It has no samples.

    One that is looked at again is as it was seen last, with the counts of every time.
    """

    measurement: Measurement


class Sampled(Record, frozen=True, kw_only=True, tag=True):
    """One process measured a cell."""

    cell: str  # the cell's id
    sample: Sample


class Stopped(Record, frozen=True, kw_only=True, tag=True):
    """A cell that was inspected cannot be measured any further."""

    cell: str
    status: Status
    message: str = ""
    accuracy: Accuracy | None = None  # of a gradient that was right at first: the error that condemned it, if any
    transcript: list[str] = []


class Counted(Record, frozen=True, kw_only=True, tag=True):
    """Machine instructions of a cell."""

    cell: str
    instructions: Instructions


class Calibrated(Record, frozen=True, kw_only=True, tag=True):
    """Fixed work was timed, before anything else was."""

    calibration: Calibration


class Finished(Record, frozen=True, kw_only=True, tag=True):
    """Everything that was planned was done."""


class Joined(Record, frozen=True, kw_only=True, tag=True):
    """A machine of a fleet begins to take part. Samples name it by its instance."""

    environment: Environment
    clock_ns: PilotNs | None = None  # its usual clock, as `Run.clock_ns` is that of a run on one machine


class Done(Record, frozen=True, kw_only=True, tag=True):
    """Nothing is left to do of these cells, while others of the run are measured elsewhere."""

    cells: list[str]


Event = Inspected | Sampled | Stopped | Counted | Calibrated | Finished | Joined | Done


def _counted_again(earlier: Measurement, later: Measurement) -> Measurement:
    counts = earlier.counts or {name: [number] for name, number in exact_numbers(earlier).items()}
    counts = {name: list(numbers) for name, numbers in counts.items()}
    for name, number in exact_numbers(later).items():
        counts.setdefault(name, []).append(number)
    return msgspec.structs.replace(later, counts=counts)


class GrowingRun:
    """A run that events are added to."""

    def __init__(self, begun: Run) -> None:
        self._begun = begun
        self._measured = {m.cell.id: m for m in begun.measurements}
        self._samples: dict[str, list[Sample]] = {m.cell.id: list(m.samples) for m in begun.measurements}
        # What pilots take on a calm machine: of each machine, and of each cell on it. The usual clock is the run's own.
        self._reference: dict[str, Reference] = {"": Reference(begun.clock_ns)}
        self._references: dict[tuple[str, str], Reference] = {}
        self._machines = {environment.instance: environment for environment in begun.machines}
        self._clocks_ns = dict(begun.clocks_ns)
        self._done = dict.fromkeys(begun.done)
        for cell, sample in ((cell, sample) for cell, samples in self._samples.items() for sample in samples):
            self._learn(cell, sample)
        self.calibrations = list(begun.calibrations)
        self.finished = begun.finished

    def add(self, event: Event) -> None:
        """One thing more that happened."""
        match event:
            case Inspected(measurement=measurement):
                earlier = self._measured.get(measurement.cell.id)
                self._measured[measurement.cell.id] = _counted_again(earlier, measurement) if earlier else measurement
                if measurement.cell.id not in self._samples:
                    self._samples[measurement.cell.id] = []
                    for sample in measurement.samples:
                        self.add(Sampled(cell=measurement.cell.id, sample=sample))
            case Sampled(cell=cell, sample=sample):
                self._samples[cell].append(sample)
                self._learn(cell, sample)
            case Stopped(cell=cell, status=status, message=message, accuracy=accuracy, transcript=transcript):
                stopped = msgspec.structs.replace(
                    self._measured[cell], status=status, message=message, transcript=transcript
                )
                if status == "wrong-gradient":  # the error that was found at first is not that of a wrong gradient
                    stopped = msgspec.structs.replace(stopped, accuracy=accuracy)
                self._measured[cell] = stopped
            case Counted(cell=cell, instructions=instructions):
                self._measured[cell] = msgspec.structs.replace(self._measured[cell], instructions=instructions)
            case Calibrated(calibration=calibration):
                self.calibrations.append(calibration)
            case Joined(environment=environment, clock_ns=clock_ns):
                self._machines.setdefault(environment.instance, environment)
                if clock_ns is not None:
                    self._clocks_ns.setdefault(environment.instance, clock_ns)
            case Done(cells=cells):
                self._done |= dict.fromkeys(cells)
            case Finished():
                self.finished = True

    def _learn(self, cell: str, sample: Sample) -> None:
        if sample.machine not in self._reference:
            self._reference[sample.machine] = Reference(self._clocks_ns.get(sample.machine))
        of_machine = self._reference[sample.machine]
        of_cell = self._references.setdefault((cell, sample.machine), Reference())
        for phase in sample.phases.values():
            of_machine.add({kind: pairs for kind, pairs in phase.pilots.items() if kind != MEMORY})
            of_cell.add({kind: pairs for kind, pairs in phase.pilots.items() if kind == MEMORY})

    def calm_pilots(self, cell: str) -> dict[str, float]:
        """What each pilot takes when this machine is calm, of all samples so far; the memory's of those of a cell."""
        return self._of_cell(cell, "", self._levels())

    def _levels(self) -> dict[str, dict[str, float]]:
        """The reference of all cells on each machine: what is calm on one is slow on another."""
        return {machine: reference.levels() for machine, reference in self._reference.items()}

    def _of_cell(self, cell: str, machine: str, of_all: dict[str, dict[str, float]]) -> dict[str, float]:
        """A reference of all cells, with that of the memory's pilot after the blocks of one of them."""
        known = self._references.get((cell, machine))
        return of_all.get(machine, {}) | (known.levels() if known is not None else {})

    def measurement(self, cell: str) -> Measurement | None:
        """What is known of a cell so far."""
        return self._known(cell, self._levels())

    def _known(self, cell: str, of_all: dict[str, dict[str, float]]) -> Measurement | None:
        measured = self._measured.get(cell)
        if measured is None:
            return None
        ordered = sorted(self._samples[cell], key=lambda sample: sample.process)
        references = {name: self._of_cell(cell, name, of_all) for name in {sample.machine for sample in ordered}}
        watched = [with_reference(sample, references[sample.machine]) for sample in ordered]
        return msgspec.structs.replace(measured, samples=with_one_harness(watched))

    @property
    def run(self) -> Run:
        """The run as it stands, its measurements in the order of the plan."""
        of_all = self._levels()
        # The first files do not say what was planned; what a damaged plan lacks, or has twice, is there once too.
        names = dict.fromkeys([*(cell.id for cell in self._begun.planned), *self._measured])
        measurements = [m for name in names if (m := self._known(name, of_all)) is not None]
        return msgspec.structs.replace(
            self._begun,
            measurements=measurements,
            calibrations=list(self.calibrations),
            finished=self.finished,
            machines=list(self._machines.values()),
            clocks_ns=dict(self._clocks_ns),
            done=list(self._done),
        )
