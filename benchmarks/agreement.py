"""Do others measure the same? gradmark beside pyperf, memray's own statistics, callgrind, PyTorch's timer and a loop.

    python benchmarks/agreement.py

Times: `x*x + sin(x)` on a reused tape, by pyperf and by gradmark, in turns. Allocations: `memray stats` over a script.
Instructions: valgrind over the same script. PyTorch: `torch.utils.benchmark.Timer` over the same step written by hand;
JAX: a loop with `block_until_ready`. Needs the peers, pyperf (in the group `bench`), memray and valgrind.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SETUP = """
from gradmark.engines.discovery import load
from gradmark.workloads.selection import select
(workload,) = select(["{workload}"])
session = load("{engine}").prepare(workload, workload.draw(0, {{}}), {{}})
forward, backward = session.forward, session.backward
forward(); backward()
"""
LOOP = """
import sys
sys.setprofile(None)  # memray's hook makes CPython build a frame object for every call; it is not the engine's
from itertools import repeat
def loop(forward, backward, iterations):
    for _ in repeat(None, iterations): forward(); backward()
loop(forward, backward, {iterations})
"""
PLAIN = """
import sys
sys.setprofile(None)
from functools import partial
from itertools import repeat
from gradmark.engines.floats import FLOATS
from gradmark.workloads.selection import select
(workload,) = select(["{workload}"])
f, values = partial(workload.function, FLOATS), workload.draw(0, {{}})
def forward(): f(values[0])
def backward(): pass
def loop(forward, backward, iterations):
    for _ in repeat(None, iterations): forward(); backward()
loop(forward, backward, {iterations})
"""
# The same work without gradmark's adapters: `step` is the value and the gradient. Only the numbers are the workload's.
INPUTS = """
import os
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])  # as gradmark pins its workers
from gradmark.workloads.selection import select
(workload,) = select(["{workload}"])
params = workload.points(full=False)[0]
inputs = workload.draw(0, params, workload.dtypes[0])
"""
TORCH = """
import torch, torch.nn.functional as F
from torch.utils.benchmark import Timer
def leaf(x): return torch.tensor(x, dtype=torch.float64 if isinstance(x, float) else None)
values = [leaf(x) for x in inputs]
wanted = [v.requires_grad_() for k, v in enumerate(values) if k in workload.active(inputs)]
def expression(x): return x * x + torch.sin(x)
def mlp_step(x, labels, w1, b1, w2, b2): return F.cross_entropy(torch.tanh(x @ w1 + b1) @ w2 + b2, labels)
f = {workload}
def step(): return torch.autograd.grad(f(*values), wanted)
timer = Timer("step()", globals=dict(step=step), num_threads=1)
print(min(min(timer.blocked_autorange(min_run_time=0.3).times) for _ in range(3)) * 1e9)
"""
JAX = """
import time, jax, jax.numpy as jnp
jax.config.update("jax_enable_x64", True)
values, active = [jnp.asarray(x) for x in inputs], tuple(workload.active(inputs))
def expression(x): return x * x + jnp.sin(x)
def mlp_step(x, labels, w1, b1, w2, b2):
    logits = jnp.tanh(x @ w1 + b1) @ w2 + b2
    return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(len(labels)), labels])
step = jax.jit(jax.value_and_grad({workload}, argnums=active))
def loop(times):
    start = time.perf_counter_ns()
    for _ in range(times): jax.block_until_ready(step(*values))
    return (time.perf_counter_ns() - start) / times
