"""`gradmark contract`: the performance contract, promise by promise, with evidence."""

import sys

import click

from gradmark.commands.measuring import DEFAULT_ENGINE, SAMPLING, MeasuringCommand, Request, measure, measuring
from gradmark.commands.verdicts import exit_code, print_verdicts
from gradmark.engines import discovery


@click.command(cls=MeasuringCommand)
@measuring("engines", *SAMPLING)
def command(engines: tuple[str, ...], request: Request) -> None:
    """Prove or refute, for any engine, the four promises of a good one. Default engine: tapegrad.

    Exit code 1 when a promise is broken, 3 when one cannot be decided.
    """
    from gradmark.analyse.contract import WORKLOADS, contract
    from gradmark.measure.plan import cells_of
    from gradmark.workloads.selection import select

    engines = engines or (DEFAULT_ENGINE,)
    for engine in engines:
        discovery.check(engine)
    run, path = measure(request, lambda: request.plan(cells_of(select(WORKLOADS), engines, full=True)))
    verdicts = [verdict for engine in engines for verdict in contract(run.measurements, engine)]
    print_verdicts(verdicts)
    click.echo(f"\nrun file: {path}")
    sys.exit(exit_code(verdicts))
