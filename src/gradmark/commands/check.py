"""`gradmark check`: the gate. Exact metrics against the committed baseline, or everything against another revision."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gradmark.commands.measuring import HOW, MeasuringCommand, Request, measuring, options, orchestrating
from gradmark.records import Cell, Run

if TYPE_CHECKING:
    from gradmark.gate.configuration import Configuration
    from gradmark.measure.orchestrator import Orchestrator
    from gradmark.records.finding import Gate

FORMATS = ["table", "markdown", "junit", "bencher", "github-benchmark", "json"]
baseline_option = click.option(
    "--baseline", "file", type=click.Path(path_type=Path), help="The baseline. Default: gradmark-baseline.json."
)


@click.command(cls=MeasuringCommand)
@click.argument("select", nargs=-1)
@options("engines", "keyword")
@baseline_option
@click.option("--against", metavar="REF", help="Build this git revision and measure both side by side, with times.")
@click.option(
    "--budget",
    "budgets",
    multiple=True,
    metavar="METRIC=AMOUNT",
    help="Such as time=2%; repeatable; overrides pyproject.toml.",
)
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("--output", type=click.Path(path_type=Path), help="Write the format there; the table is still shown.")
@measuring("pairs", "instructions", *HOW)
def command(
    select: tuple[str, ...],
    engines: tuple[str, ...],
    keyword: str | None,
    file: Path | None,
    against: str | None,
    budgets: tuple[str, ...],
    form: str,
    output: Path | None,
    pairs: int,
    request: Request,
) -> None:
    """Has anything become worse?

    Exact metrics (allocations, leaks, peak memory, tape instructions, gradient error) are compared with
    gradmark-baseline.json, which takes seconds. With --against, they and times are compared with another revision,
    measured side by side. Exit code 0: no; 1: yes; 2: wrong usage; 3: inconclusive.
    """
    from gradmark.gate.configuration import read
    from gradmark.records.finding import EXIT_CODES
    from gradmark.store import baselines

    configuration = read(budgets)
    cells = cells_to_check(configuration, select, engines, keyword)
    if against is not None:
        gate = side_by_side(request, cells, configuration, against, pairs)
    else:
        gate = exactly(request, cells, configuration, file or baselines.FILE, whole=not (select or engines or keyword))
    show(gate, form, output)
    sys.exit(EXIT_CODES[gate.answer])


def cells_to_check(
    configuration: "Configuration", select: Sequence[str], engines: Sequence[str], keyword: str | None
) -> list[Cell]:
    """Those of pyproject.toml, or those that were asked for."""
    from gradmark.engines import discovery
    from gradmark.measure.plan import cells_of
    from gradmark.workloads.selection import select as choose

    engines = engines or configuration.engines
    for engine in engines:
        discovery.check(engine)
    return cells_of(choose(select or configuration.select, keyword), engines, full=False)


def exactly(
    request: Request, cells: Sequence[Cell], configuration: "Configuration", file: Path, *, whole: bool
) -> "Gate":
    """Exact metrics against the baseline file. What is out of its budget is counted again, and fails if it is again."""
    import msgspec

    from gradmark.gate import exact
    from gradmark.records.finding import Gate, merged
    from gradmark.store import baselines

    before = baselines.load(file)
    if not whole:  # cells that were not asked for did not vanish
        before = baselines.only(before, cells)
    settings = msgspec.structs.replace(request.settings, processes=0)
    with orchestrating(request, lambda: request.plan(cells, settings)) as (orchestrator, _):
        run = counted(orchestrator, orchestrator.cells)
        here = baselines.described(run.environment)
        findings = exact.compare(before, run.measurements, here, configuration)
        doubtful = {finding.cell for finding in findings if finding.word == "fail"}
        if doubtful:
            again = [cell for cell in run.planned if baselines.key(cell) in doubtful]
            run = counted(orchestrator, again, again=True)
            ids = {cell.id for cell in again}
            repeated = [measurement for measurement in run.measurements if measurement.cell.id in ids]
            second = exact.compare(baselines.only(before, again), repeated, here, configuration)
            findings = merged(findings, exact.agreeing(findings, second))
        orchestrator.finish()
    return Gate(against=str(file), findings=findings, differing=exact.unlike(before.environment, here))


def counted(orchestrator: "Orchestrator", cells: Sequence[Cell], *, again: bool = False) -> Run:
    """Exact metrics of the cells, with instructions if they are asked for."""
    orchestrator.inspect(cells, again=again)
    if orchestrator.settings.instructions:
        orchestrator.count(cells)
    return orchestrator.run


def side_by_side(
    request: Request, cells: Sequence[Cell], configuration: "Configuration", against: str, pairs: int
) -> "Gate":
    """Everything against another revision."""
    import dataclasses

    from gradmark.commands.progress import working
    from gradmark.records.finding import Gate
    from gradmark.revisions import checkout, contest

    if request.begun is not None:
        refuse_other_commit(request)
    with working(f"building {against}"):
        revision = checkout.build(against, configuration.build)
    if request.begun is None:  # a branch may have moved on when the run is resumed
        pinned = _pinned(request.arguments, checkout.commit_of(against))
        request = dataclasses.replace(request, arguments=pinned)
    plan = request.plan(contest.both_sides(cells), contest.settings_of(request.settings, pairs))
    with orchestrating(request, lambda: plan, revision.places) as (orchestrator, _):
        rows = contest.rows_of(orchestrator.cells)
        (findings,) = contest.decide([contest.Contest(rows, pairs)], orchestrator, configuration)
        orchestrator.finish()
    return Gate(against=revision.name, findings=findings, notes=contest.notes(pairs))


def refuse_other_commit(request: Request) -> None:
    """Raises if the current folder has another commit than when the run began: half of a side would be of each."""
    from gradmark.errors import RevisionError
    from gradmark.measure import environment

    assert request.begun is not None
    was, now = request.begun.environment.commit, environment.collect().commit
    if not request.begun.finished and was != now:
        raise RevisionError(
            f"run {request.begun.id} was begun at commit {was}, and this folder is at {now}; check that commit out, or "
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
    from gradmark.report.exports import machines
    from gradmark.report.tables import gate as text
    from gradmark.store.writing import replace

    table = "\n".join(text.lines(gate)) + "\n"
    made = {
        "table": lambda: table,
        "markdown": lambda: text.markdown(gate),
        "junit": lambda: machines.junit(gate),
        "bencher": lambda: machines.bencher(gate),
        "github-benchmark": lambda: machines.smaller_is_better(gate),
        "json": lambda: machines.json(gate),
    }[form]()
    if output is not None:
        replace(output, made.encode())
    click.echo(table if output is not None else made, nl=False)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with open(summary, "a") as file:
            file.write(text.markdown(gate))
