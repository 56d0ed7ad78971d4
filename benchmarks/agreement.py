"""Do others measure the same? gradmark beside pyperf, memray's own statistics and a callgrind run by hand.

    python benchmarks/agreement.py

Times: `x*x + sin(x)` on a reused tape, by pyperf and by gradmark, in turns. Allocations: `memray stats` over a script.
Instructions: valgrind over the same script. Needs pyperf (in the group `bench`), memray and valgrind.
"""

import json
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
from gradmark.engines.python_floats import FLOATS
from gradmark.workloads.selection import select
(workload,) = select(["{workload}"])
f, values = partial(workload.function, FLOATS), workload.draw(0, {{}})
def forward(): f(values[0])
def backward(): pass
def loop(forward, backward, iterations):
    for _ in repeat(None, iterations): forward(); backward()
loop(forward, backward, {iterations})
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
        if shutil.which("valgrind"):
            show("instructions per iteration, callgrind", *instructions(folder), 0.01)
        else:
            print("not measured: valgrind is not installed")


if __name__ == "__main__":
    main()
