"""Asked: what a session is asked for, with its directions, and what it gives: checked, and as plain numbers.

In: a cell, its workload and inputs. Out: a `Derivative`, or why it cannot be had; then results, or `EngineError`.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradmark import units
from gradmark.engines.protocol import Derivative, Session
from gradmark.errors import EngineError, UnsupportedError
from gradmark.measure.reference.flat import joined
from gradmark.measure.worker.session import described, gradients_of, numbers_of
from gradmark.records import Cell, Settings
from gradmark.records.derivative import FACTS, SPARSE, USUAL_DERIVATIVE, with_article
from gradmark.workloads.directions import cotangent, tangents
from gradmark.workloads.workload import Workload

# A dense matrix is held about so often at once: by the engine, with what it is made of, and where it is looked at.
COPIES = 3


def derivative_of(workload: Workload, inputs: Sequence[Any], cell: Cell, settings: Settings) -> Derivative:
    """What a cell asks for. Raises `UnsupportedError` for a dense matrix that would not fit into memory."""
    facts = FACTS[cell.derivative]
    result = plain_result(workload, inputs, cell) if workload.result == "array" else None
    derivative = Derivative(
        name=cell.derivative,
        tangents=(tangents(workload, settings.seed, cell.params, inputs) if cell.derivative in ("jvp", "hvp") else ()),
        cotangent=(
            cotangent(workload, settings.seed, cell.params, 1.0 if result is None else result)
            if cell.derivative == "vjp"
            else None
        ),
        shape=() if result is None else np.shape(result),
    )
    if facts.form == "matrix":
        _refuse_large(workload, inputs, derivative, settings.memory_limit_bytes)
    return derivative


def plain_result(workload: Workload, inputs: Sequence[Any], cell: Cell) -> Any:
    """The result on plain numbers: a list of floats, or an array of the cell's dtype. Engines give one like it."""
    from functools import partial

    try:
        if workload.kind == "scalar":
            from gradmark.engines.floats import FLOATS

            return [float(y) for y in partial(workload.function, FLOATS, **cell.params)(*inputs)]
        from gradmark.engines.numpy_arrays import ARRAYS

        return np.asarray(partial(workload.function, ARRAYS, **cell.params)(*inputs), dtype=cell.dtype)
    except (UnsupportedError, TypeError, AttributeError, ValueError) as error:
        raise UnsupportedError(
            f"plain numbers cannot run the function, which says what is asked for: {error}"
        ) from error


def _refuse_large(workload: Workload, inputs: Sequence[Any], derivative: Derivative, limit_bytes: int) -> None:
    columns = sum(int(np.size(inputs[place])) for place in workload.active(inputs))
    rows = math.prod(derivative.shape) if FACTS[derivative.name].order == 1 else columns
    size = rows * columns * (8 if workload.kind == "scalar" else inputs[workload.active(inputs)[0]].dtype.itemsize)
    if COPIES * size > limit_bytes:
        raise UnsupportedError(
            f"{with_article(derivative.name)} of {rows:,} × {columns:,} numbers is {units.size(size)}, and is held "
            f"{COPIES} times: more than the limit of {units.size(limit_bytes)}. Measure -d {SPARSE[derivative.name]}, "
            "choose a smaller size, or raise --memory-limit"
        )


# --- what came


def result_of(
    session: Session, workload: Workload, inputs: Sequence[Any], derivative: Derivative, cell: Cell
) -> list[Any]:
    """The result after an iteration, in parts: of a gradient, vjp or hvp one for each input, else one."""
    if derivative.name == USUAL_DERIVATIVE:
        return gradients_of(session, workload, inputs, cell)
    assert session.result is not None  # `checked` has seen to it
    returned = session.result()
    where, form = f"engine {cell.engine!r}: result() of {with_article(derivative.name)}", FACTS[derivative.name].form
    if form == "inputs":
        parts = numbers_of(returned, where, workload, inputs)
        if workload.kind == "tensor":
            names = workload.names(len(inputs))
            for place, part in zip(workload.active(inputs), parts, strict=True):
                _refuse_shape(where, part.shape, inputs[place].shape, f" for {names[place]}")
        return parts
    if form == "sparse":
        return [_sparse(returned, where, _matrix_shape(workload, inputs, derivative))]
    try:
        array = np.asarray(returned, dtype=None if workload.kind == "tensor" else np.float64)
    except (TypeError, ValueError):
        array = np.asarray(None)
    if array.dtype.kind not in "fiu":
        raise EngineError(f"{where} returned {described(returned)}; expected numbers, as NumPy's")
    expected = derivative.shape if form == "result" else _matrix_shape(workload, inputs, derivative)
    _refuse_shape(where, array.shape, expected)
    return [array] if array.shape else [float(array)]


def _matrix_shape(workload: Workload, inputs: Sequence[Any], derivative: Derivative) -> tuple[int, int]:
    columns = sum(int(np.size(inputs[place])) for place in workload.active(inputs))
    return (math.prod(derivative.shape) if FACTS[derivative.name].order == 1 else columns), columns


def _refuse_shape(where: str, got: tuple[int, ...], expected: tuple[int, ...], whose: str = "") -> None:
    if got != expected:
        raise EngineError(f"{where} has shape {got}{whose}; expected {expected}")


def _sparse(matrix: Any, where: str, shape: tuple[int, int]) -> Any:
    from scipy import sparse

    if not sparse.issparse(matrix):
        raise EngineError(f"{where} returned {described(matrix)}; expected a matrix of scipy.sparse")
    _refuse_shape(where, matrix.shape, shape)
    return matrix.tocsr()


def entries(part: Any) -> Any:
    """The numbers of a part: an array of them; of a sparse matrix those that it holds."""
    return np.asarray(part.data if hasattr(part, "tocsr") else part)


def whole(parts: Sequence[Any]) -> Any:
    """All parts as one vector, or the matrix, in doubles."""
    if len(parts) == 1 and (hasattr(parts[0], "tocsr") or np.ndim(parts[0]) == 2):
        return parts[0].astype(np.float64)
    return joined(parts)
