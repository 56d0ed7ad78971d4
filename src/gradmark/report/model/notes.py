"""Notes: what a reader must know of a run beside its numbers, in words, each with what to do next.

In: a run, fits over sizes, suspects. Out: `Note`s, warnings first. What concerns many rows is said once.
"""

from collections.abc import Iterator, Sequence

from gradmark import units
from gradmark.analyse.growth import Curves
from gradmark.analyse.summary import UNSTEADY_SPREAD
from gradmark.analyse.suspects import Suspect
from gradmark.analyse.suspects import sentence as suspected
from gradmark.records import Code, Run, Settings, Status, Summary
from gradmark.records.derivative import FACTS, USUAL_DERIVATIVE
from gradmark.records.measurement import LACKING
from gradmark.records.metric import REGISTRY, metric
from gradmark.report.model.characters import listed, one_line, plural, some
from gradmark.report.model.circumstances import circumstances
from gradmark.report.model.note import Note, info, quoted, warning
from gradmark.report.model.rows import WORDS, Row, lacking, rows
from gradmark.report.model.words import LOOK, sentence

# A gradient that sums a thousand rounded terms can be off by about as many units; beyond that digits are being lost.
ULPS_LIMIT = 1000
# Less than a byte per iteration is a cache that grew once during the pass, not something that every iteration leaves.
LEAK_LIMIT_BYTES = 1.0
# Verdicts that many rows on a device share: said of the row with the largest ratio of these times.
GRADES = {Code.LAUNCH_BOUND: ("host_ns", "hot_ns"), Code.CACHE_FLATTERED: ("cold_ns", "hot_ns")}
# So many engines that allocate have a sentence each; of more, so many are named in one.
ENGINES_APART, ENGINES_NAMED = 2, 4
# A variant of an engine is named after it; nothing else says that they belong together.
FRESH = ":fresh"
# The engines that evaluate a function of each kind on plain numbers.
PLAIN = {"scalar": "python-floats", "tensor": "numpy"}


def notes(
    run: Run,
    curves: Sequence[Curves],
    suspects: Sequence[Suspect],
    summaries: Sequence[Summary] | None = None,
) -> list[Note]:
    """All notes of a run. `summaries` spare making them again."""
    shown = rows(run, summaries)
    fine = [row for row in shown if row.status == "ok"]
    timed = [row for row in fine if row.time is not None]
    every_note = [
        *_failures(shown, run.settings),
        *_never_calm(timed),
        *_unsteady(timed),
        *_growth(curves, suspects),
        *_inaccurate(fine),
        *_leaks(fine),
        *_allocations(fine),
        *_reuse(fine),
        *_uncounted(fine),
        *_other_warnings(shown),
        *unfinished(run),
        *circumstances(run, fine),
    ]
    return sorted(every_note, key=lambda note: note.level == "info")


def _command(row: Row, *options: str) -> str:
    """What measures this row again, and no other."""
    return _measuring(row, row.cell.row, *options)


def _beside(row: Row, engine: str) -> str:
    """What measures this row again beside another engine, each on its own device: the other may not have this one."""
    return _measuring(row, row.cell.task, "-e", engine)


def _measuring(row: Row, name: str, *options: str) -> str:
    """The command that measures a row by name; a user's workload is in a file."""
    selected = f"{row.cell.file}:{name}" if row.cell.file else name
    return f"`{quoted(['gradmark', 'run', selected, '-e', row.cell.engine, *options])}`"


def _ops(row: Row) -> str:
    return f"`{quoted(['gradmark', 'ops', '-e', row.cell.engine])}`"


def _failures(shown: list[Row], settings: Settings) -> Iterator[Note]:
    groups: dict[tuple[Status, str, str], list[Row]] = {}
    for row in shown:
        if row.status != "ok":
            # A function that cannot be measured is the same on every engine.
            engine = "" if row.status == "invalid" else row.engine
            groups.setdefault((row.status, engine, "" if row.lacks else row.why), []).append(row)
    for (status, engine, why), members in groups.items():
        message = why or lacking(members)
        where = f" on {engine}" if engine else ""
        what = f"{WORDS[status]}{where}: {some(list(dict.fromkeys(row.workload for row in members)))}"
        # Messages come from anywhere; a sentence of ours follows.
        bracketed = f" ({message.rstrip('.')})" if message else ""
        text = f"{what}{bracketed}. {_after_failure(members[0], settings)}".rstrip()
        yield Note(level="info", text=text, in_sides=True) if status in LACKING else warning(text)


