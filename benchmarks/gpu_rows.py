"""The rows that figures of a GPU are compared on: each engine's time of value and gradient, in a process of its own.

`benchmarks/gpu.py` calls this once for each engine: python benchmarks/gpu_rows.py ENGINE [ROW …]. A line of JSON a row.
The engines are the laboratory's adapters, and the stopwatch is the one with which it times its own rows. In float32;
products of the networks with TF32, which PyTorch, JAX, CuPy and tapegrad's jit all have. The batch of a program is in
float64, and has beside it what a copy of as many bytes takes. REFERENCE as the engine is PyTorch in float64, with
which the gradients of the others are compared.
"""

import json
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradmark.engines.discovery import load
from gradmark.engines.protocol import Session
from gradmark.measure.worker.device.cuda import CudaTimer
from gradmark.measure.worker.device.stopwatch import Stopwatch
from gradmark.workloads.workload import workload

REFERENCE = "float64"
# The only engine that runs a program at many points on a device.
BATCHING = "tapegrad:jit"
B, T, D, H = 8, 1024, 1024, 16  # of the transformer block
# Entries of a gradient that are compared one by one.
COMPARED = 1 << 20
SAMPLES, SECONDS = 32, 0.3


@dataclass(frozen=True)
class Row:
    """A function of arrays, the shapes of those that vary, and other arrays beside them."""

    name: str
    function: Callable[..., Any]
    shapes: list[tuple[int, ...]]
    fixed: tuple[str, tuple[int, ...], int] | None = None  # name, shape, and for labels the number of classes
    scale: float = 1.0  # of matrices
    tf32: bool = False
    points: bool = False  # a function of one number, at many of them


def chain(ops: Any, x: Any) -> Any:
    for _ in range(8):
        x = ops.tanh(x * 1.1 + 0.1)
    return ops.sum(x)


def products(ops: Any, x: Any) -> Any:
    y = x
    for _ in range(8):
        y = y * x
    return ops.sum(y)


def broadcast(ops: Any, a: Any, b: Any) -> Any:
    c = a + b
    return ops.sum(c * c)


def squares(ops: Any, a: Any) -> Any:
    return ops.sum(a * a)


def logsumexp(ops: Any, a: Any) -> Any:
    return ops.sum(ops.logsumexp(a, axis=1))


def cross_entropy(ops: Any, logits: Any, labels: Any) -> Any:
    return ops.softmax_cross_entropy(logits, labels)


def small_network(ops: Any, w1: Any, b1: Any, w2: Any, b2: Any, x: Any, labels: Any) -> Any:
    return ops.softmax_cross_entropy(ops.tanh(x @ w1 + b1) @ w2 + b2, labels)


def network(ops: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, x: Any, labels: Any) -> Any:
    hidden = ops.relu(ops.relu(x @ w1 + b1) @ w2 + b2)
    return ops.softmax_cross_entropy(hidden @ w3 + b3, labels)


