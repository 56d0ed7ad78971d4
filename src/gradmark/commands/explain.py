"""`gradmark explain`: one function from its recording to the times of engines."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

import click

from gradmark.commands.measuring import Invocation, MeasuringCommand, measure_workload, measuring
from gradmark.commands.options import DEFAULT_ENGINE, SAMPLING
from gradmark.commands.showing import end, exit_code
from gradmark.commands.terminal import say, say_document
from gradmark.errors import GradmarkError, SelectionError
from gradmark.records import DerivativeName, Run
from gradmark.records.derivative import FACTS

if TYPE_CHECKING:
    from gradmark.measure.plan import Plan
    from gradmark.report.model.explanation import Explanation
    from gradmark.workloads.row import Selected

# Those that theory has a bound for, whatever the size.
EXPLAINED = [name for name in get_args(DerivativeName) if FACTS[name].bound is not None]


@click.command(
    cls=MeasuringCommand,
    examples=("gradmark explain expression", "gradmark explain poly/n=10 -e tapegrad:program -e casadi"),
)
@click.argument("workload", required=False)
@click.option(
    "-d",
    "--derivative",
    type=click.Choice(EXPLAINED),
    help="Derivative to explain. Default: that of the workload, mostly the gradient.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the explanation as JSON.")
@measuring("engines", "dtypes", *SAMPLING)
def command(
    workload: str | None,
    derivative: DerivativeName | None,
    as_json: bool,
    engines: tuple[str, ...],
    dtypes: tuple[str, ...],
    invocation: Invocation,
) -> None:
    """Explain WORKLOAD: its recording, its derivative, and what each engine makes of them.

    Shows the operations with values and adjoints, counts them against theory's bound, measures engines, and says where
    their times depart from the prediction. WORKLOAD is a name, a row such as poly/n=10, or a file; without a size, the
    smallest one. The default engine is tapegrad.
    """
    chosen = engines or (DEFAULT_ENGINE,)
    run, where = measure_workload(
        invocation, workload, lambda name: planned(invocation, name, chosen, derivative, dtypes)
    )
    explanation = explained(run)
    if as_json:
        say_document(json(explanation), "json")
        sys.exit(exit_code(run))
    show_explanation(explanation)
    end(where, exit_code(run))


def planned(
    invocation: Invocation,
    workload: str,
    engines: Sequence[str],
    derivative: DerivativeName | None = None,
    dtypes: Sequence[str] = (),
) -> "Plan":
    """The plan of one row."""
    chosen = one_row(invocation.select([workload]), workload, derivative, dtypes)
    return invocation.plan([chosen], engines)


def one_row(
    rows: "Sequence[Selected]", typed: str, derivative: DerivativeName | None, dtypes: Sequence[str]
) -> "Selected":
    """The smallest of the rows that were selected, with one derivative and one dtype."""
    import dataclasses

    names = list(dict.fromkeys(row.workload.name for row in rows))
    if len(names) > 1:
        files = dict.fromkeys(row.workload.file for row in rows)
        place = f"{typed.partition(':')[0]}:" if None not in files and len(files) == 1 else ""
        examples = ", ".join(f"{place}{name}" for name in names[:3])
        raise SelectionError(
            f"explain shows one function, and {typed!r} has {len(names)}: name one, such as {examples}"
        )
    first = rows[0]
    asked = first.derivatives[:1] or ([derivative] if derivative else first.workload.usual_derivatives[:1])
    if asked[0] not in EXPLAINED:
        raise SelectionError(f"theory has no bound for a {asked[0]}; choose from: {', '.join(EXPLAINED)}")
    return dataclasses.replace(
        first,
        sizes={key: [value] for key, value in first.points(full=False)[0].items()},
        derivatives=asked,
        dtypes=first.dtypes[:1] or list(dtypes)[:1] or first.workload.dtypes[:1],
        devices=first.devices[:1],
    )


def explained(run: Run) -> "Explanation":
    """What is to be said of the one row of a run."""
    import msgspec

    from gradmark.analyse.departures import departures
    from gradmark.isolation.calling import call
    from gradmark.measure.job import Job
    from gradmark.records.recording import Recording
    from gradmark.report.model.explanation import Explanation

    cell = msgspec.structs.replace(run.planned[0], engine=DEFAULT_ENGINE, device="cpu")
    job = Job(kind="inspect", cell=cell, settings=run.settings)
    try:
        task = "gradmark.measure.worker.explained:recording"
        recording = call(task, msgspec.to_builtins(job), Recording, run.settings)
    except GradmarkError as error:  # other engines may run what tapegrad cannot record
        recording = Recording(inputs={}, function=[], derivative=[], reason=str(error))
    row = [m for m in run.measurements if m.cell.row.partition("/device=")[0] == cell.row]
    engines = departures(row, recording, FACTS[cell.derivative].bound)
    return Explanation(row=cell.row, derivative=cell.derivative, recording=recording, engines=engines)


def show_explanation(explanation: "Explanation") -> None:
    """Prints it."""
    from gradmark.report.model.explanation import lines

    for line in lines(explanation):
        say(line)


def json(explanation: "Explanation") -> str:
    """The explanation for programs."""
    import msgspec

    from gradmark.report.escaping import json as escaping

    return escaping.document(msgspec.to_builtins(explanation))
