"""`gradmark ops`: operator by operator, what each costs and how exact it is."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from gradmark.analyse.operators import Operation, operations
from gradmark.commands.measuring import Invocation, MeasuringCommand, measure, measuring
from gradmark.commands.options import DEFAULT_ENGINE, SAMPLING
from gradmark.commands.showing import end, exit_code, show_calmness
from gradmark.commands.terminal import console as new_console
from gradmark.commands.terminal import say
from gradmark.engines import discovery
from gradmark.records import DerivativeName, Run
from gradmark.records.derivative import USUAL_DERIVATIVE

if TYPE_CHECKING:
    from gradmark.workloads.row import Selected

# The workload of each kind.
WORKLOADS = {"scalar": "operator", "tensor": "tensor_operator"}


@click.command(cls=MeasuringCommand, examples=("gradmark ops scalar", "gradmark ops tensor -e tapegrad -e torch"))
@click.argument("kinds", nargs=-1, type=click.Choice(list(WORKLOADS)))
@measuring("engines", "dtypes", "derivatives", *SAMPLING)
def command(
    kinds: tuple[str, ...],
    engines: tuple[str, ...],
    dtypes: tuple[str, ...],
    derivatives: tuple[DerivativeName, ...],
    invocation: Invocation,
) -> None:
    """Measure each operation by itself: what it adds to the same function without it.

    Name scalar (operations on numbers) or tensor (on arrays); without a name, both are measured. The default engine
    is tapegrad, and tensors are float32.
    """
    chosen = discovery.chosen(engines or (DEFAULT_ENGINE,))
    rows = operators(kinds, dtypes)
    run, where = measure(
        invocation, lambda: invocation.plan(rows, chosen, full=True, dtypes=dtypes, derivatives=derivatives)
    )
    show_operations(run, chosen)
    end(where, exit_code(run))


def show_operations(run: Run, engines: Sequence[str]) -> None:
    """Prints a table for each engine and kind."""
    kinds = dict.fromkeys((cell.workload, cell.dtype, cell.derivative) for cell in run.planned)
    for place, (engine, kind) in enumerate(itertools.product(engines, kinds)):
        workload, dtype, derivative = kind
        same = [m for m in run.measurements if (m.cell.workload, m.cell.dtype, m.cell.derivative) == kind]
        if place:
            say()
        print_operations(
            engine, operations(same, engine), dtype if workload == WORKLOADS["tensor"] else None, derivative
        )
    show_calmness(run)


def operators(kinds: Sequence[str], dtypes: Sequence[str]) -> "list[Selected]":
    """The workloads of these kinds, of all if none is named; tensors in one dtype, unless more are asked for."""
    from gradmark.workloads.row import Selected
    from gradmark.workloads.selection import select

    workloads = select([WORKLOADS[kind] for kind in dict.fromkeys(kinds or WORKLOADS)])
    return [Selected(workload, dtypes=() if dtypes else workload.dtypes[:1]) for workload in workloads]


def print_operations(
    engine: str,
    rows: Sequence[Operation],
    dtype: str | None = None,
    derivative: DerivativeName = USUAL_DERIVATIVE,
) -> None:
    """A table, and one line that says what its numbers are. The dtype is that of tensors; None for scalars."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from gradmark.report.model.operators import operator_table

    console, shown = new_console(), operator_table(engine, rows, dtype, derivative)
    problems = {line.problem for line in shown.lines}
    if len(problems) == 1 and "" not in problems:
        console.print(Text(f"operations of {shown.title}: {problems.pop()}"))
        return
    console.print(Text(f"operations of {shown.title}", style="bold"))
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("operation", overflow="fold")
    # a column without any number, such as allocs with --no-memory, says nothing
    known = [any(line.numbers and line.numbers[k] is not None for line in shown.lines) for k in range(len(shown.heads))]
    for heading in itertools.compress(shown.heads, known):
        table.add_column(heading, justify="right", no_wrap=True)
    for line in shown.lines:
        if line.texts:
            table.add_row(line.name, *(Text(text) for text in itertools.compress(line.texts, known)))
    console.print(table)
    for problem in sorted(problems - {""}):
        names = ", ".join(line.name for line in shown.lines if line.problem == problem)
        console.print(Text(f"{names}: {problem}"))
    console.print(Text(shown.note, style="dim"))
