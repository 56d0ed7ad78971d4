"""Streams: the random numbers of published generators, the same ones that other tools get.

GradBench seeds NumPy's generator once for an eval and draws the inputs of one size after another. So the numbers of a
size come after those of all sizes before it. A size that is not published begins a stream of its own: that is what
GradBench does if it is asked for that size alone.
"""

from collections.abc import Sequence
from typing import Any

# Of GradBench: https://github.com/gradbench/gradbench, python/gradbench/gradbench/evals/*/run.py (MIT licence).
SEED = 31337


def uniform(wanted: Any, count: int, published: Sequence[tuple[Any, int]] = ()) -> Any:
    """So many numbers from 0 to 1 for the wanted size.

    published: the sizes in the order in which the generator comes to them, each with how many numbers it takes.

    >>> uniform(5, 2).round(6).tolist()
    [0.737535, 0.57709]
    >>> uniform(7, 1, published=[(3, 1), (7, 1)]).round(6).tolist()
    [0.57709]
    """
    import numpy as np

    stream = np.random.RandomState(SEED)
    if any(size == wanted for size, _ in published):
        for size, taken in published:
            if size == wanted:
                break
            stream.random_sample(taken)
    return stream.random_sample(count)
