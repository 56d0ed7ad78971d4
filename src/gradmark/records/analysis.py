"""What the analysis says: estimates, fits, comparisons, verdicts."""

from typing import Literal

from gradmark.records.cell import Cell
from gradmark.records.measurement import Status
from gradmark.records.record import Record
from gradmark.records.sample import How
from gradmark.records.warning import Warning


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
    warnings: list[Warning] = []


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
