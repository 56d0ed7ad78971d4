"""Readings: how each metric is read from a measurement, and why it is missing where it is.

In: a measurement, and the numbers of it that are known already. Out: pairs of functions for entries of the registry in
`metric.py`: one gives the number or None, the other the reason.
"""

import math
from collections.abc import Callable, Mapping
from typing import Literal

from gradmark.records import times
from gradmark.records.cell import USUAL_DEVICE
from gradmark.records.derivative import FACTS
from gradmark.records.measurement import Measurement
from gradmark.records.number import Number, of_row
from gradmark.records.sample import How

Numbers = Mapping[str, Number]
Read = Callable[[Measurement, Numbers], Number | float | None]
Why = Callable[[Measurement, Numbers], str]
# Times below this are no more than what the subtraction of the harness may leave of nothing: no ratio is made of them.
LEAST_NS = times.HARNESS_ERROR_NS


# --- how phases are read


def no_phase(name: str) -> Why:
    """Why a phase has no time."""

    def why(m: Measurement, _known: Numbers) -> str:
        timed = {key for sample in m.samples for key in sample.phases if times.is_timed(sample, key)}
        if not timed:
            return "no process produced a time"
        if name in timed and name in times.PARTS:
            return f"{name} was not faster than total in any block"
        if name == "primal":
            return "the engine does not evaluate without recording"
        if not timed - {"primal"}:
            return "the engine only evaluates"
        if name == "backward" and "forward" in timed:
            return "total takes barely longer than forward: the difference is noise"
        return f"the engine has no separate {name}"

    return why


def _least_direct(*hows: How) -> How:
    """How a number of several others was obtained: as the least direct of them."""
    return next((how for how in ("derived", "self-timed") if how in hows), "measured")


def quotient(above: str, below: str) -> tuple[Read, Why]:
    """One time over another."""

    def read(_m: Measurement, known: Numbers) -> Number | None:
        a, b = known.get(above), known.get(below)
        if a is None or b is None or min(a.value, b.value) <= LEAST_NS:
            return None
        return Number(value=a.value / b.value, how=_least_direct(a.how, b.how))

    def why(m: Measurement, known: Numbers) -> str:
        missing = next((name for name in (above, below) if name not in known), None)
        return no_phase(missing)(m, known) if missing else "a time is too short: the harness takes as long"

    return read, why


# --- beside other derivatives of the same function and engine, in the same run

# How the numbers of other rows are called among those that an entry reads: `gradient:total`.
GRADIENT, DENSE = "gradient:", "dense:"


def beside(gradient: Numbers, dense: Numbers) -> dict[str, Number]:
    """The numbers of a row's gradient, and of its dense matrix, as entries read them."""
    known = {GRADIENT + name: number for name, number in gradient.items()}
    return known | {DENSE + name: number for name, number in dense.items()}


def of_gradient(name: str) -> tuple[Read, Why]:
    """A number as a multiple of the gradient's."""

    def read(_m: Measurement, known: Numbers) -> Number | None:
        ours, theirs = known.get(name), known.get(GRADIENT + name)
        if ours is None or theirs is None or theirs.value <= 0:
            return None
        return Number(value=ours.value / theirs.value, calm=ours.calm and theirs.calm)

    def why(_m: Measurement, known: Numbers) -> str:
        return "its gradient is not in this run; add -d gradient" if GRADIENT + name not in known else "it has none"

    return read, why


def bound(m: Measurement, _known: Numbers) -> float | None:
    """Evaluations of the function that are enough, in theory."""
    return FACTS[m.cell.derivative].bound


def sparsity(field: str) -> tuple[Read, Why]:
    """What the engine says of a sparse matrix."""

    def read(m: Measurement, _known: Numbers) -> float | None:
        value: float | None = getattr(m.sparsity, field, None)
        return value

    return read, lambda _m, _known: "the engine does not report it"


def break_even(_m: Measurement, known: Numbers) -> float | None:
    """Matrices after which a longer preparation is paid back."""
    names = ("first_call", "total", f"{DENSE}first_call", f"{DENSE}total")
    if not all(name in known for name in names):
        return None
    first, each, dense_first, dense_each = (known[name].value for name in names)
    if first <= dense_first:
        return 0.0
    return math.ceil((first - dense_first) / (dense_each - each)) if dense_each > each else None


def no_break_even(m: Measurement, known: Numbers) -> str:
    """Why a sparse matrix pays back nothing."""
    if f"{DENSE}total" not in known:
        return f"its dense matrix is not in this run; add -d {FACTS[m.cell.derivative].dense}"
    return "never: the dense matrix takes no longer"