def block(ops: Any, x: Any, wq: Any, wk: Any, wv: Any, wo: Any, w1: Any, w2: Any) -> Any:
    def heads(t: Any) -> Any:
        return ops.transpose(ops.reshape(t, (B, T, H, D // H)), (0, 2, 1, 3))

    h = ops.layer_norm(x)
    a = ops.scaled_dot_product_attention(heads(h @ wq), heads(h @ wk), heads(h @ wv))
    x = x + ops.reshape(ops.transpose(a, (0, 2, 1, 3)), (B, T, D)) @ wo
    return ops.mean(x + ops.gelu(ops.layer_norm(x) @ w1, approximate="tanh") @ w2)


def square_and_sine(ops: Any, x: Any) -> Any:
    return x * x + ops.sin(x)


MLP = [(784, 1024), (1024,), (1024, 1024), (1024,), (1024, 10), (10,)]
ROWS = [
    Row("elementwise chain 16M", chain, [(1 << 24,)]),
    Row("chain of 8 products, 16M", products, [(1 << 24,)]),
    Row("broadcast add and square 8192²", broadcast, [(8192, 8192), (8192,)]),
    Row("sum of squares 64M", squares, [(1 << 26,)]),
    Row("logsumexp 8192²", logsumexp, [(8192, 8192)]),
    Row("softmax cross-entropy 8192×32000", cross_entropy, [(8192, 32000)], ("", (8192,), 32000)),
    Row("tiny MLP step", small_network, [(16, 32), (32,), (32, 4), (4,)], ("x", (8, 16), 4), 0.02),
    Row("MLP 512×784–1024–1024–10", network, MLP, ("x", (512, 784), 10), 0.02, tf32=True),
    Row(f"transformer block {B}×{T}×{D}", block, [(B, T, D), *[(D, D)] * 4, (D, 4 * D), (4 * D, D)], None, 0.02, True),
    Row("batch of x²+sin x, 16M points", square_and_sine, [(1 << 24,)], points=True),
]


def inputs_of(row: Row, dtype: str) -> list[Any]:
    """The same numbers for every engine."""
    draw = np.random.default_rng(0)
    inputs = []
    for place, shape in enumerate(row.shapes):
        scale = row.scale if len(shape) == 2 and not (len(row.shapes[0]) == 3 and place == 0) else 1.0
        numbers = draw.standard_normal(shape, dtype=np.float32) * np.float32(scale)
        inputs.append(0.99 + 0.02 * np.abs(np.tanh(numbers)) if row.function is products else numbers)
    if row.fixed is not None:
        name, shape, classes = row.fixed
        if name:
            inputs.append(draw.standard_normal(shape, dtype=np.float32))
        inputs.append(draw.integers(0, classes, shape[0]))
    return [np.ascontiguousarray(x, dtype=dtype) if x.dtype.kind == "f" else x for x in inputs]


def session_of(engine: str, row: Row, dtype: str, device: str = "cuda") -> Session:
    """The row, prepared by an adapter of the laboratory."""
    os.environ["TAPEGRAD_TF32"] = "1" if row.tf32 and dtype == "float32" else "0"  # read when a function is compiled
    made = workload(
        suite="gpu", stresses="a GPU", arrays=lambda draw: [draw], fixed=("x",) if row.fixed and row.fixed[0] else ()
    )(row.function)
    session = load(engine).prepare(made, inputs_of(row, dtype), {}, device=device)  # type: ignore[call-arg]
    if "torch" in sys.modules:
        import torch

        torch.set_float32_matmul_precision("high" if row.tf32 and dtype == "float32" else "highest")
    if "jax" in sys.modules:
        import jax

        jax.config.update("jax_default_matmul_precision", "tensorfloat32" if row.tf32 else "highest")
    return session


def batch_of(row: Row) -> tuple[Callable[[], Any], Callable[[], Any], float]:
    """A program's values and gradients at many points; a copy of as many bytes; the largest relative error of both."""
    import cupy

    import tapegrad
    from gradmark.engines.tapegrad.operations import operations

    tape = tapegrad.Tape()
    x = tape.var(1.0)
    compiled = tape.freeze(x, row.function(operations(tape.const), x)).compile()
    points = cupy.random.default_rng(0).standard_normal(row.shapes[0])
    values, slopes = compiled.batch(points)
    exact = points * points + cupy.sin(points), 2 * points + cupy.cos(points)
    pairs = zip((values, slopes), exact, strict=True)
    worst = max(float(abs(made - right).max() / abs(right).max()) for made, right in pairs)
    half = cupy.empty(3 * points.nbytes // 2, cupy.uint8)  # read once and written twice, as a copy of half of that
    other = cupy.empty_like(half)
    return lambda: compiled.batch(points), lambda: cupy.copyto(other, half), worst


def measure_batch(engine: str, row: Row, timer: CudaTimer) -> dict[str, Any]:
    """The same of a batch."""
    batch, copy, worst = batch_of(row)
    said = timed(timer, None, (batch,)) | {"copy": timed(timer, None, (copy,))["cold"]}
    return {"engine": engine, "row": row.name, "gradient error": worst, **said}


def timed(timer: CudaTimer, queue: Any, calls: tuple[Callable[[], Any], ...]) -> dict[str, float]:
    """Times in microseconds."""
    for _ in range(5):
        for call in calls:
            call()
    timer.synchronize()
    watch = Stopwatch(timer, queue)
    cold = watch.cold(calls, lambda: None, SAMPLES, 4 * SAMPLES, SECONDS)
    hot = watch.hot(calls, 0.0, 5)

    def low(values: list[float]) -> float:
        return sorted(values)[len(values) // 4] / 1e3

    return {
        "total": low(cold.longer_ns), "cold": low(cold.device_ns), "hot": low(hot.device_ns), "host": low(cold.host_ns),
    }  # fmt: skip


def prints_of(gradients: list[Any]) -> list[list[float]]:
    """Of each gradient its sum, its norm and some entries, by which those of two engines are compared."""
    prints = []
    for gradient in gradients:
        flat = np.asarray(gradient, dtype=np.float64).reshape(-1)
        some = flat[:: max(1, flat.size // COMPARED)]
        direction = np.random.default_rng(1).uniform(-1.0, 1.0, some.size)
        prints.append([float(flat.sum()), float(np.linalg.norm(flat)), float(some @ direction)])
    return prints


def measure(engine: str, row: Row, timer: CudaTimer) -> dict[str, Any]:
    """Times in microseconds: cold, hot, host, replayed; peak MiB; what tells the gradient."""
    if row.points:
        return measure_batch(engine, row, timer)
    dtype = "float64" if engine == REFERENCE else "float32"
    session = session_of("torch" if engine == REFERENCE else engine, row, dtype)
    calls = (session.total,) if session.total is not None else (session.forward, session.backward)
    begun = time.perf_counter()
    for call in calls:
        call()
    session.synchronize()
    first_s = time.perf_counter() - begun
    assert session.gradients is not None
    said = {"engine": engine, "row": row.name, "first_s": first_s, "prints": prints_of(list(session.gradients()))}
    if engine == REFERENCE:
        return said
    said |= timed(timer, session.queue, calls)
    if session.device is not None:
        before = session.device.alive_bytes()
        session.device.reset_peak()
        for call in calls:
            call()
        session.synchronize()
        said["peak_mib"] = (session.device.peak_bytes() - before) / 2**20
    if session.replay is not None:
        try:
            replay = session.replay()
            said["replayed"] = timed(timer, session.queue, (replay,))["cold"]
        except Exception as error:
            said["replayed_error"] = f"{type(error).__name__}: {error}"[:100]
    return said


def error(prints: list[list[float]], exact: list[list[float]]) -> float:
    """The largest difference of two gradients, by their prints, relative to their norms."""
    worst = 0.0
    for (total, norm, along), (total_, norm_, along_) in zip(prints, exact, strict=True):
        scale = norm_ or 1.0
        parts = (norm - norm_, along - along_, (total - total_) / max(1.0, abs(total_) / scale))
        worst = max([worst, *(abs(part) / scale for part in parts)])
    return worst if math.isfinite(worst) else math.inf


def main() -> None:
    """One engine on its rows."""
    engine, names = sys.argv[1], sys.argv[2:]
    os.environ.setdefault("CUPY_TF32", "1")  # read when CuPy is imported; rows without TF32 have next to no products
    timer = CudaTimer()
    for row in ROWS:
        if (names and not any(name in row.name for name in names)) or (row.points and engine != BATCHING):
            continue
        try:
            said = measure(engine, row, timer)
        except Exception as problem:
            said = {"engine": engine, "row": row.name, "error": f"{type(problem).__name__}: {problem}"[:200]}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
