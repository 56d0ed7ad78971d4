"""Reads back what is shown of a run, and holds every number against the registry of metrics.

In: a run, and the text of a terminal, a markdown or CSV file, or a JSON document. Out: how many numbers were compared;
the first that disagrees is an AssertionError. A ratio must be the quotient of the numbers shown beside it, as far as
their digits say; every table and sentence must have the same winner.
"""

import csv
import io
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from gradmark import units
from gradmark.analyse.standings import rows_of
from gradmark.records import Measurement, Number, Run, metric

FACTORS = {
    "": 1.0, "ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9, "%": 0.01, "ulp": 1.0,
    "B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30,
    "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
}  # fmt: skip
NUMBER = re.compile(r"~?([+-]?[\d,]+(?:\.(\d+))?(?:e([+-]\d+))?)(?: (\S+))?")
RATIOS = {"backward_forward": ("backward", "forward"), "gradient_primal": ("total", "primal")}
MARKS = "◀=?"
SUMMARY = ("rows timed", "fastest", "tied", "not settled", "Pareto-optimal")


# --- numbers as they are shown


class Span(NamedTuple):
    """The numbers that a text may stand for: it was rounded."""

    low: float
    high: float

    def over(self, other: "Span") -> "Span":
        """All quotients."""
        return Span(self.low / other.high, self.high / other.low)

    def meets(self, other: "Span") -> bool:
        """Whether both may stand for one number."""
        slack = 1e-9 * abs(self.high)
        return self.low <= other.high + slack and other.low <= self.high + slack


def span(text: str) -> Span:
    """What a text stands for. Numbers with commas have three digits.

    >>> span("2.50 µs")
    Span(low=2495.0, high=2505.0)
    """
    match = NUMBER.fullmatch(text.rstrip(MARKS))
    assert match, f"{text!r} is no number"
    digits, decimals, exponent, unit = match.groups()
    value = float(digits.replace(",", ""))
    step = 10.0 ** -len(decimals or "") * 10.0 ** int(exponent or 0)
    if "," in digits:
        step = 10.0 ** (len(digits.replace(",", "")) - 3)
    prefix = unit or ""
    for ending in ("FLOP/s", "B/s"):
        prefix = prefix.removesuffix(ending) if unit != ending else ""
    factor = FACTORS[prefix]
    return Span((value - step / 2) * factor, (value + step / 2) * factor)


def is_quotient(ratio: str, above: str, below: str) -> bool:
    """Whether a ratio follows from the numbers beside it, to the digits that are shown. None does from nothing."""
    lower = span(below)
    return lower.low <= 0 or span(ratio).meets(span(above).over(lower))


# --- tables as they are printed

Lines = list[dict[str, str]]


def terminal_tables(text: str, names: set[str]) -> Iterator[tuple[str, Lines]]:
    """The title and the lines of each table, by header. A line begins with one of the names."""
    lines = text.splitlines()
    for rule, line in enumerate(lines):
        if not line or set(line) != {"─"}:
            continue
        head = rule - 1
        while head > 0 and lines[head - 1].startswith(" "):
            head -= 1
        end = rule + 1
        while end < len(lines) and re.split(r"\s{2,}", lines[end].strip())[0] in names:
            end += 1
        block = [*lines[head:rule], *lines[rule + 1 : end]]
        places = _columns(block)
        headers = [" ".join(part[a:b].strip() for part in lines[head:rule]).strip() for a, b in places]
        title = lines[head - 1].strip()
        yield (
            title,
            [
                {plain_title(h): part[a:b].strip() for h, (a, b) in zip(headers, places, strict=True)}
                for part in lines[rule + 1 : end]
            ],
        )


def _columns(block: Sequence[str]) -> list[tuple[int, int]]:
    """Where columns are: between them two characters or more are blank in all lines."""
    width = max(map(len, block))
    padded = [line.ljust(width) for line in block]
    blank = "".join(" " if all(line[k] == " " for line in padded) else "x" for k in range(width))
    gaps = [match.span() for match in re.finditer(r" {2,}", blank)]
    edges = [0, *(end for _, end in gaps), width]
    return [(a, b) for a, b in itertools.pairwise(edges) if blank[a:b].strip()]


def markdown_tables(text: str) -> Iterator[tuple[str, Lines]]:
    """The same of markdown."""
    title, headers = "", list[str]()
    table: Lines = []
    for line in [*text.splitlines(), "### end"]:
        if line.startswith("### "):
            if headers:
                yield title, table
            title, headers, table = _plain(line[4:]), [], []
        elif line.startswith("|"):
            parts = [_plain(part.strip()) for part in re.split(r"(?<!\\)\|", line)[1:-1]]
            if not headers:
                headers = [plain_title(part) for part in parts]
            elif set("".join(parts)) != set("-:"):
                table.append(dict(zip(headers, parts, strict=True)))


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def plain_title(header: str) -> str:
    """The header without its remark."""
    return header.split(" (theory")[0]


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
        elif title == "total of all rows":
            compared += _check_overview(columns, winners)
        else:
            assert title.startswith("summary of "), title
            _check_summary(columns, winners)
    assert shown - {"total of all rows"} - {t for t in shown if t.startswith("summary of ")} == winners.keys()
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
        of_metrics = {h: text for h, text in texts.items() if h not in ("× fastest", "× by hand", "Pareto")}
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


def _check_summary(columns: Mapping[str, Mapping[str, str]], winners: Mapping[str, Winners]) -> None:
    for engine in columns["fastest"]:
        marks = [won.marked.get(engine) for won in winners.values() if engine in won.totals]
        assert int(columns["rows timed"][engine].split(" of ")[0]) == len(marks), engine
        for label, mark in (("fastest", "◀"), ("tied", "="), ("not settled", "?")):
            assert int(columns[label][engine]) == marks.count(mark), (engine, label)


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
