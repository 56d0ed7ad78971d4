"""Sides: engines side by side, one table for each workload and size, an overview and a summary of all.

In: a run and its summaries. Out: `Side`s, plain data that terminal and markdown print; nobody's row is missing.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec

from gradmark import units
from gradmark.analyse.standings import Standing, rows_of, standings
from gradmark.analyse.summary import summarise_run
from gradmark.analyse.tally import Contest, contest
from gradmark.records import Measurement, Record, Run, Settings, Summary
from gradmark.records.derivative import USUAL_DERIVATIVE
from gradmark.report.model.answers import answers
from gradmark.report.model.characters import listed, one_line, plural
from gradmark.report.model.columns import DERIVED, MISSING, NEVER_CALM, cells, columns
from gradmark.report.model.rows import WORDS, Row, lacking, reading_order, row
from gradmark.report.model.words import SELF_TIMED, TIMES, time_taken

# Fewer engines are easier to read as rows.
LEAST_ENGINES = 3
TO_FASTEST = "× fastest"
MEAN = "mean × fastest"
FASTEST, TIED, UNSETTLED = "◀", "=", NEVER_CALM
# A first call that takes as long as so many others is worth a sentence.
SLOW_START = 1000
BY_HAND = "× by hand"
PARETO = "●"
# What a mark at the end of a cell means.
MARKS = {
    FASTEST: f"{FASTEST} fastest",
    TIED: f"{TIED} tied with the fastest",
    UNSETTLED: f"{UNSETTLED} not settled: too few processes, or the machine was never calm",
}


Named = TypeVar("Named", Measurement, Summary)


class Side(Record, frozen=True, kw_only=True):
    """One table: engines are columns, and each line has a cell for each. Remarks stand below."""

    title: str
    engines: list[str]
    lines: list[tuple[str, list[str]]]
    remarks: list[str] = []
    best: dict[str, list[bool]] = {}  # of a line by its label: which cells are of the fastest, or of one tied with it


class Comparison(Record, frozen=True, kw_only=True):
    """All that is said of engines side by side."""

    sides: list[Side]
    answers: list[str]
    legend: list[str] = []  # of what is in the sides, and of nothing else
    absent: list[str] = []  # engines that ran nothing, with the reason


def wanted(run: Run) -> bool:
    """Whether most rows of a run have enough engines to be read side by side; some workloads bring others along."""
    return _most_rows_have(run, LEAST_ENGINES)


def compares(run: Run) -> bool:
    """Whether most rows have two engines or more, so that an answer is expected."""
    return _most_rows_have(run, 2)


def competing(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Without operators, if there is anything else: they have tables of their own, and nobody chooses by them."""
    functions = [m for m in measurements if "operation" not in m.cell.params]
    return functions or list(measurements)


def _most_rows_have(run: Run, engines: int) -> bool:
    rows = rows_of(competing(run.measurements)).values()
    return 2 * sum(len({m.cell.engine for m in members}) >= engines for members in rows) > len(rows)


def comparison(run: Run, summaries: Sequence[Summary] | None = None) -> Comparison:
    """A table for each row, in reading order, then all their totals in one, and the summary."""
    summarised = summaries if summaries is not None else summarise_run(run.measurements)
    names = competitors(run)
    ordered = reading_order(run)
    members = [called(names, run.measurements[place]) for place in ordered]
    rows = {
        member.cell.id: row(called(names, summarised[place])) for member, place in zip(members, ordered, strict=True)
    }
    standing = {task: standings(group) for task, group in rows_of(members).items()}
    ranked = _ranked(standing)
    present = [member for member in members if member.cell.engine in ranked]
    groups = {
        task: kept
        for task, group in rows_of(members).items()
        if (kept := [m for m in group if m.cell.engine in ranked])
    }
    tables = [_side(task, [rows[m.cell.id] for m in group], standing[task]) for task, group in groups.items()]
    shown = {task: standing[task] for task in groups}
    # Of one row there is nothing to sum up: its own table has it all.
    over_all = [_overview(groups, shown), _summary(present, shown)] if len(shown) > 1 else []
    sides = [*tables, *over_all]
    absentees = [rows[member.cell.id] for member in members if member.cell.engine not in ranked]
    return Comparison(
        sides=sides,
        answers=answers(shown),
        legend=[*legend(sides), _conditions(run.settings)] if sides else [],
        absent=_absent(absentees),
    )


def legend(sides: Sequence[Side]) -> list[str]:
    """What the marks and words in these tables mean, each that is there."""
    texts = [text for side in sides for _, line in side.lines for text in line]
    lines = explained(texts)
    if any(label == BY_HAND for side in sides for label, _ in side.lines):
        lines.append(f"{BY_HAND}: against `manual`, whose derivatives are written by hand")
    if MISSING in texts:
        lines.append(f"{MISSING}: not available or not reported; `--format csv` gives the reason for each")
    if PARETO in texts:
        lines.append(
            f"{PARETO} Pareto-optimal: no other engine is at least as good in time, peak memory and digits and better "
            "in one"
        )
    return lines


