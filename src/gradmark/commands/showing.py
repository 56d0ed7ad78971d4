"""Showing a run: the table for people, or the format that another tool reads."""

import sys
from typing import TYPE_CHECKING, NoReturn

from gradmark.commands.terminal import console, say, say_document
from gradmark.records import Run

if TYPE_CHECKING:  # reports are imported when they are shown
    from collections.abc import Sequence

    from gradmark.records import Summary

FORMATS = ["table", "go", "markdown", "json", "csv", "bencher", "github-benchmark"]


def show(run: Run, form: str, *, medians: bool = False) -> None:
    """Prints a run in one of the formats."""
    from gradmark.analyse.summary import summarise_run

    if form in ("go", "bencher", "github-benchmark"):
        say_document(_for_tools(run, form), "plain" if form == "go" else "json")
        return
    summaries = summarise_run(run.measurements)
    if form == "csv":
        from gradmark.report.exports.csv import csv

        say_document(csv(run, summaries), "plain")
    elif form == "json":
        from gradmark.report.exports.json import json

        say_document(json(run, summaries), "json")
    else:
        _for_people(run, summaries, form, medians)


def show_calmness(run: Run) -> None:
    """Prints how calm the machine was, for verbs that do not show the run's notes."""
    from gradmark.report.model.circumstances import calmness

    for note in calmness(run):
        say()
        say(f"{note.level}: {note.text}")


def end(where: str, code: int) -> NoReturn:
    """The last line of a verb that measured: where its run is kept. Ends the command."""
    say()
    say(f"run file: {where}")
    sys.exit(code)


def exit_code(run: Run) -> int:
    """1 if a row failed or nothing ran at all; what an engine does not have is no failure."""
    statuses = {measurement.status for measurement in run.measurements}
    return int("ok" not in statuses or any(measurement.failed for measurement in run.measurements))


def _for_tools(run: Run, form: str) -> str:
    from gradmark.report.exports import go, machines

    if form == "go":
        return go.render(run)
    render = machines.bencher if form == "bencher" else machines.smaller_is_better
    return render(machines.of_run(run))


def _for_people(run: Run, summaries: "Sequence[Summary]", form: str, medians: bool) -> None:
    from gradmark.analyse.growth import growth
    from gradmark.report.exports import markdown
    from gradmark.report.model import published, sides
    from gradmark.report.model.multiples import multiples
    from gradmark.report.model.note import beside_sides
    from gradmark.report.model.notes import notes
    from gradmark.report.model.rows import rows
    from gradmark.report.model.suites import tables
    from gradmark.report.tables import terminal

    all_notes = notes(run, *growth(run), summaries)
    others = published.beside(rows(run, summaries))
    if sides.wanted(run) and not medians:
        comparison = sides.comparison(run, summaries)
        shown = beside_sides(all_notes)
        if form == "markdown":
            details = markdown.side_by_side(comparison, shown) + markdown.published(others)
            say_document(markdown.multiples(multiples(run), comparison.answers, details), "markdown")
        else:
            terminal.print_comparison(comparison, shown, console())
            terminal.print_published(others, console())
        return
    answers = sides.answers_of(run) if sides.compares(run) else []
    if form == "markdown":
        document = markdown.suites(tables(run, summaries), all_notes, medians=medians) + markdown.published(others)
        say_document(markdown.multiples(multiples(run), answers, document) if answers else document, "markdown")
    else:
        terminal.print_tables(tables(run, summaries), all_notes, console(), answers, medians=medians)
        terminal.print_published(others, console())
