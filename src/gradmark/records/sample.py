"""The sample: what one process measured. The process is the unit of analysis."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from gradmark.records.record import Record
from gradmark.records.warning import Warning

How = Literal["measured", "derived"]


class Phase(Record, frozen=True, kw_only=True):
    """Timed blocks of one phase in one process: mean nanoseconds per iteration of each, harness subtracted."""

    iterations: int
    block_ns: list[float]
    harness_ns: float = 0.0  # what was subtracted from each block; older files do not say
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


def with_one_harness(samples: Sequence[Sample]) -> list[Sample]:
    """The samples of one cell, each phase less the smallest harness that any of its processes saw.

    Every process measures what an empty call costs. One that never had a calm moment for that takes too much off, and
    the fastest block over all processes would then be the most wrong one: 56 ns were seen for what takes 214.
    """
    names = dict.fromkeys(name for sample in samples for name in sample.phases)
    least = {name: min(s.phases[name].harness_ns for s in samples if name in s.phases) for name in names}
    return [_with_harness(sample, least) for sample in samples]


def _with_harness(sample: Sample, least: dict[str, float]) -> Sample:
    if all(phase.harness_ns == least[name] for name, phase in sample.phases.items()):
        return sample
    phases = {}
    for name, phase in sample.phases.items():
        back = phase.harness_ns - least[name]
        blocks = [ns + back for ns in phase.block_ns]
        phases[name] = msgspec.structs.replace(phase, block_ns=blocks, harness_ns=least[name])
    return msgspec.structs.replace(sample, phases=phases)
