"""The walk over a run: every number that is shown of it is held against the registry of metrics.

In: a run, or what is shown of it. Out: how many numbers were compared; the first that disagrees is an AssertionError.
A ratio must be the quotient of the numbers shown beside it, as far as their digits say; every table and sentence must
have the same winner.
"""

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from rich.console import Console

from gradmark import units
from gradmark.analyse.standings import rows_of
from gradmark.records import Measurement, Number, Run, metric
from gradmark.report.exports import csv as as_csv
from gradmark.report.exports import json as as_json
from gradmark.report.exports import markdown
from gradmark.report.model.sides import answers_of, comparison
from gradmark.report.model.suites import tables
from gradmark.report.tables import terminal
from oracles.shown import MARKS, NUMBER, Lines, Span, is_quotient, markdown_tables, plain_title, span, terminal_tables

RATIOS = {"backward_forward": ("backward", "forward"), "gradient_primal": ("total", "primal")}
STANDINGS = ("× fastest", "× by hand", "Pareto")
SUMMARY = ("rows timed", "mean × fastest", "fastest", "tied", "not settled", "Pareto-optimal")


def walk(run: Run) -> int:
    """All of it: rows and engines side by side, on the terminal and in markdown, with medians and without; files."""
    answers = comparison(run).answers
    assert answers_of(run) == answers
    compared = check_csv(run, as_csv.csv(run)) + check_json(run, as_json.json(run))
    for medians in (False, True):
        compared += check_rows(run, terminal_tables(printed_rows(run, medians), row_names(run)))
        compared += check_rows(run, markdown_tables(markdown.suites(tables(run), [], medians=medians)))
    compared += check_sides(run, terminal_tables(printed_sides(run), side_names(run)), answers)
    return compared + check_sides(run, markdown_tables(markdown.side_by_side(comparison(run), [])), answers)


def printed_rows(run: Run, medians: bool = False) -> str:
    """As a terminal without an edge shows it."""
    out = io.StringIO()
    terminal.print_tables(tables(run), [], _console(out), medians=medians)
    return out.getvalue()


def printed_sides(run: Run) -> str:
    """As a terminal without an edge shows it."""
    out = io.StringIO()
    terminal.print_comparison(comparison(run), [], _console(out))
    return out.getvalue()


def _console(out: io.StringIO) -> Console:
    return Console(width=1000, file=out, color_system=None)


def row_names(run: Run) -> set[str]:
    """What lines of tables with a row for each cell begin with."""
    return {m.cell.row for m in run.measurements}


def side_names(run: Run) -> set[str]:
    """What lines of engines side by side begin with."""
    titles = {plain_title(entry.title) for m in run.measurements for entry in metric.metrics_of(m)}
    return titles | {*STANDINGS, *SUMMARY} | rows_of(run.measurements).keys()


# --- one row for each cell


def check_rows(run: Run, tables: Iterator[tuple[str, Lines]]) -> int:
    """Tables with a row for each cell: every number is the registry's, every ratio that of the numbers beside it."""
    compared, seen = 0, 0
    engines = {m.cell.engine for m in run.measurements}
    for title, lines in tables:
        suite = title.split(",")[0]
        for line in lines:
            engine = line.get("engine") or next(iter(engines))
            m = _cell(run, suite, line["workload"], engine)
            compared += check_cells(
                m, {h: text for h, text in line.items() if h not in ("workload", "engine", "shape")}
            )
            seen += 1
    assert seen == len(run.measurements), f"{seen} of {len(run.measurements)} cells are shown"
    return compared


def _cell(run: Run, suite: str, row: str, engine: str) -> Measurement:
    (m,) = (m for m in run.measurements if (m.cell.suite, m.cell.row, m.cell.engine) == (suite, row, engine))
    return m


def check_cells(m: Measurement, texts: Mapping[str, str]) -> int:
    """The texts of one cell by the titles of their metrics."""
    if m.status != "ok":
        assert not any(NUMBER.fullmatch(text) for header, text in texts.items() if header != "error"), texts
        return 0
    numbers = metric.numbers(m)
    compared = 0
    for title, text in texts.items():
        entries = [e for e in metric.metrics_of(m) if plain_title(e.title) == title]
        known = next((e for e in entries if e.name in numbers), None)
        if not any(m.cell.kind in e.kinds for e in entries) and entries:
            assert text in ("", "n/a"), (m.cell.id, title, text)
        elif title == "median":
            compared += _check_median(m, numbers, text)
        elif known is None:
            assert text == "n/a", (m.cell.id, title, text)
        else:
            mark = "~" if numbers[known.name].how == "derived" else ""
            assert text == mark + units.text(known.unit, numbers[known.name].value), (m.cell.id, title, text)
            compared += 1
    for name, (above, below) in RATIOS.items():
        title = plain_title(metric.metric(name).title)
        if {title, above, below} <= texts.keys() and texts[title] != "n/a":
            assert is_quotient(texts[title], texts[above], texts[below]), (m.cell.id, title, texts)
            compared += 1
    _check_parts(m, texts)
    return compared


