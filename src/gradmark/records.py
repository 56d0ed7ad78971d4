"""The records that pass between the stages, and that run files are made of.

All are frozen and typed; a value that could not be obtained is None, with the reason beside it, never 0.
"""

from typing import Literal

import msgspec

# History of the format of run files. A reader accepts every version up to its own.
#   1  first
#   2  tensors: shapes, flops and bytes of a measurement; before, all were of numbers
FORMAT_VERSION = 2

Param = int | float | str
Status = Literal[
    "ok",
    "unsupported",  # the engine says that it cannot, with the reason
    "wrong-gradient",  # checked before anything is timed, so it has no times
    "error",  # an exception, with its last lines
    "crash",  # the worker process died
    "timeout",
    "out-of-memory",
    "skipped",  # a smaller size of the same workload failed
]
How = Literal["measured", "derived"]


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=False):
    """The base of all records."""


class Environment(Record, frozen=True, kw_only=True):
    """The machine and software of a run. Runs whose `unlike` is not empty do not belong in one comparison of times."""

    cpu: str
    cores: int
    memory_bytes: int
    os: str
    python: str
    packages: dict[str, str]
    machine: str = ""  # the architecture, as the system names it
    governor: str | None = None
    virtualisation: str | None = None
    commit: str | None = None
    dirty: bool | None = None

    def unlike(self, other: "Environment") -> list[str]:
        """What differs and makes times incomparable, as `field: ours, theirs`; code and its commit may differ."""
        return [
            f"{field}: {getattr(self, field)}, {getattr(other, field)}"
            for field in ("cpu", "machine", "cores", "memory_bytes", "os", "python", "governor")
            if getattr(self, field) != getattr(other, field)
        ]


class Settings(Record, frozen=True, kw_only=True):
    """How a run measures. Everything here changes what a number means, so it is kept with the numbers."""

    processes: int = 3
    blocks: int = 8
    block_ns: int = 1_000_000
    seed: int = 0
    threads: int = 1
    timeout_s: float = 60.0
    memory_limit_bytes: int = 8 << 30
    memory: bool = True
    instructions: bool = False
    pin: bool = True
    full: bool = False
    forked: bool = False  # workers come from one import of each engine and round, not from one each


class Cell(Record, frozen=True, kw_only=True):
    """What one row measures: an engine on a workload of a size."""

    engine: str
    workload: str
    suite: str
    params: dict[str, Param] = {}
    dtype: str = "float64"
    device: str = "cpu"
    file: str | None = None  # where a user's workload comes from

    @property
    def size(self) -> str:
        """The parameters as one word, `n=1000`."""
        return ",".join(f"{key}={value}" for key, value in self.params.items())

    @property
    def row(self) -> str:
        """Workload and size, `poly/n=1000`."""
        return "/".join([self.workload, *(f"{key}={value}" for key, value in self.params.items())])

    @property
    def id(self) -> str:
        """A name that no other cell of a run has."""
        source = f" of {self.file}" if self.file else ""
        return f"{self.row}/{self.dtype}/{self.device}@{self.engine}{source}"


class Phase(Record, frozen=True, kw_only=True):
    """Timed blocks of one phase in one process: mean nanoseconds per iteration of each, harness subtracted."""

    how: How
    iterations: int
    block_ns: list[float]

    @property
    def floor_ns(self) -> float:
        """The fastest block."""
        return min(self.block_ns)


class Sample(Record, frozen=True, kw_only=True):
    """One process: the unit of analysis."""

    process: int
    phases: dict[str, Phase]  # primal, forward, backward, total
    once_ns: dict[str, float]  # import, prepare, first_call, warm_up: happen once
    harness_ns: float  # what one empty call costs, subtracted from each phase
    clock_ns: float  # resolution of the clock
    warnings: list[str] = []


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


class Measurement(Record, frozen=True, kw_only=True):
    """All that is known of one cell."""

    cell: Cell
    status: Status
    message: str = ""
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
    warnings: list[str] = []


class Run(Record, frozen=True, kw_only=True):
    """One run: where, how, and what was measured."""

    id: str
    started: str  # ISO 8601, UTC
    environment: Environment
    settings: Settings
    measurements: list[Measurement]
    planned: list[Cell] = []  # all cells, measured or not yet
    finished: bool = False
    format_version: int = 1  # what a file has that does not say: defaults are not written


class Estimate(Record, frozen=True, kw_only=True):
    """A number over processes: the median with its bootstrap interval, and the floor that comparisons use."""

    median: float
    low: float
    high: float
    floor: float
    processes: int
    how: How = "measured"


class Summary(Record, frozen=True, kw_only=True):
    """What a measurement says."""

    cell: Cell
    status: Status
    message: str
    phases: dict[str, Estimate]
    once: dict[str, Estimate]
    ratio: float | None = None  # backward / forward
    gradient_ratio: float | None = None  # total / primal; cheap-gradient theory bounds it by about 4
    operations_per_s: float | None = None
    flops_per_s: float | None = None  # of total, as the next
    bytes_per_s: float | None = None
    harness_ns: float | None = None
    steady: bool = True
    warnings: list[str] = []


class Fit(Record, frozen=True, kw_only=True):
    """cost(n) = a + b·n^p over the sizes of one workload."""

    metric: str  # a phase, or allocations, tape, peak_bytes
    sizes: list[float]
    costs: list[float]
    a: float
    b: float
    p: float
    low: float
    high: float
    verdict: Literal["linear", "sublinear", "superlinear", "constant", "unclear"]


class Comparison(Record, frozen=True, kw_only=True):
    """Two arms of one metric, measured as interleaved pairs; ratio is second / first."""

    metric: str
    first: float
    second: float
    ratio: float
    low: float
    high: float
    p_value: float | None = None


class Verdict(Record, frozen=True, kw_only=True):
    """A claim, what was seen, and what follows."""

    claim: str
    verdict: Literal["kept", "broken", "supported", "refuted", "undecided", "not measured"]
    evidence: str
    engine: str = ""
