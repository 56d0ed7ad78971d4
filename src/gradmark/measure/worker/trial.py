"""The trial: can a function be measured at all? Asked once, on plain numbers, before any engine sees it.

In: a job, of which the engine does not count. Out: an empty result, or status `invalid` with what is wrong.
"""

import difflib
import inspect
import math
import numbers
import random
from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

from gradmark.errors import InvalidWorkloadError, UnsupportedError
from gradmark.measure.job import Job, Result
from gradmark.measure.reference import exact
from gradmark.measure.worker.prepared import workload_of
from gradmark.measure.worker.session import ordinal
from gradmark.records import Cell, Code, Warning
from gradmark.workloads.lookup import where_it_failed
from gradmark.workloads.vocabulary import SCALAR_FUNCTIONS, TENSOR_FUNCTIONS
from gradmark.workloads.workload import Workload, parameters

# Two sums of the same arrays may be cut differently, by where the arrays lie in memory: BLAS looks at that.
SAME = 1e-9
# How far from the inputs a function is tried that seems not to depend on them.
SCALES = (-1e3, -1.0, -1e-3, 0.0, 1e-3, 0.5, 2.0, 1e3, 1e6)


def try_function(job: Job) -> Result:
    """Right arguments, one finite number, the same each time, a finite derivative."""
    workload, cell = workload_of(job.cell), job.cell
    _refuse_given(workload, job)
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
        differing = ", ".join([str(value) for value in dict.fromkeys(values)][:2])
        raise _invalid(cell, f"gives different values at the same inputs ({differing}): it is random or keeps state")
    if workload.result == "array":
        workload = summed(workload)
    try:
        slopes = _slopes(workload, first, cell)
    except exact.NoReferenceError:
        return Result()  # each row will say so
    except InvalidWorkloadError as error:
        raise _invalid(cell, f"cannot be measured: {error}") from error
    if not any(slopes) and _is_constant(workload, ops, first, cell):
        raise _invalid(cell, f"does not depend on its inputs: it is {values[0]} at all that were tried")
    return Result()


def _invalid(cell: Cell, what: str) -> InvalidWorkloadError:
    return InvalidWorkloadError(f"{cell.row} {what}")


def _drawn(workload: Workload, job: Job) -> list[Any]:
    try:
        return workload.draw(job.settings.seed, job.cell.params, "float64")
    except InvalidWorkloadError:  # of our own suites: it says what is wrong
        raise
    except (Exception, SystemExit) as error:
        raise _invalid(job.cell, f"has no inputs: {where_it_failed(error)}") from error


def _refuse_given(workload: Workload, job: Job) -> None:
    """Raises if `inputs` or `arrays` cannot be called, or gives no list of numbers or arrays."""
    name, function = ("inputs", workload.inputs) if workload.arrays is None else ("arrays", workload.arrays)
    wanted = "numbers" if workload.arrays is None else "arrays"
    known = parameters(function)
    if known or hasattr(function, "__code__"):  # else Python cannot tell
        sizes = {key: value for key, value in job.cell.params.items() if key in known}
        try:
            inspect.Signature(list(known.values())).bind(None, **sizes)
        except TypeError as error:
            raise _invalid(job.cell, f"has wrong inputs: {name} takes (draw, **sizes): {error}") from None
    try:
        drawn = workload.given(job.settings.seed, job.cell.params)
    except InvalidWorkloadError:  # of our own suites: it says what is wrong
        raise
    except (Exception, SystemExit) as error:
        raise _invalid(job.cell, f"has no inputs: {where_it_failed(error)}") from error
    if isinstance(drawn, str | bytes) or not hasattr(drawn, "__iter__") or (wanted == "arrays" and _is_array(drawn)):
        what = "one array" if _is_array(drawn) else _a(drawn)
        raise _invalid(job.cell, f"has wrong inputs: {name} gave {what}; expected a list of {wanted}")
    if not isinstance(drawn, Sequence):
        return  # what is gone after one reading will be read when it is drawn
    for place, part in enumerate(drawn):
        if wanted == "numbers" and not _is_number(part):
            raise _invalid(job.cell, f"has wrong inputs: {name} gave {part!r} {ordinal(place)}; expected {wanted}")


def _is_array(thing: Any) -> bool:
    return hasattr(thing, "dtype") and hasattr(thing, "shape")


def _is_number(thing: Any) -> bool:
    """Python's, NumPy's, or an array that is one number."""
    return isinstance(thing, numbers.Real) or (hasattr(thing, "__float__") and not isinstance(thing, str))


def _a(thing: Any) -> str:
    name = "nothing" if thing is None else type(thing).__name__
    return name if thing is None else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


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
            raise _invalid(cell, f"has an input that is not finite: {name}")


