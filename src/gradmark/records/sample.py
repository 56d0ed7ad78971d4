"""The sample: what one process measured. The process is the unit of analysis."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Literal

import msgspec

from gradmark.records import pilots
from gradmark.records.quantities import MOST_NS, LevelKind, Nanoseconds, PilotKind, PilotNs, RoofKind, Whole, Work
from gradmark.records.record import Record
from gradmark.records.warning import Warning

# Timed by the laboratory, computed from other phases, or timed by the engine with a clock of its own.
How = Literal["measured", "derived", "self-timed"]


class Phase(Record, frozen=True, kw_only=True, dict=True):
    """Timed blocks of one phase in one process: mean nanoseconds per iteration of each, harness subtracted.

    What is computed from them is computed once: a page asks for it a thousand times.
    """

    iterations: Whole
    block_ns: Annotated[list[Nanoseconds], msgspec.Meta(min_length=1)]
    harness_ns: Nanoseconds = 0.0  # what was subtracted from each block; older files do not say
    how: How = "measured"  # older files have derived ones too, which are not used
    # Of each block the pilots before and after it, by what they load; none in older files.
    pilots: dict[PilotKind, list[tuple[PilotNs, PilotNs]]] = {}
    reference: dict[LevelKind, PilotNs] = {}  # what a pilot takes when the machine is calm, as far as was known

    def __post_init__(self) -> None:
        for kind, pairs in self.pilots.items():
            if len(pairs) != len(self.block_ns):
                raise ValueError(f"Expected {len(self.block_ns)} pairs of {kind} pilots, one a block, got {len(pairs)}")

    @property
    def watched(self) -> bool:
        """Whether pilots say which blocks were calm. In older files none do."""
        return bool(self.pilots and self.reference)

    @cached_property
    def calm(self) -> list[int]:
        """The places of the blocks that were calm; of all, if there were no pilots."""
        return pilots.calm_blocks(self.pilots, self.reference, len(self.block_ns))

    @cached_property
    def is_calm(self) -> bool:
        """Whether enough blocks were calm for this process to have a time; nobody knows better in older files."""
        if not self.watched:
            return True
        long = min(self.block_ns, default=0.0) * self.iterations > pilots.LONG_BLOCK_NS
        return len(self.calm) >= (1 if long else pilots.LEAST_CALM)

    @cached_property
    def calm_ns(self) -> list[float]:
        """The calm blocks at one clock; all blocks as they are, where too few were calm."""
        if not self.watched or not self.is_calm:
            return self.block_ns
        return pilots.corrected(self.block_ns, self.pilots, self.reference)

    @cached_property
    def time_ns(self) -> float:
        """The time of this process, from its calm blocks; of older files the fastest block, as they were shown."""
        return pilots.undisturbed(self.calm_ns) if self.watched else min(self.block_ns)


class Sample(Record, frozen=True, kw_only=True):
    """One process: the unit of analysis."""

    process: Whole
    phases: dict[str, Phase]  # primal, forward, backward, total
    once_ns: dict[str, Nanoseconds]  # import, prepare, first_call, warm_up: happen once
    harness_ns: Nanoseconds  # what one empty call costs, subtracted from each phase
    clock_ns: Nanoseconds  # resolution of the clock
    own_total: bool = False  # total is a call of its own, not forward and then backward
    warnings: list[Warning] = []
    watched_ns: dict[str, Nanoseconds] = {}  # for how long the pilots saw a machine that was calm, or slow
    # Of a row on a device: what a copy and a product reached there in this process, per second.
    roofs: dict[RoofKind, Work] = {}
    machine: str = ""  # the instance that it was taken on, if the run is a fleet's; else the run's own


def with_reference(sample: Sample, reference: Mapping[str, float]) -> Sample:
    """The sample with what is now known of the machine when it is calm; the same if it knew already."""
    if not reference or all(phase.reference == reference for phase in sample.phases.values() if phase.pilots):
        return sample
    known = dict(reference)
    phases = {
        name: msgspec.structs.replace(phase, reference=known) if phase.pilots else phase
        for name, phase in sample.phases.items()
    }
    return msgspec.structs.replace(sample, phases=phases)


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
        blocks = [min(ns + back, MOST_NS) for ns in phase.block_ns]  # what is kept can be read back
        phases[name] = msgspec.structs.replace(phase, block_ns=blocks, harness_ns=least[name])
    return msgspec.structs.replace(sample, phases=phases)
