"""Is a GPU measured right, and what do engines take on it? All comparisons that belong together, in one command.

    python benchmarks/gpu.py                          everything, about 5 minutes on an H200
    python benchmarks/gpu.py --only agreement         our stopwatch beside nvbench, triton and torch.profiler
    python benchmarks/gpu.py --only rows -e jax       value and gradient of each row, with flushed caches
    python benchmarks/gpu.py --only run               five workloads on four engines through `gradmark run`
    python benchmarks/gpu.py --out folder             the numbers as JSON too, and the run file

agreement: the same kernels of PyTorch, cold and hot, timed by the laboratory, by `cuda-bench` (nvbench) and by
`triton.testing.do_bench`, in turns and in one process, and their launches counted by CUPTI and by `torch.profiler`.
Promised: within 5 %, launches equal. rows: `benchmarks/gpu_rows.py`. run: promised in under 3 minutes. Says what is not
installed, and what was left out for that. Exit code 1 if a promise is not kept, 3 if there is no CUDA device or nothing
to compare with.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

from gpu_agreement import AXIS, installed, of_nvbench

HERE = Path(__file__).parent
ENGINES = ("torch", "torch:compile", "jax", "tapegrad", "tapegrad:jit")
PACKAGES = {"torch": "torch", "torch:compile": "torch", "jax": "jax", "tapegrad": "cupy", "tapegrad:jit": "cupy"}
PARTS = ("agreement", "rows", "run")
# Five workloads, small and large: what a launch costs, and what the device does.
WORKLOADS = ("elementwise/n=1/depth=16", "elementwise/n=4000000/depth=4", "matmul/n=8", "matmul/n=1024",
             "softplus/n=1000000", "reduce_sum/n=4096", "mlp_step/batch=8/width=32",
             "mlp_step/batch=256/width=512")  # fmt: skip
GRADMARK = "import sys; from gradmark.commands.main import main; sys.exit(main())"
PROMISED, MOST_S = 0.05, 180.0
COUNTERS = ("launches", "profiler")
COLUMNS = ("cold", "nvbench cold", "do_bench", "queued", "hot", "nvbench hot", "host")
# An engine that does not come to an end must not take all of the time.
LIMIT_S = 150.0


def lacking() -> str:
    """Why nothing can be measured here; empty if it can."""
    from gradmark.errors import GradmarkError
    from gradmark.measure.worker.device.cuda import Driver

    try:
        Driver(0)
    except GradmarkError as error:
        return str(error)
    return ""


# --- agreement


def told(*words: str) -> tuple[str, str]:
    """What the other script prints, in a process of its own, and the last line of what went wrong there."""
    try:
        called = subprocess.run(
            [sys.executable, str(HERE / "gpu_agreement.py"), *words], capture_output=True, text=True, timeout=LIMIT_S,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "", f"not at its end after {LIMIT_S:.0f} s"
    return called.stdout, (called.stderr.strip().splitlines() or ["no words"])[-1] if called.returncode else ""


def times() -> tuple[dict[str, dict[str, float]], list[str]]:
    """Of each kernel what each tool says, the median of its rounds; and what was left out."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "nvbench.json"
        said, wrong = told("times", str(out))
        lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
        names = list(dict.fromkeys(line["kernel"] for line in lines))
        lines += list(of_nvbench(out.read_text(), names)) if out.exists() else []
    rounds: dict[str, dict[str, list[float]]] = {name: {} for name in names}
    for line in lines:
        for tool, value in line.items():
            if tool not in ("kernel", AXIS):
                rounds[line["kernel"]].setdefault(tool, []).append(value)
    notes = [f"the comparison failed: {wrong}"] if wrong else []
    for package, column in (("cuda.bench", "nvbench cold"), ("triton", "do_bench")):
        if not installed(package):
            notes.append(f"{package} is not installed")
        elif not all(column in tools for tools in rounds.values()):
            notes.append(f"{package} gave no {column} for some kernel")
    return {name: {tool: median(values) for tool, values in tools.items()} for name, tools in rounds.items()}, notes


def launches(counter: str) -> dict[str, int] | str:
    """What CUPTI or PyTorch's profiler counts of each kernel; or why it does not."""
    said, wrong = told(counter)
    try:
        counted: dict[str, int] | str = json.loads(said.splitlines()[-1])
    except (IndexError, ValueError):
        return f"{counter}: {wrong}"
    return counted


def compared(tools: dict[str, float]) -> tuple[dict[str, float], list[bool], list[str]]:
    """Of one kernel: our times by those of others, whether they agree, and what is not judged, with the reason.

    Cold means what it means to nvbench. Where nvbench and `do_bench` contradict each other, we agree with nvbench.
    """
    pairs, kept, notes = {}, [], []
    for own, other in (("cold", "nvbench cold"), ("cold", "do_bench"), ("hot", "nvbench hot")):
        if other not in tools:
            continue
        pairs[f"{own} / {other}"] = tools[own] / tools[other]
        if other == "do_bench" and not near(tools.get("nvbench cold", tools[other]), tools[other]):
            notes.append(f"do_bench is {tools[other] / tools['nvbench cold']:.2f} × nvbench")
        elif own == "hot" and tools["host"] >= tools["hot"]:
            notes.append("hot is the host's time")
        else:
            kept.append(near(tools[own], tools[other]))
    return pairs, kept, notes


def near(one: float, other: float) -> bool:
    """Whether two times are the same."""
    return abs(one / other - 1.0) <= PROMISED


