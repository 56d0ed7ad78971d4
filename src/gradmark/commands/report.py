"""`gradmark report`: one self-contained HTML page of one run or several."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from gradmark.commands.helping import Verb
from gradmark.commands.options import store_option
from gradmark.commands.terminal import say
from gradmark.records import Run, Settings, Verdict

if TYPE_CHECKING:
    from gradmark.analyse.hypotheses import Hypothesis
    from gradmark.store.store import Store


@click.command(cls=Verb, examples=("gradmark report --open", "gradmark report latest 20260131 -o page.html"))
@click.argument("names", metavar="[RUN]…", nargs=-1)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="File to write.",
)
@click.option(
    "--hypothesis",
    "own",
    metavar="FILE",
    multiple=True,
    help="Python file with your own hypotheses, tested on what these runs measured; repeatable.",
)
@click.option("--open", "show", is_flag=True, help="Open the page in a browser.")
@store_option
def command(names: tuple[str, ...], output: Path, own: tuple[str, ...], show: bool, store: "Store") -> None:
    """Write an HTML page that shows where time and memory go: tables, plots, verdicts.

    RUN is an id, the start of one, a file, or `latest`, which is the default. Of several runs the page shows the newest
    measurement of each row, and the history of all. Files that cannot be read are named and left out.
    """
    from gradmark.commands.hypothesis import choose

    ready(output)
    claims = [claim.hypothesis for claim in choose(own, Settings())] if own else []
    runs = load(names or ("latest",), store)
    write(runs, output, claims)
    for run in runs:
        if not run.finished:
            say(f"unfinished: {run.id}; what was not measured yet is missing on the page", err=True)
    say(f"report: {output}")
    if show:
        import webbrowser

        webbrowser.open(output.resolve().as_uri())


def load(names: Sequence[str], store: "Store") -> list[Run]:
    """The runs of these names; what cannot be read is named and left out, unless nothing else is there."""
    from gradmark.errors import StoreError
    from gradmark.store import runs

    loaded: list[Run] = []
    problems: list[StoreError] = []
    for place in [store.find(name, runs.SHOWN_VERBS) for name in names]:
        try:
            loaded.append(store.load(place))
        except StoreError as error:
            problems.append(error)
    if not loaded:
        raise problems[0]
    for problem in problems:
        say(f"left out: {problem}", err=True)
    return loaded


def ready(output: Path) -> None:
    """Raises if the page cannot be written, before anything takes long."""
    from gradmark.errors import StoreError
    from gradmark.store import runs

    if output.is_dir():
        raise StoreError(f"{output} is a folder; name a file, such as {output / 'report.html'}")
    runs.ready_file(output)


def write(runs: Sequence[Run], output: Path, own: "Sequence[Hypothesis]" = ()) -> None:
    """The page of these runs, in place of what the file had; with one's own hypotheses if there are any."""
    from gradmark.commands.collecting import put_off
    from gradmark.report.page.html import render
    from gradmark.report.page.page import page
    from gradmark.store.writing import replace

    with put_off():
        replace(output, render(page(runs, against_baseline(runs), own)).encode())


def against_baseline(runs: Sequence[Run]) -> Verdict | None:
    """The exact metrics of what the page shows against the baseline of the current folder; None where there is none."""
    from gradmark.gate import configuration, exact
    from gradmark.records.finding import Gate
    from gradmark.report.page.material import Material
    from gradmark.report.tables.gate import counts, lines
    from gradmark.store import baselines

    if not baselines.FILE.is_file():
        return None
    shown = Material(runs).run
    # A run need not have all of the baseline; what it has not measured is no finding.
    before = baselines.only(baselines.load(baselines.FILE), [m.cell for m in shown.measurements])
    now = baselines.described(shown.environment)
    findings = exact.compare(before, shown.measurements, now, configuration.read())
    gate = Gate(against=str(baselines.FILE), findings=findings)
    words: dict[str, Literal["kept", "broken", "undecided"]] = {"pass": "kept", "fail": "broken"}
    summary = f"against {gate.against}: {counts(gate) or 'nothing to compare'}"
    return Verdict(
        claim="nothing got worse than the baseline",
        verdict=words.get(gate.answer, "undecided") if before.cells else "not measured",
        evidence=[summary, *(" ".join(line.split()) for line in lines(gate)[:-1])],
    )
