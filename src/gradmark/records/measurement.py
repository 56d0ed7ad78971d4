"""The measurement: all that is known of one cell. A value that could not be obtained is None, never 0."""

from typing import Literal

from gradmark.records.cell import Cell
from gradmark.records.quantities import Amount, GradientError, Whole, Work
from gradmark.records.record import Record
from gradmark.records.sample import Sample
from gradmark.records.warning import Warning

Status = Literal[
    "ok",
    "unsupported",  # the engine says that it cannot, with the reason
    "invalid",  # the function itself cannot be measured: it is random, not finite, not one number
    "wrong-gradient",  # checked before anything is timed, so it has no times
    "wrong-value",  # likewise
    "untimed-work",  # the work is done outside the calls that are timed: such times would say nothing
    "error",  # an exception, with its last lines
    "crash",  # the worker process died
    "timeout",
    "out-of-memory",
    "skipped",  # a smaller size of the same workload failed
]
# Statuses that say what an engine or a plan does not have; all others but `ok` are failures.
LACKING: tuple[Status, ...] = ("unsupported", "skipped")
# Statuses that say that what an engine gives, or what would be timed, is not what was asked for.
WRONG: tuple[Status, ...] = ("wrong-gradient", "wrong-value", "untimed-work")


class TapeSize(Record, frozen=True, kw_only=True):
    """What an engine says its recording holds."""

    instructions: Whole | None = None
    values: Whole | None = None
    adjoints: Whole | None = None
    saved_bytes: Whole | None = None
    moved_bytes: Whole | None = None  # that one iteration reads and writes, of an engine that knows its kernels


class Sparsity(Record, frozen=True, kw_only=True):
    """What an engine says of a sparse derivative: how it is compressed, and into what."""

    nonzeros: Whole
    colours: Whole | None = None  # groups of columns or rows that share a pass; None if it does not say


class Memory(Record, frozen=True, kw_only=True):
    """Counted by memray in a pass of its own, per iteration of forward and backward; of a device, by its counters."""

    allocations: Amount | None = None  # net: of the engine, less those of the same function on floats or NumPy arrays
    least_allocations: Amount | None = None  # net, of the iterations that make the fewest; None in older files
    gross_allocations: Amount | None = None
    plain_allocations: Amount | None = None
    allocated_bytes: Amount | None = None  # net, likewise
    leaked_bytes: Amount | None = None  # still alive later, per iteration, less those of plain floats
    retained_bytes: Whole | None = None  # alive after one prepare and forward
    peak_bytes: Whole | None = None  # during prepare, forward and backward
    reason: str | None = None  # why there are no numbers
    lacks_tool: bool = False  # because a tool is missing or failed, as against an option or the engine
    of_device: bool = False  # the device's memory, not the host's; nothing was taken off


class DeviceWork(Record, frozen=True, kw_only=True):
    """What one iteration asks of a device, counted in a process in which nothing is timed."""

    kernels: Amount | None = None  # launched
    copies: Amount | None = None  # of memory, between host and device or on the device; what fills memory is none
    copied_bytes: Amount | None = None
    busy_ns: Amount | None = None  # in which at least one kernel or copy ran
    apart_kernels: Amount | None = None  # of forward and then backward, where the engine has both
    read_bytes: Work | None = None  # of the inputs, which no engine can do without reading
    moved_bytes: Work | None = None  # these, and the gradients that must be written
    reason: str | None = None  # why nothing was counted
    lacks_tool: bool = False  # because a tool is missing or failed


class Accuracy(Record, frozen=True, kw_only=True):
    """The derivative against a reference."""

    reference: str
    relative_error: GradientError  # largest over the inputs, or over the directions
    ulps: GradientError | None = None  # largest, in units in the last place; of numbers only
    tolerance: GradientError  # relative errors above it are a wrong gradient


class Instructions(Record, frozen=True, kw_only=True):
    """Machine instructions per iteration of forward and backward, from callgrind."""

    total: Amount | None = None
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
    device_work: DeviceWork | None = None  # of a row on a device; None on the CPU, and in older files
    # As the workload declares: operations of one evaluation, and of tensors what a value with its gradient takes.
    operations: Whole | None = None
    flops: Work | None = None
    bytes: Work | None = None
    shapes: dict[str, list[Whole]] = {}  # of tensors: each input by name
    calls: dict[str, Whole] = {}  # of numbers: how often one evaluation uses each operation; none in older files
    mode: str = ""  # how the engine comes by the derivative: `rev`, `fwd-over-rev`; older files do not say
    sparsity: Sparsity | None = None  # of a sparse derivative
    evaluations: Amount | None = None  # of the function itself, in one iteration; None if nobody can count them
    warnings: list[Warning] = []
    # Of one of two sides: it has no such workload or engine; the user's files that both sides load.
    new: bool = False
    shared: list[str] = []
    transcript: list[str] = []  # of a program that failed: the end of what was said to it, and what it answered
    counts: dict[str, list[Amount]] = {}  # exact metrics of each process that inspected it, if there were several

    @property
    def inspections(self) -> int:
        """How many processes counted its exact metrics."""
        return max(map(len, self.counts.values()), default=1)

    @property
    def failed(self) -> bool:
        """Whether something went wrong, as against something that the engine does not have."""
        return self.status != "ok" and self.status not in LACKING
