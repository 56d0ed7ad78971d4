"""The sample: what one process measured. The process is the unit of analysis."""

from typing import Literal

from gradmark.records.record import Record
from gradmark.records.warning import Warning

How = Literal["measured", "derived"]


class Phase(Record, frozen=True, kw_only=True):
    """Timed blocks of one phase in one process: mean nanoseconds per iteration of each, harness subtracted."""

    iterations: int
    block_ns: list[float]
    how: How = "measured"  # older files have derived ones too, which are not used

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
    own_total: bool = False  # total is a call of its own, not forward and then backward
    warnings: list[Warning] = []
