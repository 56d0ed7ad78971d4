"""Is our stopwatch right? The same kernels of PyTorch, timed by us, by nvbench and by triton's `do_bench`.

    python benchmarks/gpu_agreement.py times FILE    times in µs: a line of JSON for each kernel and round
    python benchmarks/gpu_agreement.py launches      what CUPTI counts of each kernel
    python benchmarks/gpu_agreement.py profiler      what PyTorch's own profiler counts: two do not share a process
    python benchmarks/gpu_agreement.py depth         cold, in µs, by how many samples are queued before anybody waits

`benchmarks/gpu.py` starts them, each in a process of its own, and says what came of them. All three tools time a kernel
in one process and in turns, round after round: nvbench drives, and after each of its measurements the others have
theirs. FILE is where nvbench writes what it measured. Without `cuda-bench` the other two do the same by themselves.
"""

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

ROUNDS, SAMPLES = 5, 100
# nvbench's back-to-back loop, and the longest that it may take for a kernel: all but the product take 0.02 s.
HOT_S, MOST_S = 0.02, 5.0
AXIS = "round"
# Samples that are queued together; of ten it is said what each takes.
DEPTHS, LOOKED_AT = (1, 2, 5, 10, 20, 50), 10

Call = Callable[[], Any]


def installed(package: str) -> bool:
    """Whether a package is there."""
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def kernels() -> dict[str, Call]:
    """Calls of PyTorch, each a kernel or a few, on memory that is there already.

    Back to back, the host is slower to ask for a short kernel than the device is to do it: whoever times that times the
    host. So short ones are there as graphs too, which the host asks for in one go. A graph is captured in its first
    call, so that the kernels before it have the device as it is without other streams.
    """
    import torch

    def graph(call: Call, times: int) -> Call:
        captured: list[Any] = []

        def replay() -> None:
            if not captured:
                made = torch.cuda.CUDAGraph()
                with torch.cuda.graph(made):
                    for _ in range(times):
                        call()
                captured.append(made)
            captured[0].replay()

        return replay

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
        "graph of 5 tanh 4M": graph(lambda: torch.tanh(middle, out=half), 5),
        "graph of 20 tanh 16k": graph(lambda: torch.tanh(small, out=cell), 20),
    }


class Tools:
    """Ours and triton's, on one kernel after another."""

    def __init__(self) -> None:
        from gradmark.measure.worker.device.cuda import CudaTimer
        from gradmark.measure.worker.device.stopwatch import Stopwatch

        self.timer = CudaTimer()
        self.watch = Stopwatch(self.timer)
        self.do_bench: Callable[..., Any] | None = None
        if installed("triton"):
            from triton.testing import do_bench

            self.do_bench = do_bench

    def times(self, call: Call) -> dict[str, float]:
        """Medians in µs, as the others give them."""
        import torch

        cold = self.watch.cold((call,), lambda: None, SAMPLES, SAMPLES, 1.0)
        hot = self.watch.hot((call,), 0.0, 10)
        ns = {
            "cold": cold.device_ns,
            "host": cold.host_ns,
            "hot": hot.device_ns,
            "queued": self.queued_ns(call, SAMPLES),
        }
        times = {name: median(values) / 1e3 for name, values in ns.items()}
        if self.do_bench is not None:
            times["do_bench"] = 1e3 * float(self.do_bench(call, warmup=5, rep=25, return_mode="median"))
        torch.cuda.synchronize()
        return times

    def queued_ns(self, call: Call, depth: int) -> list[float]:
        """Cold by our marks, but as `do_bench` goes about it: so many samples are queued before anybody waits."""
        marks = []
        self.timer.synchronize()
        for _ in range(depth):
            self.timer.flush()
            begin = self.timer.mark()
            call()
            marks.append((begin, self.timer.mark()))
        return [self.timer.elapsed_ns(begin, end) for begin, end in marks]


def measure(out: Path) -> None:
    """Every kernel in every round, by all tools that are there."""
    calls, tools = kernels(), Tools()
    if installed("cuda.bench"):
        _with_nvbench(calls, tools, out)
        return
    for name, call in calls.items():
        for number in range(ROUNDS):
            _say(name, number, tools.times(call))


