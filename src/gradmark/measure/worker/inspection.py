"""The inspection: is the result right and the work where it is timed, and what does a recording hold? Asked once.

In: a job. Out: accuracy, tape size and memory, or what is wrong, with the reason. Nothing is timed yet.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from gradmark.engines.floats import FLOATS
from gradmark.engines.protocol import DeviceCounts, DeviceTimer, bound
from gradmark.errors import GradmarkError
from gradmark.measure.job import Expected, Job, Result
from gradmark.measure.reference.elsewhere import STEPS, expected, others
from gradmark.measure.reference.exact import NoReferenceError
from gradmark.measure.worker import device_memory, memory, outside
from gradmark.measure.worker.calls import calls
from gradmark.measure.worker.check import check_value, examine, follow, not_finite, wrong
from gradmark.measure.worker.device.timers import timer_of
from gradmark.measure.worker.device.work import computed_elsewhere, device_work
from gradmark.measure.worker.outside import Outside, evaluated_outside, paid_outside
from gradmark.measure.worker.prepared import Prepared
from gradmark.measure.worker.timer import nothing
from gradmark.records import Code, Memory, Warning
from gradmark.records.cell import USUAL_DEVICE
from gradmark.records.derivative import USUAL_DERIVATIVE

# Evaluations are counted in iterations that take no longer: to look at every call makes them several times as long.
COUNTED_NS = 2e9


def inspect(job: Job) -> Result:
    """Accuracy, tape size and memory of a cell."""
    prepared = Prepared(job)
    timer = timer_of(prepared) if job.cell.device != USUAL_DEVICE else None
    workload, cell = prepared.workload, job.cell
    flops, moved = workload.work(cell.params, cell.dtype)
    result = Result(
        operations=workload.count(cell.params), flops=flops, bytes=moved, shapes=shapes(prepared),
        calls=calls(workload, prepared.inputs, cell.params) if workload.kind == "scalar" else {},
        iteration_ns=prepared.iteration_ns(),
        first_call_ns=prepared.once_ns["first_call"] if prepared.can.caches else None, mode=prepared.mode,
    )  # fmt: skip
    if not prepared.differentiates:
        result = msgspec.structs.replace(result, memory=Memory(reason=prepared.can.reason))
        return honest(prepared, result, timer)
    prepared.iterate()
    try:
        exact, judged, words = examine(prepared, job)
    except NoReferenceError as reason:
        infinite = not_finite(prepared, prepared.result())
        if infinite:
            return msgspec.structs.replace(result, status="wrong-gradient", message=wrong(prepared, infinite))
        warning = Warning(code=Code.UNCHECKED, reason=str(reason))
        result = msgspec.structs.replace(result, warnings=[warning])
    else:
        result = msgspec.structs.replace(result, reference=exact, accuracy=judged)
        if judged is None or judged.relative_error > judged.tolerance:
            return msgspec.structs.replace(result, status="wrong-gradient", message=wrong(prepared, words))
    result = honest(prepared, result, timer)
    if result.status != "ok":
        return result
    result = msgspec.structs.replace(
        result,
        tape=prepared.session.tape(),
        sparsity=prepared.session.sparsity() if prepared.session.sparsity is not None else None,
        evaluations=evaluations(prepared, result.iteration_ns or 0.0),
        device_work=device_work(prepared, timer) if timer is not None else None,
    )
    if prepared.session.clock is not None:
        elsewhere = Memory(reason="the work is done in a process that the engine drives")
        return msgspec.structs.replace(result, memory=elsewhere)
    if not job.settings.memory:
        return msgspec.structs.replace(result, memory=Memory(reason="switched off with --no-memory"))

    def make() -> tuple[Callable[[], Any], ...]:
        return prepared.calls(prepared.make())

    def record() -> tuple[Callable[[], Any], ...]:
        return prepared.recording(prepared.make())

    if timer is not None and prepared.session.device is None:
        measured = Memory(reason="the engine does not report it what it takes of its device's memory")
    elif prepared.session.device is not None:
        # the sessions that are counted are others: only the device knows when they are done
        wait = prepared.session.synchronize if timer is None else timer.synchronize
        measured = device_memory.measure(prepared.session.device, make, record, wait)
    else:
        measured = memory.measure(make, record, plain(prepared), result.iteration_ns or 0.0)
    return msgspec.structs.replace(result, memory=measured)


def evaluations(prepared: Prepared, iteration_ns: float) -> float | None:
    """How often an iteration evaluates the function; None for gradients, and if nobody can tell.

    A compiled engine does not call the function, and may know itself what it does instead.
    """
    if prepared.cell.derivative == USUAL_DERIVATIVE:
        return None
    if prepared.session.evaluations is not None:
        return float(prepared.session.evaluations())
    calls = outside.evaluations(prepared.workload, prepared.iterate) if iteration_ns < COUNTED_NS else 0
    return float(calls) or None


def honest(prepared: Prepared, result: Result, timer: DeviceTimer | None = None) -> Result:
    """The result, if values are right, follow the inputs, and are computed where they are timed; else what is wrong.

    On a device its kernels say where it computes, if they can be counted; the host's clock says less.
    """
    value = prepared.value(prepared.iterate())
    if value is None and prepared.cell.derivative == USUAL_DERIVATIVE:
        result = msgspec.structs.replace(result, warnings=[*result.warnings, Warning(code=Code.NO_VALUE)])
    known, failed = followed(prepared, value)
    result = msgspec.structs.replace(result, expected=known)
    iteration_ns = result.iteration_ns or 0.0
    if prepared.session.clock is not None and failed is None:  # nothing is timed here, so nothing can be hidden
        return result
    failed = failed or evaluated_outside(prepared, iteration_ns)
    if timer is not None and failed is None:
        failed = computed_elsewhere(prepared, timer)
        if failed is None and isinstance(timer.count(nothing), DeviceCounts):
            return result
    paid = paid_outside(prepared, iteration_ns) if failed is None else Outside(failed)
    if paid.failed is not None:
        wrong_gradient = {"accuracy": paid.failed.accuracy} if paid.failed.status == "wrong-gradient" else {}
        return msgspec.structs.replace(result, status=paid.failed.status, message=paid.failed.message, **wrong_gradient)
    return msgspec.structs.replace(result, usual=paid.usual, warnings=[*result.warnings, *paid.warnings])


def followed(prepared: Prepared, value: float | None) -> tuple[Expected | None, Result | None]:
    """What is expected on plain numbers, if they know, and a failure if the engine gives something else."""
    known, error = None, None
    for step in STEPS:  # nearer, if the function is not finite so far away, or takes a branch that was not compiled
        other = others(prepared.workload, prepared.inputs, step)
        try:
            known = expected(prepared.workload, prepared.inputs, other, prepared.params, step, prepared.derivative)
        except NoReferenceError:
            continue
        try:
            return known, check_value(prepared, known, value) or follow(prepared, known)
        except GradmarkError:
            raise
        except Exception as raised:
            error = raised
    if error is not None:
        raise error
    return known, None


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
