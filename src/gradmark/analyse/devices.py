"""Devices: what the times and counts of a row on a device say beside themselves.

In: a measurement and its numbers. Out: warnings. The thresholds are here, and nowhere else.
"""

from collections.abc import Mapping

from gradmark.records import Code, Measurement, Number, Warning
from gradmark.records.readings import is_on_device, roof
from gradmark.records.times import SAME

# With warm caches so many times as fast as with flushed ones: what is left of a loop's advantage in a program is luck.
FLATTERED = 1.5
# A copy reads and writes; what only reads is up to a sixth faster (an H200 by its data sheet 4.8 TB/s, of which a copy
# reaches 4.1). What reads its inputs much faster than that does not read them from memory.
BEYOND = 1.25
# A device that works for so much of the time, back to back, does not wait for the host, however long that takes to ask
# an idle one.
BUSY = 0.9
# A part of the samples that is worth a word.
THROTTLED = 0.05
# Kernels of an iteration as a multiple of those of forward and backward by themselves.
TWICE = 1.9


def verdicts(measurement: Measurement, numbers: Mapping[str, Number]) -> list[Warning]:
    """What a reader must know of a row on a device."""
    if not is_on_device(measurement):
        return []
    warnings = []
    hot, cold, host = (numbers[name].value if name in numbers else None for name in ("hot", "cold", "host"))
    waits = "busy" not in numbers or numbers["busy"].value < BUSY
    if hot is not None and host is not None and SAME * host >= hot and waits:
        warnings.append(Warning(code=Code.LAUNCH_BOUND, numbers={"host_ns": host, "hot_ns": hot}))
    elif hot is not None and cold is not None and cold > FLATTERED * hot:
        warnings.append(Warning(code=Code.CACHE_FLATTERED, numbers={"hot_ns": hot, "cold_ns": cold}))
    work, highest = measurement.device_work, roof(measurement, "bytes")
    if cold and highest and work is not None and work.read_bytes is not None:
        rate = 1e9 * work.read_bytes / cold
        if rate > BEYOND * highest:
            figures = {"bytes_per_s": rate, "roof_bytes_per_s": highest}
            warnings.append(Warning(code=Code.BEYOND_MEMORY, numbers=figures))
    if work is not None and work.kernels and work.apart_kernels and work.kernels >= TWICE * work.apart_kernels:
        figures = {"kernels": work.kernels, "apart_kernels": work.apart_kernels}
        warnings.append(Warning(code=Code.DONE_TWICE, numbers=figures))
    phases = [sample.phases["cold"] for sample in measurement.samples if "cold" in sample.phases]
    samples = sum(len(phase.block_ns) for phase in phases)
    dropped = samples - sum(len(phase.calm) for phase in phases)
    if dropped > THROTTLED * samples:
        warnings.append(Warning(code=Code.THROTTLED, numbers={"dropped": dropped, "samples": samples}))
    return warnings
