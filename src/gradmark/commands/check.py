"""`gradmark check`: the gate. Exact metrics against the committed baseline, or everything against another revision."""

import os
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gradmark.commands.measuring import Invocation, MeasuringCommand, measuring, orchestrating
from gradmark.commands.options import HOW, ON_FLEET, options
from gradmark.commands.terminal import Kind, say, say_document
from gradmark.records import Run, Settings

if TYPE_CHECKING:
    from gradmark.commands.distributing import Fleet
    from gradmark.gate.configuration import Configuration
    from gradmark.measure.plan import Ask, Plan
    from gradmark.records.finding import Finding, Gate

FORMATS = ["table", "markdown", "junit", "bencher", "github-benchmark", "json"]
KINDS: dict[str, Kind] = {"markdown": "markdown", "junit": "xml", **dict.fromkeys(FORMATS[3:], "json")}
baseline_option = click.option(
    "--baseline", "file", type=click.Path(path_type=Path), help="Baseline file. Default: gradmark-baseline.json."
)


@click.command(
    cls=MeasuringCommand, examples=("gradmark check", "gradmark check scalar --against main --budget time=2%")
)
@click.argument("select", nargs=-1)
@options("engines", "keyword", *ON_FLEET)
@baseline_option
@click.option(
    "--against", metavar="REF", help="Build this git revision and measure both builds side by side, times included."
)
@click.option(
    "--budget",
    "budgets",
    multiple=True,
    metavar="METRIC=AMOUNT",
    help="Budget of a metric, such as time=2%; repeatable; overrides pyproject.toml.",
)
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="table", show_default=True, help="What is printed."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Write the chosen format to this file; the table is still printed.",
)
@measuring("pairs", "instructions", *HOW)
def command(
    select: tuple[str, ...],
    engines: tuple[str, ...],
    keyword: str | None,
    fleet: str | None,
    on: str | None,
    each_class: bool,
    file: Path | None,
    against: str | None,
    budgets: tuple[str, ...],
    form: str,
    output: Path | None,
    pairs: int,
    invocation: Invocation,
) -> None:
    """Compare with the baseline; fail if anything got worse.

    Exact metrics (allocations, leaks, peak memory, tape instructions, gradient error) are compared with
    gradmark-baseline.json, which takes seconds. With --against, they and times are compared with another revision,
    measured side by side; on a fleet both on the same machine. Exit code 0: pass; 1: fail; 2: wrong usage;
    3: inconclusive.
    """
    from gradmark.commands import distributing
    from gradmark.gate.configuration import read
    from gradmark.records.finding import EXIT_CODES
    from gradmark.store import runs

    machines = distributing.fleet_of(fleet, on, each_class)
    if machines is not None and against is None:
        raise click.UsageError("--fleet needs --against; comparing with a baseline takes seconds, on this machine")
    if each_class:
        raise click.UsageError(
            "a check gives one answer, so --each-class does not apply; check each class by itself, with --on CLASS"
        )
    configuration = read(budgets)
    if output is not None:
        runs.ready_file(output)
    chosen = Chosen(tuple(select or configuration.select), tuple(engines or configuration.engines), keyword)
    if against is not None and machines is not None:
        gate = on_fleet(invocation, chosen, configuration, against, pairs, machines)
    else:
        whole = not (select or engines or keyword)
        gate = decided(invocation, chosen, configuration, against=against, pairs=pairs, file=file, whole=whole)
    show(gate, form, output)
    sys.exit(EXIT_CODES[gate.answer])


@dataclass(frozen=True)
class Chosen:
    """What is checked: as pyproject.toml says, or as was asked for."""

    select: tuple[str, ...]
    engines: tuple[str, ...]
    keyword: str | None

    def plan(
        self,
        invocation: Invocation,
        settings: Settings,
        worked: Callable[[str], bool] = lambda _: False,
        ask: "Ask | None" = None,
    ) -> "Plan":
        """The plan. An engine that cannot be used any more is no error if it worked before: its rows will say it."""
        from gradmark.errors import EngineError
        from gradmark.measure import plan, process

        rows = invocation.select(self.select, self.keyword)
        try:
            return invocation.plan(rows, self.engines, settings=settings, ask=ask)
        except EngineError:
            can = plan.survey(self.engines, ask or process.run, settings, named=()).can
            broken = [name for name in self.engines if name not in can]
            if not broken or not all(map(worked, broken)):
                raise
            return invocation.plan_of_cells(plan.cells_of(rows, self.engines, full=settings.full), settings)


