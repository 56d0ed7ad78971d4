"""Dense Jacobians and Hessians of functions of arrays, with several seeds at once.

In: a function, its arguments, and which one to differentiate by. Out: arrays of the shape of a result followed by that
of the argument. Forward mode takes as many seeds as the argument has numbers, reverse mode as many as the results.
"""

import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from tapegrad.errors import InputError
from tapegrad.tensor.arguments import argument, lowered
from tapegrad.tensor.backward import reachable
from tapegrad.tensor.directions import Function, Recording, output_array, replaced
from tapegrad.tensor.gradients import value_and_gradients
from tapegrad.tensor.instruction import Instruction, Tangent
from tapegrad.tensor.namespaces import Array, namespace
from tapegrad.tensor.nesting.batching import seeds, unseeded
from tapegrad.tensor.nesting.execution import carrying
from tapegrad.tensor.nesting.levels import Level, depth
from tapegrad.tensor.nesting.traced import Traced, computes_alike, tracing
from tapegrad.tensor.tensor import Tensor
from tapegrad.tensor.trees import flat, rebuilt

Mode = Literal["forward", "reverse"]

# So many numbers may the largest array of all seeds at once have: beyond a core's cache a seed more saves nothing.
AT_ONCE = 1 << 20


def jacobian_of(f: Function, args: Sequence[Any], argnum: int, mode: Mode | None = None) -> Any:
    """All derivatives of what f returns with respect to one argument.

    For an array (or a number) and a tensor: an array of the result's shape followed by the argument's. A list or tuple
    of results of one shape counts as one array of them. For other structures: the structure of the result with that of
    the argument in place of each of its items. mode: "forward" or "reverse"; the one with fewer seeds if not given.
    """
    return dense(f, args, argnum, mode, stacking=True)


def hessian_of(f: Function, args: Sequence[Any], argnum: int) -> Any:
    """All second derivatives of f, a function that returns one number, with respect to one argument.

    For an array: an array of its shape twice. For a structure: the structure with itself in place of each item. Forward
    over reverse, with several seeds at once.
    """
    count = sum(math.prod(argument(value).shape) for value in flat(args[argnum]))
    refuse_too_large(count, count, "Hessian")
    return dense(lambda *moved: value_and_gradients(f, moved, (argnum,))[1][0], args, argnum, "forward", stacking=False)


def dense(f: Function, args: Sequence[Any], argnum: int, mode: Mode | None, *, stacking: bool) -> Any:
    """A Jacobian in the mode that was asked for, or the one with fewer seeds."""
    if mode not in (None, "forward", "reverse"):
        raise InputError(f"expected mode to be 'forward', 'reverse' or None, got {mode!r}")
    values = [argument(value) for value in flat(args[argnum])]
    inputs = sum(math.prod(value.shape) for value in values)
    if not values:
        raise InputError(f"expected an array or number to differentiate by, got {args[argnum]!r:.60}")
    if mode is None and inputs == 1:
        mode = "forward"  # nothing takes fewer seeds
    if mode != "forward" or not inputs:
        recording = Recording(f, args, (argnum,))
        outputs = sum(math.prod(array.shape) for array in recording.arrays)
        refuse_too_large(outputs, inputs, "Jacobian")
        if mode == "reverse" or not inputs or outputs <= inputs:
            return arranged(recording.result, args[argnum], list(by_rows(recording)), stacking)
        del recording
    result, blocks = by_columns(f, args, argnum, values)
    return arranged(result, args[argnum], blocks, stacking)


