"""What the orchestrator asks of a worker, and what it gets back, as JSON between two processes."""

from typing import Literal

from gradmark.engines.protocol import Capabilities
from gradmark.measure.origins import Origins
from gradmark.records import (
    Accuracy,
    Cell,
    DeviceWork,
    Memory,
    Record,
    Sample,
    Settings,
    Sparsity,
    Status,
    TapeSize,
    Warning,
)
from gradmark.records.quantities import Amount, Nanoseconds, Whole, Work

Kind = Literal["survey", "try", "inspect", "time", "repeat"]


class Expected(Record, frozen=True, kw_only=True):
    """What a function is on plain numbers, in float64: see `reference/elsewhere.py`."""

    value: float  # at the inputs
    scale: float  # what the error of a value is relative to
    step: float  # how far away the other inputs are
    other_value: float  # there
    other_slope: float | None  # there, along one direction of all inputs; None if differences do not settle


class Usual(Record, frozen=True, kw_only=True):
    """What an engine needs beside the work, whatever the function is, as seen on a small one of the same inputs."""

    outside_ns: float  # to take new inputs over, and to read a result
    pending_ns: float  # to read it the first time, more than once more
    new_ns: float  # for the first call after new inputs, more than for the next
    waiting_ns: float  # to be waited for, however many calls were made


class Job(Record, frozen=True, kw_only=True):
    """One cell, and what to do with it.

    survey: what can the engine do; only the cell's engine counts. try: can the function be measured at all; the engine
    does not count. inspect: accuracy, tape, memory. time: one sample. repeat: only run, for callgrind to count.
    """

    kind: Kind
    cell: Cell
    settings: Settings
    process: int = 0
    # of numbers: each derivative's nearest double and the rest; of arrays: slopes along directions, and their errors
    reference: list[tuple[float, float]] | None = None
    reference_name: str = ""
    expected: Expected | None = None  # values, and results at other inputs
    usual: Usual | None = None
    iterations: int = 0
    pilots: dict[str, float] = {}  # what each takes when the machine is calm, as far as the run knows
    patience_s: float = 0.0  # how long it may wait for a calm machine, if that is longer than it would by itself
    alone: str = ""  # the phase that is timed and no other: of further processes, in which one number is wanted
    import_ns: float | None = None  # what importing the engine took, where that was before the job
    origins: Origins | None = None  # of one of two sides: what it may load


class Stray(Record, frozen=True, kw_only=True):
    """A file that a worker of one side loaded and that is not that side's."""

    name: str  # the module's, or the file's
    file: str
    through: str = ""  # the entry of sys.path that led there, if one did
    instead: str = ""  # the side's own, if the file is of neither side


class Result(Record, frozen=True, kw_only=True):
    """What came of a job. Which parts are there depends on its kind."""

    status: Status = "ok"
    message: str = ""
    sample: Sample | None = None
    tape: TapeSize | None = None
    memory: Memory | None = None
    accuracy: Accuracy | None = None
    reference: list[tuple[float, float]] | None = None
    expected: Expected | None = None
    usual: Usual | None = None
    device_work: DeviceWork | None = None
    operations: Whole | None = None
    flops: Work | None = None
    bytes: Work | None = None
    shapes: dict[str, list[Whole]] = {}
    calls: dict[str, Whole] = {}  # of each operation, in one evaluation of a function of numbers
    iteration_ns: Nanoseconds | None = None  # roughly, to plan with
    # With nothing compiled before, of engines that find on disk what they compiled.
    first_call_ns: Nanoseconds | None = None
    mode: str = ""  # how the derivative is computed
    sparsity: Sparsity | None = None
    evaluations: Amount | None = None  # of the function, in one iteration
    warnings: list[Warning] = []
    transcript: list[str] = []  # of a program that an engine drives, and that failed
    lacks: list[str] = []  # operations that the function needs and the engine does not have
    absent: bool = False  # the engine runs nothing here
    missing: bool = False  # a package that the engine needs is not installed
    broken: str = ""  # the installation: a package that gradmark itself needs is not there, and what to do
    new: bool = False  # of one of two sides: it has no such workload or engine
    shared: list[str] = []  # of one of two sides: the user's files that both load
    strays: list[Stray] = []
    capabilities: Capabilities | None = None