def _check_parts(m: Measurement, texts: Mapping[str, str]) -> None:
    """Parts are no longer than the whole, and together as long where one of them was computed."""
    shown = {name: texts[name] for name in ("forward", "backward", "total") if texts.get(name, "n/a") != "n/a"}
    if "total" not in shown:
        return
    total = span(shown["total"])
    for part in shown.keys() - {"total"}:
        assert span(shown[part]).low <= total.high, (m.cell.id, part, shown)
    if len(shown) == 3 and any(text.startswith("~") for text in shown.values()):
        parts = [span(shown[part]) for part in ("forward", "backward")]
        assert Span(sum(p.low for p in parts), sum(p.high for p in parts)).meets(total), (m.cell.id, shown)


def _check_median(m: Measurement, numbers: Mapping[str, Number], text: str) -> int:
    total = numbers.get("total")
    if total is None or total.median is None:
        assert text == "n/a", (m.cell.id, text)
        return 0
    assert text.split(" (")[0] == units.time(total.median), (m.cell.id, text)
    assert ("range" in text) == (total.processes > 1 and (total.coverage or 0.0) < 0.95), (m.cell.id, text)
    return 1


# --- engines side by side


class Winners(NamedTuple):
    """Of a task: the engines that are marked, with their marks, and every total as it is shown."""

    marked: dict[str, str]
    totals: dict[str, str]


def check_sides(run: Run, tables: Iterator[tuple[str, Lines]], answers: Sequence[str]) -> int:
    """One table for each task, an overview and a summary, and the answers: all from the same numbers."""
    tasks = rows_of(run.measurements)
    winners: dict[str, Winners] = {}
    compared, shown = 0, set()
    for title, lines in tables:
        columns = {line[""]: {engine: text for engine, text in line.items() if engine} for line in lines}
        shown.add(title)
        if title in tasks:
            compared += _check_side(title, tasks[title], columns)
            winners[title] = _winners(title, columns)
        elif title == "total, all rows":
            compared += _check_overview(columns, winners)
        else:
            assert title.startswith("summary of "), title
            compared += _check_summary(columns, winners)
    assert shown - {"total, all rows"} - {t for t in shown if t.startswith("summary of ")} == winners.keys()
    return compared + check_answers(answers, winners)


def _named(members: Sequence[Measurement], name: str) -> Measurement:
    found = [m for m in members if m.cell.engine == name or f"{m.cell.engine} ({m.cell.device})" == name]
    assert len(found) == 1, (name, [m.cell.id for m in members])
    return found[0]


def _check_side(title: str, members: Sequence[Measurement], columns: Mapping[str, Mapping[str, str]]) -> int:
    compared = 0
    totals = columns["total"]
    fastest = min(totals, key=lambda engine: span(totals[engine]).low)
    for engine in totals:
        m = _named(members, engine)
        texts = {label: line[engine] for label, line in columns.items()}
        of_metrics = {h: text for h, text in texts.items() if h not in STANDINGS}
        compared += check_cells(m, of_metrics)
        for label, other in (("× fastest", fastest), ("× by hand", "manual")):
            if label in texts and other in totals:
                assert is_quotient(texts[label], totals[engine], totals[other]), (title, engine, label, texts)
                compared += 1
    order = [metric.numbers(_named(members, engine))["total"].value for engine in totals]
    assert order == sorted(order), (title, order)
    return compared


def _winners(title: str, columns: Mapping[str, Mapping[str, str]]) -> Winners:
    totals = dict(columns["total"])
    marked = {engine: text[-1] for engine, text in columns["× fastest"].items() if text[-1] in MARKS}
    assert next(iter(totals)) in marked, (title, marked)
    alone = "◀" in marked.values()
    assert alone == (len(marked) == 1), (title, marked)
    return Winners(marked, totals)


