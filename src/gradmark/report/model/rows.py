"""Rows: all that is shown of one cell, as plain data.

In: a run, and its summaries where the caller has them. Out: a `Row` for each measurement, in the order in which people
read them. A number that is missing has its reason; names and messages are safe to print.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from gradmark.analyse.estimates import JUDGED_ABOVE_NS, summarise
from gradmark.records import (
    Accuracy,
    Cell,
    Estimate,
    Instructions,
    Measurement,
    Memory,
    Record,
    Run,
    Settings,
    Status,
    Summary,
    TapeSize,
)
from gradmark.report.model.characters import one_line

WORDS: dict[Status, str] = {
    "ok": "ok",
    "unsupported": "unsupported",
    "wrong-gradient": "wrong gradient",
    "error": "error",
    "crash": "crashed",
    "timeout": "timed out",
    "out-of-memory": "out of memory",
    "skipped": "skipped",
}
PHASES = ("primal", "forward", "backward", "total")
# Rates, and what of a measurement they are rates of.
DECLARED = {"operations_per_s": "operations", "flops_per_s": "flops", "bytes_per_s": "bytes"}


class Row(Record, frozen=True, kw_only=True):
    """One cell as it is shown. `reasons` says for each number that is None why."""

    cell: Cell
    workload: str  # with its size, and with dtype and device where they are not the usual ones
    engine: str
    status: Status
    message: str
    primal: Estimate | None
    forward: Estimate | None
    backward: Estimate | None
    total: Estimate | None
    ratio: float | None
    gradient_ratio: float | None
    operations_per_s: float | None
    flops_per_s: float | None = None
    bytes_per_s: float | None = None
    allocations: float | None
    leaked_bytes: float | None
    peak_bytes: int | None
    retained_bytes: int | None
    tape_instructions: int | None
    tape_bytes: int | None
    ulps: float | None
    relative_error: float | None
    instructions: float | None
    steady: bool
    reasons: dict[str, str]
    warnings: list[str]
    shape: str = ""  # of the first input; numbers have none

    @property
    def time(self) -> Estimate | None:
        """The one time that stands for the row: of total, or of primal if there is no total."""
        return self.total or self.primal

    @property
    def spread(self) -> float | None:
        """How far the least steady phase strays from its median: to an end of its interval or to its floor."""
        # Times as short as the harness scatter on their own and are not what makes a row unsteady.
        found = [e for e in (self.primal, self.forward, self.backward, self.total) if e and e.floor > JUDGED_ABOVE_NS]
        return max((max(e.high - e.median, e.median - min(e.low, e.floor)) / e.median for e in found), default=None)


def rows(run: Run, summaries: Sequence[Summary] | None = None) -> list[Row]:
    """A row for each measurement. `summaries` are in the order of the measurements; without them they are made here."""
    if summaries is None:
        summaries = [summarise(m) for m in run.measurements]
    made = [row(m, s, run.settings) for m, s in zip(run.measurements, summaries, strict=True)]
    return [made[place] for place in reading_order(run)]


def row(measurement: Measurement, summary: Summary, settings: Settings) -> Row:
    """The row of one measurement."""
    memory, tape = measurement.memory or Memory(), measurement.tape or TapeSize()
    accuracy, counted = measurement.accuracy, measurement.instructions or Instructions()
    numbers: dict[str, Any] = {
        **{phase: summary.phases.get(phase) for phase in PHASES},
        "ratio": summary.ratio,
        "gradient_ratio": summary.gradient_ratio,
        "operations_per_s": summary.operations_per_s,
        "allocations": memory.allocations,
        "leaked_bytes": memory.leaked_bytes,
        "peak_bytes": memory.peak_bytes,
        "retained_bytes": memory.retained_bytes,
        "tape_instructions": tape.instructions,
        "tape_bytes": tape.saved_bytes,
        "ulps": accuracy and accuracy.ulps,
        "relative_error": accuracy and accuracy.relative_error,
        "instructions": counted.total,
    }
    if measurement.shapes:
        numbers |= {"flops_per_s": summary.flops_per_s, "bytes_per_s": summary.bytes_per_s}
    missing = [name for name, number in numbers.items() if number is None]
    return Row(
        cell=measurement.cell,
        workload=one_line(row_name(measurement.cell)),
        engine=one_line(measurement.cell.engine),
        status=measurement.status,
        message=one_line(measurement.message),
        steady=summary.steady,
        reasons={name: one_line(_reason(name, measurement, summary, settings)) for name in missing},
        warnings=list(
            dict.fromkeys(one_line(f"{w.code}: {w.reason}") for w in chain(measurement.warnings, summary.warnings))
        ),
        shape=next((shape_text(shape) for shape in measurement.shapes.values()), ""),
        **numbers,
    )


def row_name(cell: Cell) -> str:
    """Workload and size; dtype and device only where they are not the usual ones, as most rows have those."""
    return cell.row


def shape_text(shape: Sequence[int]) -> str:
    """A shape as one word.

    >>> shape_text([128, 784])
    '128×784'
    """
    return "×".join(map(str, shape)) or "()"


def reading_order(run: Run) -> list[int]:
    """The places of the measurements: by suite and workload as first seen, sizes ascending, engines as first seen.

    The plan counts as seen first: cells are measured in a random order, which is nobody's wish.
    """
    measured = [m.cell for m in run.measurements]
    cells = [*run.planned, *measured]
    suites = _ranks(c.suite for c in cells)
    workloads = _ranks((c.workload, c.file) for c in cells)
    kinds = _ranks((c.dtype, c.device) for c in cells)
    engines = _ranks(c.engine for c in cells)

    def key(place: int) -> tuple[Any, ...]:
        c = measured[place]
        # Numbers before words, so that any two sizes can be compared.
        size = [(1, 0.0, v) if isinstance(v, str) else (0, float(v), "") for v in c.params.values()]
        return suites[c.suite], workloads[c.workload, c.file], size, kinds[c.dtype, c.device], engines[c.engine]

    return sorted(range(len(measured)), key=key)


def _ranks(things: Iterable[Any]) -> dict[Any, int]:
    return {thing: rank for rank, thing in enumerate(dict.fromkeys(things))}


def _reason(name: str, measurement: Measurement, summary: Summary, settings: Settings) -> str:
    if measurement.status != "ok":
        return WORDS[measurement.status]
    if name in PHASES:
        return _no_phase(name, summary)
    if name in ("ratio", "gradient_ratio", *DECLARED):
        return _no_quotient(name, measurement, summary)
    if name in ("tape_instructions", "tape_bytes"):
        return "the engine does not say"
    if name in ("ulps", "relative_error"):
        return _no_accuracy(measurement.accuracy)
    if name == "instructions":
        counted = measurement.instructions
        return (counted and counted.reason) or ("not measured" if settings.instructions else "not asked for")
    memory = measurement.memory
    return (memory and memory.reason) or ("not measured" if settings.memory else "not asked for")


def _no_phase(name: str, summary: Summary) -> str:
    if not summary.phases:
        return "no process gave a time"
    if name == "primal":
        return "the engine does not evaluate without recording"
    if not summary.phases.keys() - {"primal"}:
        return "the engine only evaluates"
    return f"the engine does not do {name} by itself"


def _no_quotient(name: str, measurement: Measurement, summary: Summary) -> str:
    if name in DECLARED and getattr(measurement, DECLARED[name]) is None:
        return f"the workload does not declare its {DECLARED[name]}"
    needed = {"ratio": ("backward", "forward"), "gradient_ratio": ("total", "primal")}.get(name, ("total",))
    for phase in needed:
        if phase not in summary.phases:
            return _no_phase(phase, summary)
    return "a time is too short: it was lost in the subtraction of the harness"


def _no_accuracy(accuracy: Accuracy | None) -> str:
    return "the gradient was not checked" if accuracy is None else "only scalars have units of the last place"
