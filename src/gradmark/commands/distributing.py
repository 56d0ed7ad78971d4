"""What the measuring verbs share on fleets: which machines measure, and runs that are kept here while they do.

In: what was typed, and a plan that asks machines. Out: a run for each class of machines, and the file that it is in.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
import msgspec

from gradmark.commands.measuring import Invocation, Kept, command_to_resume
from gradmark.commands.terminal import say
from gradmark.errors import FleetError
from gradmark.records import Run

if TYPE_CHECKING:
    from gradmark.fleet.campaign import Campaign
    from gradmark.fleet.connection import Connection
    from gradmark.fleet.machine import Machine
    from gradmark.fleet.task import Against
    from gradmark.measure.plan import Ask, Plan
    from gradmark.records.identity import MachineClass
    from gradmark.store.journal import Journal


@dataclass(frozen=True)
class Fleet:
    """What was asked for: the scheduler, and which of its machines."""

    address: str
    on: str | None = None
    each_class: bool = False


def fleet_of(address: str | None, on: str | None, each_class: bool) -> Fleet | None:
    """The fleet, if one was named; raises where its options contradict each other."""
    if address is None:
        if on is not None or each_class:
            raise click.UsageError("--on and --each-class choose machines of a fleet; add --fleet ADDRESS")
        return None
    if on is not None and each_class:
        raise click.UsageError("--on means one class and --each-class means all; use only one of them")
    return Fleet(address, on, each_class)


@contextlib.contextmanager
def campaigns(
    invocation: Invocation,
    fleet: Fleet,
    plan: "Callable[[Ask], Plan]",
    against: "Against | None" = None,
) -> "Iterator[list[tuple[Campaign, Kept]]]":
    """A campaign for each class, whose run is on disk at any moment, and where it is when it has ended.

    The plan is made for each class of a new run; a run that is resumed goes on with machines of its own class.
    """
    from gradmark.commands.progress import progress
    from gradmark.fleet.campaign import Campaign
    from gradmark.fleet.connection import Connection, Gone
    from gradmark.fleet.dispatch import Dispatch

    if invocation.settings.data:
        raise FleetError(
            "--data names a folder of this machine, which is not sent to a fleet; measure these rows without --fleet"
        )
    with contextlib.ExitStack() as stack:
        connection = stack.enter_context(Connection(fleet.address))
        groups = _chosen(invocation, fleet, connection)
        machines = [machine for _, members in groups for machine in members]
        if against is not None:
            _refuse_lacking(connection.lacking(machines, against))
        begun: list[tuple[Journal, Plan | None]]
        if invocation.begun is not None:
            begun = [(invocation.store.resume(invocation.found), None)]
        else:
            begun = _begin(invocation, connection, groups, plan)
        journals = [journal for journal, _ in begun]
        kept = [Kept() for _ in journals]
        for journal, where in zip(journals, kept, strict=True):
            stack.callback(_put_away, invocation, journal, where)
        commands = [command_to_resume(journal.run, invocation.store) for journal in journals]
        advice = "; ".join(f"continue with: {command}" for command in commands)
        watch = stack.enter_context(progress())
        dispatch = Dispatch(connection, machines, watch, lambda text: say(text, err=True), advice)
        try:
            yield [
                (
                    Campaign(journal.run, journal, dispatch, known=planned.known if planned else (), against=against),
                    where,
                )
                for (journal, planned), where in zip(begun, kept, strict=True)
            ]
        except KeyboardInterrupt as error:
            raise click.Abort(f"interrupted; {advice}") from error
        except Gone as error:
            raise FleetError(f"{error}; what was measured is kept; when it is there again, {advice}") from error


def _put_away(invocation: Invocation, journal: "Journal", kept: Kept) -> None:
    journal.close()
    kept.where = invocation.store.put_away(journal.path)


def measure_on(invocation: Invocation, fleet: Fleet, plan: "Callable[[Ask], Plan]") -> list[tuple[Run, str]]:
    """Carries out a plan on machines of the fleet, or the rest of the run that is resumed; and where it is kept."""
    if invocation.begun is not None and invocation.begun.finished:
        return [(invocation.begun, invocation.found)]
    with campaigns(invocation, fleet, plan) as begun:
        errands = [errand for campaign, _ in begun for errand in campaign.whole()]
        begun[0][0].dispatch.carry_out(errands)
        for campaign, _ in begun:
            campaign.finish()
    return [(campaign.run, kept.where) for campaign, kept in begun]


def _chosen(
    invocation: Invocation, fleet: Fleet, connection: "Connection"
) -> "list[tuple[MachineClass, list[Machine]]]":
    from gradmark.fleet import choosing
    from gradmark.records.identity import class_of

    machines = connection.machines()
    on, each = fleet.on, fleet.each_class
    if invocation.begun is not None:
        on, each = class_of(invocation.begun.environment).digest, False
    others = 0 if machines else connection.others()
    return choosing.chosen(machines, fleet.address, on=on, each=each, others=others)


def _begin(
    invocation: Invocation,
    connection: "Connection",
    groups: "Sequence[tuple[MachineClass, list[Machine]]]",
    plan: "Callable[[Ask], Plan]",
) -> "list[tuple[Journal, Plan | None]]":
    """A run file for each class, once all plans are made: an error leaves none."""
    from gradmark.fleet.connection import environment_of_class
    from gradmark.measure.orchestrator import begin
    from gradmark.store import sources

    invocation.store.reachable()
    plans = [plan(lambda job, members=members: connection.ask(job, members)) for _, members in groups]  # type: ignore[misc]
    invocation.store.ready()
    for (_, members), planned in zip(groups, plans, strict=True):
        _refuse_other_modules(connection, members, planned)
    begun: list[tuple[Journal, Plan | None]] = []
    for (_, members), planned in zip(groups, plans, strict=True):
        run = begin(planned)
        environment = environment_of_class(members, run.environment)
        # the usual clock is that of this machine, which measures nothing
        run = msgspec.structs.replace(run, environment=environment, sources=sources.digests(run.planned), clock_ns=None)
        begun.append((invocation.store.begin(run), planned))
    return begun


def _refuse_other_modules(connection: "Connection", members: "Sequence[Machine]", planned: "Plan") -> None:
    """Raises unless an engine `module:Class` is the same everywhere: it is not sent along, as a workload's file is."""
    from gradmark.engines import discovery
    from gradmark.fleet.machine import differences

    engines = dict.fromkeys(cell.engine for cell in planned.cells if cell.engine not in discovery.known())
    names = [engine.partition(":")[0] for engine in engines if ":" in engine]
    lines = differences(connection.modules(members, names)) if names else []
    if lines:
        raise FleetError(
            f"the engines are not the same on all machines, so nothing was measured: {'; '.join(lines)}. Install them, "
            "or start the workers in a folder that has them"
        )


def _refuse_lacking(lacking: dict[str, str]) -> None:
    """Raises if a machine cannot measure both builds."""
    from gradmark.report.model.characters import plural

    if lacking:
        machine, why = next(iter(lacking.items()))
        more = f" (and {plural(len(lacking) - 1, 'other machine')})" if len(lacking) > 1 else ""
        raise FleetError(
            f"{machine} cannot measure both builds: {why}{more}. Start the workers in a clone of this repository, at "
            "the same commit, which has the other one too (`git fetch`)"
        )
