"""`gradmark ops`: operator by operator, what each costs and how exact it is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from gradmark import units
from gradmark.commands.measuring import DEFAULT_ENGINE, dtype_option, measure, measuring, refuse_nothing
from gradmark.engines import discovery
from gradmark.records import Cell, Measurement, Settings

# The workload of each kind.
WORKLOADS = {"scalar": "operator", "tensor": "tensor_operator"}


@dataclass(frozen=True)
class Operation:
    """What one operation adds to the function that it stands in; None where it is not known."""

    name: str
    forward_ns: float | None
    backward_ns: float | None
    allocations: float | None
    saved_bytes: float | None
    error: float | None  # of its derivative: in units of the last place, or relative for tensors
    problem: str = ""


@click.command()
@click.argument("kinds", nargs=-1, type=click.Choice(list(WORKLOADS)))
@click.option("-e", "--engine", "engines", multiple=True, help="Engine to measure; again for more. Default: tapegrad.")
@dtype_option
@measuring
def command(
    kinds: tuple[str, ...], engines: tuple[str, ...], dtypes: tuple[str, ...], settings: Settings, store: Path
) -> None:
    """Measure every operation by itself: what it adds to the same function without it.

    KINDS is scalar (operations on numbers), tensor (on arrays), or nothing for both. Tensors are float32 unless told
    otherwise.
    """
    engines = engines or (DEFAULT_ENGINE,)
    for engine in engines:
        discovery.check(engine)
    cells = [cell for kind in dict.fromkeys(kinds or WORKLOADS) for cell in cells_of(kind, engines, dtypes)]
    refuse_nothing(cells, dtypes)
    run, path = measure(cells, settings, store)
    for engine in engines:
        for workload, dtype in dict.fromkeys((cell.workload, cell.dtype) for cell in cells):
            same = [m for m in run.measurements if (m.cell.workload, m.cell.dtype) == (workload, dtype)]
            print_operations(engine, operations(same, engine), dtype if workload == WORKLOADS["tensor"] else None)
    click.echo(f"\nrun file: {path}")


def cells_of(kind: str, engines: Sequence[str], dtypes: Sequence[str]) -> list[Cell]:
    """The cells of one kind; of tensors in one dtype, unless more are asked for."""
    from gradmark.measure import orchestrator
    from gradmark.workloads.selection import select

    (workload,) = select([WORKLOADS[kind]])
    return orchestrator.cells_of([workload], engines, full=True, dtypes=dtypes or workload.dtypes[:1])


def operations(measurements: Sequence[Measurement], engine: str) -> list[Operation]:
    """What each operation adds, dearest first; those that failed last."""
    from gradmark.workloads.operators import BASELINE

    ours = {str(m.cell.params["operation"]): m for m in measurements if m.cell.engine == engine}
    base = ours.pop(BASELINE, None)
    found = [_operation(name, m, base) for name, m in ours.items()]
    return sorted(found, key=lambda o: (bool(o.problem), -(o.forward_ns or 0.0) - (o.backward_ns or 0.0)))


def _operation(name: str, measurement: Measurement, base: Measurement | None) -> Operation:
    from gradmark.workloads.operators import POINTS

    if base is None:
        return Operation(name, None, None, None, None, None, "the function without an operation was not measured")
    for part in (measurement, base):
        if part.status != "ok":
            return Operation(name, None, None, None, None, None, f"{part.status}: {part.message}")
    calls = 1 if measurement.shapes else POINTS

    def added(number: float | None, without: float | None) -> float | None:
        return None if number is None or without is None else (number - without) / calls

    def floor(m: Measurement, phase: str) -> float | None:
        floors = [s.phases[phase].floor_ns for s in m.samples if phase in s.phases]
        return min(floors) if floors else None

    # All of an operation on arrays: NumPy's own way to compute it may well allocate more than the engine's.
    kind = "gross_allocations" if measurement.shapes else "allocations"
    counted = [getattr(m.memory, kind) if m.memory else None for m in (measurement, base)]
    held = [m.tape.saved_bytes if m.tape else None for m in (measurement, base)]
    accuracy = measurement.accuracy
    return Operation(
        name,
        added(floor(measurement, "forward"), floor(base, "forward")),
        added(floor(measurement, "backward"), floor(base, "backward")),
        added(*counted),
        added(*held),
        None if accuracy is None else accuracy.relative_error if measurement.shapes else accuracy.ulps,
    )


def print_operations(engine: str, found: Sequence[Operation], dtype: str | None = None) -> None:
    """A table, and one line that says what its numbers are. The dtype is that of tensors; None for scalars."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    kind = f"tensors, {dtype}" if dtype else "scalars"
    problems = {operation.problem for operation in found}
    if len(problems) == 1 and "" not in problems:
        console.print(Text(f"operations of {engine}, {kind}: {problems.pop()}"))
        return
    table = Table(title=Text(f"operations of {engine}, {kind}"), title_justify="left")
    table.add_column("operation")
    headings = ("forward", "backward", "allocs", "saved", "error") if dtype else SCALAR_HEADINGS
    for heading in headings:
        table.add_column(heading, justify="right")
    forms = TENSOR_FORMS if dtype else ["{:.1f}".format] * len(headings)
    for operation in found:
        if operation.problem:
            table.add_row(operation.name, Text(operation.problem))
            continue
        numbers = [
            operation.forward_ns,
            operation.backward_ns,
            operation.allocations,
            operation.saved_bytes,
            operation.error,
        ]
        shown = ("n/a" if n is None else form(n) for n, form in zip(numbers, forms, strict=True))
        table.add_row(operation.name, *shown)
    console.print(table)
    console.print(
        "Each number is what the operation adds to the sum of 64×64 numbers; errors are of its derivative, relative."
        if dtype
        else "Each number is what the operation adds to a loop of 50 additions, divided by 50; errors are of its "
        "derivative."
    )


SCALAR_HEADINGS = ("forward ns", "backward ns", "allocs", "tape bytes", "error ulp")
TENSOR_FORMS: list[Callable[[float], str]] = [units.time, units.time, "{:.0f}".format, units.size, "{:.1e}".format]