loop(100)
print(min(loop(100) for _ in range(40)))
"""
GRADMARK = [sys.executable, "-m", "gradmark.commands.main"]


def gradmark(folder, workload, engine, *options):
    path = Path(folder) / "run.json"
    command = [*GRADMARK, "run", workload, "-e", engine, "--store", folder, "--json", str(path), "--format", "csv"]
    subprocess.run([*command, *options], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return next(m for m in json.loads(path.read_text())["measurements"] if m["cell"]["engine"] == engine)


def times(folder):
    """Floors in turns. What gradmark subtracts for its two calls is put back: pyperf's statement has them too."""
    ours, theirs = [], []
    for number in range(3):
        found = gradmark(folder, "expression", "tapegrad", "--no-memory", "--no-pin")
        ours += [min(s["phases"]["total"]["block_ns"]) + 2 * s["harness_ns"] for s in found["samples"]]
        path = Path(folder) / f"pyperf{number}.json"
        setup = SETUP.format(workload="expression", engine="tapegrad")
        command = [sys.executable, "-m", "pyperf", "timeit", "--processes", "5", "--values", "4", "-o", str(path)]
        subprocess.run([*command, "-s", setup, "forward(); backward()"], check=True, stdout=subprocess.DEVNULL)
        for run in json.loads(path.read_text())["benchmarks"][0]["runs"]:
            theirs += [value * 1e9 for value in run.get("values", [])]
    return min(ours), min(theirs)


def allocations(folder):
    """Per iteration, net of the same loop on plain floats, from `memray stats --json`."""

    def counted(source, workload, iterations):
        script, capture, stats = (Path(folder) / name for name in ("script.py", "capture.bin", "stats.json"))
        for path in (capture, stats):
            path.unlink(missing_ok=True)
        script.write_text(source.format(workload=workload, engine="tapegrad:fresh", iterations=iterations))
        memray = [sys.executable, "-m", "memray"]
        run = [*memray, "run", "--trace-python-allocators", "-o", str(capture), str(script)]
        subprocess.run(run, check=True, capture_output=True)
        subprocess.run([*memray, "stats", "--json", "-o", str(stats), str(capture)], check=True, capture_output=True)
        return json.loads(stats.read_text())["total_num_allocations"]

    def per_iteration(source):
        return (counted(source, "reuse", 2000) - counted(source, "reuse", 1000)) / 1000

    found = gradmark(folder, "reuse", "tapegrad:fresh", "--processes", "1")
    return found["memory"]["allocations"], per_iteration(SETUP + LOOP) - per_iteration(PLAIN)


def instructions(folder):
    """Per iteration, from callgrind over 2N and N iterations of the script."""

    def counted(iterations):
        script = Path(folder) / "script.py"
        script.write_text((SETUP + LOOP).format(workload="expression", engine="tapegrad", iterations=iterations))
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", sys.executable, str(script)]
        # one thread, as gradmark fixes it: OpenBLAS's others wait in a loop, which counts
        fixed = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=fixed)
        return float(next(line for line in done.stderr.splitlines() if "Collected :" in line).split(":")[1])

    found = gradmark(folder, "expression", "tapegrad", "--instructions", "--processes", "1", "--no-memory")
    return found["instructions"]["total"], (counted(20_000) - counted(10_000)) / 10_000


def peer(folder, engine, script, workload):
    """Floors in turns: total by gradmark, and the same step by hand."""
    ours, theirs = [], []
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    source = (INPUTS + script).format(workload=workload)
    for _ in range(3):
        found = gradmark(folder, workload, engine, "--no-memory", "--processes", "3")
        ours += [min(s["phases"]["total"]["block_ns"]) + s["harness_ns"] for s in found["samples"]]
        command = [sys.executable, "-c", source]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        theirs.append(float(done.stdout))
    return min(ours), min(theirs)


def show(what, ours, theirs, within):
    difference = abs(ours / theirs - 1) if theirs else abs(ours - theirs)
    verdict = "kept" if difference <= within else "NOT KEPT"
    print(
        f"{verdict:10}{what}: gradmark {ours:.1f}, {theirs:.1f}; apart {difference:.2%}, promised {within:.0%}",
        flush=True,
    )


def main():
    with tempfile.TemporaryDirectory() as folder:
        show("ns per iteration, pyperf", *times(folder), 0.10)
        show("allocations per iteration, memray stats", *allocations(folder), 0.0)
        for workload in ("expression", "mlp_step"):
            show(f"ns, {workload} on torch, its Timer", *peer(folder, "torch", TORCH, workload), 0.15)
            show(f"ns, {workload} on jax, block_until_ready", *peer(folder, "jax", JAX, workload), 0.15)
        if shutil.which("valgrind"):
            show("instructions per iteration, callgrind", *instructions(folder), 0.01)
        else:
            print("not measured: valgrind is not installed")


if __name__ == "__main__":
    main()