def explained(texts: Sequence[str]) -> list[str]:
    """What the marks of standings and times in these cells mean."""
    marks = [words for sign, words in MARKS.items() if any(text.endswith(sign) for text in texts)]
    of_times = [
        f"times: {TIMES}",
        *([f"{DERIVED} computed as total − the other part"] if any(DERIVED in text for text in texts) else []),
        *([f"{SELF_TIMED} self-timed: as reported by the tool itself"] if any(SELF_TIMED in t for t in texts) else []),
    ]
    return [line for line in ("; ".join(marks), "; ".join(of_times)) if line]


def _conditions(settings: Settings) -> str:
    """Under which conditions all engines ran."""
    return f"every engine: {plural(settings.threads, 'thread')}, in processes of its own"


def placed(run: Run) -> dict[str, list[Standing]]:
    """The standings of each row, in reading order."""
    names = competitors(run)
    ordered = [called(names, run.measurements[place]) for place in reading_order(run)]
    return {task: standings(members) for task, members in rows_of(competing(ordered)).items()}


def answers_of(run: Run) -> list[str]:
    """Only the answers, for runs whose engines are shown as rows."""
    return answers(placed(run))


def absent(run: Run, summaries: Sequence[Summary]) -> list[str]:
    """Engines that are in no table, one line each. `summaries` are in the order of the measurements."""
    names, ranked = competitors(run), _ranked(placed(run))
    rows = [row(called(names, summaries[place])) for place in reading_order(run)]
    return _absent([one for one in rows if one.cell.engine not in ranked])


def _ranked(standing: Mapping[str, Sequence[Standing]]) -> set[str]:
    return {one.engine for group in standing.values() for one in group}


def competitors(run: Run) -> dict[tuple[str, str], str]:
    """What each engine and device is called: an engine that ran on several devices competes with itself."""
    pairs = dict.fromkeys((m.cell.engine, m.cell.device) for m in run.measurements)
    engines = [engine for engine, _ in pairs]
    return {pair: f"{pair[0]} ({pair[1]})" if engines.count(pair[0]) > 1 else pair[0] for pair in pairs}


def called(names: dict[tuple[str, str], str], one: Named) -> Named:
    """The same with the name that its engine has among its competitors."""
    cell = one.cell
    return msgspec.structs.replace(one, cell=msgspec.structs.replace(cell, engine=names[cell.engine, cell.device]))


def _absent(rows: Sequence[Row]) -> list[str]:
    """Engines that are in no table, one line each, with the reason that most of their rows have."""
    engines: dict[str, list[Row]] = {}
    for one in rows:
        engines.setdefault(one.engine, []).append(one)
    lines = []
    for engine, members in engines.items():
        operations = lacking(members)
        reasons = [operations if one.lacks else _reason(one) for one in members]
        usual = max(dict.fromkeys(reasons), key=reasons.count)
        others = len(set(reasons)) - 1
        more = f" (and {plural(others, 'other reason')} on other rows)" if others else ""
        what = "was not ranked" if any(one.status == "ok" for one in members) else "ran nothing"
        lines.append(f"{engine} {what}: {usual}{more}")
    return lines


def _reason(one: Row) -> str:
    """Why a row has no place, in words that are the same on other rows."""
    if one.status == "ok":
        return "it computes no gradient" if one.time else "no process produced a time"
    if one.status == "unsupported" and one.why:
        return one.why
    return f"{WORDS[one.status]}{one.why and f': {one.why}'}"


def _side(task: str, rows: list[Row], standing: list[Standing]) -> Side:
    places = {s.engine: s for s in standing}
    shown = sorted((r for r in rows if r.cell.engine in places), key=lambda r: places[r.cell.engine].total_ns)
    lines: list[tuple[str, list[str]]] = []
    numbers = [column for column in columns(shown) if column.metrics]
    texts = [cells(r, numbers) for r in shown]
    if any(r.cell.derivative != USUAL_DERIVATIVE for r in shown):
        lines.append(("mode", [one_line(r.mode) or MISSING for r in shown]))
    for column in numbers:
        lines.append((column.title, [text[column.key] or MISSING for text in texts]))
        if column.key == "total":
            lines += [(label, [text(places[r.cell.engine]) for r in shown]) for label, text in _STANDINGS.items()]
    lines.append(("Pareto", [PARETO if places[r.cell.engine].pareto else "" for r in shown]))
    return Side(
        title=one_line(task),
        engines=[r.engine for r in shown],
        lines=[line for line in lines if set(line[1]) - {MISSING, ""}],
        remarks=[*_never_calm(standing), *_failures(rows, places), *_break_even(standing)],
        best={TO_FASTEST: [is_best(places[r.cell.engine]) for r in shown]},
    )


