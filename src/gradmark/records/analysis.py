"""What the analysis says: estimates, fits, comparisons, verdicts."""

from typing import Literal

from gradmark.records.cell import Cell
from gradmark.records.measurement import Status
from gradmark.records.number import Number, of_row
from gradmark.records.order import CONFIDENCE
from gradmark.records.record import Record
from gradmark.records.warning import Warning


class Summary(Record, frozen=True, kw_only=True):
    """What a measurement says: its numbers by metric, as they are shown and compared, and why others are missing."""

    cell: Cell
    status: Status
    message: str
    lacks: list[str] = []  # operations that the engine does not have
    numbers: dict[str, Number] = {}
    reasons: dict[str, str] = {}  # why a metric has no number
    shape: str = ""  # of the first input; numbers have none
    steady: bool = True
    calm: bool = True  # False: no process saw a calm machine, so that its time decides nothing
    calm_blocks: float | None = None  # of its time: the share of blocks that were calm; None in older files
    warnings: list[Warning] = []
    mode: str = ""  # how the engine computes the derivative
    lacks_tool: list[str] = []  # memory, instructions: not counted because a tool is missing or failed

    def value(self, metric: str) -> float | None:
        """A number as it is shown; None if it is missing."""
        number = self.numbers.get(metric)
        return None if number is None else number.value

    @property
    def time(self) -> Number | None:
        """The one time that stands for the row: of total, or of primal if there is no total."""
        return of_row(self.numbers)


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
    """Two arms of one metric. The ratio is second / first, the quotient of the numbers that are shown.

    `typical`, `low` and `high` are of what the processes say: of pairs the median ratio of a round, of two runs the
    Hodges-Lehmann ratio of a process. They are None where there is nothing to compare them by.
    """

    metric: str
    first: float
    second: float
    ratio: float
    typical: float | None = None
    low: float | None = None
    high: float | None = None
    coverage: float | None = None  # how often low to high holds the truth
    p_value: float = 1.0  # two-sided; 1 where there is no test: what could not be tested is never significant
    processes: tuple[int, int] = (0, 0)  # of each arm; of pairs the rounds that both have
    calm: tuple[bool, bool] = (True, True)  # whether a process of each arm saw a calm machine

    @property
    def is_interval(self) -> bool:
        """Whether low to high covers 95 % or more; else it is only the range of what was seen."""
        return self.coverage is not None and self.coverage >= CONFIDENCE


class Machine(Record, frozen=True, kw_only=True):
    """What the pilots of a run say of the machine. All is None in older files, which have no pilots."""

    calm: float | None = None  # the share of the time measured in which it was calm
    slowness: float | None = None  # how many times as long work takes while it is slow; None if it never was
    core_ns: float | None = None  # what the pilot of the core takes at the clock at which times are stated
    own_ns: float | None = None  # what it took in the run's own calm moments


class Verdict(Record, frozen=True, kw_only=True):
    """A claim, what was seen, and what follows."""

    claim: str
    verdict: Literal["kept", "broken", "supported", "refuted", "undecided", "not measured"]
    evidence: list[str]  # a sentence each
    engine: str = ""
