"""`gradmark fleet`: a worker that is fit to measure on, and what the machines of a fleet say of themselves."""

import sys

import click

from gradmark.commands.helping import Verb, VerbGroup
from gradmark.commands.terminal import Part, Styled, say


@click.group(cls=VerbGroup, examples=("gradmark fleet worker tcp://host:8786", "gradmark fleet status tcp://host:8786"))
def command() -> None:
    """Measure on other machines, through a Dask scheduler.

    `gradmark run … --fleet ADDRESS` gives them work.
    """


@command.command(
    cls=Verb, examples=("gradmark fleet worker tcp://host:8786", "gradmark fleet worker tcp://host:8786 --once")
)
@click.argument("address")
@click.option(
    "--despite-doctor", "despite", is_flag=True, help="Take work even while `gradmark doctor` finds this machine unfit."
)
@click.option("--once", is_flag=True, help="Exit when the scheduler goes away, instead of waiting for it.")
def worker(address: str, despite: bool, once: bool) -> None:
    """Measure on this machine for the scheduler at ADDRESS, such as tcp://host:8786.

    Start one worker on each machine; it does one thing at a time. Anybody who can reach the scheduler can run code here
    as you: see docs/guide/security.md.
    """
    from gradmark.fleet import hosting

    hosting.serve(address, lambda text: say(text, err=True), despite=despite, once=once)


@command.command(cls=Verb, examples=("gradmark fleet status tcp://host:8786", "gradmark fleet status tls://host:8786"))
@click.argument("address")
def status(address: str) -> None:
    """Show the machines of the fleet at ADDRESS and what `gradmark doctor` says about each.

    Exit code 3 if a run would be refused, because no machine is fit or they differ.
    """
    from gradmark.errors import FleetError
    from gradmark.fleet import choosing, machine
    from gradmark.fleet.connection import Connection

    with Connection(address) as connection:
        machines = connection.machines(again=True)
        others = connection.others()
    classes = choosing.by_class(machines)
    for known, members in classes:
        say(Styled(known.name, bold=True), f"  {known.words}")
        for each in sorted(members, key=lambda member: member.id):
            say(*_machine(each))
            for condition in each.conditions:
                if not condition.good:
                    advice = f": {condition.advice}" if condition.advice else ""
                    say(f"        {condition.what}{advice}")
    if others:
        which = "1 other worker, which was" if others == 1 else f"{others} other workers, which were"
        say(f"{which} not started by `gradmark fleet worker`, and will not measure")
    try:
        choosing.chosen(machines, address, each=True, others=others)
        machine.refuse_unlike(machines)
    except FleetError as error:
        say(f"a run would be refused: {error}")
        sys.exit(3)


def _machine(each: "machine.Machine") -> list[Part]:  # type: ignore[name-defined]  # noqa: F821
    if each.unfit:
        mark, state = Styled("look", "yellow", bold=True), "takes no work"
    else:
        mark, state = Styled("ok  ", "green"), f"measures {each.measuring}" if each.measuring else "free"
    despite = ", whatever doctor says" if each.despite else ""
    return ["  ", mark, f"  {each.id} at {each.address}: {state}{despite}"]