def _plain_operations(workload: Workload) -> Any:
    """The operations on plain numbers. A name that no engine's `ops` is to have makes the function invalid."""
    if workload.kind == "scalar":
        from gradmark.engines.floats import FLOATS

        plain, known, others, kind = FLOATS, SCALAR_FUNCTIONS, TENSOR_FUNCTIONS, "numbers"
    else:
        from gradmark.engines.numpy_arrays import ARRAYS

        plain, known, others, kind = ARRAYS, TENSOR_FUNCTIONS, SCALAR_FUNCTIONS, "arrays"

    def strange(name: str) -> Any:
        if name.startswith("__"):  # Python itself asks modules for such names
            raise AttributeError(name)
        if name in others:
            raise InvalidWorkloadError(f"ops has no {name} for {kind}")
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else "its names are in gradmark.workloads.vocabulary"
        raise InvalidWorkloadError(f"ops has no {name}; {hint}")

    ops = ModuleType("ops")
    vars(ops).update({name: getattr(plain, name) for name in known}, __getattr__=strange)
    return ops


def _refuse_arguments(workload: Workload, ops: Any, inputs: Sequence[Any], cell: Cell) -> None:
    try:
        signature = inspect.signature(workload.function)
    except (TypeError, ValueError):
        return  # calling it will show
    try:
        signature.bind(ops, *inputs, **cell.params)
    except TypeError as error:
        arguments = ", ".join(["ops", f"{len(inputs)} inputs" if len(inputs) != 1 else "1 input", *cell.params])
        raise _invalid(cell, f"cannot be called with {arguments}: {error}; it is {cell.workload}{signature}") from None


def _value(workload: Workload, ops: Any, inputs: Sequence[Any], cell: Cell) -> float:
    """The result at these inputs, as one finite number."""
    try:
        result = workload.function(ops, *inputs, **cell.params)
    except UnsupportedError:
        raise
    except InvalidWorkloadError as error:
        raise _invalid(cell, f"cannot be measured: {error}") from error
    except AttributeError as error:
        if any(error.obj is x for x in inputs) or isinstance(error.obj, float):
            raise UnsupportedError(f"plain numbers have no {error.name}, which this function needs") from error
        raise _invalid(cell, f"fails on plain numbers: {where_it_failed(error)}") from error
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:
        raise _invalid(cell, f"fails on plain numbers: {where_it_failed(error)}") from error
    number = _number(result, cell) if workload.result == "number" else _numbers(result, workload, cell)
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
        raise _invalid(cell, f"returned {words}; a workload returns one number, unless it says result='array'")
    try:
        if isinstance(result, str | bool) or getattr(getattr(result, "dtype", None), "kind", "") == "b":
            raise TypeError
        return float(result)
    except (TypeError, ValueError):
        raise _invalid(cell, f"returned {_a(result)}; a workload returns one number") from None


def _numbers(result: Any, workload: Workload, cell: Cell) -> float:
    """Several numbers as one: their sum, each with a weight of its own; one that is not finite by itself."""
    from gradmark.measure.reference.flat import joined, weighted

    expected = "a list of numbers" if workload.kind == "scalar" else "one array"
    fits = isinstance(result, list | tuple) if workload.kind == "scalar" else bool(getattr(result, "shape", ()))
    if not fits:
        raise _invalid(cell, f"returned {_a(result)}; with result='array' it returns {expected}")
    if not len(result):
        raise _invalid(cell, f"returned nothing in {_a(result)}; with result='array' it returns {expected}")
    entries = joined([_number(y, cell) for y in result] if workload.kind == "scalar" else [result])
    return next((float(y) for y in entries if not math.isfinite(y)), weighted(entries))


def summed(workload: Workload) -> Workload:
    """The same with one number for a result: the sum of all, each with a weight of its own."""
    from gradmark.measure.reference.flat import weights

    def function(ops: Any, *inputs: Any, **sizes: Any) -> Any:
        result = workload.function(ops, *inputs, **sizes)
        if workload.kind == "scalar":
            return sum(y * weight for y, weight in zip(result, weights(len(result)).tolist(), strict=True))
        return (result * weights(result.size).reshape(result.shape)).sum()

    # the names of inputs say which are fixed
    function.__signature__ = inspect.signature(workload.function)  # type: ignore[attr-defined]
    return replace(workload, function=function, result="number", derivatives=())


def _same(workload: Workload, one: float, other: float) -> bool:
    """Of numbers bit for bit, of arrays to rounding."""
    if workload.kind == "scalar":
        return one == other
    return math.isclose(one, other, rel_tol=SAME, abs_tol=SAME)


def _slopes(workload: Workload, inputs: Sequence[Any], cell: Cell) -> list[float]:
    """The reference of the gradient."""
    if workload.kind == "scalar":
        return [slope for slope, _ in exact.reference_of(workload, inputs, cell.params)[0]]
    from gradmark.measure.reference import directional

    return [slope for slope, _ in directional.reference_of(workload, inputs, cell.params)]


def _is_constant(workload: Workload, ops: Any, inputs: Sequence[Any], cell: Cell) -> bool:
    """Whether a function gives the same number far from its inputs too: a slope of 0 alone may be that of relu."""
    draw = random.Random(0)
    middle = _value(workload, ops, inputs, cell)
    active = workload.active(inputs)
    for scale in SCALES:
        moved = list(inputs)
        for place in active:
            moved[place] = moved[place] * (scale * draw.uniform(0.5, 1.5)) + scale
        try:
            if float(workload.function(ops, *moved, **cell.params)) != middle:
                return False
        except Exception:
            return False  # it looks at them
    return True