def _check_overview(columns: Mapping[str, Mapping[str, str]], winners: Mapping[str, Winners]) -> int:
    compared = 0
    for task, line in columns.items():
        won = winners.get(task, Winners({}, {}))
        for engine, text in line.items():
            expected = won.totals[engine] + won.marked.get(engine, "") if engine in won.totals else None
            if expected is None:
                assert not text or not NUMBER.fullmatch(text), (task, engine, text)
            else:
                assert text == expected, (task, engine, text, expected)
                compared += 1
    return compared


def _check_summary(columns: Mapping[str, Mapping[str, str]], winners: Mapping[str, Winners]) -> int:
    for engine in columns["fastest"]:
        timed = [won for won in winners.values() if engine in won.totals]
        assert int(columns["rows timed"][engine].split(" of ")[0]) == len(timed), engine
        marks = [won.marked.get(engine) for won in timed if len(won.totals) > 1]  # nobody wins alone
        for label, mark in (("fastest", "◀"), ("tied", "="), ("not settled", "?")):
            assert int(columns[label][engine]) == marks.count(mark), (engine, label)
    return _check_means(columns.get("mean × fastest", {}), winners)


def _check_means(means: Mapping[str, str], winners: Mapping[str, Winners]) -> int:
    """Each mean is that of the quotients of the totals shown, over the rows that all engines with a mean have."""
    having = {engine for engine, text in means.items() if text != "n/a"}
    common = [won.totals for won in winners.values() if len(won.totals) > 1 and having <= won.totals.keys()]
    assert common or not having
    for engine in having:
        ratios = [
            span(totals[engine]).over(span(min(totals.values(), key=lambda text: span(text).low))) for totals in common
        ]
        low, high = (math.prod(ends) ** (1 / len(common)) for ends in zip(*ratios, strict=True))
        assert span(means[engine]).meets(Span(low, high)), (engine, means[engine], low, high)
    return len(having)


def check_answers(answers: Sequence[str], winners: Mapping[str, Winners]) -> int:
    """Every sentence names those that are marked, with the times and factors that the table shows."""
    competed = [task for task, won in winners.items() if len(won.totals) > 1]
    assert len(answers) == len(competed), (answers, competed)
    compared = 0
    for task, answer in zip(competed, answers, strict=True):
        won = winners[task]
        said = answer.removeprefix(f"{task}: ")
        assert said != answer, (task, answer)
        fastest = next(iter(won.totals))
        if len(won.marked) == 1:
            assert said.startswith(f"{fastest}, {won.totals[fastest]}"), answer
            assert won.marked[fastest] == "◀", answer
        else:
            for engine in won.marked:
                assert f"{engine} ({won.totals[engine]})" in said, (answer, engine)
            assert (" tie" in said) == ("?" not in won.marked.values()), answer
        for factor, engine in re.findall(r"([\d.,]+) times as fast as (.+?)(?=,? [\d.,]+ times|, |$| \(\d+ eng)", said):
            assert engine in won.totals.keys() - won.marked.keys(), answer
            assert is_quotient(factor, won.totals[engine], won.totals[fastest]), (answer, engine)
            compared += 1
        compared += len(won.marked)
    return compared


# --- files for programs


def check_csv(run: Run, text: str) -> int:
    """Every field of a metric is the registry's number in full."""
    lines = list(csv.DictReader(io.StringIO(text)))
    assert len(lines) == len(run.measurements)
    compared = 0
    for line in lines:
        m = _cell(run, line["suite"], line["row"], line["engine"])
        numbers = metric.numbers(m)
        for entry in metric.metrics_of(m):
            number = numbers.get(entry.name)
            assert _value(line[entry.column]) == (None if number is None else number.value), (m.cell.id, entry.name)
            compared += number is not None
            if entry.phase and number is not None:
                for suffix in ("median", "median_low", "median_high"):
                    value = getattr(number, suffix.removeprefix("median_"))
                    assert _value(line[f"{entry.name}_{suffix}_ns"]) == value, (m.cell.id, entry.name, suffix)
                assert line[f"{entry.name}_how"] == number.how, (m.cell.id, entry.name)
    return compared


def _value(text: str) -> float | None:
    return float(text) if text else None


def check_json(run: Run, text: str) -> int:
    """The rows of the document have the registry's numbers."""
    rows = msgspec.json.decode(text)["rows"]
    assert len(rows) == len(run.measurements)
    compared = 0
    for m, row in zip(run.measurements, rows, strict=True):
        assert (row["row"], row["engine"], row["status"]) == (m.cell.row, m.cell.engine, m.status)
        shown = msgspec.convert(row.get("numbers", {}), dict[str, Number])
        assert shown == metric.numbers(m), m.cell.id
        compared += len(shown)
    return compared