def portions(count: int, largest: int) -> Iterator[range]:
    """The seeds, so many at a time as are worth it."""
    step = max(1, AT_ONCE // max(1, largest))
    for start in range(0, count, step):
        yield range(start, min(count, start + step))


def unit_vectors(arrays: Sequence[Array], numbers: range, level: int) -> list[Array | None]:
    """Seeds for each array: those of the unit vectors of all arrays' numbers that come at these places."""
    units: list[Array | None] = []
    start = 0
    for array in arrays:
        size = math.prod(array.shape)
        xp = namespace(array)
        inside = range(max(numbers.start, start), min(numbers.stop, start + size))
        if len(inside):
            vectors = getattr(xp, "library", xp).zeros((len(numbers), size), array.dtype)
            for number in inside:
                vectors[number - numbers.start, number - start] = 1
            units.append(seeds(vectors.reshape(len(numbers), *array.shape), level))
        else:
            units.append(None)
        start += size
    return units


def by_rows(recording: Recording) -> Iterator[list[Array]]:
    """For each result its derivatives by each array, in reverse mode."""
    leaves = [tensor._array for tensor in recording.leaves]
    sizes = [math.prod(array.shape) for array in recording.arrays]
    largest = max(
        [
            math.prod(node.shape)
            for root in recording.nodes
            if root is not None
            for node in reachable(root)
            if type(node) is Instruction
        ],
        default=1,
    )
    parts: list[list[Array]] = [[] for _ in leaves]
    for numbers in portions(sum(sizes), max([largest, *[math.prod(x.shape) for x in leaves]])):
        with Level() as level:
            recording.propagate(unit_vectors(recording.arrays, numbers, level))
            for k, tensor in enumerate(recording.leaves):
                parts[k].append(of_all_seeds(tensor._node.grad, leaves[k], len(numbers), level))
    rows = [joined(part or [of_all_seeds(None, x, 0, 0)]) for part, x in zip(parts, leaves, strict=True)]
    start = 0
    for array, size in zip(recording.arrays, sizes, strict=True):
        yield [row[start : start + size].reshape((*array.shape, *x.shape)) for row, x in zip(rows, leaves, strict=True)]
        start += size


def by_columns(f: Function, args: Sequence[Any], argnum: int, arrays: Sequence[Array]) -> tuple[Any, list[list[Array]]]:
    """What f returned, and for each result its derivatives by each array, in forward mode."""
    sizes = [math.prod(array.shape) for array in arrays]
    parts: list[list[Array]] = []
    result: Any = None
    shapes: list[tuple[int, ...]] = []
    for numbers in portions(sum(sizes), max(sizes)):
        with Level() as outer, Level() as level:
            tangents = unit_vectors(arrays, numbers, outer)
            lifted = [carrying(array, t, level) for array, t in zip(arrays, tangents, strict=True)]
            result = f(*replaced(args, (argnum,), [args[argnum]], lifted))
            outputs = flat(result)
            if not parts:
                parts = [[] for _ in outputs]
                shapes = [output_array(output, level).shape for output in outputs]
                refuse_too_large(sum(map(math.prod, shapes)), sum(sizes), "Jacobian")
            for k, output in enumerate(outputs):
                node = output._node if type(output) is Tensor else None
                tangent = node.array if type(node) is Tangent and node.level == level else None
                parts[k].append(of_all_seeds(tangent, output_array(output, level), len(numbers), outer))
    blocks = []
    for part, shape in zip(parts, shapes, strict=True):
        columns = joined(part).reshape((sum(sizes), math.prod(shape))).T
        start, block = 0, []
        for array, size in zip(arrays, sizes, strict=True):
            block.append(columns[:, start : start + size].reshape((*shape, *array.shape)))
            start += size
        blocks.append(block)
    return result, blocks


def of_all_seeds(derivative: Array | None, array: Array, count: int, level: int) -> Array:
    """The derivatives for all seeds, along a first axis; zeros if there are none."""
    if derivative is not None:
        return unseeded(derivative, level, count)
    xp = namespace(array)
    return getattr(xp, "library", xp).zeros((count, *array.shape), array.dtype if array.dtype.kind == "f" else float)


def joined(parts: list[Array]) -> Array:
    """What was computed in portions, as one array."""
    if len(parts) == 1:
        return parts[0]
    xp = namespace(parts[0])
    if any(type(part) is Traced for part in parts):
        xp = tracing(xp)
        parts = [computes_alike(xp, part) for part in parts]
    return xp.concatenate(parts, axis=0)


def arranged(result: Any, tree: Any, blocks: list[list[Array]], stacking: bool) -> Any:
    """Blocks of derivatives in the structure of the result, that of the argument inside."""
    if stacking and isinstance(result, (list, tuple)) and result:
        shapes = {getattr(item, "shape", ()) for item in result}
        if len(shapes) == 1 and not any(isinstance(item, (list, tuple, dict)) for item in result):
            stacked = [joined([block[k][None] for block in blocks]) for k in range(len(blocks[0]))]
            return inside(tree, stacked)
    return rebuilt(result, iter([inside(tree, block) for block in blocks]))


def inside(tree: Any, block: list[Array]) -> Any:
    """The derivatives of one result in the structure of the argument."""
    return rebuilt(tree, iter([lowered(array, False, depth() > 0) for array in block]))


def memory() -> int | None:
    """How many bytes this process may have at most; None where the system does not say."""
    try:
        most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
    try:  # a container's
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return most
    return min(most, int(limit)) if limit.isdecimal() else most


def refuse_too_large(rows: int, columns: int, what: str) -> None:
    """Raises an error, before anything is computed, if a dense matrix would not fit in memory."""
    needed, most = rows * columns * 8, memory()
    if most is not None and needed > most:
        raise InputError(
            f"a dense {what} of {rows:,} × {columns:,} numbers needs {needed / 2**30:,.1f} GiB, of "
            f"{most / 2**30:,.1f} that there are; for products with it use jvp, vjp or hvp, "
            f"and for one that is mostly zeros write f for numbers, freeze it, and use program.{what.lower()}(), "
            "which gives a sparse matrix"
        )
