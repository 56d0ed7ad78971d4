"""Calm: what pilots say of the machine, and which numbers were never seen on a calm one.

In: measurements. Out: a `Machine`, the share of calm blocks, and whether a number may decide anything.
"""

from collections.abc import Mapping, Sequence
from statistics import median

from gradmark.records import Machine, Measurement, Number, Phase
from gradmark.records.pilots import CALM, CLOCK, CORE, having_a_say
from gradmark.records.times import PARTS, WHOLE, is_timed

# Two runs whose pilots differ by no more were on one machine: the reference itself is known to 0.1 to 0.3 %.
AS_FAST = 1.005


def is_calm(numbers: Mapping[str, Number], name: str) -> bool:
    """Whether a number was seen on a calm machine; what is computed from others, whether they all were."""
    number = numbers.get(name)
    if number is None or number.how != "derived":
        return number is None or number.calm
    return all(numbers[part].calm for part in (WHOLE, *PARTS) if part in numbers)


def share_of_calm_blocks(measurement: Measurement, phase: str) -> float | None:
    """Of all blocks of a phase, over all processes; None where no pilots watched."""
    timed = [s.phases[phase] for s in measurement.samples if is_timed(s, phase) and s.phases[phase].watched]
    blocks = sum(len(part.block_ns) for part in timed)
    return sum(len(part.calm) for part in timed) / blocks if blocks else None


def machine(measurements: Sequence[Measurement]) -> Machine:
    """What the pilots of all these measurements say."""
    samples = [sample for m in measurements for sample in m.samples]
    watched_ns = {word: sum(sample.watched_ns.get(word, 0.0) for sample in samples) for word in ("calm", "slow")}
    phases = [phase for sample in samples for phase in sample.phases.values() if phase.watched]
    whole = sum(watched_ns.values())
    return Machine(
        calm=watched_ns["calm"] / whole if whole else None,
        slowness=_slowness(phases),
        core_ns=_lowest(phases, CLOCK),
        own_ns=_lowest(phases, CORE),
    )


def _lowest(phases: Sequence[Phase], kind: str) -> float | None:
    return min((phase.reference[kind] for phase in phases if kind in phase.reference), default=None)


def _slowness(phases: Sequence[Phase]) -> float | None:
    """The typical slow pilot as a multiple of its reference: of the core's if any was slow, else of the other kinds."""
    slow: dict[bool, list[float]] = {True: [], False: []}
    for phase in phases:
        for kind, level in phase.reference.items():
            ratios = (ns / level for pair in phase.pilots.get(kind, ()) for ns in having_a_say(kind, pair))
            slow[kind == CORE] += [ratio for ratio in ratios if ratio > CALM[kind]]
    return median(slow[True] or slow[False]) if slow[True] or slow[False] else None


def changed(old: Machine, new: Machine) -> float | None:
    """How many times as long the core's pilot takes in the newer run; None if a run has none."""
    return new.core_ns / old.core_ns if old.core_ns and new.core_ns else None


def is_as_fast(ratio: float) -> bool:
    """Whether two runs were on a machine of one speed, as far as pilots can tell."""
    return 1.0 / AS_FAST <= ratio <= AS_FAST
