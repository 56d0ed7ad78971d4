"""Summaries: from a measurement to the numbers that are shown, each with what says how far to trust it.

In: a measurement. Out: a `Summary`; terminal, page, files and gate take their numbers from it, so that they agree.
"""

from collections.abc import Mapping, Sequence

import msgspec

from gradmark.analyse import devices
from gradmark.analyse.calm import share_of_calm_blocks
from gradmark.records import Cell, Code, DerivativeName, Measurement, Number, Summary, Warning, metric, readings, times
from gradmark.records.derivative import FACTS, USUAL_DERIVATIVE
from gradmark.records.number import OF_ROW, of_row

# Most rows are known to 1.5 % or better, which is where a run stops (records/agreement.py): eight times that is more
# than usual noise.
UNSTEADY_SPREAD = 0.10
# Below this the subtraction of the harness dominates, and its scatter says nothing of the engine.
JUDGED_ABOVE_NS = 50.0


def summarise_run(measurements: Sequence[Measurement]) -> list[Summary]:
    """What each measurement of a run says, beside the gradient and the dense matrix of the same engine and function."""
    compared = {m.cell.id: m for m in measurements if m.status == "ok"}

    def of(cell: Cell, derivative: DerivativeName | None) -> Mapping[str, Number]:
        other = derivative and compared.get(msgspec.structs.replace(cell, derivative=derivative).id)
        return metric.numbers(other) if other else {}

    def others(cell: Cell) -> Mapping[str, Number]:
        if cell.derivative == USUAL_DERIVATIVE:
            return {}
        return readings.beside(of(cell, USUAL_DERIVATIVE), of(cell, FACTS[cell.derivative].dense))

    return [summarise(m, others(m.cell)) for m in measurements]


def summarise(measurement: Measurement, others: Mapping[str, Number] | None = None) -> Summary:
    """What a measurement says, with a warning if its processes disagree, or none of them saw a calm machine.

    others: what other rows of the run have, see `summarise_run`.
    """
    numbers = metric.numbers(measurement, others)
    warnings = [*measurement.warnings, *(warning for sample in measurement.samples for warning in sample.warnings)]
    if measurement.status == "ok":
        warnings += [*times.warnings(measurement), *devices.verdicts(measurement, numbers)]
    shown = of_row(numbers)
    phase = next((name for name in OF_ROW if name in numbers), None)
    steady, calm = is_steady(shown), shown is None or shown.calm
    if not calm:
        warnings.append(Warning(code=Code.NEVER_CALM))
    elif not steady and shown is not None:
        warnings.append(Warning(code=Code.UNSTEADY, numbers={"spread": shown.spread or 0.0}))
    return Summary(
        cell=measurement.cell,
        status=measurement.status,
        message=measurement.message,
        lacks=measurement.lacks,
        numbers=numbers,
        reasons=_reasons(measurement, {**numbers, **(others or {})}),
        shape=next((shape_text(shape) for shape in measurement.shapes.values()), ""),
        steady=steady,
        calm=calm,
        calm_blocks=None if phase is None else share_of_calm_blocks(measurement, phase),
        warnings=_once_each(warnings),
        lacks_tool=_lacks_tool(measurement),
        mode=measurement.mode,
    )


def _lacks_tool(measurement: Measurement) -> list[str]:
    counted = {
        "memory": measurement.memory,
        "instructions": measurement.instructions,
        "device_work": measurement.device_work,
    }
    return [name for name, part in counted.items() if part is not None and part.lacks_tool]


def is_steady(shown: Number | None) -> bool:
    """Whether the interval of a time is narrow; what is too short to be judged counts as steady."""
    if shown is None or shown.spread is None or shown.value <= JUDGED_ABOVE_NS:
        return True
    return shown.spread <= UNSTEADY_SPREAD


def shape_text(shape: Sequence[int]) -> str:
    """A shape as one word.

    >>> shape_text([128, 784])
    '128×784'
    """
    return "×".join(map(str, shape)) or "()"


def _reasons(measurement: Measurement, numbers: dict[str, Number]) -> dict[str, str]:
    entries = [entry for entry in metric.metrics_of(measurement) if entry.is_of(measurement.cell)]
    missing = [entry for entry in entries if entry.name not in numbers]
    if measurement.status != "ok":
        return dict.fromkeys((entry.name for entry in missing), measurement.status)
    return {entry.name: entry.why_missing(measurement, numbers) for entry in missing}


def _once_each(warnings: Sequence[Warning]) -> list[Warning]:
    """One for each code and reason, that with the largest numbers: several processes may say the same."""
    kept: dict[tuple[Code, str], Warning] = {}
    for warning in warnings:
        known = kept.get((warning.code, warning.reason))
        if known is None or list(warning.numbers.values()) > list(known.numbers.values()):
            kept[warning.code, warning.reason] = warning
    return list(kept.values())
