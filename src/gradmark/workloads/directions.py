"""Directions: along what a derivative is taken, the same for every engine, drawn from the seed as inputs are.

In: a workload, its inputs and the shape of its result. Out: the tangents of a jvp or hvp, the cotangent of a vjp.
"""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from gradmark.records import Param
from gradmark.workloads.workload import Workload

# Every entry counts, with either sign, and no two are alike: else errors could cancel, or fall on a zero.
LEAST, MOST = 0.5, 1.0


def tangents(workload: Workload, seed: int, params: Mapping[str, Param], inputs: Sequence[Any]) -> list[Any]:
    """A direction of the differentiated inputs: for each a number, or an array like it.

    >>> from gradmark.workloads.lookup import named
    >>> [tangent] = tangents(named("expression")[0], 0, {}, [0.7])
    >>> 0.5 <= abs(tangent) <= 1.0
    True
    """
    draw = workload.source(seed, params, "tangents")
    return [_like(inputs[place], draw) for place in workload.active(inputs)]


def cotangent(workload: Workload, seed: int, params: Mapping[str, Param], result: Any) -> Any:
    """What the entries of a result are weighted with: a number, a list of numbers, or an array like the result."""
    draw = workload.source(seed, params, "cotangent")
    return [_number(draw) for _ in result] if isinstance(result, list | tuple) else _like(result, draw)


def _number(draw: random.Random) -> float:
    return math.copysign(draw.uniform(LEAST, MOST), draw.random() - 0.5)


def _like(thing: Any, draw: random.Random) -> Any:
    if isinstance(thing, float):
        return _number(draw)
    import numpy as np

    numbers = np.random.default_rng(draw.getrandbits(64)).uniform(-1.0, 1.0, size=np.shape(thing))
    away = np.copysign(LEAST + (MOST - LEAST) * abs(numbers), numbers)
    return away.astype(thing.dtype)
