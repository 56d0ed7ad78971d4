"""`gradmark contract`: the performance contract, promise by promise, with evidence."""

import sys

import click

from gradmark.commands.measuring import Invocation, MeasuringCommand, measure, measuring
from gradmark.commands.options import DEFAULT_ENGINE, SAMPLING
from gradmark.commands.terminal import say
from gradmark.commands.verdicts import exit_code, print_verdicts
from gradmark.engines import discovery


@click.command(cls=MeasuringCommand)
@measuring("engines", *SAMPLING)
def command(engines: tuple[str, ...], invocation: Invocation) -> None:
    """Test an engine against four promises. Default engine: tapegrad.

    Exit code 1 when a promise is broken, 3 when one cannot be decided.
    """
    from gradmark.analyse.contract import WORKLOADS, contract

    chosen = discovery.chosen(engines or (DEFAULT_ENGINE,))
    run, path = measure(invocation, lambda: invocation.plan(invocation.select(WORKLOADS), chosen, full=True))
    verdicts = [verdict for engine in chosen for verdict in contract(run.measurements, engine)]
    print_verdicts(verdicts)
    say()
    say(f"run file: {path}")
    sys.exit(exit_code(verdicts))
