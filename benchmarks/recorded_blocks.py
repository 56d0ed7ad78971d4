"""Recorded blocks of a real shared machine: how far apart two halves of the processes are, by each rule.

In: tests/data/traces/shared_machine.json. Out: for each cell and rule, how far the two numbers lie apart. No truth is
known there, so this says how well a number repeats, not whether it is right.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from estimates import FASTEST, FLOOR, GRADMARK, MEAN, MEDIAN, TIMEIT

from gradmark.commands.options import BLOCKS
from gradmark.records import pilots

TRACES = Path(__file__).parents[1] / "tests" / "data" / "traces" / "shared_machine.json"
RULES = (GRADMARK, FLOOR, FASTEST, TIMEIT, MEAN, MEDIAN)  # a half is eight processes, and no rule stops early
SPLITS = 200
Array = Any


def halves(seed: int) -> dict[str, Array]:
    """By cell: for each random split and rule, how far apart the numbers of the two halves are, relative."""
    cells = json.loads(TRACES.read_text())["cells"]
    watched = {
        name: [(p, {pilots.CORE: list(zip(p["pilot_ns"], p["pilot_ns"][1:], strict=False))}) for p in processes]
        for name, processes in cells.items()
    }
    reference = pilots.reference_of(pairs for processes in watched.values() for _, pairs in processes)
    draw = np.random.default_rng(seed)
    return {name: _splits(processes, reference, draw) for name, processes in watched.items()}


def _splits(processes: list[Any], reference: pilots.Levels, draw: np.random.Generator) -> Array:
    blocks = [np.array(p["block_ns"]) / p["iterations"] for p, _ in processes]
    calm = [
        pilots.corrected(ns.tolist(), pairs, reference)[:BLOCKS]
        for ns, (_, pairs) in zip(blocks, processes, strict=True)
    ]
    counts = np.array([len(ns) >= pilots.LEAST_CALM for ns in calm])
    times, floors = (np.array([rule(ns) if ns else np.nan for ns in calm]) for rule in (pilots.undisturbed, min))
    repeats = [min(part.mean() for part in np.array_split(ns, 5)) for ns in blocks]

    def numbers(half: Array) -> Array:
        pooled, one, calm = np.concatenate([blocks[k] for k in half]), half[0], half[counts[half]]
        of_calm = [np.median(times[calm]), floors[calm].min()]
        return np.array([*of_calm, pooled.min(), repeats[one], blocks[one].mean(), np.median(pooled)])

    apart = []
    for _ in range(SPLITS):
        first, second = (numbers(half) for half in np.array_split(draw.permutation(len(blocks)), 2))
        apart.append(np.maximum(first, second) / np.minimum(first, second) - 1.0)
    return np.array(apart)
