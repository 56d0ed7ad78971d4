"""A run as a busy machine gives it: several engines, unequal counts, failures, tensors, computed and further phases."""

import random
from typing import Any

from gradmark.records import (
    Accuracy,
    Cell,
    Code,
    Environment,
    Measurement,
    Memory,
    Phase,
    Run,
    Sample,
    Settings,
    TapeSize,
    Warning,
)

# How much an engine's time is above the fastest engine's, its processes, and what its sessions have.
ENGINES: dict[str, dict[str, Any]] = {
    "tapegrad": {"cost": 1.0, "processes": 6},
    "casadi": {"cost": 1.03, "processes": 6},
    "manual": {"cost": 0.6, "processes": 5},
    "jax": {"cost": 1.4, "processes": 2, "own_total": True, "phases": ("primal", "forward", "total"), "first": 4e8},
    "torch": {"cost": 40.0, "processes": 4, "phases": ("primal", "forward", "backward", "total", "replay")},
    "micrograd": {"cost": 900.0, "processes": 1, "phases": ("forward", "total")},
}
PARTS = {"primal": 0.4, "forward": 0.9, "backward": 0.15, "total": 1.0, "replay": 0.2}
TASKS: list[dict[str, Any]] = [
    {"workload": "poly", "suite": "scalar", "params": {"n": n}, "ns": 90.0 * n} for n in (1, 100, 10_000)
] + [
    {"workload": "matmul", "suite": "tensor", "kind": "tensor", "dtype": dtype, "params": {"n": 8}, "ns": 7000.0}
    for dtype in ("float32", "float64")
]


def noisy_run(seed: int, noise: float = 0.4, engines: int = len(ENGINES)) -> Run:
    """The same for the same seed. Blocks are slower by chance, now and then by several times, and never faster."""
    draw = random.Random(seed)
    planned, measured = [], []
    for task in TASKS:
        fields = {key: value for key, value in task.items() if key != "ns"}
        for name in list(ENGINES)[:engines]:
            cell = Cell(engine=name, **fields)
            planned.append(cell)
            measured.append(_measurement(draw, cell, task["ns"], noise))
    only_primal = Cell(engine="null", **{key: value for key, value in TASKS[0].items() if key != "ns"})
    planned.append(only_primal)
    measured.append(
        Measurement(cell=only_primal, status="ok", samples=[_sample(draw, 0, 40.0, noise, {"phases": ["primal"]})])
    )
    draw.shuffle(measured)
    here = Environment(
        cpu="AMD EPYC", cores=2, memory_bytes=8 << 30, os="Linux 6.1 x86_64", python="CPython 3.11.7", packages={}
    )
    return Run(
        id=f"noisy-{seed}", started="2026-01-01T00:00:00+00:00", environment=here, settings=Settings(processes=6),
        measurements=measured, planned=planned,
    )  # fmt: skip


def _measurement(draw: random.Random, cell: Cell, ns: float, noise: float) -> Measurement:
    engine = ENGINES[cell.engine]
    if cell.kind == "tensor" and cell.engine in ("casadi", "micrograd"):
        message = f"{cell.engine} has no tensors, and {cell.workload} is a function of tensors"
        return Measurement(cell=cell, status="unsupported", message=message)
    fate = draw.random()
    exact = {
        "tape": TapeSize(instructions=draw.randrange(9, 9999)) if cell.engine == "tapegrad" else None,
        "memory": Memory(allocations=float(draw.randrange(99)), leaked_bytes=0.0, peak_bytes=draw.randrange(1 << 24))
        if fate < 0.8
        else Memory(reason="memray is not installed", lacks_tool=True),
        "accuracy": Accuracy(
            reference="mpmath", relative_error=draw.random() * 1e-15, tolerance=1e-9,
            ulps=draw.random() if cell.kind == "scalar" else None,
        ),
        "operations": draw.randrange(1, 9999),
        "flops": 1e4 if cell.kind == "tensor" else None,
        "shapes": {"x": [8, 8]} if cell.kind == "tensor" else {},
    }  # fmt: skip
    samples = [_sample(draw, process, ns * engine["cost"], noise, engine) for process in range(engine["processes"])]
    if fate > 0.93:
        return Measurement(cell=cell, status="wrong-gradient", message="off by 1e-3", accuracy=exact["accuracy"])
    if fate > 0.87:
        return Measurement(cell=cell, status="timeout", message="60 s", samples=samples[:1], **exact)
    unchecked = [Warning(code=Code.UNCHECKED, reason="the function has a kink")] if fate < 0.05 else []
    return Measurement(cell=cell, status="ok", samples=samples, warnings=unchecked, **exact)


def _sample(draw: random.Random, process: int, ns: float, noise: float, engine: dict[str, Any]) -> Sample:
    state = draw.choice([1.0, 1.0, 1.7])  # a process keeps the state of its machine
    phases = {
        name: Phase(iterations=3, block_ns=[ns * PARTS[name] * state * _slowness(draw, noise) for _ in range(4)])
        for name in engine.get("phases", ("primal", "forward", "backward", "total"))
    }
    first = engine.get("first", 30 * ns) * _slowness(draw, noise)
    return Sample(
        process=process, phases=phases, harness_ns=30.0, clock_ns=1.0, own_total=engine.get("own_total", False),
        once_ns={"import": 1e6 * _slowness(draw, noise), "prepare": first / 3, "first_call": first, "warm_up": 5e6},
    )  # fmt: skip


def _slowness(draw: random.Random, noise: float) -> float:
    burst = draw.choice([1.0] * 9 + [4.0])
    return (1.0 + noise * draw.expovariate(1.0)) * burst
