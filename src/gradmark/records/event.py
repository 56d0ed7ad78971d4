"""Events: what happens during a run, one after another. A run file is a list of them; a run is what they add up to.

In: a begun run and events. Out: the run as it stands. Adding an event costs the same whatever the size of the run.
"""

import msgspec

from gradmark.records.measurement import Accuracy, Instructions, Measurement, Status
from gradmark.records.pilots import Reference
from gradmark.records.record import Record
from gradmark.records.run import Run
from gradmark.records.sample import Sample, with_one_harness, with_reference


class Inspected(Record, frozen=True, kw_only=True, tag=True):
    """A cell was looked at before anything was timed: its exact metrics, or why it has none. It has no samples."""

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


class Counted(Record, frozen=True, kw_only=True, tag=True):
    """Machine instructions of a cell."""

    cell: str
    instructions: Instructions


class Finished(Record, frozen=True, kw_only=True, tag=True):
    """Everything that was planned was done."""


Event = Inspected | Sampled | Stopped | Counted | Finished


class GrowingRun:
    """A run that events are added to."""

    def __init__(self, begun: Run) -> None:
        self._begun = begun
        self._measured = {m.cell.id: m for m in begun.measurements}
        self._samples: dict[str, list[Sample]] = {m.cell.id: list(m.samples) for m in begun.measurements}
        self._reference = Reference()
        for sample in (sample for samples in self._samples.values() for sample in samples):
            self._learn(sample)
        self.finished = begun.finished

    def add(self, event: Event) -> None:
        """One thing more that happened."""
        match event:
            case Inspected(measurement=measurement):
                self._measured[measurement.cell.id] = measurement
                if measurement.cell.id not in self._samples:
                    self._samples[measurement.cell.id] = []
                    for sample in measurement.samples:
                        self.add(Sampled(cell=measurement.cell.id, sample=sample))
            case Sampled(cell=cell, sample=sample):
                self._samples[cell].append(sample)
                self._learn(sample)
            case Stopped(cell=cell, status=status, message=message, accuracy=accuracy):
                stopped = msgspec.structs.replace(self._measured[cell], status=status, message=message)
                if status == "wrong-gradient":  # the error that was found at first is not that of a wrong gradient
                    stopped = msgspec.structs.replace(stopped, accuracy=accuracy)
                self._measured[cell] = stopped
            case Counted(cell=cell, instructions=instructions):
                self._measured[cell] = msgspec.structs.replace(self._measured[cell], instructions=instructions)
            case Finished():
                self.finished = True

    def _learn(self, sample: Sample) -> None:
        for phase in sample.phases.values():
            self._reference.add(phase.pilots)

    @property
    def calm_pilots(self) -> dict[str, float]:
        """What each pilot takes when the machine is calm, of all samples so far."""
        return self._reference.levels()

    def measurement(self, cell: str) -> Measurement | None:
        """What is known of a cell so far."""
        return self._known(cell, self.calm_pilots)

    def _known(self, cell: str, reference: dict[str, float]) -> Measurement | None:
        measured = self._measured.get(cell)
        if measured is None:
            return None
        ordered = sorted(self._samples[cell], key=lambda sample: sample.process)
        watched = [with_reference(sample, reference) for sample in ordered]
        return msgspec.structs.replace(measured, samples=with_one_harness(watched))

    @property
    def run(self) -> Run:
        """The run as it stands, its measurements in the order of the plan."""
        reference = self.calm_pilots
        measurements = [m for cell in self._begun.planned if (m := self._known(cell.id, reference)) is not None]
        return msgspec.structs.replace(self._begun, measurements=measurements, finished=self.finished)
