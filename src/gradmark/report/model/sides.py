"""Sides: engines side by side, one table for each workload and size, an overview and a summary of all.

In: a run and its summaries. Out: `Side`s, plain data that terminal and markdown print; nobody's row is missing.
"""

from collections.abc import Callable, Sequence
from functools import partial

from gradmark import units
from gradmark.analyse.estimates import summarise
from gradmark.analyse.standings import Standing, rows_of, standings, with_pay_back
from gradmark.records import Estimate, Record, Run, Settings, Summary
from gradmark.report.model.characters import one_line
from gradmark.report.model.rows import PHASES, WORDS, Row, reading_order, row

# Fewer engines are easier to read as rows.
LEAST_ENGINES = 3
FIRST, TIED = "◀", "="
MISSING = "n/a"
# A first call that takes as long as so many others is worth a sentence.
SLOW_START = 1000
LEGEND = [
    f"{FIRST} fastest total; {TIED} not told from it: within 5 %, or the interval of the ratio over processes holds 1",
    "~ derived: total less forward. × fastest and × by hand are of the fastest blocks; `manual` is written by hand",
    "n/a: the engine does not have it or does not say; `--format csv` has the reason of each",
    "Pareto ●: no other engine is at least as good in time, peak memory and digits, and better in one of them",
]


class Side(Record, frozen=True, kw_only=True):
    """One table: engines are columns, and each line has a cell for each. Remarks stand below."""

    title: str
    engines: list[str]
    lines: list[tuple[str, list[str]]]
    remarks: list[str] = []


def wanted(run: Run) -> bool:
    """Whether most rows of a run have enough engines to be read side by side; some workloads bring others along."""
    rows = rows_of(run.measurements).values()
    return 2 * sum(len({m.cell.engine for m in members}) >= LEAST_ENGINES for members in rows) > len(rows)


def sides(run: Run, summaries: Sequence[Summary] | None = None) -> list[Side]:
    """A table for each row, in reading order, then all their totals in one, and the summary."""
    made = summaries if summaries is not None else [summarise(m) for m in run.measurements]
    by_id = {m.cell.id: row(m, s, run.settings) for m, s in zip(run.measurements, made, strict=True)}
    ordered = [run.measurements[place] for place in reading_order(run)]
    found: list[Side] = []
    placed: dict[str, list[Standing]] = {}
    for name, members in rows_of(ordered).items():
        placed[name] = with_pay_back(standings(members))
        found.append(_side(name, [by_id[m.cell.id] for m in members], placed[name]))
    overview = [_overview(run, placed)] if len(placed) > 1 else []
    return [*found, *overview, _summary(run, list(placed.values()))]


def _side(name: str, rows: list[Row], standing: list[Standing]) -> Side:
    places = {s.engine: s for s in standing}
    shown = [r for r in rows if r.cell.engine in places]
    shown.sort(key=lambda r: places[r.cell.engine].total_ns)
    several = sum(s.first for s in standing) > 1
    texts: dict[str, Callable[[Row, Standing], str]] = {
        **{phase: partial(_phase, phase) for phase in PHASES},
        "× fastest": lambda _, s: f"{s.to_fastest:.2f}" + ((TIED if several else FIRST) if s.first else ""),
        "× by hand": lambda _, s: MISSING if s.to_floor is None else f"{s.to_floor:.2f}",
        "first call": lambda _, s: MISSING if s.first_call_ns is None else units.time(s.first_call_ns),
        "allocs": lambda r, _: MISSING if r.allocations is None else units.count(r.allocations),
        "peak": lambda r, _: MISSING if r.peak_bytes is None else units.size(r.peak_bytes),
        "tape": lambda r, _: _tape(r),
        "error": lambda r, _: _error(r),
        "Pareto": lambda _, s: "●" if s.on_front else "",
    }
    lines = [(label, [text(r, places[r.cell.engine]) for r in shown]) for label, text in texts.items()]
    return Side(
        title=one_line(name),
        engines=[r.engine for r in shown],
        lines=[line for line in lines if set(line[1]) - {MISSING}],
        remarks=[*_failures(rows, places), *_paid_back(standing)],
    )


