"""The check: is the gradient right, and what does a recording hold? Asked before anything is timed.

In: a job. Out: accuracy, tape size and memory, or a wrong gradient with the reason.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from gradmark.engines.floats import FLOATS
from gradmark.engines.protocol import bound
from gradmark.measure.job import Job, Result
from gradmark.measure.reference import exact as accuracy
from gradmark.measure.worker import device_memory, memory
from gradmark.measure.worker.prepared import Prepared
from gradmark.measure.worker.timer import nothing
from gradmark.records import Accuracy, Code, Memory, Warning


def inspect(job: Job) -> Result:
    """Accuracy, tape size and memory of a cell."""
    prepared = Prepared(job)
    workload, cell = prepared.workload, job.cell
    flops, moved = workload.work(cell.params, cell.dtype)
    result = Result(
        operations=workload.count(cell.params), flops=flops, bytes=moved, shapes=shapes(prepared),
        iteration_ns=prepared.iteration_ns(),
        first_call_ns=prepared.once_ns["first_call"] if prepared.can.caches else None,
    )  # fmt: skip
    if not prepared.can.gradients:
        return msgspec.structs.replace(result, memory=Memory(reason=prepared.can.reason))
    prepared.iterate()
    try:
        exact, judged, words = examine(prepared, job)
    except accuracy.NoReferenceError as reason:
        infinite = not_finite(prepared, prepared.gradient())
        if infinite:
            return msgspec.structs.replace(result, status="wrong-gradient", message=wrong(infinite))
        warning = Warning(code=Code.UNCHECKED, reason=str(reason))
        result = msgspec.structs.replace(result, warnings=[warning])
    else:
        result = msgspec.structs.replace(result, reference=exact, accuracy=judged)
        if judged is None or judged.relative_error > judged.tolerance:
            return msgspec.structs.replace(result, status="wrong-gradient", message=wrong(words))
    result = msgspec.structs.replace(result, tape=prepared.session.tape())
    if not job.settings.memory:
        return msgspec.structs.replace(result, memory=Memory(reason="switched off with --no-memory"))

    def make() -> tuple[Callable[[], Any], ...]:
        return prepared.calls(prepared.make())

    def record() -> tuple[Callable[[], Any], ...]:
        return prepared.recording(prepared.make())

    if prepared.session.device is not None:
        measured = device_memory.measure(prepared.session.device, make, record, prepared.session.synchronize)
    else:
        measured = memory.measure(make, record, plain(prepared), result.iteration_ns or 0.0)
    return msgspec.structs.replace(result, memory=measured)


def shapes(prepared: Prepared) -> dict[str, list[int]]:
    """The shapes of a tensor workload's inputs."""
    if prepared.workload.kind == "scalar":
        return {}
    names = prepared.workload.names(len(prepared.inputs))
    return {name: list(x.shape) for name, x in zip(names, prepared.inputs, strict=True)}


def examine(prepared: Prepared, job: Job) -> tuple[accuracy.Exact, Accuracy | None, str]:
    """The reference, how far the last gradient is from it, and that in words; None if no number says how far."""
    workload, inputs, params = prepared.workload, prepared.inputs, job.cell.params
    if workload.kind == "tensor":
        from gradmark.measure.reference import directional

        slopes = job.reference or directional.reference_of(workload, inputs, params)
        got = prepared.gradient()
        if infinite := not_finite(prepared, got):
            return slopes, None, infinite
        return slopes, *directional.judge(workload, inputs, params, got, slopes, prepared.can.tolerance)
    if job.reference is None:
        exact, name, is_exact = accuracy.reference_of(workload, inputs, params)
    else:
        exact, name, is_exact = job.reference, job.reference_name, job.reference_name == accuracy.EXACT
    got = prepared.gradient()
    if infinite := not_finite(prepared, got):
        return exact, None, infinite
    judged = accuracy.judge(got, exact, name, prepared.can.tolerance, is_exact=is_exact)
    return exact, judged, f"is off by {judged.relative_error:.1e} relative"


def not_finite(prepared: Prepared, gradient: Sequence[Any]) -> str:
    """Which part of a gradient is no number, whatever it is compared with; empty if all are."""
    names = prepared.workload.names(len(prepared.inputs))
    for place, part in zip(prepared.active, gradient, strict=True):
        if isinstance(part, float):
            if not math.isfinite(part):
                return f"with respect to {names[place]} is {part}"
        else:
            import numpy as np

            infinite = part[~np.isfinite(part)]
            if infinite.size:
                return f"with respect to {names[place]} has entries that are {infinite[0]}"
    return ""


def plain(prepared: Prepared) -> tuple[Callable[[], Any], ...]:
    """An iteration of the same shape on plain floats: what a Python loop itself allocates is not the engine's.

    Of tensors, on NumPy: the results of the function are not the engine's either. A compiled engine does not run that
    loop, so nothing is taken off for it; nor for a function that plain numbers cannot run.
    """
    if prepared.can.compiled:
        return (nothing,)
    calls = _on_plain_numbers(prepared)
    try:
        calls[0]()
    except Exception:
        return (nothing,)
    return calls


def _on_plain_numbers(prepared: Prepared) -> tuple[Callable[[], Any], ...]:
    if prepared.workload.kind == "tensor":
        from gradmark.engines.numpy_arrays import ARRAYS

        return (bound(prepared.workload, ARRAYS, prepared.inputs, prepared.params), nothing)
    f = partial(prepared.workload.function, FLOATS, **prepared.params)
    values = list(prepared.inputs)

    def one() -> None:
        f(values[0])

    def many() -> None:
        xs = [float(v) for v in values]
        f(*xs)

    return (one if len(values) == 1 else many, nothing)


def wrong(words: str) -> str:
    """A wrong gradient in words."""
    return f"the gradient {words}"


def check(prepared: Prepared, job: Job) -> Result | None:
    """A result if the gradient of the last iteration is wrong: asked before anything is timed, and once more after."""
    if not prepared.can.gradients:
        return None
    if job.reference is None:
        infinite = not_finite(prepared, prepared.gradient())
        return Result(status="wrong-gradient", message=wrong(infinite)) if infinite else None
    _, judged, words = examine(prepared, job)
    if judged is not None and judged.relative_error <= judged.tolerance:
        return None
    return Result(status="wrong-gradient", message=wrong(words), accuracy=judged)
