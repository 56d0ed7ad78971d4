"""Estimates: from the samples of one measurement to the numbers that are shown.

In: samples, one per process. Out: medians with intervals, floors, and a summary that says how far to trust them.
The process is the unit of analysis: blocks of one process are never pooled with those of another.
"""

from statistics import median

from gradmark.analyse.medians import median_interval
from gradmark.records import Code, Estimate, How, Measurement, Phase, Sample, Summary, Warning

PHASES = ("primal", "forward", "backward", "total")

# Floors of interleaved A/A processes on a noisy machine agree within 2 %: five times that is more than usual noise.
FLOOR_SPREAD_LIMIT = 0.10
# Medians of A/A runs are off by up to 40 % on a noisy machine; beyond that the machine was busy most of the time.
MEDIAN_EXCESS_LIMIT = 0.50
# What is left of an empty call after the subtraction of the harness: up to 5 ns.
HARNESS_ERROR_NS = 5.0
# Below this the subtraction of the harness dominates, and its scatter says nothing of the engine.
JUDGED_ABOVE_NS = 50.0


def estimate(samples: list[Sample], phase: str) -> Estimate | None:
    """The time of a phase: median over processes of the medians of their blocks, and the floor. None if never timed."""
    timed = timed_in(samples, phase)
    if not timed:
        return None
    # One derived process makes the number derived: it cannot claim more than its weakest part.
    how: How = "measured" if all(part.how == "measured" for part in timed) else "derived"
    return _over_processes([median(part.block_ns) for part in timed], min(part.floor_ns for part in timed), how)


def estimate_once(samples: list[Sample], name: str) -> Estimate | None:
    """The time of what happens once per process, such as the import. None if no process has it."""
    times = [sample.once_ns[name] for sample in samples if name in sample.once_ns]
    return _over_processes(times, min(times), "measured") if times else None


def summarise(measurement: Measurement) -> Summary:
    """What a measurement says, with a warning if its processes disagree."""
    samples = measurement.samples
    phases = {phase: found for phase in PHASES if (found := estimate(samples, phase))}
    names = dict.fromkeys(name for sample in samples for name in sample.once_ns)
    unsteady = [reason for phase, found in phases.items() for reason in _unsteadiness(samples, phase, found)]
    warnings = [*measurement.warnings, *(warning for sample in samples for warning in sample.warnings)]
    if unsteady:
        warnings.append(Warning(code=Code.UNSTEADY, reason="; ".join(unsteady)))
    total = phases.get("total")

    def per_s(count: float | None) -> float | None:
        return 1e9 * count / total.floor if count and total is not None and _told(total) else None

    return Summary(
        cell=measurement.cell,
        status=measurement.status,
        message=measurement.message,
        phases=phases,
        once={name: found for name in names if (found := estimate_once(samples, name))},
        ratio=_ratio(phases.get("backward"), phases.get("forward")),
        gradient_ratio=_ratio(total, phases.get("primal")),
        operations_per_s=per_s(measurement.operations),
        flops_per_s=per_s(measurement.flops),
        bytes_per_s=per_s(measurement.bytes),
        harness_ns=median(sample.harness_ns for sample in samples) if samples else None,
        steady=not unsteady,
        warnings=warnings,
    )


def timed_in(samples: list[Sample], phase: str) -> list[Phase]:
    """The phase in each process that has blocks of it."""
    return [sample.phases[phase] for sample in samples if phase in sample.phases and sample.phases[phase].block_ns]


def _over_processes(values: list[float], floor: float, how: How) -> Estimate:
    """Median over processes with its percentile bootstrap interval."""
    middle = low = high = median(values)
    if min(values) < max(values):  # one process, or processes that agree, have no spread to resample
        low, high = median_interval(values)
        # the mean of two neighbours may round beyond them
        low = max(min(values), min(middle, low))
        high = min(max(values), max(middle, high))
    return Estimate(median=middle, low=low, high=high, floor=floor, processes=len(values), how=how)


def _ratio(above: Estimate | None, below: Estimate | None) -> float | None:
    """The ratio of two floors; None where one is missing or was lost in the subtraction of the harness."""
    if above is None or below is None or not _told(above) or not _told(below):
        return None
    return above.floor / below.floor


def _told(found: Estimate | None) -> bool:
    """Whether a time is more than what the subtraction of the harness may leave of nothing."""
    return found is not None and found.floor > HARNESS_ERROR_NS


def _unsteadiness(samples: list[Sample], phase: str, found: Estimate) -> list[str]:
    """In what way a phase is unsteady; empty if it is not, or is too short to be judged."""
    if found.floor <= JUDGED_ABOVE_NS:
        return []
    reasons = []
    floors = [part.floor_ns for part in timed_in(samples, phase)]
    spread = (max(floors) - found.floor) / found.floor
    if spread > FLOOR_SPREAD_LIMIT:
        reasons.append(f"the floors of {len(floors)} processes for {phase} are {100 * spread:.1f} % apart")
    excess = (found.median - found.floor) / found.floor
    if excess > MEDIAN_EXCESS_LIMIT:
        reasons.append(f"the median of {phase} is {100 * excess:.1f} % above its floor")
    return reasons