def decided(
    invocation: Invocation,
    chosen: Chosen,
    configuration: "Configuration",
    *,
    against: str | None,
    pairs: int,
    file: Path | None,
    whole: bool,
) -> "Gate":
    """The gate on this machine: against another revision if one is named, else against the baseline."""
    from gradmark.store import baselines

    if against is not None:
        return side_by_side(invocation, chosen, configuration, against, pairs)
    return exactly(invocation, chosen, configuration, file or baselines.FILE, whole=whole)


def exactly(
    invocation: Invocation, chosen: Chosen, configuration: "Configuration", file: Path, *, whole: bool
) -> "Gate":
    """Exact metrics against the baseline file. What is out of its budget is counted again, and fails if it is again."""
    import msgspec

    from gradmark.gate import exact
    from gradmark.records.finding import Gate
    from gradmark.store import baselines

    before = baselines.load(file)
    settings = msgspec.structs.replace(invocation.settings, processes=0)

    def worked(engine: str) -> bool:
        names = [
            name.partition("@")[2].partition(" of ")[0] for name, kept in before.cells.items() if kept.status == "ok"
        ]
        return engine in names

    with orchestrating(invocation, lambda: chosen.plan(invocation, settings, worked)) as (orchestrator, _):
        if not whole:  # cells that were not asked for did not vanish
            before = baselines.only(before, orchestrator.cells)
        here = baselines.described(orchestrator.run.environment)

        def count_again(doubtful: Collection[str]) -> "list[Finding]":
            again = [cell for cell in orchestrator.cells if baselines.key(cell) in doubtful]
            orchestrator.count_exactly(again, again=True)
            repeated = [orchestrator.measurement(cell) for cell in again]
            return exact.compare(baselines.only(before, again), repeated, here, configuration)

        orchestrator.count_exactly(orchestrator.cells)
        findings = exact.compare(before, orchestrator.run.measurements, here, configuration)
        findings = exact.confirmed(findings, count_again)
        orchestrator.finish()
    return Gate(against=str(file), findings=findings, differing=exact.unlike(before.environment, here))


def side_by_side(
    invocation: Invocation, chosen: Chosen, configuration: "Configuration", against: str, pairs: int
) -> "Gate":
    """Everything against another revision."""
    import dataclasses

    import msgspec

    from gradmark.commands.progress import working
    from gradmark.measure import plan, process
    from gradmark.records.finding import Gate
    from gradmark.revisions import checkout, contest

    if invocation.begun is not None:
        refuse_other_commit(invocation.begun)
    else:  # a branch may have moved on when the run is resumed
        pinned = _pinned(invocation.arguments, checkout.commit_of(against))
        invocation = dataclasses.replace(invocation, arguments=pinned)
    with working(f"building {against}"):
        revision = checkout.build(against, configuration.build)
    settings = contest.settings_of(invocation.settings, pairs)

    def worked(engine: str) -> bool:
        before = plan.survey([engine], lambda job: process.run(job, place=revision.before), settings, named=())
        return engine in before.can

    def of_both_sides() -> "Plan":
        one_side = chosen.plan(invocation, settings, worked)
        # what is known of an engine here need not be true of the other revision
        return msgspec.structs.replace(one_side, cells=contest.both_sides(one_side.cells), known=[])

    with orchestrating(invocation, of_both_sides, revision.places) as (orchestrator, _):
        rows = contest.rows_of(orchestrator.cells)
        (findings,) = contest.decide([contest.Contest(rows, pairs)], orchestrator, configuration)
        orchestrator.finish()
        notes = [*contest.notes(pairs), *contest.notes_on_files(orchestrator.run, revision)]
    return Gate(against=revision.name, findings=findings, notes=notes)


