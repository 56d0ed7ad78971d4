"""Do others measure the same? gradmark beside pyperf, memray's own statistics, callgrind, PyTorch's timer and a loop.

    python benchmarks/agreement.py               all rows, about 6 minutes
    python benchmarks/agreement.py --turns 15    more processes on each side

Times: `x*x + sin(x)` on a reused tape, by pyperf and by gradmark. PyTorch: `torch.utils.benchmark.Timer` over the
same step written by hand, which keeps value and gradient; JAX: a loop over such a step with `block_until_ready`.
Fresh processes take turns, ours and theirs, each of one engine, on the same core, without huge pages, with blocks of
1 ms. The number of a side is the median over its processes of the fastest block: a neighbour on the machine falls on
both. Allocations: `memray stats` over a script. Instructions: valgrind over the same script.

Needs the peers, pyperf (in the group `bench`), memray and valgrind; says what it lacks. Promised: within 3 %,
allocations the same to 0.1 %. Exit code 1 if that is not kept.
"""

import argparse
import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median

from gradmark.measure import process
from gradmark.measure.job import Job
from gradmark.measure.plan import cells_of
from gradmark.records import Settings
from gradmark.workloads.selection import select

SETUP = """
from gradmark.engines.discovery import load
from gradmark.workloads.selection import select
(workload,) = select(["{workload}"])
session = load("{engine}").prepare(workload, workload.draw(0, {{}}), {{}})
forward, backward = session.forward, session.backward
forward(); backward()
"""
PINNED = """
import os
from gradmark.isolation import inside
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
inside.refuse_huge_pages()
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
import json, os, sys, time
from gradmark.isolation import inside
from gradmark.workloads.selection import select
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])  # as gradmark pins its workers
inside.refuse_huge_pages()
(workload,) = select(["{workload}"])
params = workload.points(full=False)[0]
inputs = workload.draw(0, params, workload.dtypes[0])
BLOCKS, BLOCK_NS = {blocks}, {block_ns}
kept = None
def calls_of(elapsed_ns):
    calls = 1
    while (taken := elapsed_ns(calls)) < BLOCK_NS:
        calls = max(calls + 1, int(calls * min(1.1 * BLOCK_NS / taken, 100.0)))
    for _ in range(10): elapsed_ns(calls)
    return calls
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
def step():
    global kept
    y = f(*values)
    kept = y, torch.autograd.grad(y, wanted)
timer = Timer("step()", globals=dict(step=step), num_threads=1)
calls = calls_of(lambda calls: timer.timeit(calls).mean * calls * 1e9)
print(json.dumps([timer.timeit(calls).mean * 1e9 for _ in range(BLOCKS)]))
"""
JAX = """
import jax, jax.numpy as jnp
jax.config.update("jax_enable_x64", True)
values, active = [jnp.asarray(x) for x in inputs], tuple(workload.active(inputs))
def expression(x): return x * x + jnp.sin(x)
def mlp_step(x, labels, w1, b1, w2, b2):
    logits = jnp.tanh(x @ w1 + b1) @ w2 + b2
    return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(len(labels)), labels])
compiled = jax.jit(jax.value_and_grad({workload}, argnums=active))
def step():
    global kept
    kept = jax.block_until_ready(compiled(*values))
def elapsed_ns(calls):
    start = time.perf_counter_ns()
    for _ in range(calls): step()
    return time.perf_counter_ns() - start
calls = calls_of(elapsed_ns)
print(json.dumps([elapsed_ns(calls) / calls for _ in range(BLOCKS)]))
"""
GRADMARK = [sys.executable, "-m", "gradmark.commands.main"]
BLOCKS, BLOCK_NS = 30, 1_000_000
WITHIN = 0.03
STRAY = 0.001  # of a script's thousand iterations one may meet a list that grows


