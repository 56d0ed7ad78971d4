"""The measurement: all that is known of one cell. A value that could not be obtained is None, never 0."""

from typing import Literal

from gradmark.records.cell import Cell
from gradmark.records.record import Record
from gradmark.records.sample import Sample
from gradmark.records.warning import Warning

Status = Literal[
    "ok",
    "unsupported",  # the engine says that it cannot, with the reason
    "invalid",  # the function itself cannot be measured: it is random, not finite, not one number
    "wrong-gradient",  # checked before anything is timed, so it has no times
    "error",  # an exception, with its last lines
    "crash",  # the worker process died
    "timeout",
    "out-of-memory",
    "skipped",  # a smaller size of the same workload failed
]
# Statuses that say what an engine or a plan does not have; all others but `ok` are failures.
LACKING: tuple[Status, ...] = ("unsupported", "skipped")


class TapeSize(Record, frozen=True, kw_only=True):
    """What an engine says its recording holds."""

    instructions: int | None = None
    values: int | None = None
    adjoints: int | None = None
    saved_bytes: int | None = None


class Memory(Record, frozen=True, kw_only=True):
    """Counted by memray in a pass of its own, per iteration of forward and backward; of a device, by its counters."""

    allocations: float | None = None  # net: of the engine, less those of the same function on floats or NumPy arrays
    gross_allocations: float | None = None
    plain_allocations: float | None = None
    allocated_bytes: float | None = None  # net, likewise
    leaked_bytes: float | None = None  # still alive later, per iteration, less those of plain floats
    retained_bytes: int | None = None  # alive after one prepare and forward
    peak_bytes: int | None = None  # during prepare, forward and backward
    reason: str | None = None  # why there are no numbers
    lacks_tool: bool = False  # because a tool is missing or failed, as against an option or the engine
    of_device: bool = False  # the device's memory, not the host's; nothing was taken off


class Accuracy(Record, frozen=True, kw_only=True):
    """The gradient against a reference."""

    reference: str
    relative_error: float  # largest over the inputs, or over the directions
    ulps: float | None = None  # largest, in units of the last place; of numbers only
    tolerance: float  # relative errors above it are a wrong gradient


class Instructions(Record, frozen=True, kw_only=True):
    """Machine instructions per iteration of forward and backward, from callgrind."""

    total: float | None = None
    reason: str | None = None
    lacks_tool: bool = False


class Measurement(Record, frozen=True, kw_only=True):
    """All that is known of one cell."""

    cell: Cell
    status: Status
    message: str = ""
    lacks: list[str] = []  # operations that the engine does not have, where that is why it is unsupported
    samples: list[Sample] = []
    tape: TapeSize | None = None
    memory: Memory | None = None
    accuracy: Accuracy | None = None
    instructions: Instructions | None = None
    # As the workload declares: operations of one evaluation, and of tensors what a value with its gradient takes.
    operations: int | None = None
    flops: float | None = None
    bytes: float | None = None
    shapes: dict[str, list[int]] = {}  # of tensors: each input by name
    warnings: list[Warning] = []

    @property
    def failed(self) -> bool:
        """Whether something went wrong, as against something that the engine does not have."""
        return self.status != "ok" and self.status not in LACKING
