"""Suspects: why a cost may grow faster than the size, told by which of the other metrics grow with it.

In: the fits of one engine on one workload, and how much memory its smallest and its largest size take.
Out: sentences, each of which ends with what to look at next.
"""

from gradmark import units
from gradmark.analyse.estimates import PHASES
from gradmark.records import Fit

# In the order in which they are told: what was timed, what it left, and then the causes that nothing else showed.
ORDER = ("primal", "forward", "backward", "total", "peak_bytes", "tape", "allocations")
CAUSES = ("tape", "allocations")
CACHE = 1 << 20  # bytes: about what the caches of one core hold
OF_CACHES = 1.5  # memory is some ten times slower than caches: over three decades of sizes no more than n^1.33

SUSPECTS = {
    "primal": "the function itself does more than linear work, before any engine. "
    "Look at the workload: its loops, and the operations that it declares.",
    "function": "the function itself grows as fast, so the engine is not the first suspect. "
    "Look at how total / primal changes over the sizes.",
    "tape": "suspect repeated recording, the same operations recorded again and again. "
    "Look at the tape of the smallest size for instructions that repeat.",
    "allocations": "suspect hidden allocation, or a buffer that grows by fixed steps instead of doubling. "
    "Look at the allocations of each operator with `gradmark ops`.",
    "forward": "suspect work per recorded operation that grows, such as copying or searching what is recorded. "
    "Look at what recording one operation costs at the start and at the end of a long tape.",
    "backward": "suspect clearing (adjoints set to zero more than once) or duplicate visits. "
    "Look at how often backward touches one instruction.",
    "both": "suspect what slows forward, because it grows too. Look at backward again once forward is mended.",
    "total": "suspect what lies between forward and backward, such as reset, clearing or freeing. "
    "Look at total less forward less backward at the largest size.",
    "caches": "suspect the machine before the engine, because memory beyond the caches is slower. "
    "Look at the rate (GB/s, GFLOP/s) over the sizes, and at an engine that does the same work.",
    "peak_bytes": "suspect values that are kept longer than they are used. "
    "Look at the retained and the leaked bytes of the largest size.",
}


def suspects(fits: list[Fit], memory: tuple[float, float] | None = None) -> list[str]:
    """What to suspect for each superlinear fit of a time or of memory, and where to look next; empty if none is.

    memory: the bytes of the smallest and of the largest size, where the work is on arrays.
    """
    growing = {item.metric: item for item in fits if item.verdict == "superlinear"}
    tape = next((item.verdict for item in fits if item.metric == "tape"), "not measured")
    sentences: list[str] = []
    named: set[str] = set()  # a cause that was named beside its effect needs no sentence of its own
    for metric in ORDER:
        if metric not in growing or metric in named:
            continue
        for key in _keys(metric, growing, memory):
            named.add(key)
            sentences.append(f"{_grown(growing[metric])}{_beside(metric, key, growing, tape, memory)}: {SUSPECTS[key]}")
    return sentences


def _keys(metric: str, growing: dict[str, Fit], memory: tuple[float, float] | None) -> list[str]:
    """Which entries of SUSPECTS apply to a metric that grows."""
    # The smallest size fits into the caches, the largest does not: they can explain so much.
    cached = memory is not None and memory[0] < CACHE < memory[1] / 4
    leaves_caches = cached and metric in PHASES and growing[metric].p < OF_CACHES
    if metric == "primal":
        return ["caches" if leaves_caches else "primal"]
    # An n² function has n² operations to record, store and propagate. Only growth beyond that is the engine's.
    if "primal" in growing and growing[metric].low <= growing["primal"].high:
        return ["function"]
    if metric == "total" and ("forward" in growing or "backward" in growing):
        return []  # the sum of its parts, which are told
    if metric in CAUSES:
        return [metric]
    causes = [cause for cause in CAUSES if cause in growing]
    if causes:
        return causes
    if metric == "backward" and "forward" in growing:
        return ["both"]
    return ["caches" if leaves_caches else metric]


def _grown(item: Fit) -> str:
    return f"{item.metric} grows as n^{item.p:.2f} ({item.low:.2f} to {item.high:.2f})"


def _beside(metric: str, key: str, growing: dict[str, Fit], tape: str, memory: tuple[float, float] | None) -> str:
    """The evidence that points at this suspect: what grows too, or what does not."""
    if key in CAUSES and key != metric:
        return f", and {_grown(growing[key])}"
    return {
        "function": f", and {_grown(growing['primal'])}" if "primal" in growing else "",
        "forward": f", while the tape is {tape}",
        "backward": f", while forward does not and the tape is {tape}",
        "both": f", while the tape is {tape}",
        "total": ", while neither forward nor backward does",
        "caches": f", while its memory goes from {' to '.join(map(units.size, memory or ()))}",
        "peak_bytes": ", while neither tape nor allocations do",
    }.get(key, "")
