"""`gradmark run`: measures engines, prints a table with what is noteworthy, and saves the run."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from gradmark.analyse.unsettled import FEW_ENGINES, unsettled
from gradmark.commands import report
from gradmark.commands.measuring import Invocation, MeasuringCommand, chosen_by_user, measure, measuring
from gradmark.commands.options import DEFAULT_ENGINE, ON_FLEET, SAMPLING, options
from gradmark.commands.showing import FORMATS, exit_code, show
from gradmark.commands.terminal import say
from gradmark.engines import discovery
from gradmark.records import DerivativeName, Run, Settings
from gradmark.records.identity import class_of

if TYPE_CHECKING:
    from gradmark.measure.plan import Ask, Plan

# The processes of each cell in a quick comparison of many engines.
PROCESSES_OF_MANY = 2
# Engines that two processes do not tell from the fastest have two more: four can be told apart (analyse/standings.py).
# benchmarks/statistics.py simulates how often that marks one of equal engines as the winner.
FURTHER_ROUNDS = 2


@click.command(
    cls=MeasuringCommand,
    examples=(
        "gradmark run",
        "gradmark run poly/n=1000 'chain/f=*' -e tapegrad -e jax",
        "gradmark run my_workloads.py -e my_module:MyEngine --html page.html",
    ),
)
@click.argument("select", nargs=-1)
@options("engines", "keyword", "dtypes", "devices", "derivatives", *ON_FLEET)
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="table", show_default=True, help="What is printed."
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Also write the run to this file.")
@click.option("--html", "html_file", type=click.Path(path_type=Path), help="Also write an HTML page about the run.")
@click.option("--medians", is_flag=True, help="Also show the median of total over processes, with its interval.")
@click.option("--dry-run", is_flag=True, help="Show what would be measured, and stop.")
@measuring(*SAMPLING)
def command(
    select: tuple[str, ...],
    engines: tuple[str, ...],
    keyword: str | None,
    dtypes: tuple[str, ...],
    devices: tuple[str, ...],
    derivatives: tuple[DerivativeName, ...],
    fleet: str | None,
    on: str | None,
    each_class: bool,
    form: str,
    json_file: Path | None,
    html_file: Path | None,
    medians: bool,
    dry_run: bool,
    invocation: Invocation,
) -> None:
    """Measure engines on workloads, print a table, save the run.

    SELECT is a suite, a workload, a row such as poly/n=1000, a glob, or a Python file with workloads; without it, the
    scalar suite and the short part of the tensor suite. The default engine is tapegrad; `-e all` takes every one that
    is installed.

    Exit code 1 when a row fails: a wrong value or gradient, work that is not timed, an error, a crash, a timeout; or
    when nothing ran.
    """
    from gradmark.commands import distributing
    from gradmark.report.model.characters import plural

    machines = distributing.fleet_of(fleet, on, each_class)
    if each_class and (json_file is not None or html_file is not None):
        raise click.UsageError("--each-class makes several runs; write their pages with `gradmark report`")

    asked = Asked(select, engines or (DEFAULT_ENGINE,), keyword, dtypes, devices, derivatives)
    if dry_run:
        planned = asked.plan(invocation, tries=False)
        for cell in planned.cells:
            say(f"{cell.row}@{cell.engine}")
        least, most = planned.settings.processes, planned.settings.most_processes
        processes = f"{least} to {most} processes" if most > least else plural(least, "process")
        say(f"{plural(len(planned.cells), 'cell')}, {processes} each")
        return
    ready(json_file, html_file)
    if machines is None:
        measured = [measure(invocation, partial(asked.plan, invocation), unsettled)]
    else:
        measured = distributing.measure_on(invocation, machines, lambda ask: asked.plan(invocation, ask=ask))
    for run, where in measured:
        if len(measured) > 1:
            say(f"{class_of(run.environment).words}:", err=form != "table")
        written(run, json_file, html_file)
        show(run, form, medians=medians)
        if form == "table":
            say()
        say(f"run file: {where}", err=form != "table")
    sys.exit(max(exit_code(run) for run, _ in measured))


@dataclass(frozen=True)
class Asked:
    """What is to be measured, as it was asked for."""

    select: Sequence[str]
    engines: Sequence[str]
    keyword: str | None = None
    dtypes: Sequence[str] = ()
    devices: Sequence[str] = ()
    derivatives: Sequence[DerivativeName] = ()

    def plan(self, invocation: Invocation, *, tries: bool = True, ask: "Ask | None" = None) -> "Plan":
        """The plan; of many engines a quick run has fewer processes. tries: off if it is only shown."""
        settings = fewer(invocation.settings, len(discovery.chosen(self.engines, self.derivatives)))
        return invocation.plan(
            invocation.select(self.select, self.keyword),
            self.engines,
            settings=settings,
            dtypes=self.dtypes,
            devices=self.devices,
            derivatives=self.derivatives,
            tries=tries,
            ask=ask,
        )


def written(run: Run, json_file: Path | None, html_file: Path | None) -> None:
    """Writes what else was asked for of a run."""
    from gradmark.store import runs

    if json_file is not None:
        runs.save(run, json_file)
    if html_file is not None:
        report.write([run], html_file)


def fewer(settings: Settings, engines: int) -> Settings:
    """Of many engines a quick run compiles what it compiles once, and has two rounds if the user does not say.

    Else most of the time would go into imports and compilers.
    """
    if settings.full or engines <= FEW_ENGINES:
        return settings
    settings = msgspec.structs.replace(settings, shared_cache=settings.forked)
    if chosen_by_user("processes"):
        return settings
    most = PROCESSES_OF_MANY + FURTHER_ROUNDS
    return msgspec.structs.replace(settings, processes=PROCESSES_OF_MANY, most_processes=most)


def ready(json_file: Path | None, html_file: Path | None) -> None:
    """Raises before measuring if a file cannot be written after it."""
    from gradmark.store import runs

    if html_file is not None:
        report.ready(html_file)
    if json_file is not None:
        runs.ready_file(json_file)