def mark(standing: Standing) -> str:
    """How a standing is marked: the fastest, tied with it, or not yet told from it."""
    if standing.outcome == "fastest":
        return FASTEST
    if standing.outcome == "slower":
        return ""
    return TIED if standing.settled else UNSETTLED


def is_best(standing: Standing) -> bool:
    """Whether it is the fastest, or known to be as fast."""
    return standing.outcome == "fastest" or (standing.outcome == "tied" and standing.settled)


_STANDINGS: dict[str, Callable[[Standing], str]] = {
    TO_FASTEST: lambda s: units.times(s.ratio) + mark(s),
    BY_HAND: lambda s: MISSING if s.to_hand is None else units.times(s.to_hand) + ("" if s.calm else NEVER_CALM),
}


def _never_calm(standing: list[Standing]) -> list[str]:
    """Whose times decide nothing."""
    engines = [one_line(s.engine) for s in standing if not s.calm]
    return [f"{NEVER_CALM} the machine was never calm while {listed(engines)} ran"] if engines else []


def _failures(rows: list[Row], places: dict[str, Standing]) -> list[str]:
    """A line for each reason that an engine has no column, with all engines that have it."""
    reasons: dict[str, list[str]] = {}
    for r in rows:
        if r.cell.engine not in places:
            reasons.setdefault(_reason(r), []).append(r.engine)
    return [f"{listed(engines)}: {reason}" for reason, engines in reasons.items()]


def _break_even(standing: list[Standing]) -> list[str]:
    """First call against steady state, for engines whose first call takes long."""
    lines = []
    for one in standing:
        if one.first_call_ns is None or one.first_call_ns < SLOW_START * one.total_ns:
            continue
        after = [f"with {one_line(other)} after {units.count(n)} calls" for other, n in one.break_even.items() if n]
        never = [one_line(other) for other, n in one.break_even.items() if n is None]
        parts = [f"breaks even {', '.join(after)}"] if after else []
        if never:
            parts.append(f"never {'' if after else 'breaks even '}with {', '.join(never)}")
        if parts:
            lines.append(f"{one_line(one.engine)}: first call {units.time(one.first_call_ns)}; {', '.join(parts)}")
    return lines


def _overview(groups: dict[str, list[Measurement]], placed: dict[str, list[Standing]]) -> Side:
    """The total of every engine on every row, or what became of it; engines in the order in which they were asked."""
    engines = list(dict.fromkeys(m.cell.engine for members in groups.values() for m in members))
    lines, best = [], {}
    for task, members in groups.items():
        texts = {m.cell.engine: MISSING if m.status == "ok" else WORDS[m.status] for m in members}
        texts |= {s.engine: time_taken(s.total_ns, s.how) + mark(s) for s in placed[task]}
        lines.append((one_line(task), [texts.get(engine, "") for engine in engines]))
        leaders = {s.engine for s in placed[task] if is_best(s)}
        best[one_line(task)] = [engine in leaders for engine in engines]
    return Side(title="total, all rows", engines=[one_line(e) for e in engines], lines=lines, best=best)


def _summary(present: Sequence[Measurement], placed: dict[str, list[Standing]]) -> Side:
    """Over all rows: how many an engine ran, won and shared, how far behind it is, how often it is Pareto-optimal."""
    outcome = contest(placed, asked(present))
    tallies = outcome.tallies
    ratios = [units.times(t.ratio) if t.ratio is not None else MISSING for t in tallies]
    return Side(
        title=f"summary of {plural(len(placed), 'row')}",
        engines=[one_line(t.engine) for t in tallies],
        lines=[
            ("rows timed", [f"{t.timed} of {t.planned}" for t in tallies]),
            *([(MEAN, ratios)] if set(ratios) != {MISSING} else []),
            ("fastest", [str(t.fastest) for t in tallies]),
            ("tied", [str(t.tied) for t in tallies]),
            ("not settled", [str(t.unsettled) for t in tallies]),
            ("Pareto-optimal", [str(t.pareto) for t in tallies]),
        ],
        remarks=[over(outcome)] if outcome.common else [],
    )


def asked(measurements: Sequence[Measurement]) -> dict[str, int]:
    """How many rows each engine was asked for, by its name as a competitor."""
    counted: dict[str, int] = {}
    for m in measurements:
        counted[m.cell.engine] = counted.get(m.cell.engine, 0) + 1
    return counted


def over(outcome: Contest) -> str:
    """What the means are over."""
    return f"{MEAN}: geometric mean over the {plural(outcome.common, 'row')} that all engines with a mean have"


def contested(run: Run, standing: Mapping[str, Sequence[Standing]] | None = None) -> Contest:
    """The tallies of a whole run, as the summary shows them. The standings of its rows spare making them again."""
    names = competitors(run)
    if standing is None:
        standing = placed(run)
    ranked = _ranked(standing)
    measured = competing([called(names, run.measurements[place]) for place in reading_order(run)])
    return contest(standing, asked([m for m in measured if m.cell.engine in ranked]))
