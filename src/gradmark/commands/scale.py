"""`gradmark scale`: cost against size, the sweep and the fit."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from gradmark.commands.measuring import Invocation, MeasuringCommand, measure_workload, measuring
from gradmark.commands.options import DEFAULT_ENGINE, SAMPLING
from gradmark.commands.showing import end, exit_code, show
from gradmark.commands.terminal import say
from gradmark.errors import SelectionError
from gradmark.records import DerivativeName, Fit, Measurement, Run

if TYPE_CHECKING:
    from gradmark.measure.plan import Plan
    from gradmark.workloads.row import Selected


@click.command(
    cls=MeasuringCommand,
    examples=("gradmark scale poly", "gradmark scale mlp_step -e tapegrad -e torch --dtype float64"),
)
@click.argument("workload", required=False)
@measuring("engines", "dtypes", "derivatives", *SAMPLING)
def command(
    workload: str | None,
    engines: tuple[str, ...],
    dtypes: tuple[str, ...],
    derivatives: tuple[DerivativeName, ...],
    invocation: Invocation,
) -> None:
    """Sweep the sizes of WORKLOAD and fit cost = a + b·n^p, for time, allocations, tape and memory.

    n counts elementary operations; for tensors, flops or bytes. The default engine is tapegrad, and tensors are
    float32.
    """
    chosen = engines or (DEFAULT_ENGINE,)
    run, where = measure_workload(
        invocation, workload, lambda name: planned(invocation, name, chosen, dtypes, derivatives)
    )
    show_growth(run)
    end(where, exit_code(run))


def planned(
    invocation: Invocation,
    workload: str,
    engines: Sequence[str],
    dtypes: Sequence[str] = (),
    derivatives: Sequence[DerivativeName] = (),
) -> "Plan":
    """All sizes of a workload."""
    rows = swept(invocation.select([workload]), dtypes)
    return invocation.plan(rows, engines, full=True, dtypes=dtypes, derivatives=derivatives)


def show_growth(run: Run) -> None:
    """Prints the sweep, the fit of each cost, the curve of the first, and what to suspect."""
    from gradmark.analyse.growth import families, growth
    from gradmark.analyse.scaling import counted_in
    from gradmark.analyse.suspects import sentence
    from gradmark.records.metric import metric

    show(run, "table")
    fitted, suspected = growth(run)
    of_name = {key[0]: members for key, members in families(run).items()}
    counted = {name: counted_in(members[0]) for name, members in of_name.items()}
    for family in fitted:
        name, fits = family.name, family.fits
        say()
        say(f"{name}: cost = a + b·n^p, n counts {counted[name]}")
        for text in left_out(of_name[name]):
            say(f"  {text}")
        for fit in fits:
            interval = f"{fit.low:.2f} to {fit.high:.2f}"
            say(f"  {metric(fit.metric).title:17} p = {fit.p:.2f}  ({interval})  {fit.verdict}")
        for line in drawn(name, fits, counted[name]):
            say(line)
    for suspect in suspected:
        say(f"suspect: {sentence(suspect)}")


def swept(rows: "Sequence[Selected]", dtypes: Sequence[str]) -> "Sequence[Selected]":
    """What is swept: tensors in one dtype, unless more are asked for."""
    import dataclasses

    from gradmark.analyse.growth import LEAST_SIZES

    for row in rows:
        sizes = {**row.workload.sizes, **row.sizes}
        if not any(len([v for v in values if not isinstance(v, str)]) >= LEAST_SIZES for values in sizes.values()):
            raise SelectionError(
                f"{row.workload.name} has no parameter with {LEAST_SIZES} sizes or more; `gradmark list` shows which do"
            )
    if dtypes:
        return rows
    return [dataclasses.replace(row, dtypes=row.dtypes or row.workload.dtypes[:1]) for row in rows]


def left_out(members: Sequence[Measurement]) -> list[str]:
    """Which sizes are in no fit of a time."""
    from gradmark.analyse.calm import is_calm
    from gradmark.records.metric import metrics_of, numbers

    known = [(m, numbers(m)) for m in members]
    sizes = [m.cell.size for m, have in known if not all(is_calm(have, e.name) for e in metrics_of(m) if e.phase)]
    return [f"left out (machine never calm): times of {', '.join(sizes)}"] if sizes else []


def drawn(name: str, fits: Sequence[Fit], counted: str) -> list[str]:
    """The total, or the first cost that there is, against size."""
    from gradmark.records.metric import metric
    from gradmark.report.tables.plot import scaling

    chosen = next((fit for fit in fits if fit.metric == "total"), fits[0] if fits else None)
    if chosen is None:
        return []
    title = metric(chosen.metric).title
    return ["", *scaling([(title, chosen)], f"{name}: {title}", counted)]