def _say(kernel: str, number: int, times: dict[str, float]) -> None:
    print(json.dumps({"kernel": kernel, AXIS: number, **times}), flush=True)


def _with_nvbench(calls: dict[str, Call], tools: Tools, out: Path) -> None:
    import cuda.bench as nvbench
    import torch

    def registered(name: str, call: Call) -> None:
        def bench(state: Any) -> None:
            call()
            torch.cuda.synchronize()
            with torch.cuda.stream(torch.cuda.ExternalStream(state.get_stream().addressof())):
                state.exec(lambda _launched: call())
            _say(name, int(state.get_int64(AXIS)), tools.times(call))

        bench.__name__ = slug(name)
        made = nvbench.register(bench)
        made.add_int64_axis(AXIS, range(ROUNDS))
        made.set_stopping_criterion("sample-count")
        made.set_criterion_param_int64("target-samples", SAMPLES)
        made.set_batch_target_time(HOT_S)
        made.set_timeout(MOST_S)

    for name, call in calls.items():
        registered(name, call)
    nvbench.run_all_benchmarks([sys.argv[0], "--quiet", "--json", str(out)])


def slug(name: str) -> str:
    """A name without spaces."""
    return name.replace(" ", "_")


def of_nvbench(text: str, names: list[str]) -> Iterator[dict[str, Any]]:
    """What nvbench's file says: the kernel, the round, cold and hot (its batch) in µs."""
    slugs = {slug(name): name for name in names}
    for bench in json.loads(text)["benchmarks"]:
        for state in bench["states"]:
            values = {
                summary["tag"]: float(entry["value"])
                for summary in state.get("summaries") or []
                for entry in summary["data"]
                if entry["name"] == "value" and summary["tag"].endswith(("/time/gpu/median", "/time/gpu/mean"))
            }
            times = {}
            if "nv/cold/time/gpu/median" in values:
                times["nvbench cold"] = 1e6 * values["nv/cold/time/gpu/median"]
            if "nv/batch/time/gpu/mean" in values:
                times["nvbench hot"] = 1e6 * values["nv/batch/time/gpu/mean"]
            number = next(int(one["value"]) for one in state["axis_values"] if one["name"] == AXIS)
            yield {"kernel": slugs[bench["name"]], AXIS: number, **times}


def launches() -> None:
    """Kernels and copies that CUPTI counts; or why nobody can count them."""
    from gradmark.measure.worker.device.cuda import CudaTimer

    timer, counted = CudaTimer(), {}
    for name, call in kernels().items():
        call()
        count = timer.count(call)
        if isinstance(count, str):
            print(json.dumps(count))
            return
        counted[name] = count.kernels + count.copies  # a copy on the device is a kernel or not, as PyTorch likes
    print(json.dumps(counted))


def by_torch_profiler() -> None:
    """The same by PyTorch's own profiler."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    counted = {}
    for name, call in kernels().items():
        call()
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CUDA]) as profiled:
            call()
            torch.cuda.synchronize()
        counted[name] = sum(event.device_type == torch.autograd.DeviceType.CUDA for event in profiled.events())
    print(json.dumps(counted))


def depths() -> None:
    """What is queued behind a kernel makes the way to it longer: medians by how many samples are queued together, and,
    of ten that are, by their places."""
    tools, calls = Tools(), kernels()
    for name in ("tanh 16k", "tanh 4M"):
        queues = {depth: [tools.queued_ns(calls[name], depth) for _ in range(SAMPLES // depth)] for depth in DEPTHS}
        by_depth = {depth: median(ns for queue in several for ns in queue) for depth, several in queues.items()}
        by_place = [median(places) for places in zip(*queues[LOOKED_AT], strict=True)]
        print(name, *(f"{depth}: {ns / 1e3:.2f}" for depth, ns in by_depth.items()), sep="  ")
        print(f"  of {LOOKED_AT}, by place:", *(f"{ns / 1e3:.2f}" for ns in by_place))


if __name__ == "__main__":
    if sys.argv[1] == "times":
        measure(Path(sys.argv[2]))
    else:
        {"launches": launches, "profiler": by_torch_profiler, "depth": depths}[sys.argv[1]]()
