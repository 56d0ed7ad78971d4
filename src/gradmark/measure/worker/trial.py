"""The trial: can a function be measured at all? Asked once, on plain numbers, before any engine sees it.

In: a job, of which the engine does not count. Out: an empty result, or status `invalid` with what is wrong.
"""

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

from gradmark.errors import InvalidWorkloadError, UnsupportedError
from gradmark.measure.job import Job, Result
from gradmark.measure.reference import exact
from gradmark.measure.worker.prepared import workload_of
from gradmark.records import Cell, Code, Warning
from gradmark.workloads.selection import where_it_failed
from gradmark.workloads.workload import Workload

# Two sums of the same arrays may be cut differently, by where the arrays lie in memory: BLAS looks at that.
SAME = 1e-9


def try_function(job: Job) -> Result:
    """Right arguments, one finite number, the same each time, a finite derivative."""
    workload, cell = workload_of(job.cell), job.cell
    first, second = (_drawn(workload, job) for _ in range(2))
    if not _alike(first, second):
        raise _invalid(cell, "draws other inputs each time; use the generator that `inputs` or `arrays` is given")
    _refuse_inputs(workload, first, cell)
    ops = _plain_operations(workload)
    _refuse_arguments(workload, ops, first, cell)
    try:
        values = [_value(workload, ops, inputs, cell) for inputs in (first, first, second)]
    except UnsupportedError as error:
        # more than plain numbers can: the engines that can will run it, unchecked
        return Result(warnings=[Warning(code=Code.UNCHECKED, reason=str(error))])
    if not _alike(first, _drawn(workload, job)):
        raise _invalid(cell, "changes its inputs; write y = x + 1, not x += 1")
    if not all(_same(workload, values[0], value) for value in values):
        differing = " and ".join([str(value) for value in dict.fromkeys(values)][:2])
        raise _invalid(
            cell,
            f"is random: at the same inputs it gave {differing}; draw random numbers in `inputs` or `arrays`, not in "
            "the function",
        )
    try:
        _reference(workload)(workload, first, cell.params)
    except exact.NoReferenceError:
        pass  # each row will say so
    except InvalidWorkloadError as error:
        raise _invalid(cell, f"cannot be measured: {error}") from error
    return Result()


def _invalid(cell: Cell, what: str) -> InvalidWorkloadError:
    return InvalidWorkloadError(f"{cell.row} {what}")


def _drawn(workload: Workload, job: Job) -> list[Any]:
    try:
        return workload.draw(job.settings.seed, job.cell.params, "float64")
    except Exception as error:
        raise _invalid(job.cell, f"has no inputs: {where_it_failed(error)}") from error


def _alike(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Bit for bit."""

    def bits(x: Any) -> Any:
        return (x.shape, x.dtype.str, x.tobytes()) if hasattr(x, "tobytes") else float(x).hex()

    return [bits(x) for x in one] == [bits(x) for x in other]


def _refuse_inputs(workload: Workload, inputs: Sequence[Any], cell: Cell) -> None:
    names = workload.names(len(inputs))
    if not workload.active(inputs):
        raise _invalid(cell, "has no input to differentiate; give it one that is a floating number and not fixed")
    for name, x in zip(names, inputs, strict=True):
        finite = math.isfinite(x) if isinstance(x, float) else x.dtype.kind != "f" or math.isfinite(abs(x).sum())
        if not finite:
            raise _invalid(cell, f"draws an input that is not finite: {name}")


def _plain_operations(workload: Workload) -> Any:
    if workload.kind == "scalar":
        from gradmark.engines.floats import FLOATS

        return FLOATS
    from gradmark.engines.numpy_arrays import ARRAYS

    return ARRAYS


def _refuse_arguments(workload: Workload, ops: Any, inputs: Sequence[Any], cell: Cell) -> None:
    try:
        signature = inspect.signature(workload.function)
    except (TypeError, ValueError):
        return  # calling it will show
    try:
        signature.bind(ops, *inputs, **cell.params)
    except TypeError as error:
        given = ", ".join(["ops", f"{len(inputs)} inputs" if len(inputs) != 1 else "1 input", *cell.params])
        raise _invalid(cell, f"cannot be called with {given}: {error}; it is {cell.workload}{signature}") from None


def _value(workload: Workload, ops: Any, inputs: Sequence[Any], cell: Cell) -> float:
    """The result at these inputs, as one finite number."""
    try:
        result = workload.function(ops, *inputs, **cell.params)
    except UnsupportedError:
        raise
    except AttributeError as error:
        if any(error.obj is x for x in inputs) or isinstance(error.obj, float):
            raise UnsupportedError(f"plain numbers have no {error.name}, which this function needs") from error
        raise _invalid(cell, f"fails on plain numbers: {where_it_failed(error)}") from error
    except MemoryError:
        raise
    except Exception as error:
        raise _invalid(cell, f"fails on plain numbers: {where_it_failed(error)}") from error
    number = _number(result, cell)
    if not math.isfinite(number):
        raise _invalid(cell, f"is {number} at the chosen inputs; choose others")
    return number


def _number(result: Any, cell: Cell) -> float:
    if result is None:
        raise _invalid(cell, "returned nothing; a workload returns one number")
    shape = getattr(result, "shape", ())
    count = math.prod(shape) if shape else len(result) if isinstance(result, list | tuple | dict) else None
    if count is not None:
        many = "1 number in a list" if count == 1 else f"{count} numbers"
        words = f"an array of shape {tuple(shape)}" if shape else many
        raise _invalid(cell, f"returned {words}; a workload returns one number")
    try:
        if isinstance(result, str):
            raise TypeError
        return float(result)
    except (TypeError, ValueError):
        raise _invalid(cell, f"returned {type(result).__name__}; a workload returns one number") from None


def _same(workload: Workload, one: float, other: float) -> bool:
    """Of numbers bit for bit, of arrays to rounding."""
    if workload.kind == "scalar":
        return one == other
    return math.isclose(one, other, rel_tol=SAME, abs_tol=SAME)


def _reference(workload: Workload) -> Callable[..., Any]:
    if workload.kind == "scalar":
        return exact.reference_of
    from gradmark.measure.reference import directional

    return directional.reference_of
