"""The gate's findings as text: lines for a terminal, and markdown for a pull request or a step summary.

In: a gate. Out: text that begins with what is wrong and ends with the answer. Every sentence about a finding is made
here, from its code and numbers.
"""

from collections.abc import Callable, Mapping

from gradmark import units
from gradmark.records.finding import Finding, FindingCode, Gate, Word
from gradmark.records.metric import REGISTRY, metric
from gradmark.report.escaping import markdown as escaping
from gradmark.report.model.characters import one_line, plural
from gradmark.report.model.words import LOOK

# In the order in which a reader wants them, a line each; a pass is only counted, and new cells share a line.
ORDER: list[Word] = ["fail", "inconclusive", "improved"]
# A cell is what the first of these says that one of its metrics has; then what is said of one cell, and of several.
SAID_OF_CELLS: dict[Word, tuple[str, str]] = {
    "fail": ("fails", "fail"),
    "inconclusive": ("is inconclusive", "are inconclusive"),
    "improved": ("improved", "improved"),
    "pass": ("passes", "pass"),
    "not compared": ("is not compared", "are not compared"),
    "new": ("is not in the baseline", "are not in the baseline"),
}
NEW_IN_REVISION = ("is new", "are new")
WORST_FIRST = list(SAID_OF_CELLS)
# New cells that are named; a baseline that was never made lacks all of them.
SHOWN_NEW = 3
MARKS = {"fail": "❌", "inconclusive": "❔", "improved": "🎉", "new": "🆕", "pass": "✅"}
# From here on a factor is easier to read than a share.
MANY = 10.0
RENEW = "gradmark baseline update"
DECIDE = "more pairs (--pairs) or a quieter machine would decide"


def amount(name: str, value: float | None) -> str:
    """A number of a metric with its unit; counts in full, so that of two that differ by one both are seen.

    >>> amount("peak_bytes", 2048), amount("backward", 1500.0), amount("allocations", 2001)
    ('2.00 KiB', '1.50 µs', '2001')
    """
    unit = metric(name).unit
    if value is None:
        return "n/a"
    if unit == "count":
        return f"{value:.0f}" if value == int(value) else f"{value:g}"
    return units.text(unit, value)


def numbers(values: Mapping[str, float], scatter: Mapping[str, float]) -> str:
    """All metrics of a cell on one line, with what processes differ by.

    >>> numbers({"allocations": 180.5, "tape_instructions": 3}, {"allocations": 4})
    'allocations 180.5 ± 4, tape_instructions 3'
    """
    shown = {name: amount(name, value) for name, value in values.items()}
    shown |= {name: f"{shown[name]} ± {amount(name, value)}" for name, value in scatter.items() if name in shown}
    return ", ".join(f"{name} {text}" for name, text in shown.items())


def change(finding: Finding) -> str:
    """What was, what is, and by how much that is more. Of errors only powers of ten matter, which both numbers show.

    >>> change(Finding(cell="c", metric="allocations", word="fail", before=0, now=12))
    '0 → 12'
    >>> change(Finding(cell="c", metric="total", word="fail", before=1000.0, now=26400.0))
    '1.00 µs → 26.4 µs (26.4 times)'
    """
    if finding.now is None and finding.before is None:
        return ""
    text = f"{amount(finding.metric, finding.before)} → {amount(finding.metric, finding.now)}"
    if finding.before and finding.now is not None and metric(finding.metric).unit != "relative":
        text += f" ({_by(finding.now / finding.before)})"
    return text


def _by(ratio: float) -> str:
    return units.percent(ratio) if ratio < MANY else f"{units.times(ratio)} times"


def sentence(finding: Finding) -> str:
    """Why a finding has its word, and what to do or what would decide it.

    >>> sentence(Finding(cell="c", metric="status", word="new", code=FindingCode.NEW))
    'not in the baseline; `gradmark baseline update` adds it'
    """
    if finding.code is None:
        return finding.reason
    text = SENTENCES[finding.code](finding)
    return f"seen once, but not again: {text}" if finding.once else text


def _each_shown(gate: Gate) -> list[Finding]:
    return [finding for word in ORDER for finding in gate.of(word)]


def _allowed(finding: Finding) -> str:
    budget = finding.budget
    if budget is None:
        return "over the budget"
    more = f"{budget.factor:g} times as much" if budget.factor else f"{budget} more"
    scatter = f", and processes differ by {amount(finding.metric, finding.scatter)}" if finding.scatter else ""
    return f"the budget allows {more}{scatter}"


def _status(finding: Finding) -> str:
    before, now = finding.statuses or ("", "")
    return f"{f'still {now}' if now == before else f'{now}, was {before}'}: {finding.detail}"


