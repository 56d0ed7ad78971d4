"""particle and saddle: GradBench's functions are whole descents, of which our workloads are what goes down.

So no tool can be asked for the derivative that one of our rows is of; as a tool we go the whole way.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gradmark.workloads.gradbench.eval import array, number
from gradmark.workloads.workload import Workload


@dataclass(frozen=True, kw_only=True)
class Descent:
    """One eval, of four functions that differ in modes alone.

    workload: what goes down. start: where from, of the input. inside: of the workload and where it ended, what goes
    down after it. output: of where all ended.
    """

    module: str
    workload: str
    start: Callable[[Any], list[float]]
    inside: Callable[[Workload, Sequence[float]], Workload] | None = None
    output: Callable[[list[float]], Any]


def _within(saddle: Workload, x: Sequence[float]) -> Workload:
    """What is largest at the y of the saddle, the other way up: |y|² - |x|²."""
    square = sum(number * number for number in x)

    def fall(_ops: Any, u: Any, v: Any, **_sizes: Any) -> Any:
        return (u * u + v * v) - square

    return dataclasses.replace(saddle, function=fall)


DESCENTS = {
    "particle": Descent(
        module="particle",
        workload="particle",
        start=lambda given: [number(given["w"])],
        output=lambda ends: ends[0],
    ),
    "saddle": Descent(
        module="saddle",
        workload="saddle",
        start=lambda given: array(given["start"], 2).tolist(),
        inside=_within,
        output=lambda ends: ends,
    ),
}
