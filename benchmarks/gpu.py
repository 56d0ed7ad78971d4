"""Is a GPU measured right, and what do engines take on it? All comparisons that belong together, in one command.

    python benchmarks/gpu.py                          everything, about 5 minutes on an H200
    python benchmarks/gpu.py --only agreement         our stopwatch beside nvbench, triton and torch.profiler
    python benchmarks/gpu.py --only rows -e jax       value and gradient of each row, with flushed caches
    python benchmarks/gpu.py --only run               five workloads on four engines through `gradmark run`
    python benchmarks/gpu.py --out folder             the numbers as JSON too

agreement: the same kernels of PyTorch, cold and hot, timed by the laboratory, by `cuda-bench` (nvbench) and by
`triton.testing.do_bench`, and their launches counted by CUPTI and by `torch.profiler`. Promised: within 5 %, launches
equal. rows: `benchmarks/gpu_rows.py`. run: promised in under 3 minutes. Says what is not installed, and what was left
out for that. Exit code 1 if a promise is not kept, 3 if there is no CUDA device or nothing to compare with.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ENGINES = ("torch", "torch:compile", "jax", "tapegrad", "tapegrad:jit")
PACKAGES = {"torch": "torch", "torch:compile": "torch", "jax": "jax", "tapegrad": "cupy", "tapegrad:jit": "cupy"}
PARTS = ("agreement", "rows", "run")
WORKLOADS = ("elementwise", "matmul", "softplus", "reduce_sum", "mlp_step")
GRADMARK = "import sys; from gradmark.commands.main import main; sys.exit(main())"
PROMISED, MOST_S = 0.05, 180.0
SAMPLES = 200
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


def installed(package: str) -> bool:
    """Whether a package is there."""
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


# --- agreement


def kernels() -> dict[str, Callable[[], Any]]:
    """Calls of PyTorch, each a kernel or a few."""
    import torch

    large = torch.randn(1 << 26, device="cuda")
    out = torch.empty_like(large)
    square, small = torch.randn(4096, 4096, device="cuda"), torch.randn(1 << 14, device="cuda")
    middle, result = torch.randn(1 << 22, device="cuda"), torch.empty(4096, 4096, device="cuda")
    half, cell = torch.empty(1 << 22, device="cuda"), torch.empty(1 << 14, device="cuda")
    return {
        "copy 256 MiB": lambda: out.copy_(large),
        "tanh 64M": lambda: torch.tanh(large, out=out),
        "product 4096": lambda: torch.mm(square, square, out=result),
        "tanh 4M": lambda: torch.tanh(middle, out=half),
        "tanh 16k": lambda: torch.tanh(small, out=cell),
        "three kernels 4M": lambda: torch.tanh(half.copy_(middle).mul_(1.1), out=half),
    }


def ours(call: Callable[[], Any]) -> tuple[float, float]:
    """Cold and hot, in microseconds, as medians: so do the others."""
    from statistics import median

    from gradmark.measure.worker.device.cuda import CudaTimer
    from gradmark.measure.worker.device.stopwatch import Stopwatch

    watch = Stopwatch(CudaTimer())
    cold = watch.cold((call,), lambda: None, SAMPLES, SAMPLES, 1.0)
    return median(cold.device_ns) / 1e3, median(watch.hot((call,), 0.0, 20).device_ns) / 1e3


def by_triton(call: Callable[[], Any]) -> float:
    """Cold, in microseconds."""
    from triton.testing import do_bench

    return 1e3 * float(do_bench(call, warmup=25, rep=100, return_mode="median"))


def by_nvbench(calls: dict[str, Callable[[], Any]]) -> dict[str, tuple[float, float]] | str:
    """Cold and hot (nvbench's batch) of each call, in microseconds, in a process of its own; or why not."""
    if not installed("cuda.bench"):
        return "cuda-bench is not installed: pip install cuda-bench"
    out = Path(os.environ.get("TMPDIR", "/tmp")) / f"nvbench-{os.getpid()}.json"
    told = subprocess.run(
        [sys.executable, __file__, "--nvbench", "--json", str(out)], capture_output=True, text=True, timeout=LIMIT_S,
        check=False,
    )  # fmt: skip
    if told.returncode or not out.exists():
        return f"cuda-bench failed: {(told.stderr.strip().splitlines() or ['no words'])[-1]}"
    times: dict[str, tuple[float, float]] = {}
    for bench in json.loads(out.read_text())["benchmarks"]:
        for state in bench.get("states", []):
            means = {
                summary["tag"]: float(entry["value"])
                for summary in state.get("summaries", [])
                for entry in summary.get("data", [])
                if entry["name"] == "value" and "gpu/time/mean" in summary["tag"]
            }
            name = next(known for known in calls if slug(known) == bench["name"])
            cold, hot = means.get("nv/cold/time/gpu/mean"), means.get("nv/batch/time/gpu/mean")
            if cold is not None and hot is not None:
                times[name] = 1e6 * cold, 1e6 * hot
    out.unlink()
    return times


def slug(name: str) -> str:
    """A name without spaces."""
    return name.replace(" ", "_")


def run_nvbench(arguments: list[str]) -> None:
    """The other process: each call a benchmark of nvbench, on its own stream."""
    import cuda.bench as nvbench
    import torch

    def registered(call: Callable[[], Any], name: str) -> None:
        def bench(state: Any) -> None:
            def launch(launched: Any) -> None:
                with torch.cuda.stream(torch.cuda.ExternalStream(launched.get_stream().addressof())):
                    call()

            state.exec(launch)

        bench.__name__ = slug(name)
        nvbench.register(bench)

    for name, call in kernels().items():
        registered(call, name)
    nvbench.run_all_benchmarks([sys.argv[0], *arguments])


def launches(calls: dict[str, Callable[[], Any]]) -> dict[str, int] | str:
    """What CUPTI counts, in a process of its own: two profilers do not share one."""
    told = subprocess.run([sys.executable, __file__, "--count"], capture_output=True, text=True, timeout=LIMIT_S,
                          check=False)  # fmt: skip
    try:
        counted: dict[str, int] | str = json.loads(told.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return f"counting failed: {(told.stderr.strip().splitlines() or ['no words'])[-1]}"
    assert isinstance(counted, str) or set(counted) == set(calls)
    return counted


def count() -> None:
    """The other process."""
    from gradmark.measure.worker.device.cuda import CudaTimer

    timer, counted = CudaTimer(), {}
    for name, call in kernels().items():
        call()
        found = timer.count(call)
        if isinstance(found, str):
            print(json.dumps(found))
            return
        counted[name] = found.kernels + found.copies  # a copy on the device is a kernel or not, as PyTorch likes
    print(json.dumps(counted))


def by_profiler(call: Callable[[], Any]) -> int:
    """Kernels and copies that PyTorch's own profiler sees."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        call()
        torch.cuda.synchronize()
    events = [event for event in profiled.events() if "CUDA" in str(event.device_type)]
    return len(events)


def agreement() -> tuple[list[dict[str, Any]], list[str], bool | None]:
    """The table, what was left out, and whether the promise is kept: None if there was nothing to compare with."""
    if not installed("torch"):
        return [], ["agreement needs PyTorch with CUDA"], None
    calls = kernels()
    others, counted = by_nvbench(calls), launches(calls)
    notes = [text for text in (others, counted) if isinstance(text, str)]
    if not installed("triton"):
        notes.append("triton is not installed")
    table, ratios, same = [], [], []
    for name, call in calls.items():
        cold, hot = ours(call)
        line: dict[str, Any] = {"kernel": name, "cold": cold, "hot": hot}
        if isinstance(others, dict) and name in others:
            line["nvbench cold"], line["nvbench hot"] = others[name]
            ratios += [cold / others[name][0], hot / others[name][1]]
        if installed("triton"):
            line["do_bench"] = by_triton(call)
            ratios.append(cold / line["do_bench"])
        if isinstance(counted, dict):
            line["launches"], line["torch.profiler"] = counted[name], by_profiler(call)
            same.append(line["launches"] == line["torch.profiler"])
        table.append(line)
    if not ratios and not same:
        return table, notes, None
    return table, notes, all(abs(ratio - 1.0) <= PROMISED for ratio in ratios) and all(same)


# --- rows and run


def rows(engines: list[str], names: list[str]) -> tuple[list[dict[str, Any]], list[str], bool | None]:
    """Every engine in a process of its own, one after the other; gradients are compared with PyTorch's in float64."""
    sys.path.insert(0, str(HERE))
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


def run(engines: list[str]) -> tuple[list[dict[str, Any]], list[str], bool | None]:
    """`gradmark run` on the device: how long it takes, and its table."""
    there = [engine for engine in engines if installed(PACKAGES[engine])]
    command = [sys.executable, "-c", GRADMARK, "run", *WORKLOADS, "--device", "cuda"]
    command += [word for engine in there for word in ("-e", engine)]
    begun = time.perf_counter()
    told = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "200"})
    taken_s = time.perf_counter() - begun
    print(told.stdout)
    print(told.stderr[-2000:], file=sys.stderr)
    line = {"workloads": len(WORKLOADS), "engines": len(there), "seconds": taken_s, "exit code": told.returncode}
    return [line], [], taken_s <= MOST_S and told.returncode == 0


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
    if "--nvbench" in sys.argv:
        run_nvbench([word for word in sys.argv[1:] if word != "--nvbench"])
        return 0
    if "--count" in sys.argv:
        count()
        return 0
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
            table, notes, good = run(engines)
        printed(table)
        for note in notes:
            print(f"left out: {note}")
        print({True: "kept", False: "NOT KEPT", None: "nothing to compare with"}[good], flush=True)
        kept.append(good)
        if given.out is not None:
            given.out.mkdir(parents=True, exist_ok=True)
            (given.out / f"{part}.json").write_text(json.dumps({"table": table, "notes": notes, "kept": good}))
    return 1 if False in kept else 3 if all(good is None for good in kept) else 0


if __name__ == "__main__":
    sys.exit(main())
