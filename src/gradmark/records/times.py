"""Times: from the blocks of all processes to one number for each phase.

The time of a process is the lower quartile of its calm blocks, at the clock of the run's reference. The number, the
*calm time*, is the median over the processes, with an interval that states its coverage. Files without pilots are read
as they were shown: the fastest block, and the least over the processes. A part of an iteration never exceeds the whole:
where it does, the part is computed as the whole less the other part. A difference that is within the noise of the whole
is not told.
"""

from collections.abc import Mapping, Sequence
from statistics import median

import msgspec

from gradmark.records.measurement import Measurement
from gradmark.records.number import Number
from gradmark.records.order import interval_of_median
from gradmark.records.sample import Sample
from gradmark.records.warning import Code, Warning

WHOLE, PARTS = "total", ("forward", "backward")
# Forward and backward alone may be faster than in turns, by what the caches hold; not by more than half.
UNEXPLAINED = 1.5
# Few processes prove nothing: their parts may all have met calm moments that the whole did not.
LEAST_PROCESSES = 4
# Times of equal things differ by up to 5 %: a part so near the whole is as long as the whole, as far as can be
# told, and what is left of the whole beside it is noise.
SAME = 1.05
# What is left of an empty call after the subtraction of the harness: up to 5 ns.
HARNESS_ERROR_NS = 5.0


def process_times(samples: Sequence[Sample], phase: str) -> list[float]:
    """The time of each process that counts, in the order of the processes: see `counting`."""
    return [sample.phases[phase].time_ns for sample in counting(samples, phase)]


def counting(samples: Sequence[Sample], phase: str) -> list[Sample]:
    """The processes that timed a phase by itself on a calm machine; if there are none, all that timed it."""
    timed = [sample for sample in samples if is_timed(sample, phase)]
    return [sample for sample in timed if sample.phases[phase].is_calm] or timed


def process_time_ns(sample: Sample, phase: str) -> float | None:
    """The time of a process; None if it did not time the phase by itself, or the machine was never calm meanwhile."""
    return sample.phases[phase].time_ns if is_timed(sample, phase) and sample.phases[phase].is_calm else None


def never_calm(samples: Sequence[Sample], phase: str) -> bool:
    """Whether pilots watched all that was timed, and no process had enough calm blocks."""
    timed = [sample for sample in samples if is_timed(sample, phase)]
    return bool(timed) and not any(sample.phases[phase].is_calm for sample in timed)


def times(measurement: Measurement) -> dict[str, Number]:
    """Every phase that was timed or can be computed."""
    samples = measurement.samples
    names = dict.fromkeys(name for sample in samples for name in sample.phases)
    numbers = {name: number for name in names if (number := _timed(samples, name))}
    whole = numbers.get(WHOLE)
    if whole is None:
        return numbers
    if "backward" in numbers and unrepeatable(samples):
        del numbers["backward"]
    beyond = {part: numbers.pop(part) for part in PARTS if part in numbers and numbers[part].value > whole.value}
    if not (beyond and _own_total(samples)):  # a total of its own is not the sum of parts that it does not do
        numbers |= _computed(numbers, whole, beyond)
    for part, number in beyond.items():
        alone = len(beyond) == 1 and not any(other in numbers for other in PARTS)
        if alone and 0 < number.value <= SAME * whole.value:
            numbers[part] = Number(value=whole.value, how="derived", processes=whole.processes)
    return numbers


def _computed(numbers: Mapping[str, Number], whole: Number, beyond: Mapping[str, Number]) -> dict[str, Number]:
    """The part that is missing, as the whole less the other part; nothing if that is lost in noise."""
    forward, backward = (numbers.get(part) for part in PARTS)
    if forward is not None and backward is None and 0 <= forward.value < whole.value / SAME:
        return {"backward": _rest(whole, forward)}
    if backward is not None and "forward" in beyond and 0 <= backward.value < whole.value / SAME:
        return {"forward": _rest(whole, backward)}
    return {}


def unrepeatable(samples: Sequence[Sample]) -> bool:
    """Whether the parts are too fast for the whole in every process: backward then does less when it is repeated."""
    judged = [sample for sample in samples if all(is_timed(sample, name) for name in (WHOLE, *PARTS))]
    return len(judged) >= LEAST_PROCESSES and all(_unexplained(sample) for sample in judged)


def _unexplained(sample: Sample) -> bool:
    apart = sum(sample.phases[name].time_ns for name in PARTS)
    return sample.phases[WHOLE].time_ns > UNEXPLAINED * apart + 100 * HARNESS_ERROR_NS


def warnings(measurement: Measurement) -> list[Warning]:
    """What the times themselves give reason to say. An engine with a total of its own says that it does more."""
    samples = measurement.samples
    if _own_total(samples) or not unrepeatable(samples):
        return []
    apart = sum(_shown_ns(samples, part) for part in PARTS)
    together = _shown_ns(samples, WHOLE)
    return [Warning(code=Code.UNREPEATABLE, numbers={"apart_ns": apart, "together_ns": together})]


def _own_total(samples: Sequence[Sample]) -> bool:
    return any(sample.own_total for sample in samples)


def _timed(samples: Sequence[Sample], phase: str) -> Number | None:
    phases = [sample.phases[phase] for sample in counting(samples, phase)]
    if not phases:
        return None
    values, how = [part.time_ns for part in phases], phases[0].how
    if any(part.watched for part in phases):
        return msgspec.structs.replace(typical(values), calm=not never_calm(samples, phase), how=how)
    return msgspec.structs.replace(fastest(values, [median(part.block_ns) for part in phases]), how=how)


def _shown_ns(samples: Sequence[Sample], phase: str) -> float:
    number = _timed(samples, phase)
    assert number is not None
    return number.value


def is_timed(sample: Sample, phase: str) -> bool:
    """Whether a process has times of the phase alone; older files have phases that were computed."""
    part = sample.phases.get(phase)
    return part is not None and bool(part.block_ns) and part.how != "derived"


def typical(values: Sequence[float]) -> Number:
    """The median over processes, with its interval."""
    value = float(median(values))
    low, high, coverage = interval_of_median(values)
    several = len(values) > 1
    return Number(
        value=value,
        processes=len(values),
        spread=half_width(low, high, value) if several else None,
        median=value,
        low=low,
        high=high,
        coverage=coverage if several else None,
    )


def fastest(values: Sequence[float], medians: Sequence[float]) -> Number:
    """The least over processes, of what happens once in each, and of files without pilots."""
    value = min(values)
    low, high, coverage = interval_of_median(medians)
    several = len(values) > 1
    return Number(
        value=value,
        processes=len(values),
        spread=half_width(low, high, median(medians)) if several else None,
        median=median(medians),
        low=low,
        high=high,
        coverage=coverage if several else None,
    )


def half_width(low: float, high: float, value: float) -> float | None:
    """Half of an interval, as a share of the number that it belongs to."""
    return (high - low) / 2.0 / value if value > 0 else None


def _rest(whole: Number, part: Number) -> Number:
    return Number(value=whole.value - part.value, how="derived", processes=whole.processes)