def _new_failure(finding: Finding) -> str:
    return f"new and failing: {(finding.statuses or ('', 'broken'))[1]}: {finding.detail}"


def _by_chance(finding: Finding) -> str:
    scatter = amount(finding.metric, finding.scatter)
    return f"differs by {scatter} from process to process; {_steadier(finding)} are compared instead"


def _erratic(finding: Finding) -> str:
    span = f"{amount(finding.metric, min(finding.counts))} to {amount(finding.metric, max(finding.counts))}"
    return (
        f"{_allowed(finding)}, but {len(finding.counts)} processes counted {span}, where those of the baseline agreed; "
        f"a calmer machine may decide, or `{RENEW}` records it"
    )


def _steadier(finding: Finding) -> str:
    return next((entry.name for entry in REGISTRY if entry.stands_in_for == finding.metric), "others")


def _repaired(finding: Finding) -> str:
    return f"works now; it was {(finding.statuses or ('broken',))[0]}; `{RENEW}` records it"


def _never_worked(finding: Finding) -> str:
    return (
        f"works now, but nothing of its engine or file worked before, so nothing was compared: {finding.detail}; see "
        "that `build` in [tool.gradmark] builds the other revision"
    )


def _no_counterpart(finding: Finding) -> str:
    """Of another revision: why there is nothing to compare with. A baseline gives no reason."""
    return f"nothing to compare with in the other revision: {finding.detail}" if finding.detail else ""


def _differing(finding: Finding) -> str:
    return "; ".join(difference(name, pair) for name, pair in finding.differing.items())


def _seen(finding: Finding) -> str:
    """A time's change with what may be noise in it; of one that was measured again, both changes."""
    noise = finding.noise
    parts = [] if noise is None else [f"noise {100 * noise:.1f} %" if noise < MANY else f"noise {noise:,.0f} times"]
    parts += [f"p = {finding.p_value:.2g}"] if finding.p_value is not None else []
    if len(finding.ratios) > 1:
        parts.append("measured twice: " + ", ".join(map(_by, finding.ratios)))
    return ", ".join(parts)


def _of_a_time(words: str) -> Callable[[Finding], str]:
    return lambda finding: "; ".join(part for part in (_seen(finding), words) if part)


def _over(finding: Finding) -> str:
    return "; ".join(part for part in (_seen(finding), _allowed(finding)) if part)


SENTENCES: dict[FindingCode, Callable[[Finding], str]] = {
    FindingCode.WITHIN: _seen,
    FindingCode.OVER: _over,
    FindingCode.BETTER: lambda finding: f"`{RENEW}` records it" if metric(finding.metric).exact else _seen(finding),
    FindingCode.NEW: lambda finding: _no_counterpart(finding) or f"not in the baseline; `{RENEW}` adds it",
    FindingCode.VANISHED: lambda _: (
        "in the baseline, but not measured: name it (`gradmark check FILE` for a function of yours) or list it under "
        f"`select` in pyproject.toml; if it is gone for good, `{RENEW}` removes it"
    ),
    FindingCode.STATUS: _status,
    FindingCode.REPAIRED: _repaired,
    FindingCode.NEVER_WORKED: _never_worked,
    FindingCode.ELSEWHERE: _differing,
    FindingCode.MISSING: lambda finding: f"could not be obtained: {finding.detail}",
    FindingCode.ON_DEMAND: lambda finding: finding.detail,
    FindingCode.BY_CHANCE: _by_chance,
    FindingCode.ERRATIC: _erratic,
    FindingCode.NEW_FAILURE: _new_failure,
    FindingCode.TOO_SHORT: lambda _: "too short: the cost of an empty call is not known well enough",
    FindingCode.NEAR: _of_a_time(f"may or may not be within the budget; {DECIDE}"),
    FindingCode.SPLIT: _of_a_time(f"the pairs disagree; {DECIDE}"),
    FindingCode.UNCONFIRMED: _of_a_time(f"the second measurement does not confirm it; {DECIDE}"),
    FindingCode.LOST: lambda finding: f"started to fail while it was timed: {_status(finding)}",
    FindingCode.UNFINISHED: lambda _: "work goes on after the clock is read, so the times are too short",
    FindingCode.NEVER_CALM: lambda _: f"the machine was never calm while it was timed; measure again: {LOOK}",
}


def difference(name: str, pair: tuple[str, str]) -> str:
    """One part in which two environments differ."""
    return f"{name}: {pair[0]} in the baseline, {pair[1]} here"


