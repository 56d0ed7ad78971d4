"""Do other tools say the same five times? timeit, pyperf, pytest-benchmark and asv beside gradmark, in turns.

    python benchmarks/beside_others.py                    five cells, five repetitions: 20 minutes
    python benchmarks/beside_others.py --file FILE        and keep every number there, a line for each
    python benchmarks/beside_others.py --repetitions 0 --file FILE    judge what is there

In each repetition every tool measures every cell once, in random order, so that all meet the same weather. Each times
the same function, one iteration with value and gradient (`one_iteration.py`), with its own defaults and its own rule:

    timeit            as `python -m timeit`: loops for 0.2 s, five repeats, the fastest
    pyperf            `pyperf timeit`: 20 processes of 3 values, their mean
    pytest-benchmark  calibrated rounds for a second; its mean, and its fastest round
    asv               the sampling of asv_runner's TimeBenchmark in two processes, as `asv run` does; the median
    gradmark          `gradmark run ROW --no-memory`: the number of its table

The others are not pinned to a core, as they are not by default; one thread each. `reuse` has a second engine beside it,
which gradmark measures too: its wall time is that of two cells. A tool that is not installed is said, and left out.

Promised: the five numbers of gradmark are within 3 % for the typical cell, and within 8 % for each. Exit code 1 if that
is not kept; what the others reach is shown and not judged.
"""

import argparse
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median

from measured_runs import apart, load_all, measure, say, times

from gradmark.isolation.child import THREAD_VARIABLES

CELLS = ["poly/n=100", "chain/f=exp", "reuse", "mlp_step/batch=8/width=32", "broadcast_add/n=1024"]
ENGINE = "tapegrad"
TYPICAL, EACH = 0.03, 0.08
RULES = {  # the head of each column
    "timeit": ("timeit", "fastest"),
    "pyperf": ("pyperf", "mean"),
    "pytest-benchmark, mean": ("pytest-", "bench. mean"),
    "pytest-benchmark, min": ("pytest-", "bench. min"),
    "asv": ("asv", "median"),
    "gradmark": ("gradmark", "number"),
}
HERE = Path(__file__).resolve().parent
SETUP = """
import sys
sys.path.append({here!r})
from one_iteration import iteration
one = iteration({cell!r})
"""
TIMEIT = """
import timeit
timer = timeit.Timer("one()", globals=dict(one=one))
loops, _ = timer.autorange()
print(min(timer.repeat(repeat={repeats}, number=loops)) / loops * 1e9)
"""
ASV = """
import json
from asv_runner.benchmarks.time import TimeBenchmark
print(json.dumps(TimeBenchmark("time_one", one, []).run()["samples"]))
"""
PYTEST = """
def test_one(benchmark):
    benchmark(one)
"""


@dataclass(frozen=True)
class Said:
    """What one tool said of one cell, once."""

    tool: str
    cell: str
    repetition: int
    ns: dict[str, float]  # by the name of the rule
    seconds: float


def python(*arguments: str, folder: str) -> str:
    """What a fresh interpreter prints: with one thread, as gradmark's workers have."""
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)
    if done.returncode != 0:
        told = (done.stdout + done.stderr)[-2000:]
        raise SystemExit(f"{' '.join(arguments[:3])} …: exit code {done.returncode}\n{told}")
    return done.stdout


def setup(cell: str) -> str:
    return SETUP.format(here=str(HERE), cell=f"{cell}@{ENGINE}")


def by_timeit(cell: str, folder: str, quick: bool) -> dict[str, float]:
    return {"timeit": float(python("-c", setup(cell) + TIMEIT.format(repeats=2 if quick else 5), folder=folder))}


def by_pyperf(cell: str, folder: str, quick: bool) -> dict[str, float]:
    path = Path(folder) / "pyperf.json"
    path.unlink(missing_ok=True)
    options = ["--processes", "2", "--values", "1", "--min-time", "0.01"] if quick else []
    told = ["--copy-env", "--quiet", "-o", str(path), *options, "-s", setup(cell)]
    python("-m", "pyperf", "timeit", *told, "one()", folder=folder)
    (benchmark,) = json.loads(path.read_text())["benchmarks"]
    return {"pyperf": mean(value for run in benchmark["runs"] for value in run.get("values", [])) * 1e9}


def by_pytest_benchmark(cell: str, folder: str, quick: bool) -> dict[str, float]:
    test, path = Path(folder) / "test_one.py", Path(folder) / "pytest_benchmark.json"
    test.write_text(setup(cell) + PYTEST)
    options = ["--benchmark-max-time", "0.05"] if quick else []
    where = ["-q", "-p", "no:cacheprovider", "--rootdir", folder, "-c", os.devnull]
    python("-m", "pytest", str(test), *where, f"--benchmark-json={path}", *options, folder=folder)
    (benchmark,) = json.loads(path.read_text())["benchmarks"]
    return {f"pytest-benchmark, {rule}": benchmark["stats"][rule] * 1e9 for rule in ("mean", "min")}


