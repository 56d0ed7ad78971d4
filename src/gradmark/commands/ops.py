"""`gradmark ops`: operator by operator, what each costs and how exact it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from gradmark.commands.measuring import DEFAULT_ENGINE, measure, measuring
from gradmark.engines import discovery
from gradmark.records import Measurement, Settings


@dataclass(frozen=True)
class Operation:
    """What one operation adds to the loop that it stands in; None where it is not known."""

    name: str
    forward_ns: float | None
    backward_ns: float | None
    allocations: float | None
    tape_bytes: float | None
    ulps: float | None
    problem: str = ""


@click.command()
@click.option("-e", "--engine", "engines", multiple=True, help="Engine to measure; again for more. Default: tapegrad.")
@measuring
def command(engines: tuple[str, ...], settings: Settings, store: Path) -> None:
    """Measure every scalar operation by itself: what it adds to the same loop without it."""
    from gradmark.measure.orchestrator import cells_of
    from gradmark.workloads.selection import select

    engines = engines or (DEFAULT_ENGINE,)
    for engine in engines:
        discovery.check(engine)
    run, path = measure(cells_of(select(["operator"]), engines, full=True), settings, store)
    for engine in engines:
        print_operations(engine, operations(run.measurements, engine))
    click.echo(f"\nrun file: {path}")


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
        return Operation(name, None, None, None, None, None, "the loop without an operation was not measured")
    for part in (measurement, base):
        if part.status != "ok":
            return Operation(name, None, None, None, None, None, f"{part.status}: {part.message}")

    def added(number: float | None, without: float | None) -> float | None:
        return None if number is None or without is None else (number - without) / POINTS

    def floor(m: Measurement, phase: str) -> float | None:
        floors = [s.phases[phase].floor_ns for s in m.samples if phase in s.phases]
        return min(floors) if floors else None

    counted = [m.memory.allocations if m.memory else None for m in (measurement, base)]
    held = [m.tape.saved_bytes if m.tape else None for m in (measurement, base)]
    return Operation(
        name,
        added(floor(measurement, "forward"), floor(base, "forward")),
        added(floor(measurement, "backward"), floor(base, "backward")),
        added(*counted),
        added(*held),
        measurement.accuracy.ulps if measurement.accuracy else None,
    )


def print_operations(engine: str, found: Sequence[Operation]) -> None:
    """A table, and one line that says what its numbers are."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(f"operations of {engine}"), title_justify="left")
    table.add_column("operation")
    for heading in ("forward ns", "backward ns", "allocs", "tape bytes", "error ulp"):
        table.add_column(heading, justify="right")
    for operation in found:
        if operation.problem:
            table.add_row(operation.name, Text(operation.problem))
            continue
        numbers = [
            operation.forward_ns,
            operation.backward_ns,
            operation.allocations,
            operation.tape_bytes,
            operation.ulps,
        ]
        table.add_row(operation.name, *("n/a" if n is None else f"{n:.1f}" for n in numbers))
    console = Console()
    console.print(table)
    console.print(
        "Each number is what the operation adds to a loop of 50 additions, divided by 50; errors are of its derivative."
    )
