"""What the analysis says: estimates, fits, comparisons, verdicts."""

from typing import Literal

from gradmark.records.cell import Cell
from gradmark.records.measurement import Status
from gradmark.records.number import Number
from gradmark.records.record import Record
from gradmark.records.warning import Warning


class Summary(Record, frozen=True, kw_only=True):
    """What a measurement says: its numbers by metric, as they are shown and compared, and why others are missing."""

    cell: Cell
    status: Status
    message: str
    numbers: dict[str, Number] = {}
    reasons: dict[str, str] = {}  # why a metric has no number
    shape: str = ""  # of the first input; numbers have none
    steady: bool = True
    warnings: list[Warning] = []
    lacks_tool: list[str] = []  # memory, instructions: not counted because a tool is missing or failed

    def value(self, metric: str) -> float | None:
        """A number as it is shown; None if it is missing."""
        number = self.numbers.get(metric)
        return None if number is None else number.value

    @property
    def time(self) -> Number | None:
        """The one time that stands for the row: of total, or of primal if there is no total."""
        return self.numbers.get("total") or self.numbers.get("primal")


class Fit(Record, frozen=True, kw_only=True):
    """cost(n) = a + b·n^p over the sizes of one workload."""

    metric: str  # its name in the registry
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
    evidence: list[str]  # a sentence each
    engine: str = ""
