"""Events: what happens during a run, one after another. A run file is a list of them; a run is what they add up to.

In: a begun run and events. Out: the run as it stands. Adding an event costs the same whatever the size of the run.
"""

import msgspec

from gradmark.records.calibration import Calibration
from gradmark.records.measurement import Accuracy, Instructions, Measurement, Status
from gradmark.records.metric import exact_numbers
from gradmark.records.pilots import MEMORY, Reference
from gradmark.records.record import Record
from gradmark.records.run import Run
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


Event = Inspected | Sampled | Stopped | Counted | Calibrated | Finished


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
        self._reference = Reference(begun.clock_ns)
        self._references: dict[str, Reference] = {}  # of each cell
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
            case Finished():
                self.finished = True

    def _learn(self, cell: str, sample: Sample) -> None:
        of_cell = self._references.setdefault(cell, Reference())
        for phase in sample.phases.values():
            self._reference.add({kind: pairs for kind, pairs in phase.pilots.items() if kind != MEMORY})
            of_cell.add({kind: pairs for kind, pairs in phase.pilots.items() if kind == MEMORY})

    def calm_pilots(self, cell: str) -> dict[str, float]:
        """What each pilot takes when the machine is calm, of all samples so far; the memory's of those of a cell."""
        return self._of_cell(cell, self._reference.levels())

    def _of_cell(self, cell: str, reference: dict[str, float]) -> dict[str, float]:
        """A reference of all cells, with that of the memory's pilot after the blocks of one of them."""
        return reference | (self._references[cell].levels() if cell in self._references else {})

    def measurement(self, cell: str) -> Measurement | None:
        """What is known of a cell so far."""
        return self._known(cell, self._reference.levels())

    def _known(self, cell: str, of_all: dict[str, float]) -> Measurement | None:
        measured = self._measured.get(cell)
        if measured is None:
            return None
        reference = self._of_cell(cell, of_all)
        ordered = sorted(self._samples[cell], key=lambda sample: sample.process)
        watched = [with_reference(sample, reference) for sample in ordered]
        return msgspec.structs.replace(measured, samples=with_one_harness(watched))

    @property
    def run(self) -> Run:
        """The run as it stands, its measurements in the order of the plan."""
        of_all = self._reference.levels()
        # The first files do not say what was planned; what a damaged plan lacks, or has twice, is there once too.
        names = dict.fromkeys([*(cell.id for cell in self._begun.planned), *self._measured])
        measurements = [m for name in names if (m := self._known(name, of_all)) is not None]
        return msgspec.structs.replace(
            self._begun, measurements=measurements, calibrations=list(self.calibrations), finished=self.finished
        )