def agreement() -> tuple[list[dict[str, Any]], list[str], bool | None]:
    """The table, what was left out, and whether the promise is kept: None if there was nothing to compare with."""
    if not installed("torch"):
        return [], ["agreement needs PyTorch with CUDA"], None
    measured, notes = times()
    with ThreadPoolExecutor(2) as both:  # nothing is timed
        counts = dict(zip(COUNTERS, both.map(launches, COUNTERS), strict=True))
    notes += [words for words in counts.values() if isinstance(words, str)]
    table: list[dict[str, Any]] = []
    kept = []
    for name, tools in measured.items():
        pairs, judged, unjudged = compared(tools)
        line: dict[str, Any] = {"kernel": name, **{column: tools[column] for column in COLUMNS if column in tools}}
        line |= pairs | {counter: known[name] for counter, known in counts.items() if not isinstance(known, str)}
        kept += judged + ([line["launches"] == line["profiler"]] if set(COUNTERS) <= set(line) else [])
        notes += [f"not judged, {name}: {words}" for words in unjudged]
        table.append(line)
    return table, notes, all(kept) if kept else None


# --- rows and run


def rows(engines: list[str], names: list[str]) -> tuple[list[dict[str, Any]], list[str], bool | None]:
    """Every engine in a process of its own, one after the other; gradients are compared with PyTorch's in float64."""
    from gpu_rows import REFERENCE, error

    notes, lines = [], []
    for engine in [*(engine for engine in engines if installed(PACKAGES[engine])), REFERENCE]:
        begun = time.perf_counter()
        try:
            told = subprocess.run(
                [sys.executable, str(HERE / "gpu_rows.py"), engine, *names], capture_output=True, text=True,
                timeout=LIMIT_S, check=False, env={"XLA_PYTHON_CLIENT_PREALLOCATE": "false", **os.environ},
            )  # fmt: skip
            said, words = told.stdout, told.stderr.strip().splitlines()
        except subprocess.TimeoutExpired as late:
            said, words = (late.stdout or b"").decode(), [f"not at its end after {LIMIT_S:.0f} s"]
        fresh = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
        lines += fresh
        if not fresh or fresh[-1]["row"] == "":
            notes.append(f"{engine}: {(words or ['no words'])[-1]}")
        print(f"{engine}: {len(fresh)} rows in {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
    notes += [f"{engine}: {PACKAGES[engine]} is not installed" for engine in engines if not installed(PACKAGES[engine])]
    exact = {line["row"]: line["prints"] for line in lines if line["engine"] == REFERENCE and "prints" in line}
    table = []
    for line in (line for line in lines if line["engine"] != REFERENCE):
        prints = line.pop("prints", None)
        if prints is not None and line["row"] in exact:
            line["gradient error"] = error(prints, exact[line["row"]])
        table.append(line)
    wrong = [line for line in table if line.get("gradient error", 0.0) > 1e-2 or "error" in line]
    return table, notes, not wrong if table else None


def run(engines: list[str], store: Path | None) -> tuple[list[dict[str, Any]], list[str], bool | None]:
    """`gradmark run` on the device: its table, and how long it takes. Without a store the run goes where runs go."""
    there = [engine for engine in engines if installed(PACKAGES[engine])]
    command = [sys.executable, "-c", GRADMARK, "run", *WORKLOADS, "--device", "cuda"]
    command += [word for engine in there for word in ("-e", engine)]
    command += [] if store is None else ["--store", str(store)]
    begun = time.perf_counter()
    code = subprocess.run(command, check=False, env={**os.environ, "COLUMNS": "200"}).returncode
    taken_s = time.perf_counter() - begun
    line = {"rows": len(WORKLOADS), "engines": len(there), "seconds": taken_s, "exit code": code}
    return [line], [], taken_s <= MOST_S and code == 0


# --- what is said


def printed(table: list[dict[str, Any]]) -> None:
    """Columns as wide as they need to be."""
    keys = list(dict.fromkeys(key for line in table for key in line))

    def text(value: Any) -> str:
        if isinstance(value, float):
            return f"{value:.3g}" if value < 1000 else f"{value:.0f}"
        return "" if value is None else str(value)

    cells = [keys, *([text(line.get(key)) for key in keys] for line in table)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(keys))]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def main() -> int:
    """All parts, or some."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, action="append", help="only this part; repeatable")
    parser.add_argument("-e", "--engine", choices=ENGINES, action="append", help="only this engine; repeatable")
    parser.add_argument("-k", metavar="TEXT", action="append", default=[], help="only rows with this in their name")
    parser.add_argument("--out", type=Path, help="a folder for the numbers as JSON")
    given = parser.parse_args()
    if reason := lacking():
        print(f"There is no CUDA device here: {reason}. Nothing was measured.")
        print("`gradmark audit -k device` plants faults on a device of known costs, and needs none.")
        return 3
    engines = list(given.engine or ENGINES)
    kept: list[bool | None] = []
    for part in given.only or PARTS:
        print(f"\n{part} (times in µs)", flush=True)
        if part == "agreement":
            table, notes, good = agreement()
        elif part == "rows":
            table, notes, good = rows(engines, given.k)
        else:
            table, notes, good = run(engines, given.out)
        printed(table)
        for note in notes:
            print(note if note.startswith("not judged") else f"left out: {note}")
        print({True: "kept", False: "NOT KEPT", None: "nothing to compare with"}[good], flush=True)
        kept.append(good)
        if given.out is not None:
            given.out.mkdir(parents=True, exist_ok=True)
            (given.out / f"{part}.json").write_text(json.dumps({"table": table, "notes": notes, "kept": good}))
    return 1 if False in kept else 3 if all(good is None for good in kept) else 0


if __name__ == "__main__":
    sys.exit(main())
