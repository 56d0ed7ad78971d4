"""`gradmark contract`: the performance contract, promise by promise, with evidence."""

import click

from gradmark.commands.measuring import Invocation, MeasuringCommand, measure, measuring
from gradmark.commands.options import DEFAULT_ENGINE, SAMPLING
from gradmark.commands.showing import end
from gradmark.commands.verdicts import exit_code, print_verdicts
from gradmark.engines import discovery
from gradmark.records import DerivativeName
from gradmark.records.derivative import USUAL_DERIVATIVE, with_article


@click.command(cls=MeasuringCommand, examples=("gradmark contract", "gradmark contract -e my_module:MyEngine -d jvp"))
@measuring("engines", "derivatives", *SAMPLING)
def command(engines: tuple[str, ...], derivatives: tuple[DerivativeName, ...], invocation: Invocation) -> None:
    """Test whether an engine keeps four promises for gradients, or two for a jvp or hvp. Default engine: tapegrad.

    Exit code 1 if a promise is broken, 3 if one is undecided.
    """
    from gradmark.analyse.contract import OF_DERIVATIVES, WORKLOADS, contract

    without = [name for name in derivatives if name not in (USUAL_DERIVATIVE, *OF_DERIVATIVES)]
    if without:
        raise click.UsageError(f"there are no promises for {with_article(without[0])}; choose gradient, jvp or hvp")
    chosen = discovery.chosen(engines or (DEFAULT_ENGINE,))
    run, where = measure(
        invocation,
        lambda: invocation.plan(invocation.select(WORKLOADS), chosen, full=True, derivatives=derivatives),
    )
    verdicts = [verdict for engine in chosen for verdict in contract(run.measurements, engine)]
    print_verdicts(verdicts)
    end(where, exit_code(verdicts))
