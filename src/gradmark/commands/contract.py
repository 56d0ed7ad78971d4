"""`gradmark contract`: the performance contract, promise by promise, with evidence."""

import sys
from pathlib import Path

import click

from gradmark.commands.measuring import DEFAULT_ENGINE, measure, measuring
from gradmark.commands.verdicts import exit_code, print_verdicts
from gradmark.engines import discovery
from gradmark.records import Settings


@click.command()
@click.option("-e", "--engine", "engines", multiple=True, help="Engine to judge; again for more. Default: tapegrad.")
@measuring
def command(engines: tuple[str, ...], settings: Settings, store: Path) -> None:
    """Prove or refute, for any engine, the four promises of a good one.

    Exit code 1 when a promise is broken, 3 when one cannot be decided.
    """
    from gradmark.analyse.contract import WORKLOADS, contract
    from gradmark.measure.plan import cells_of
    from gradmark.workloads.selection import select

    engines = engines or (DEFAULT_ENGINE,)
    for engine in engines:
        discovery.check(engine)
    run, path = measure(cells_of(select(WORKLOADS), engines, full=True), settings, store)
    verdicts = [verdict for engine in engines for verdict in contract(run.measurements, engine)]
    print_verdicts(verdicts)
    click.echo(f"\nrun file: {path}")
    sys.exit(exit_code(verdicts))
