"""The registry of metrics: everything that is measured, once. Tables, fits, gate, baselines, exports and page ask it.

In: a measurement. Out: its numbers by name, and for each that is missing the reason. To add a metric, add an entry.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import Any, Literal

from gradmark.records import readings, times
from gradmark.records.budget import Budget
from gradmark.records.cell import USUAL_DEVICE, Cell, Kind
from gradmark.records.derivative import BEYOND_GRADIENTS, SPARSE_ONES, USUAL_DERIVATIVE, DerivativeName
from gradmark.records.measurement import Measurement
from gradmark.records.number import Number
from gradmark.records.readings import Numbers, Read, Why
from gradmark.records.sample import Sample

Unit = Literal["time", "bytes", "count", "share", "ratio", "rate", "flops", "traffic", "relative", "ulp", "part"]
# What counts of allocations and bytes depend on: what Python, NumPy and the C library allocate differs between their
# versions, and what memray sees of it between its own.
OF_ALLOCATORS = ("system", "machine", "libc", "python", "numpy", "memray")


@dataclass(frozen=True, eq=False)  # an entry is only ever itself: its functions cannot be compared
class Metric:
    """One thing that is measured."""

    name: str
    title: str  # what people call it, in tables and sentences; metrics of one title share a column
    unit: Unit
    meaning: str  # one sentence, for legends and the reference
    read: Read
    why_missing: Why
    in_process: Callable[[Sample], float | None] | None = None  # of a time: what one process says; None if counted once
    better: Literal["lower", "higher"] = "lower"
    exact: bool = False  # repeats itself: gates hard against the baseline
    on_demand: bool = False  # measured only if somebody asks for it
    depends: tuple[str, ...] = ()  # parts of the environment without which an exact number does not compare
    budget: Budget | None = None  # how much worse it may get; None: never gated
    budget_name: str = ""  # the key in pyproject.toml, if not its name
    digits: int = 6  # that a baseline keeps
    settled: float = 0.0  # a share: a baseline is not rewritten for less
    resolution: float = 0.0  # of a number that was not 0: by how much it may move without any reason
    stands_in_for: str = ""  # a metric that some engines move by chance: the gate compares this one in its place
    fitted: bool = False  # cost(n) = a + b·n^p over sizes
    phase: bool = False  # timed by itself in blocks
    of_device: bool = False  # only rows on a device have it
    of_engine: bool = False  # the same for all rows of an engine
    kinds: tuple[Kind, ...] = ("scalar", "tensor")  # of workloads that it says something of
    derivatives: tuple[DerivativeName, ...] = ()  # that it says something of; none: all
    rank: int | None = None  # how soon its column gives way on a narrow terminal, 0 never; None: it has no column
    csv: str = ""  # its column in CSV files, if not its name
    aliases: tuple[str, ...] = ()  # older names
    remark: str = ""  # stands under its title in tables
    plural: bool = False  # whether its title is one
    last: bool = False  # made of other metrics, of its own row or of others, so that they are read first
    part: Literal["", "memory", "instructions", "device_work"] = (
        ""  # of a measurement: what a tool counts, which may be missing
    )

    def is_of(self, cell: Cell) -> bool:
        """Whether it says anything of such a row: of its derivative, on its device."""
        if self.of_device and cell.device == USUAL_DEVICE:
            return False
        return not self.derivatives or cell.derivative in self.derivatives

    @property
    def timed(self) -> bool:
        """Whether it is a time, of which every process has its own."""
        return self.in_process is not None

    @property
    def column(self) -> str:
        """Its name in CSV files."""
        return self.csv or self.name

    @property
    def budgeted_as(self) -> str:
        """Its key among the budgets."""
        return self.budget_name or self.name

    def number(self, measurement: Measurement) -> float | None:
        """What a measurement has of it, as it is shown; None if it has none."""
        number = numbers(measurement).get(self.name)
        return None if number is None else number.value


# --- entries that are made alike


def phase(
    name: str, meaning: str, rank: int | None, budget: Budget | None = None, derivatives: Sequence[DerivativeName] = ()
) -> Metric:
    """The metric of a phase that sessions declare."""

    def in_process(sample: Sample) -> float | None:
        return times.process_time_ns(sample, name)

    def read(_measurement: Measurement, known: Numbers) -> Number | None:
        return known.get(name)

    return Metric(
        name, name, "time", meaning, read, readings.no_phase(name), in_process=in_process, budget=budget,
        budget_name="time",
        digits=3, fitted=True, phase=True, rank=rank, csv=f"{name}_ns",
        derivatives=tuple(derivatives),
    )  # fmt: skip


def device_phase(name: str, meaning: str, rank: int, missing: str) -> Metric:
    """The metric of a time that only rows on a device have."""
    return dataclasses.replace(
        phase(name, meaning, rank), why_missing=lambda _m, _known: missing, budget_name="", of_device=True
    )


def _once(name: str, title: str, meaning: str, parts: tuple[str, ...], **more: Any) -> Metric:
    def in_process(sample: Sample) -> float | None:
        there = all(part in sample.once_ns for part in parts)
        return sum(sample.once_ns[part] for part in parts) if there else None

    def read(m: Measurement, _known: Numbers) -> Number | None:
        values = [value for sample in m.samples if (value := in_process(sample)) is not None]
        return times.fastest(values, values) if values else None

    return Metric(
        name, title, "time", meaning, read, lambda _m, _known: "no process produced a time", in_process=in_process,
        digits=3, csv=f"{name}_ns", **more,
    )  # fmt: skip


# Why these budgets: times of interleaved processes agree within 2 %, so 5 % can be told from noise; callgrind repeats
# itself to 0.1 %; the peak of memory moves a little with the length of names; counts repeat exactly. Rounding errors
# differ by small factors between C libraries and BLAS kernels, and a mistake of rule or order by many powers of ten.
# What an engine leaks is the slope of what is alive: caches that fill meanwhile tilt it by a byte or two, an object in
# every other iteration by 8.
_TIME = Budget(share=0.05)
# What happens once in a process has no calm blocks to choose from: on a busy machine equal pairs of processes differ by
# half, the medians of twelve differences by a tenth. Below 50 ms nobody waits.
_ONCE = Budget(share=0.10, added_ns=50e6)
REGISTRY: tuple[Metric, ...] = (
    phase("primal", "the function alone, nothing recorded", 7),
    # Of other derivatives total is all there is: a session computes them in one call.
    phase("forward", "evaluate and record", 2, _TIME, [USUAL_DERIVATIVE]),
    phase("backward", "propagate derivatives through the recording", 1, _TIME, [USUAL_DERIVATIVE]),
    phase("total", "value and gradient: forward and then backward", 0, _TIME),
    device_phase(
        "cold", "by the device's own clock, its caches flushed before: how long it works on an iteration", 2,
        "gradmark has no timer for this device",
    ),
    device_phase(
        "hot", "by the device's own clock: an iteration of many, back to back", 2,
        "gradmark has no timer for this device",
    ),
    device_phase(
        "host", "until the calls of an iteration return, while the device is still at work", 2,
        "gradmark has no timer for this device",
    ),
    Metric(
        "kernels", "launches", "count", "kernels that an iteration launches", *readings.of_device("kernels"),
        of_device=True, rank=3, plural=True, part="device_work",
    ),
    Metric(
        "busy", "busy", "part", "of the time of an iteration, back to back, the part in which the device works",
        readings.busy,
        readings.uncounted, better="higher", of_device=True, rank=3,
    ),
    device_phase(
        "replayed", "an iteration as a graph that the device replays, its caches flushed before", 4,
        "the engine cannot capture an iteration as a graph",
    ),
    Metric(
        "copies", "copies", "count", "copies of memory in an iteration, on the device or between it and the host",
        *readings.of_device("copies"), of_device=True, rank=11, plural=True, part="device_work",
    ),
    Metric(
        "copied_bytes", "copied", "bytes", "bytes of these copies", *readings.of_device("copied_bytes"), of_device=True,
        rank=11, part="device_work",
    ),
    Metric(
        "bytes_of_roof", "of copy", "part",
        "reading the inputs and writing the gradients, at the speed of a copy on this device, as a part of cold",
        *readings.share_of_roof("bytes"), better="higher", kinds=("tensor",), of_device=True, rank=3,
        derivatives=(USUAL_DERIVATIVE,),
    ),
    Metric(
        "flops_of_roof", "of product", "part",
        "operations per second, cold, as a part of what a product of this dtype reaches on this device",
        *readings.share_of_roof("flops"), better="higher", kinds=("tensor",), of_device=True, rank=3,
        derivatives=(USUAL_DERIVATIVE,),
    ),
    Metric(
        "spread", "spread", "share", "half the width of the time's interval", readings.spread, readings.no_spread,
        rank=0, csv="spread_ratio",
    ),
    Metric(
        "backward_forward", "bwd/fwd", "ratio", "backward as a multiple of forward", *readings.quotient("backward",
        "forward"),
        rank=8, csv="backward_forward_ratio",
    ),
    # Theory: a gradient costs at most about four evaluations, however many inputs there are.
    Metric(
        "gradient_primal", "grad/primal", "ratio", "total as a multiple of the function alone",
        *readings.quotient("total", "primal"), rank=6, csv="gradient_primal_ratio", remark="theory: ≤ 4",
        derivatives=(USUAL_DERIVATIVE,),
    ),
    Metric(
        "derivative_primal", "× primal", "ratio", "total as a multiple of the function alone",
        *readings.quotient("total", "primal"), rank=1, csv="derivative_primal_ratio", derivatives=BEYOND_GRADIENTS,
    ),
    Metric(
        "theory", "theory ≤", "ratio", "evaluations of the function that are enough, in theory",
        readings.bound, lambda _m, _known: "it depends on the size", rank=1, derivatives=BEYOND_GRADIENTS,
    ),
    Metric(
        "derivative_gradient", "× gradient", "ratio", "total as a multiple of the gradient's, of the same engine",
        *readings.of_gradient("total"), rank=1, csv="derivative_gradient_ratio", derivatives=BEYOND_GRADIENTS,
        last=True,
    ),
    Metric(
        "peak_gradient", "peak × grad", "ratio", "peak memory as a multiple of the gradient's, of the same engine",
        *readings.of_gradient("peak_bytes"), rank=6, csv="peak_gradient_ratio", derivatives=BEYOND_GRADIENTS, last=True,
    ),
    Metric(
        "evaluations", "evals", "count", "evaluations of the function in one iteration",
        lambda m, _known: m.evaluations, lambda _m, _known: "the function is compiled, and the engine does not count",
        rank=7, derivatives=BEYOND_GRADIENTS, plural=True,
    ),
    Metric(
        "nonzeros", "nonzeros", "count", "entries that a sparse matrix holds", *readings.sparsity("nonzeros"),
        rank=2, derivatives=SPARSE_ONES, plural=True,
    ),
    Metric(
        "colours", "colours", "count", "groups of columns or rows that share a pass", *readings.sparsity("colours"),
        rank=2, derivatives=SPARSE_ONES, plural=True,
    ),
    Metric(
        "preparation", "until first", "time", "until the first sparse matrix: pattern, colours, compilation",
        lambda _m, known: known.get("first_call"), lambda _m, _known: "no process produced a time",
        rank=3, csv="preparation_ns", derivatives=SPARSE_ONES, last=True,
    ),
    Metric(
        "break_even", "break-even", "count", "matrices after which the sparse one has made up for its preparation",
        readings.break_even, readings.no_break_even, rank=3, derivatives=SPARSE_ONES, last=True,
    ),
    Metric(
        "operations_per_s", "ops/s", "rate", "operations of one evaluation over total", *readings.rate("operations"),
        better="higher", kinds=("scalar",), rank=9,
    ),
    Metric(
        "flops_per_s", "rate", "flops", "arithmetic of value and gradient over total", *readings.rate("flops"),
        better="higher", kinds=("tensor",), rank=3, derivatives=(USUAL_DERIVATIVE,),
    ),
    Metric(
        "bytes_per_s", "rate", "traffic", "memory traffic of value and gradient over total", *readings.rate("bytes"),
        better="higher", kinds=("tensor",), rank=3, derivatives=(USUAL_DERIVATIVE,),
    ),
    Metric(
        "allocations", "allocs", "count", "heap allocations in one iteration, less those of plain numbers or arrays",
        *readings.memory("allocations"), exact=True, depends=OF_ALLOCATORS, budget=Budget(), fitted=True, rank=4,
        csv="allocations_per_iteration", plural=True, part="memory",
    ),
    Metric(
        "least_allocations", "least allocs", "count", "allocations of the iteration that makes the fewest",
        *readings.memory("least_allocations"), exact=True, depends=OF_ALLOCATORS, budget=Budget(),
        budget_name="allocations",
        stands_in_for="allocations", csv="least_allocations_per_iteration", plural=True, part="memory",
    ),
    Metric(
        "allocated_bytes", "allocated bytes", "bytes", "bytes asked for in one iteration, less those of plain arrays",
        *readings.memory("allocated_bytes"), fitted=True, csv="allocated_bytes_per_iteration", plural=True,
        part="memory",
    ),
    Metric(
        "leaked_bytes", "leaked", "bytes", "bytes that each iteration leaves behind", *readings.memory("leaked_bytes"),
        exact=True, budget=Budget(), csv="leaked_bytes_per_iteration",  # depends on nothing: none is none everywhere
        resolution=4.0, part="memory",
    ),
    Metric(
        "peak_bytes", "peak", "bytes", "most memory alive at once while preparing and in one iteration",
        *readings.memory("peak_bytes"), exact=True, depends=OF_ALLOCATORS, budget=Budget(share=0.05), digits=3,
        settled=0.02,
        fitted=True, rank=10, part="memory",
    ),
    Metric(
        "retained_bytes", "retained", "bytes", "memory alive after forward, kept for backward",
        *readings.memory("retained_bytes"), kinds=("tensor",), rank=12, part="memory",
    ),
    Metric(
        "tape_instructions", "tape", "count", "instructions on the tape, as the engine counts them",
        *readings.tape("instructions"), exact=True, budget=Budget(), fitted=True, rank=11, aliases=("tape",),
    ),
    Metric(
        "tape_bytes", "tape", "bytes", "bytes of the tape, as the engine counts them", *readings.tape("saved_bytes"),
        rank=11,
    ),
    Metric(
        "moved_bytes", "moved", "bytes", "bytes that one iteration reads and writes, as the compiler counts them",
        *readings.tape("moved_bytes"), kinds=("tensor",),
    ),
    Metric("tape_values", "tape values", "count", "values on the tape", *readings.tape("values"), plural=True),
    Metric("tape_adjoints", "adjoints", "count", "adjoints of the tape", *readings.tape("adjoints"), plural=True),
    Metric(
        "instructions", "instrs", "count", "machine instructions of one iteration, from callgrind",
        readings.instructions,
        readings.no_instructions, exact=True, on_demand=True, depends=("system", "machine", "cpu", "libc", "python",
        "numpy"),
        budget=Budget(share=0.01), digits=4, settled=0.005, rank=14, csv="machine_instructions_per_iteration",
        plural=True, part="instructions",
    ),
    Metric(
        "error_ulps", "error", "ulp", "largest error of the gradient, in units in the last place",
        *readings.accuracy("ulps"), rank=5,
    ),
    Metric(
        "gradient_error", "error", "relative", "largest relative error of the gradient",
        *readings.accuracy("relative_error"), exact=True, budget=Budget(factor=10.0), digits=2, settled=1.0, rank=5,
        csv="relative_error",
    ),
    _once("import", "import", "importing the engine, in a fresh process", ("import",), budget=_ONCE, of_engine=True),
    _once(
        "prepare", "prepare", "what the engine does once for a function: build, trace, freeze", ("prepare",),
        budget=_ONCE,
    ),
    _once(
        "first_call", "first call", "until the first result: prepare and the first iteration, with what it compiles",
        ("prepare", "first_call"), rank=13, budget=_ONCE,
    ),
    _once("warm_up", "warm-up", "until blocks take the same time", ("warm_up",)),
)  # fmt: skip


def metric(name: str) -> Metric:
    """The metric of that name; what the registry does not have is a phase that a session declares."""
    return _by_name(REGISTRY).get(name) or _declared(name)


@cache
def _by_name(registry: tuple[Metric, ...]) -> dict[str, Metric]:
    return {name: entry for entry in registry for name in (entry.name, *entry.aliases)}


@cache
def _declared(name: str) -> Metric:
    return phase(name, f"the phase {name}, which the engine declares", None)


def is_known(name: str) -> bool:
    """Whether the registry has it."""
    return name in _by_name(REGISTRY)


def phases() -> list[str]:
    """The phases of the registry, in order."""
    return [entry.name for entry in REGISTRY if entry.phase]


def gated() -> list[Metric]:
    """What a baseline keeps, and the gate holds against it."""
    return [entry for entry in REGISTRY if entry.exact and entry.budget is not None]


def exact_numbers(measurement: Measurement) -> dict[str, float]:
    """What an inspection tells the gate of a cell that works."""
    known = numbers(measurement) if measurement.status == "ok" else {}
    return {entry.name: known[entry.name].value for entry in gated() if entry.name in known and not entry.on_demand}


def metrics_of(measurement: Measurement) -> list[Metric]:
    """The registry, and after it the further phases that this engine's sessions declared."""
    names = dict.fromkeys(name for sample in measurement.samples for name in sample.phases)
    return [*REGISTRY, *(metric(name) for name in names if not is_known(name))]


def numbers(measurement: Measurement, others: Numbers | None = None) -> dict[str, Number]:
    """All that a measurement has. A cell that did not run to its end has no times; its error may still be known.

    others: numbers of other rows that some entries compare with, see `beside`.
    """
    ran = measurement.status == "ok"
    known: dict[str, Number] = times.times(measurement) if ran else {}
    readings: dict[str, Number] = {}
    for entry in sorted(metrics_of(measurement), key=lambda entry: entry.last):
        if (entry.timed and not ran) or not entry.is_of(measurement.cell):
            continue
        value = entry.read(measurement, {**known, **readings, **(others or {})} if not entry.phase else known)
        if value is not None:
            readings[entry.name] = value if isinstance(value, Number) else Number(value=value)
    return readings


def harness_ns(*measurements: Measurement) -> float | None:
    """What one empty call costs in the typical process: subtracted from every time, but for those of a device."""
    costs = [sample.harness_ns for m in measurements if not readings.is_on_device(m) for sample in m.samples]
    return median(costs) if costs else None
