"""`gradmark check`: the gate. Exact metrics against the committed baseline, or everything against another revision."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gradmark.commands.gating import gating, inspected, planned
from gradmark.records import Cell, Settings

if TYPE_CHECKING:
    from gradmark.gate.configuration import Configuration
    from gradmark.records.finding import Gate

FORMATS = ["table", "markdown", "junit", "bencher", "github-benchmark", "json"]


@click.command()
@click.option(
    "--against", metavar="REF", help="Build this git revision, and measure both side by side, times included."
)
@click.option("--pairs", type=click.IntRange(2), default=12, show_default=True, help="Pairs of processes for each row.")
@click.option(
    "--budget", "budgets", multiple=True, metavar="METRIC=AMOUNT", help="Such as time=2%; wins over the file."
)
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("--output", type=click.Path(path_type=Path), help="Write the format there; the table is still shown.")
@gating
def command(
    select: tuple[str, ...],
    engines: tuple[str, ...],
    keyword: str | None,
    file: Path,
    against: str | None,
    pairs: int,
    budgets: tuple[str, ...],
    form: str,
    output: Path | None,
    settings: Settings,
) -> None:
    """Has anything become worse?

    Exact metrics (allocations, leaks, peak memory, tape instructions, gradient error) are compared with
    gradmark-baseline.json, which takes seconds. With --against, they and times are compared with another revision,
    measured side by side. Exit code 0: no; 1: yes; 2: wrong usage; 3: inconclusive.
    """
    from gradmark.gate.configuration import read
    from gradmark.records.finding import EXIT_CODES

    said = read(budgets)
    cells = planned(said, select, engines, keyword)
    if against is not None:
        gate = side_by_side(against, cells, settings, said, pairs)
    else:
        gate = exactly(cells, settings, said, file, whole=not (select or engines or keyword))
    show(gate, form, output)
    sys.exit(EXIT_CODES[gate.answer])


def exactly(cells: Sequence[Cell], settings: Settings, said: "Configuration", file: Path, *, whole: bool) -> "Gate":
    """Exact metrics against the baseline file. What is out of its budget is counted again, and fails if it is again."""
    from gradmark.gate import exact
    from gradmark.measure import environment
    from gradmark.records.finding import Gate, merged
    from gradmark.store import baselines

    before = baselines.load(file)
    if not whole:  # cells that were not asked for did not vanish
        before = baselines.only(before, cells)
    here = baselines.described(environment.collect())
    findings = exact.compare(before, inspected(cells, settings), here, said)
    doubtful = {finding.cell for finding in findings if finding.word == "fail"}
    if doubtful:
        flagged = [cell for cell in cells if baselines.key(cell) in doubtful]
        again = exact.compare(baselines.only(before, flagged), inspected(flagged, settings), here, said)
        findings = merged(findings, exact.agreeing(findings, again))
    return Gate(against=str(file), findings=findings, differing=exact.unlike(before.environment, here))


def side_by_side(name: str, cells: Sequence[Cell], settings: Settings, said: "Configuration", pairs: int) -> "Gate":
    """Everything against another revision."""
    from gradmark.commands.gating import progress
    from gradmark.revisions.checkout import build
    from gradmark.revisions.contest import Contest

    click.echo(f"building {name}", err=True)
    revision = build(name, said.build)
    with progress(len(cells) * (2 + pairs)) as step:
        return Contest(revision, cells, settings).decide(said, pairs, step)


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