def on_fleet(
    invocation: Invocation,
    chosen: Chosen,
    configuration: "Configuration",
    against: str,
    pairs: int,
    fleet: "Fleet",
) -> "Gate":
    """Everything against another revision, both builds of a row on the same machine of a fleet."""
    import dataclasses
    import os

    import msgspec

    from gradmark.commands.distributing import campaigns
    from gradmark.fleet import carrying
    from gradmark.fleet.task import Against
    from gradmark.records.finding import Gate
    from gradmark.revisions import checkout, contest

    commit = checkout.commit_of(against)
    if invocation.begun is not None:
        refuse_other_commit(invocation.begun)
    else:
        invocation = dataclasses.replace(invocation, arguments=_pinned(invocation.arguments, commit))
    settings = contest.settings_of(invocation.settings, pairs)
    top, head, changes = carrying.repository()
    builds = Against(
        commit=commit,
        build=configuration.build,
        head=head,
        changes=changes,
        top=top,
        inside=os.path.relpath(Path.cwd().resolve(), Path(top).resolve()),
    )

    def of_both_sides(ask: "Ask") -> "Plan":
        one_side = chosen.plan(invocation, settings, ask=ask)
        return msgspec.structs.replace(one_side, cells=contest.both_sides(one_side.cells), known=[])

    with campaigns(invocation, fleet, of_both_sides, builds) as ((campaign, _),):
        rows = contest.rows_of(campaign.cells)
        (findings,) = contest.decide([contest.Contest(rows, pairs)], campaign, configuration)
        campaign.finish()
        machines = [machine.instance for machine in campaign.run.machines]
    name = commit[:12] if against == commit else f"{against} ({commit[:12]})"
    where = f"measured on {', '.join(sorted(machines))}: both builds of a row on the same machine"
    return Gate(against=name, findings=findings, notes=[*contest.notes(pairs), where])


def refuse_other_commit(begun: Run) -> None:
    """Raises if the current folder has another commit than when the run began: half of a side would be of each."""
    from gradmark.errors import RevisionError
    from gradmark.measure import environment

    was, now = begun.environment.commit, environment.collect().commit
    if not begun.finished and was != now:
        raise RevisionError(
            f"run {begun.id} was begun at commit {was}, and this folder is at {now}; check that commit out, or "
            "start a new run"
        )


def _pinned(arguments: Sequence[str], commit: str) -> list[str]:
    """What was typed, with the commit in place of its name."""
    pinned = list(arguments)
    for place, word in enumerate(arguments):
        if word == "--against":
            pinned[place + 1] = commit
        elif word.startswith("--against="):
            pinned[place] = f"--against={commit}"
    return pinned


def show(gate: "Gate", form: str, output: Path | None) -> None:
    """Prints the gate, or writes it to a file; a table in either case, unless a format goes to standard output.

    GitHub shows what is appended to the file that it names in GITHUB_STEP_SUMMARY.
    """
    from gradmark.report.escaping.terminal import line as escaped
    from gradmark.report.exports import machines
    from gradmark.report.tables import gate as text
    from gradmark.store.writing import replace

    lines = [escaped(line) for line in text.lines(gate)]
    formatted = {
        "table": lambda: "".join(f"{line}\n" for line in lines),
        "markdown": lambda: text.markdown(gate),
        "junit": lambda: machines.junit(gate),
        "bencher": lambda: machines.bencher(gate),
        "github-benchmark": lambda: machines.smaller_is_better(gate),
        "json": lambda: machines.json(gate),
    }[form]()
    if output is not None:
        replace(output, formatted.encode())
    if output is not None or form == "table":
        for line in lines:
            say(line)
    else:
        say_document(formatted, KINDS[form])
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        _append(Path(summary), text.markdown(gate))


def _append(path: Path, text: str) -> None:
    from gradmark.errors import StoreError

    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise StoreError(f"GITHUB_STEP_SUMMARY names {path}, which cannot be written: {error.strerror}") from error
