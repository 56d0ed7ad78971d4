"""Published ratios for the suite `literature`: how many times as long as its function a derivative takes others.

In: a workload and its size. Out: what each source states of the same problem, at that size or at the nearest that it
has. The numbers are in published.json, which `benchmarks/published.py` made of the sources that it names.
"""

import functools
import math
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files

import msgspec

from gradmark.records import Param
from gradmark.records.published import Published, Stated
from gradmark.workloads.gradbench.evals import of_workload

# Problems that are no eval of GradBench: their workloads, and how sources write their sizes.
OTHERS = {"adbench_gmm": "{d}_{k}_{n}"}
ARRAYS = "_array"


@functools.cache
def published() -> Published:
    """The whole table."""
    data = files("gradmark.workloads").joinpath("published.json").read_bytes()
    return msgspec.json.decode(data, type=Published)


def problem_of(workload: str, params: Mapping[str, Param]) -> tuple[str, str] | None:
    """What sources call a workload, and its size.

    >>> problem_of("lstm_array", {"l": 2, "c": 1024})
    ('lstm', 'l=2,c=1024')
    """
    other = workload.removesuffix(ARRAYS)
    if other in OTHERS:
        return other, OTHERS[other].format(**params)
    problem = of_workload(workload)
    return None if problem is None or not problem.in_statistics else (problem.module, problem.size(params))


def stated(workload: str, params: Mapping[str, Param]) -> list[Stated]:
    """What each source states of a workload at a size; nothing of a workload that none of them has."""
    named = problem_of(workload, params)
    if named is None:
        return []
    problem, size = named
    known = published()
    statements = []
    for source, problems in known.ratios.items():
        sizes = problems.get(problem)
        if sizes:
            nearest = size if size in sizes else min(sizes, key=lambda other: _distance(size, other))
            statements.append(
                Stated(
                    source=known.sources[source],
                    problem=problem,
                    size=nearest,
                    exact=nearest == size,
                    ratios=sorted(sizes[nearest].items(), key=lambda pair: pair[1]),
                )
            )
    return statements


def _distance(one: str, other: str) -> float:
    """How far apart two sizes are, by the factors between their numbers."""
    pairs = zip(_numbers(one), _numbers(other), strict=False)
    return sum(abs(math.log(max(a, 1) / max(b, 1))) for a, b in pairs)


def _numbers(size: str) -> Sequence[int]:
    return [int(number) for number in re.findall(r"\d+", size)]
