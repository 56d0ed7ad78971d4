"""The inspection: is the gradient right, and what does a recording hold? Asked once, before anything is timed.

In: a job. Out: accuracy, tape size and memory, or a wrong gradient with the reason.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from gradmark.engines.floats import FLOATS
from gradmark.engines.protocol import bound
from gradmark.measure.job import Job, Result
from gradmark.measure.reference.exact import NoReferenceError
from gradmark.measure.worker import device_memory, memory
from gradmark.measure.worker.check import examine, not_finite, wrong
from gradmark.measure.worker.prepared import Prepared
from gradmark.measure.worker.timer import nothing
from gradmark.records import Code, Memory, Warning


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
    except NoReferenceError as reason:
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
