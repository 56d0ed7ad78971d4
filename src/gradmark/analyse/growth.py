"""Growth: which measurements of a run belong on one curve, and how all of them grow.

In: a run. Out: its families of sizes, their fits, and the suspects for what grows too fast.
"""

from gradmark.analyse.scaling import fits, work
from gradmark.analyse.suspects import suspects
from gradmark.records import Fit, Measurement, Run

# Three sizes fit any curve of three parameters, and memory grows in steps.
LEAST_SIZES = 4


def growth(run: Run) -> tuple[list[tuple[str, list[Fit]]], list[str]]:
    """The fits of every engine and workload with enough sizes, and the suspects for what grows too fast."""
    found, suspected = [], []
    for (name, parameter), measurements in families(run).items():
        fitted = fits(measurements, parameter)
        found.append((name, fitted))
        suspected += [f"{name}: {text}" for text in suspects(fitted, memory(measurements))]
    return found, suspected


def memory(measurements: list[Measurement]) -> tuple[float, float] | None:
    """The peak memory of the smallest and of the largest size, of work on arrays where it was counted."""
    peaks = [m.memory.peak_bytes for m in measurements if m.shapes and m.memory and m.memory.peak_bytes]
    return (min(peaks), max(peaks)) if peaks else None


def families(run: Run) -> dict[tuple[str, str], list[Measurement]]:
    """Measurements that differ in one parameter alone, by name and parameter. Sizes of 0 have no place on a curve."""
    groups: dict[tuple[str, str], list[Measurement]] = {}
    for measurement in run.measurements:
        cell = measurement.cell
        for parameter, value in cell.params.items():
            size = work(measurement) or value
            if measurement.status != "ok" or isinstance(value, str) or isinstance(size, str) or size <= 0:
                continue
            others = [f"{key}={other}" for key, other in cell.params.items() if key != parameter]
            kind = [f"{cell.dtype}"] if measurement.shapes else []
            name = f"{'/'.join([cell.workload, *others, *kind])} {cell.engine}"
            groups.setdefault((name, parameter), []).append(measurement)
    return {key: members for key, members in groups.items() if len(members) >= LEAST_SIZES}