def by_asv(cell: str, folder: str, quick: bool) -> dict[str, float]:
    processes = 1 if quick else 2  # "rounds", which asv itself starts
    samples = [ns for _ in range(processes) for ns in json.loads(python("-c", setup(cell) + ASV, folder=folder))]
    return {"asv": median(samples) * 1e9}


def by_gradmark(cell: str, folder: str, quick: bool) -> dict[str, float]:
    with tempfile.TemporaryDirectory(dir=folder) as fresh:
        options = ["--processes", "1"] if quick else []
        measure(Path(fresh) / "run.json", cell, "-e", ENGINE, "--no-memory", *options)
        (run,) = load_all(Path(fresh)).values()
    return {"gradmark": times(run)[f"{cell}@{ENGINE}"].value}


TOOLS: dict[str, tuple[str, Callable[[str, str, bool], dict[str, float]]]] = {  # what it needs, how it measures
    "timeit": ("timeit", by_timeit),
    "pyperf": ("pyperf", by_pyperf),
    "pytest-benchmark": ("pytest_benchmark", by_pytest_benchmark),
    "asv": ("asv_runner", by_asv),
    "gradmark": ("gradmark", by_gradmark),
}


def installed() -> list[str]:
    """The tools that are there; of the others it is said that they are not."""
    there = [tool for tool, (module, _) in TOOLS.items() if importlib.util.find_spec(module)]
    for tool in TOOLS.keys() - set(there):
        print(f"{tool} is not measured: {TOOLS[tool][0]} is not installed")
    return there


def record(cells: list[str], repetitions: int, file: Path, quick: bool) -> None:
    """Adds repetitions to the file: all tools on all cells in random order, then all again."""
    draw = random.Random()
    there = max((said.repetition for said in read(file)), default=-1) + 1
    turns = [(tool, cell) for tool in installed() for cell in cells] if repetitions else []
    with tempfile.TemporaryDirectory() as folder, open(file, "a") as out:
        for repetition in range(there, there + repetitions):
            for done, (tool, cell) in enumerate(draw.sample(turns, len(turns)), 1):
                start = time.monotonic()
                ns = TOOLS[tool][1](cell, folder, quick)
                said = Said(tool, cell, repetition, ns, time.monotonic() - start)
                out.write(json.dumps(asdict(said)) + "\n")
                out.flush()
                place = f"repetition {repetition - there + 1} of {repetitions}, {done} of {len(turns)}"
                print(f"{place}: {tool} on {cell}, {said.seconds:.1f} s", flush=True)


def read(file: Path) -> list[Said]:
    return [Said(**json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []


def ranges(found: list[Said]) -> dict[str, dict[str, float]]:
    """By rule and cell: by how much its repetitions differ."""
    values: dict[str, dict[str, list[float]]] = {}
    for said in found:
        for rule, ns in said.ns.items():
            values.setdefault(rule, {}).setdefault(said.cell, []).append(ns)
    return {rule: {cell: apart(numbers) for cell, numbers in values[rule].items()} for rule in RULES if rule in values}


def show(found: list[Said]) -> None:
    by_rule = ranges(found)
    print(f"\nrepetitions: {repetitions_of(found)}; largest over smallest number, less one; typical: the median cell")
    for line in (0, 1):
        print(f"{'':26}" + "".join(f"{RULES[rule][line]:>12}" for rule in by_rule))
    for cell in dict.fromkeys(said.cell for said in found):
        shares = (by_cell.get(cell) for by_cell in by_rule.values())
        print(f"{cell:26}" + "".join(f"{'–':>12}" if share is None else f"{share:12.1%}" for share in shares))
    print(f"{'typical':26}" + "".join(f"{median(by_cell.values()):12.1%}" for by_cell in by_rule.values()))
    wall = (mean(said.seconds for said in found if rule in said.ns) for rule in by_rule)
    print(f"{'wall time of a cell':26}" + "".join(f"{seconds:10.1f} s" for seconds in wall))


def repetitions_of(found: list[Said]) -> int:
    return len({said.repetition for said in found})


def judge(found: list[Said]) -> bool:
    """Prints the verdict on gradmark."""
    ours = ranges(found).get("gradmark", {})
    if repetitions_of(found) < 2 or not ours:
        print("fewer than two repetitions of gradmark say nothing of repeatability")
        return False
    typical, worst = median(ours.values()), max(ours.values())
    return all(
        [
            say(typical <= TYPICAL, f"gradmark within {TYPICAL:.0%} for the typical cell: {typical:.1%}"),
            say(worst <= EACH, f"gradmark within {EACH:.0%} for each cell: at most {worst:.1%}"),
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", nargs="*", help=f"rows of {ENGINE}; default: {' '.join(CELLS)}")
    parser.add_argument("--repetitions", type=int, default=5, help="to add; default 5, 0 judges what is there")
    parser.add_argument("--file", type=Path, help="what was said, a line each; default: kept nowhere")
    parser.add_argument("--quick", action="store_true", help="shortest settings: tries the script only")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = options.file or Path(folder) / "said.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        record(options.cells or CELLS, options.repetitions, file, options.quick)
        found = read(file)
    if not found:
        print("nothing was measured")
        return 1
    show(found)
    print()
    return 0 if judge(found) else 1


if __name__ == "__main__":
    sys.exit(main())
