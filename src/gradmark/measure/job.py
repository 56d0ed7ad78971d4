"""What the orchestrator asks of a worker, and what it gets back, as JSON between two processes."""

from typing import Literal

from gradmark.engines.protocol import Capabilities
from gradmark.records import Accuracy, Cell, Memory, Record, Sample, Settings, Status, TapeSize, Warning

Kind = Literal["survey", "try", "inspect", "time", "repeat"]


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
    iterations: int = 0
    pilots: dict[str, float] = {}  # what each takes when the machine is calm, as far as the run knows
    import_ns: float | None = None  # what importing the engine took, where that was before the job


class Result(Record, frozen=True, kw_only=True):
    """What came of a job. Which parts are there depends on its kind."""

    status: Status = "ok"
    message: str = ""
    sample: Sample | None = None
    tape: TapeSize | None = None
    memory: Memory | None = None
    accuracy: Accuracy | None = None
    reference: list[tuple[float, float]] | None = None
    operations: int | None = None
    flops: float | None = None
    bytes: float | None = None
    shapes: dict[str, list[int]] = {}
    iteration_ns: float | None = None  # roughly, to plan with
    first_call_ns: float | None = None  # with nothing compiled before, of engines that find on disk what they compiled
    warnings: list[Warning] = []
    lacks: list[str] = []  # operations that the function needs and the engine does not have
    absent: bool = False  # the engine runs nothing here
    missing: bool = False  # a package that the engine needs is not installed
    capabilities: Capabilities | None = None