def _after_failure(row: Row, settings: Settings) -> str:
    match row.status:
        case "unsupported":
            return ""
        case "invalid":
            return "No engine was timed on it. Change the function or its inputs."
        case "untimed-work":
            return "It was not timed. Do all work inside the timed calls, on the current inputs."
        case "wrong-value":
            return f"It was not timed. Compare with plain numbers: {_beside(row, PLAIN[row.cell.kind])}."
        case "wrong-gradient":
            return f"It was not timed. Compare with an independent gradient: {_beside(row, 'finite-difference')}."
        case "skipped":
            return "It will be measured once the smaller size passes."
        case "timeout":
            more = _command(row, "--timeout", f"{2 * settings.timeout_s:g}")
            return f"Look for a hang, or allow more time: {more}."
        case "out-of-memory":
            more = _command(row, "--memory-limit", f"{2 * settings.memory_limit_bytes / 2**30:g}")
            return f"Allow more memory: {more}."
        case _:
            return f"Run it alone: {_command(row)}; `--format json` shows the whole message."


def _never_calm(timed: list[Row]) -> Iterator[Note]:
    rows_in_doubt = [row.place for row in timed if not row.calm]
    if rows_in_doubt:
        yield warning(
            f"never calm: {len(rows_in_doubt)} of {plural(len(timed), 'time')}: {some(rows_in_doubt)}. The machine was "
            "slow throughout, so these times, marked ?, decide nothing. Measure again when it is less busy; "
            f"{LOOK}."
        )


def _unsteady(timed: list[Row]) -> Iterator[Note]:
    unsteady = sorted(
        (row for row in timed if row.calm and not row.steady), key=lambda row: -(row.value("spread") or 0.0)
    )
    if unsteady:
        names = [f"{row.place} {units.within(row.value('spread') or 0.0)}" for row in unsteady]
        have = "has" if len(unsteady) == 1 else "have"
        yield warning(
            f"unsteady: {len(unsteady)} of {plural(len(timed), 'time')} {have} an interval wider than "
            f"{units.within(UNSTEADY_SPREAD)}: {some(names)}. Close other programs, ask `gradmark doctor` about this "
            "machine, and measure again with `--full`, which uses more processes."
        )


def _growth(curves: Sequence[Curves], suspects: Sequence[Suspect]) -> Iterator[Note]:
    for family in curves:
        steep = [
            f"{metric(fit.metric).title} as n^{fit.p:.2f} ({fit.low:.2f} to {fit.high:.2f})"
            for fit in family.fits
            if fit.verdict == "superlinear"
        ]
        if steep and FACTS[family.cell.derivative].form != "matrix":  # of n² numbers, nobody expects less
            cell = family.cell
            selected = f"{cell.file}:{cell.workload}" if cell.file else cell.workload
            derivative = [] if cell.derivative == USUAL_DERIVATIVE else ["-d", cell.derivative]
            command = f"`{quoted(['gradmark', 'scale', selected, *derivative, '-e', cell.engine])}`"
            yield warning(
                f"{one_line(family.name)} grows faster than linearly: {', '.join(steep)}. {command} shows the sweep."
            )
    for suspect in suspects:
        yield warning(one_line(suspected(suspect)))


def _inaccurate(fine: list[Row]) -> Iterator[Note]:
    for row in fine:
        ulps = row.value("error_ulps")
        # "not within", not "beyond": an error that is not a number is not accurate either.
        if ulps is not None and not ulps <= ULPS_LIMIT:
            yield warning(
                f"inaccurate: the {row.cell.derivative} of {row.place} is off by {units.count(ulps)} units in the last "
                f"place, though within the engine's tolerance. {_ops(row)} shows the error of each operator."
            )


def _by_engine(rows: list[Row]) -> list[tuple[str, list[Row]]]:
    return [(name, [row for row in rows if row.engine == name]) for name in dict.fromkeys(row.engine for row in rows)]


def _leaks(fine: list[Row]) -> Iterator[Note]:
    for engine, counted in _by_engine([row for row in fine if "leaked_bytes" in row.numbers]):
        leaking = [row for row in counted if (row.value("leaked_bytes") or 0.0) >= LEAK_LIMIT_BYTES]
        if leaking:
            worst = max(leaking, key=lambda row: row.value("leaked_bytes") or 0.0)
            kept = units.size(worst.value("leaked_bytes") or 0.0)
            where = worst.place if len(leaking) == 1 else f"{engine} on {len(leaking)} of {len(counted)} rows"
            yield warning(
                f"leak: {where} keeps memory after each iteration; worst: {kept} on {worst.workload}. "
                f"{_command(worst, '--full')} shows whether it continues."
            )