def _phase(phase: str, r: Row, _standing: Standing) -> str:
    return _time(getattr(r, phase))


def _time(estimate: Estimate | None) -> str:
    if estimate is None:
        return MISSING
    return ("~" if estimate.how == "derived" else "") + units.time(estimate.median)


def _tape(r: Row) -> str:
    if r.tape_instructions is not None:
        return units.count(r.tape_instructions)
    return MISSING if r.tape_bytes is None else units.size(r.tape_bytes)


def _error(r: Row) -> str:
    if r.ulps is not None:
        return f"{units.count(r.ulps)} ulp"
    return MISSING if r.relative_error is None else f"{r.relative_error:.1e}"


def _failures(rows: list[Row], places: dict[str, Standing]) -> list[str]:
    """A line for each engine without a column: what became of it, and why."""
    return [
        f"{r.engine}: {'evaluates only' if r.status == 'ok' else WORDS[r.status]}{r.message and f': {r.message}'}"
        for r in rows
        if r.cell.engine not in places
    ]


def _paid_back(standing: list[Standing]) -> list[str]:
    """First call against steady state, for engines whose first call takes long."""
    lines = []
    for one in standing:
        if one.first_call_ns is None or one.first_call_ns < SLOW_START * one.total_ns:
            continue
        after = [f"{other} after {units.count(n)} calls" for other, n in one.pays_back.items() if n]
        never = [other for other, n in one.pays_back.items() if n is None]
        said = ([f"ahead of {', '.join(after)}"] if after else []) + ([f"never of {', '.join(never)}"] if never else [])
        lines.append(f"{one.engine} has paid back its first call ({units.time(one.first_call_ns)}): {'; '.join(said)}")
    return lines


def _overview(run: Run, placed: dict[str, list[Standing]]) -> Side:
    """The total of every engine on every row, or what became of it; engines in the order in which they were asked."""
    engines = list(dict.fromkeys(m.cell.engine for m in run.measurements))
    lines = []
    for name, members in rows_of(run.measurements).items():
        texts = {m.cell.engine: MISSING if m.status == "ok" else WORDS[m.status] for m in members}
        mark = TIED if sum(s.first for s in placed[name]) > 1 else FIRST
        texts |= {s.engine: units.time(s.total_ns) + mark * s.first for s in placed[name]}
        lines.append((one_line(name), [texts.get(engine, "") for engine in engines]))
    return Side(title="total of all rows, fastest block", engines=[one_line(e) for e in engines], lines=lines)


def _summary(run: Run, rows: list[list[Standing]]) -> Side:
    """Over all rows: how many an engine ran, won and shared, how often it is on the front."""
    engines = list(dict.fromkeys(m.cell.engine for m in run.measurements))
    of = {engine: [(s, row) for row in rows for s in row if s.engine == engine] for engine in engines}
    planned = {engine: sum(m.cell.engine == engine for m in run.measurements) for engine in engines}
    engines.sort(key=lambda engine: -sum(s.first for s, _ in of[engine]))
    alone = {engine: sum(s.first and sum(o.first for o in row) == 1 for s, row in of[engine]) for engine in engines}
    return Side(
        title=f"all {len(rows)} rows; {_threads(run.settings)}, one engine in a process",
        engines=[one_line(engine) for engine in engines],
        lines=[
            ("rows timed", [f"{len(of[e])} of {planned[e]}" for e in engines]),
            ("fastest", [str(alone[e]) for e in engines]),
            ("tied", [str(sum(s.first for s, _ in of[e]) - alone[e]) for e in engines]),
            ("on the front", [str(sum(s.on_front for s, _ in of[e])) for e in engines]),
        ],
        remarks=LEGEND,
    )


def _threads(settings: Settings) -> str:
    return f"{settings.threads} thread{'s' * (settings.threads > 1)} for every engine"