def gradmark(folder, workload, engine, *options):
    path = Path(folder) / "run.json"
    command = [*GRADMARK, "run", workload, "-e", engine, "--store", folder, "--json", str(path), "--format", "csv"]
    subprocess.run([*command, *options], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return next(m for m in json.loads(path.read_text())["measurements"] if m["cell"]["engine"] == engine)


def ours(workload, engine):
    """The blocks of a worker, with what it subtracted for the calls: the others' statements have them too."""
    (cell,) = cells_of(select([workload]), [engine], full=False)[:1]
    result = process.run(Job(kind="time", cell=cell, settings=Settings(blocks=BLOCKS, block_ns=BLOCK_NS)))
    if result.sample is None:
        raise SystemExit(f"{cell.id}: {result.status}: {result.message}")
    phase = result.sample.phases["total"]
    return [ns + phase.harness_ns for ns in phase.block_ns]


def by_hand(workload, script):
    """The blocks of the same step without gradmark."""
    source = (INPUTS + script).format(workload=workload, blocks=BLOCKS, block_ns=BLOCK_NS)
    return json.loads(said([sys.executable, "-c", source]))


def pyperf(folder, workload, engine):
    """Its values, each the mean of a loop of at least as long."""
    path = Path(folder) / "pyperf.json"
    path.unlink(missing_ok=True)
    setup = SETUP.format(workload=workload, engine=engine) + PINNED
    command = [sys.executable, "-m", "pyperf", "timeit", "--processes", "1", "--warmups", "10", "-o", str(path)]
    command += ["--values", str(BLOCKS), "--min-time", str(BLOCK_NS / 1e9), "-s", setup, "forward(); backward()"]
    said(command)
    values = [value for run in json.loads(path.read_text())["benchmarks"][0]["runs"] for value in run.get("values", [])]
    return [value * 1e9 for value in values]


def said(command):
    """What a process with one thread prints."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def in_turns(turns, one, other):
    """The number of each side, from processes that take turns; who is first is drawn."""
    draw = random.Random(0)
    fastest = {one: [], other: []}
    for _ in range(turns):
        for side in draw.sample([one, other], 2):
            fastest[side].append(min(side()))
    return median(fastest[one]), median(fastest[other])


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


def show(what, ours, theirs, within=WITHIN):
    """A line; whether it is kept."""
    difference = ours / theirs - 1 if theirs else ours - theirs
    kept = abs(difference) <= within
    print(
        f"{'kept' if kept else 'NOT KEPT':10}{what}: gradmark {ours:.1f}, {theirs:.1f}; {difference:+.2%}, promised "
        f"{within:.1%}",
        flush=True,
    )
    return kept


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--turns", type=int, default=9, help="Processes on each side of a time.")
    turns = options.parse_args().turns
    kept = []
    with tempfile.TemporaryDirectory() as folder:
        if importlib.util.find_spec("pyperf"):
            sides = partial(ours, "expression", "tapegrad"), partial(pyperf, folder, "expression", "tapegrad")
            kept.append(show("ns, expression on tapegrad, pyperf", *in_turns(turns, *sides)))
        else:
            print("not measured: pyperf is not installed")
        for engine, script, tool in (("torch", TORCH, "its Timer"), ("jax", JAX, "a loop with block_until_ready")):
            if not importlib.util.find_spec(engine):
                print(f"not measured: {engine} is not installed")
                continue
            for workload in ("expression", "mlp_step"):
                sides = partial(ours, workload, engine), partial(by_hand, workload, script)
                kept.append(show(f"ns, {workload} on {engine}, {tool}", *in_turns(turns, *sides)))
        kept.append(show("allocations per iteration, memray stats", *allocations(folder), STRAY))
        if shutil.which("valgrind"):
            kept.append(show("instructions per iteration, callgrind", *instructions(folder)))
        else:
            print("not measured: valgrind is not installed")
    sys.exit(not all(kept))


if __name__ == "__main__":
    main()