def rate(declared: Literal["operations", "flops", "bytes"]) -> tuple[Read, Why]:
    """What the workload declares, per second of total."""

    def read(m: Measurement, known: Numbers) -> Number | None:
        count, total = getattr(m, declared), known.get("total")
        if not count or total is None or total.value <= LEAST_NS:
            return None
        return Number(value=1e9 * count / total.value, how=total.how)

    def why(m: Measurement, known: Numbers) -> str:
        if getattr(m, declared) is None:
            return f"the workload does not declare its {declared}"
        return (
            no_phase("total")(m, known) if "total" not in known else "the time is too short: the harness takes as long"
        )

    return read, why


# --- on a device


def is_on_device(m: Measurement) -> bool:
    """Whether its times are those of a device."""
    return m.cell.device != USUAL_DEVICE


def of_device(field: str) -> tuple[Read, Why]:
    """What was counted on a device."""

    def read(m: Measurement, _known: Numbers) -> float | None:
        value: float | None = getattr(m.device_work, field, None)
        return value

    return read, uncounted


def uncounted(m: Measurement, _known: Numbers) -> str:
    """Why nothing was counted on a device."""
    return (m.device_work and m.device_work.reason) or "not counted"


def busy(m: Measurement, known: Numbers) -> Number | None:
    """Of the time of an iteration, back to back, the part in which the device works."""
    busy_ns, hot = m.device_work.busy_ns if m.device_work is not None else None, known.get("hot")
    if busy_ns is None or hot is None or hot.value <= 0:
        return None
    return Number(value=min(1.0, busy_ns / hot.value), calm=hot.calm)


def roof(m: Measurement, kind: str) -> float | None:
    """What a copy, or a product in the dtype of the row, reached on this device in the same run, per second."""
    return max((sample.roofs[kind] for sample in m.samples if kind in sample.roofs), default=None)


def _work_of_roof(m: Measurement, kind: Literal["bytes", "flops"]) -> float | None:
    """What must be done in an iteration, whoever does it."""
    if kind == "bytes":
        return m.device_work.moved_bytes if m.device_work is not None else None
    return m.flops


def share_of_roof(kind: Literal["bytes", "flops"]) -> tuple[Read, Why]:
    """What is reached, as a part of what this device was measured to do."""

    def read(m: Measurement, known: Numbers) -> Number | None:
        count, highest, cold = _work_of_roof(m, kind), roof(m, kind), known.get("cold")
        if not count or not highest or cold is None or cold.value <= LEAST_NS:
            return None
        return Number(value=1e9 * count / cold.value / highest, calm=cold.calm)

    def why(m: Measurement, known: Numbers) -> str:
        if not _work_of_roof(m, kind):
            return f"the {kind} that it needs are unknown"
        what = "copy" if kind == "bytes" else "product"
        return "no process produced a time" if "cold" not in known else f"no {what} could be timed on this device"

    return read, why


# --- how counts are read


def memory(field: str) -> tuple[Read, Why]:
    """What was counted of memory."""

    def read(m: Measurement, _known: Numbers) -> float | None:
        value: float | None = getattr(m.memory, field, None)
        return value

    def why(m: Measurement, _known: Numbers) -> str:
        if m.memory is None:
            return "not measured"
        return m.memory.reason or "it could not be determined"

    return read, why


def tape(field: str) -> tuple[Read, Why]:
    """What the engine says of its recording."""

    def read(m: Measurement, _known: Numbers) -> float | None:
        value: float | None = getattr(m.tape, field, None)
        return value

    return read, lambda _m, _known: "the engine does not report it"


def accuracy(field: str) -> tuple[Read, Why]:
    """How far the derivative is off."""

    def read(m: Measurement, _known: Numbers) -> float | None:
        value: float | None = getattr(m.accuracy, field, None)
        return value

    def why(m: Measurement, _known: Numbers) -> str:
        return "the gradient was not checked" if m.accuracy is None else "only scalars have units in the last place"

    return read, why


def instructions(m: Measurement, _known: Numbers) -> float | None:
    """Machine instructions of one iteration."""
    return m.instructions.total if m.instructions is not None else None


def no_instructions(m: Measurement, _known: Numbers) -> str:
    """Why none were counted."""
    return (m.instructions and m.instructions.reason) or "counted only with --instructions"


def spread(_m: Measurement, known: Numbers) -> float | None:
    """Half the width of the interval of the row's time."""
    shown = of_row(known)
    return None if shown is None else shown.spread


def no_spread(_m: Measurement, known: Numbers) -> str:
    """Why there is no interval."""
    return "one process has no spread" if of_row(known) else "no process produced a time"