def notes(gate: Gate) -> list[str]:
    """What differs between the environments and what was not compared for that, then how the times were taken."""
    differing = [difference(name, pair) for name, pair in gate.differing.items()]
    skipped = dict.fromkeys(f.metric for f in gate.findings if f.code is FindingCode.ELSEWHERE)
    if skipped:
        differing.append(
            f"not compared because of that: {', '.join(skipped)}; everything else compares across machines"
        )
    return [*differing, *_leaks(gate), *gate.notes]


def _leaks(gate: Gate) -> list[str]:
    """Of what leaks as much as before: that is no regression, but nobody should forget it."""
    leaking = [f for f in gate.of("pass", "improved") if f.metric == "leaked_bytes" and f.now]
    if not leaking:
        return []
    worst = max(leaking, key=lambda finding: finding.now or 0.0)
    cells = f"{plural(len(leaking), 'cell')} {'leaks' if len(leaking) == 1 else 'leak'}"
    return [f"{cells} no more than before; worst: {amount(worst.metric, worst.now)} an iteration on {worst.cell}"]


def counts(gate: Gate) -> str:
    """How many cells there are of each kind, and how many of their metrics make them so.

    >>> counts(Gate(against="b", findings=[Finding(cell="c", metric=m, word="pass") for m in ("total", "forward")]))
    '1 cell passes (2 metrics)'
    """
    words: dict[str, list[Word]] = {}
    for finding in gate.findings:
        words.setdefault(finding.cell, []).append(finding.word)
    parts = []
    for word in WORST_FIRST:
        alike = [of_cell for of_cell in words.values() if min(of_cell, key=WORST_FIRST.index) == word]
        if not alike:
            continue
        forms = (
            SAID_OF_CELLS[word] if word != "new" or not any(map(_no_counterpart, gate.of("new"))) else NEW_IN_REVISION
        )
        text = f"{plural(len(alike), 'cell')} {forms[len(alike) != 1]}"
        deciding, all_metrics = sum(of_cell.count(word) for of_cell in alike), sum(map(len, alike))
        share = f"{deciding} of " if deciding != all_metrics else ""
        parts.append(text if word == "new" else f"{text} ({share}{plural(all_metrics, 'metric')})")
    return "; ".join(parts)


def _new(gate: Gate) -> str:
    """All cells that there is nothing to compare with, as one sentence."""
    cells = list(dict.fromkeys(finding.cell for finding in gate.of("new")))
    if len(cells) == 1:
        return f"{cells[0]}: {sentence(gate.of('new')[0])}"
    rest = len(cells) - SHOWN_NEW
    shown = ", ".join(cells[:SHOWN_NEW]) + (f" and {rest} more" if rest > 0 else "")
    if any(map(_no_counterpart, gate.of("new"))):
        return f"{plural(len(cells), 'cell')} have nothing to compare with in the other revision: {shown}"
    return f"{plural(len(cells), 'cell')} are not in the baseline; `{RENEW}` adds them: {shown}"


def lines(gate: Gate) -> list[str]:
    """One line for each finding that is not a pass, one for all new cells, then the notes and the answer."""
    text = []
    for finding in _each_shown(gate):
        parts = [f"{finding.cell} {finding.metric}", change(finding), one_line(sentence(finding))]
        text.append(f"{finding.word:13}" + ": ".join(part for part in parts if part))
    text += [f"{'new':13}{one_line(_new(gate))}"] if gate.of("new") else []
    text += [f"{'note':13}{one_line(note)}" for note in notes(gate)]
    return [*text, f"{gate.answer} against {gate.against}: {counts(gate) or 'nothing to compare'}"]


def markdown(gate: Gate) -> str:
    """For a pull request's comment or `$GITHUB_STEP_SUMMARY`: the answer, a table of what is not a pass, the notes."""
    against = escaping.text(gate.against)
    text = [f"### {MARKS[gate.answer]} gradmark: {gate.answer}", "", f"Against {against}: {counts(gate)}."]
    if shown := _each_shown(gate):
        text += ["", "| | cell | metric | change | why |", "|---|---|---|---|---|"]
        for finding in shown:
            name, why = escaping.code(finding.cell, in_table=True), escaping.prose(sentence(finding), in_table=True)
            parts = [MARKS[finding.word], name, escaping.text(finding.metric), change(finding), why]
            text.append(f"| {' | '.join(parts)} |")
    if remarks := [*([f"{MARKS['new']} {_new(gate)}"] if gate.of("new") else []), *notes(gate)]:
        text += ["", *(f"- {escaping.prose(note)}" for note in remarks)]
    return "\n".join(text) + "\n"