def _allocations(fine: list[Row]) -> Iterator[Note]:
    """Who allocates, where most; many engines share a sentence, the worst first."""
    counted = _by_engine([row for row in fine if "allocations" in row.numbers])
    allocating = {
        engine: found for engine, members in counted if (found := [row for row in members if _allocates(row) > 0])
    }
    worst = {engine: max(members, key=_allocates) for engine, members in allocating.items()}
    rows_of = dict(counted)
    if len(worst) <= ENGINES_APART:
        for engine, row in worst.items():
            several = len(rows_of[engine]) > 1
            count, where = units.count(_allocates(row)), f"per iteration on {row.workload}"
            what = (
                f"allocates on {len(allocating[engine])} of {len(rows_of[engine])} rows; worst: {count} {where}"
                if several
                else f"makes {count} allocation{'' if count == '1' else 's'} {where}"
            )
            yield info(f"{engine} {what}. {_ops(row)} shows which operators allocate.")
        return
    ordered = sorted(worst, key=lambda engine: -_allocates(worst[engine]))
    workloads = {row.workload for row in fine}
    parts = [
        f"{engine} {units.count(_allocates(worst[engine]))}" + f" ({worst[engine].workload})" * (len(workloads) > 1)
        for engine in ordered
    ]
    none = f" None: {listed(free)}." if (free := [engine for engine in rows_of if engine not in worst]) else ""
    yield info(
        f"allocations per iteration, at worst: {some(parts, ENGINES_NAMED)}.{none} {_ops(worst[ordered[0]])} shows "
        "which operators allocate."
    )


def _allocates(row: Row) -> float:
    return row.value("allocations") or 0.0


def _reuse(fine: list[Row]) -> Iterator[Note]:
    """The same engine with a fresh tape in each iteration: what reuse is worth."""
    by_place = {(row.cell.suite, row.workload, row.engine): row for row in fine}
    for (suite, workload, engine), row in by_place.items():
        fresh = by_place.get((suite, workload, engine + FRESH))
        if fresh is None or row.time is None or fresh.time is None or row.time.value <= 0:
            continue
        if not (row.calm and fresh.calm):
            continue
        text = (
            f"reuse: {workload} takes {units.time(row.time.value)} on {engine} and {units.time(fresh.time.value)} on "
            f"{fresh.engine}, {units.times(fresh.time.value / row.time.value)} times as long"
        )
        ours, theirs = row.value("allocations"), fresh.value("allocations")
        if ours is not None and theirs is not None:
            text += f"; allocations {units.count(ours)} and {units.count(theirs)}"
        yield Note(level="info", text=f"{text}. `gradmark hypothesis` tests such claims.", in_sides=True)


def _uncounted(fine: list[Row]) -> Iterator[Note]:
    """Counting failed, or its tool is missing. That an engine or an option leaves it out is the reader's own doing."""
    kinds = {row.cell.kind for row in fine}
    for part in dict.fromkeys(entry.part for entry in REGISTRY if entry.part):
        counted = [entry for entry in REGISTRY if entry.part == part]
        titles = [entry.title for entry in counted if entry.rank is not None and kinds & set(entry.kinds)]
        reasons = [row.reasons.get(counted[0].name, "") for row in fine if part in row.lacks_tool]
        for reason in dict.fromkeys(reasons):
            where = f"{reasons.count(reason)} of {plural(len(fine), 'cell')}"
            yield info(f"no {listed(titles)} on {where}: {reason}. `gradmark doctor` says how to get them.")


def _other_warnings(shown: list[Row]) -> Iterator[Note]:
    places: dict[str, list[str]] = {}
    graded: dict[Code, list[tuple[float, Row, str]]] = {}
    for row in shown:
        for seen in row.warnings:
            if seen.code in (Code.UNSTEADY, Code.NEVER_CALM):  # said above, once for all rows
                continue
            text = one_line(sentence(seen))
            if seen.code in GRADES:
                longer, shorter = (seen.numbers[name] for name in GRADES[seen.code])
                graded.setdefault(seen.code, []).append((longer / shorter, row, text))
            else:
                places.setdefault(text, []).append(row.place)
    for text, where in places.items():
        yield warning(f"{some(where)}: {text}")
    for members in graded.values():
        worst, *others = [(row.place, text) for _, row, text in sorted(members, key=lambda one: -one[0])]
        rest = f" The same of {plural(len(others), 'row')}: {some([place for place, _ in others])}." if others else ""
        yield warning(f"{worst[0]}: {worst[1]}{rest}")


def unfinished(run: Run) -> Iterator[Note]:
    """How much of a run is missing, and what goes on with it."""
    samples_of = {m.cell.id: len(m.samples) for m in run.measurements if m.status == "ok" or m.samples}
    known = {m.cell.id for m in run.measurements}
    missing = [
        c
        for c in run.planned
        if c.id not in known or (c.id in samples_of and samples_of[c.id] < run.settings.processes_of(c))
    ]
    if missing and not run.finished:
        command = f"`{quoted(['gradmark', run.verb, '--resume', run.id])}`"
        unseen = sum(cell.id not in known for cell in missing)
        untimed = sum(samples_of.get(cell.id) == 0 for cell in missing)
        parts = [
            f"{count:,} {one if count == 1 else several} {rest}"
            for count, one, several, rest in (
                (unseen, "was", "were", "not reached"),
                (untimed, "has", "have", "no time yet"),
                (len(missing) - unseen - untimed, "has", "have", "fewer processes than planned"),
            )
            if count
        ]
        yield warning(
            f"unfinished: of {plural(len(run.planned), 'cell')}, {listed(parts)}. {command} continues the run."
        )
