"""Flat: a workload's function on plain numbers as one function of one vector, and results as vectors and matrices.

In: a workload and its inputs. Out: what every derivative can be compared in, whatever an engine's own shapes are.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradmark.records import Param
from gradmark.workloads.workload import Workload

Vector = Any  # NumPy's own types say nothing of shapes


def joined(parts: Sequence[Any]) -> Vector:
    """Numbers or arrays, one after another, as one vector of doubles.

    >>> joined([1.0, np.array([[2, 3]])]).tolist()
    [1.0, 2.0, 3.0]
    """
    return np.concatenate([np.asarray(part, dtype=np.float64).ravel() for part in parts] or [np.zeros(0)])


def sizes_of(workload: Workload, inputs: Sequence[Any]) -> list[int]:
    """How many numbers each differentiated input is."""
    return [int(np.size(inputs[place])) for place in workload.active(inputs)]


def point_of(workload: Workload, inputs: Sequence[Any]) -> Vector:
    """The differentiated inputs as one vector."""
    return joined([inputs[place] for place in workload.active(inputs)])


def in_floats(workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param]) -> Callable[[Vector], Vector]:
    """The function on plain numbers in double precision, from vector to vector; one number is a vector of one."""
    if workload.kind == "scalar":
        from gradmark.engines.floats import FLOATS

        f = partial(workload.function, FLOATS, **params)
        return lambda point: joined(_several(f(*point.tolist())))
    from gradmark.engines.numpy_arrays import in_doubles

    g, fixed = in_doubles(workload, inputs, params)
    active = workload.active(inputs)
    ends = np.cumsum(sizes_of(workload, inputs))[:-1]

    def call(point: Vector) -> Vector:
        arguments = list(fixed)
        for place, part in zip(active, np.split(point, ends), strict=True):
            arguments[place] = part.reshape(fixed[place].shape)
        return joined([g(*arguments)])

    return call


def _several(result: Any) -> Sequence[Any]:
    return result if isinstance(result, list | tuple) else [result]


def weighted(result: Any) -> float:
    """A result as one number: itself, or all its entries, each with a weight of its own, so that none can hide.

    >>> weighted(3.0), round(weighted([1.0, 1.0]), 6)
    (3.0, 0.124156)
    """
    if isinstance(result, float | int):
        return float(result)
    entries = joined(_several(result))
    return float(entries[0]) if np.ndim(result) == 0 else float(entries @ weights(entries.size))


def weights(count: int) -> Vector:
    """The weights of so many entries."""
    return np.cos(1.0 + np.arange(count))
