"""Go: lines that benchstat and other tools of Go's benchmark format read (proposal 14313, x/perf/benchfmt).

In: a run. Out: configuration, units, then one line for each process of each cell. The process is the unit of analysis
here too, so that benchstat's statistics over lines are statistics over processes; what was computed is left out, and so
are processes that saw no calm machine, if others did.
"""

import math
import re
from collections.abc import Collection, Iterator

from gradmark.records import Cell, Environment, Measurement, Memory, Run, Sample
from gradmark.records.derivative import USUAL_DERIVATIVE
from gradmark.records.number import OF_ROW, of_row
from gradmark.records.times import PARTS, counting
from gradmark.report.model.characters import one_line
from gradmark.report.model.rows import WORDS, reading_order

UNITS = [
    "Unit ns/op better=lower",
    "Unit fwd-ns/op better=lower",
    "Unit bwd-ns/op better=lower",
    "Unit GFLOP/s better=higher",
    "Unit MB/s better=higher",
    # Counted once for the cell and repeated on each of its lines: more lines do not make them surer.
    "Unit B/op better=lower assume=exact",
    "Unit allocs/op better=lower assume=exact",
]
SYSTEMS = {"linux": "linux", "darwin": "darwin", "macos": "darwin", "windows": "windows", "freebsd": "freebsd"}
MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64", "riscv64": "riscv64"}
# benchstat takes such an end for the number of processors and cuts it off the name.
PROCESSORS = re.compile(r"-[0-9]+\Z")


def render(run: Run) -> str:
    """The whole file. A cell that failed gives `--- FAIL` and its message, which readers of the format pass over."""
    lines = [*_configuration(run.environment), *UNITS]
    taken: dict[str, int] = {}
    for place in reading_order(run):
        measurement = run.measurements[place]
        name = benchmark_name(measurement.cell, run.settings.threads)
        taken[name] = taken.get(name, 0) + 1
        if taken[name] > 1:
            # Cells that differ only in characters that a name cannot have must not be pooled as one.
            name += f"/cell={taken[name]}"
        lines += _failure(name, measurement) if measurement.status != "ok" else _results(name, measurement)
    return "\n".join(lines) + "\n"


def benchmark_name(cell: Cell, threads: int = 1) -> str:
    """`BenchmarkPoly/n=1000/engine=tapegrad`: no white space, a capital, parameters as `/key=value`.

    >>> benchmark_name(Cell(engine="xad-2", workload="sum of powers", suite="scalar", params={"n": 10}))
    'BenchmarkSum_of_powers/n=10/engine=xad-2/threads=1'
    """
    base = _word(cell.workload)
    base = base[0].upper() + base[1:]
    if not base[0].isupper():  # a digit, or a script without capitals
        base = f"W{base}"
    parameters: dict[str, object] = {**cell.params, "engine": cell.engine}
    if cell.dtype != "float64":
        parameters["dtype"] = cell.dtype
    if cell.device != "cpu":
        parameters["device"] = cell.device
    if cell.derivative != USUAL_DERIVATIVE:
        parameters["derivative"] = cell.derivative
    name = "/".join(
        [f"Benchmark{base}", *(f"{_word(k).replace('=', '_')}={_word(str(v))}" for k, v in parameters.items())]
    )
    return f"{name}/threads={threads}" if PROCESSORS.search(name) else name


def _word(text: str) -> str:
    """One word; a slash would begin the next parameter."""
    return re.sub(r"\s|/", "_", one_line(text)) or "_"


def _configuration(environment: Environment) -> Iterator[str]:
    # Nothing that differs from run to run (commit, run id): benchstat compares only lines of equal configuration.
    # What is not known is left out.
    machine = f"{environment.os} {environment.machine} {environment.cpu}".lower()
    goos = next((SYSTEMS[name] for name in SYSTEMS if name in machine), None)
    goarch = next((MACHINES[name] for name in MACHINES if name in machine), None)
    for key, value in (("goos", goos), ("goarch", goarch), ("cpu", one_line(environment.cpu)), ("pkg", "gradmark")):
        if value:
            yield f"{key}: {value}"


def _failure(name: str, measurement: Measurement) -> list[str]:
    word = "SKIP" if measurement.status in ("unsupported", "skipped") else "FAIL"
    message = one_line(measurement.message)
    # Indented, as Go does: no reader takes it for `key: value`.
    return [f"--- {word}: {name}", f"    {WORDS[measurement.status]}{': ' if message else ''}{message}"]


def _results(name: str, measurement: Measurement) -> Iterator[str]:
    counted = _counted(measurement.memory or Memory())
    of_phase = {name: counting(measurement.samples, name) for name in (*OF_ROW, *PARTS)}
    for sample in measurement.samples:
        own = {name for name, samples in of_phase.items() if any(sample is one for one in samples)}
        timed = [*_timed(sample, own), *_rates(sample, own, measurement)]
        if timed:
            phase = of_row(sample.phases)
            assert phase is not None  # it was timed
            yield " ".join([name, str(phase.iterations * len(phase.block_ns)), *timed, *counted])


def _timed(sample: Sample, own: Collection[str]) -> Iterator[str]:
    """The time of the whole first, then of its parts, of the phases that count; nothing if the whole does not."""
    whole = next((name for name in OF_ROW if name in sample.phases), OF_ROW[0])
    for phase, unit in ((whole, "ns/op"), ("forward", "fwd-ns/op"), ("backward", "bwd-ns/op")):
        if phase in own and math.isfinite(sample.phases[phase].time_ns):
            yield f"{_number(sample.phases[phase].time_ns)} {unit}"
        elif phase == whole:
            return


def _rates(sample: Sample, own: Collection[str], measurement: Measurement) -> Iterator[str]:
    """What a tensor workload declares, over the time of the whole."""
    total = sample.phases.get("total") if "total" in own else None
    if total is None or not 0 < total.time_ns < math.inf:
        return
    for count, unit, scale in ((measurement.flops, "GFLOP/s", 1.0), (measurement.bytes, "MB/s", 1e3)):
        if count and math.isfinite(rate := scale * count / total.time_ns):
            yield f"{_number(rate)} {unit}"


def _counted(memory: Memory) -> list[str]:
    if memory.allocations is None or not math.isfinite(memory.allocations):
        return []
    known = 0.0 if memory.allocations == 0 else memory.allocated_bytes
    size = [f"{_number(known)} B/op"] if known is not None and math.isfinite(known) else []
    return [*size, f"{_number(memory.allocations)} allocs/op"]


def _number(number: float) -> str:
    """Six digits and no exponent where people read it; whole numbers in full."""
    return f"{number:.0f}" if number == int(number) or abs(number) >= 1e6 else f"{number:.6g}"
