"""`gradmark scale`: cost against size, the sweep and the fit."""

import sys
from collections.abc import Sequence

import click

from gradmark.commands.measuring import (
    DEFAULT_ENGINE,
    SAMPLING,
    MeasuringCommand,
    Request,
    measure,
    measuring,
    refuse_nothing,
)
from gradmark.commands.run import exit_code, show
from gradmark.engines import discovery
from gradmark.errors import SelectionError
from gradmark.records import Fit


@click.command(cls=MeasuringCommand)
@click.argument("workload", required=False)
@measuring("engines", "dtypes", *SAMPLING)
def command(workload: str | None, engines: tuple[str, ...], dtypes: tuple[str, ...], request: Request) -> None:
    """Sweep the sizes of WORKLOAD and fit cost = a + b·n^p, for time, allocations, tape and memory.

    n counts elementary operations; for tensors flops, or bytes. Tensors are swept in float32 by default, and the
    default engine is tapegrad.
    """
    from gradmark.analyse.growth import LEAST_SIZES, families, growth
    from gradmark.analyse.scaling import counted_in
    from gradmark.measure.plan import cells_of
    from gradmark.workloads.selection import select

    engines = engines or (DEFAULT_ENGINE,)
    for engine in engines:
        discovery.check(engine)
    if workload is None:
        raise click.UsageError("Missing argument 'WORKLOAD'.")
    chosen = select([workload])
    for one in chosen:
        if not any(len([v for v in values if not isinstance(v, str)]) >= LEAST_SIZES for values in one.sizes.values()):
            raise SelectionError(
                f"{one.name} has no parameter with {LEAST_SIZES} sizes or more; `gradmark list` shows which do"
            )
    cells = cells_of(chosen, engines, full=True, dtypes=dtypes or [one.dtypes[0] for one in chosen])
    refuse_nothing(cells, dtypes)
    run, path = measure(request, lambda: request.plan(cells))
    show(run, "table")
    fitted, suspected = growth(run)
    counted = {key[0]: counted_in(members[0]) for key, members in families(run).items()}
    for name, fits in fitted:
        click.echo(f"\n{name}: cost = a + b·n^p, n counts {counted[name]}")
        for fit in fits:
            interval = f"{fit.low:.2f} to {fit.high:.2f}"
            click.echo(f"  {fit.metric:12} p = {fit.p:.2f}  ({interval})  {fit.verdict}")
        for line in drawn(name, fits, counted[name]):
            click.echo(line)
    for text in suspected:
        click.echo(f"suspect: {text}")
    click.echo(f"\nrun file: {path}")
    sys.exit(exit_code(run))


def drawn(name: str, fits: Sequence[Fit], counted: str) -> list[str]:
    """The total, or the first cost that there is, against size."""
    from gradmark.report.tables.plot import scaling

    chosen = next((fit for fit in fits if fit.metric == "total"), fits[0] if fits else None)
    return ["", *scaling([(chosen.metric, chosen)], f"{name}: {chosen.metric}", counted)] if chosen else []
