"""Samples with pilots: what a process says whose machine was calm, slow, or some of both."""

import msgspec

from gradmark.records import Measurement, Phase, Sample

# What the pilot of the core takes on a calm machine, and on a slow one: nanoseconds.
CALM_NS, SLOW_NS = 10.0, 16.0


def watched(sample: Sample, *, calm: int = 4, blocks: int = 4, core_ns: float = CALM_NS) -> Sample:
    """The sample with so many blocks of each phase, of which the first ones were calm; each took its fastest block."""
    phases = {name: _phase(phase, calm, blocks, core_ns) for name, phase in sample.phases.items()}
    spent = {"calm": 1e6 * calm, "slow": 1e6 * (blocks - calm)}
    return msgspec.structs.replace(sample, phases=phases, watched_ns=spent)


def _phase(phase: Phase, calm: int, blocks: int, core_ns: float) -> Phase:
    pilots = [(core_ns, core_ns)] * calm + [(core_ns, core_ns * SLOW_NS / CALM_NS)] * (blocks - calm)
    times, reference = [min(phase.block_ns)] * blocks, dict.fromkeys(("core", "clock"), core_ns)
    return msgspec.structs.replace(phase, block_ns=times, pilots={"core": pilots}, reference=reference)


def all_watched(measurement: Measurement, *, calm: int = 4, blocks: int = 4, core_ns: float = CALM_NS) -> Measurement:
    """The measurement, all of whose processes were so calm."""
    samples = [watched(sample, calm=calm, blocks=blocks, core_ns=core_ns) for sample in measurement.samples]
    return msgspec.structs.replace(measurement, samples=samples)


def never_calm(measurement: Measurement) -> Measurement:
    """The measurement, none of whose processes saw a calm machine."""
    return all_watched(measurement, calm=0)
