"""The gate's findings as text: lines for a terminal, and markdown for a pull request or a step summary.

In: a gate. Out: text that begins with what is wrong and ends with the answer.
"""

from collections.abc import Mapping

from gradmark import units
from gradmark.records.finding import Finding, Gate, Word
from gradmark.report.model.characters import one_line

# In the order in which a reader wants them; a pass is only counted.
ORDER: list[Word] = ["fail", "inconclusive", "improved", "new"]
MARKS = {"fail": "❌", "inconclusive": "❔", "improved": "🎉", "new": "🆕", "pass": "✅"}


def amount(metric: str, value: float | None) -> str:
    """A number of a metric with its unit.

    >>> amount("peak_bytes", 2048), amount("backward", 1500.0), amount("allocations", None)
    ('2.00 KiB', '1.50 µs', 'n/a')
    """
    if value is None:
        return "n/a"
    if metric.endswith("_bytes"):
        return units.size(value)
    if metric == "gradient_error":
        return f"{value:.1e}"
    if metric in ("primal", "forward", "backward", "total", "total_ns"):
        return units.time(value)
    return f"{value:g}"


def numbers(metrics: Mapping[str, float]) -> str:
    """All metrics of a cell on one line."""
    return ", ".join(f"{name} {amount(name, value)}" for name, value in metrics.items())


def change(finding: Finding) -> str:
    """What was, what is, and by how much that is more.

    >>> change(Finding(cell="c", metric="allocations", word="fail", before=0, now=12))
    '0 → 12'
    """
    if finding.now is None and finding.before is None:
        return ""
    text = f"{amount(finding.metric, finding.before)} → {amount(finding.metric, finding.now)}"
    if finding.before and finding.now is not None:
        text += f" ({units.percent(finding.now / finding.before)})"
    return text


def counts(gate: Gate) -> str:
    """How many findings there are of each kind."""
    words = [finding.word for finding in gate.findings]
    return ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys([*ORDER, *words]) if word in words)


def lines(gate: Gate) -> list[str]:
    """One line for each finding that is not a pass, then the notes and the answer."""
    found = []
    for word in ORDER:
        for finding in gate.of(word):
            parts = [f"{finding.cell} {finding.metric}", change(finding), one_line(finding.reason)]
            found.append(f"{word:13}" + ": ".join(part for part in parts if part))
    found += [f"{'note':13}{one_line(note)}" for note in gate.notes]
    return [*found, f"{gate.answer} against {gate.against}: {counts(gate) or 'nothing to compare'}"]


def markdown(gate: Gate) -> str:
    """For a pull request's comment or `$GITHUB_STEP_SUMMARY`: the answer, a table of what is not a pass, the notes."""
    text = [f"### {MARKS[gate.answer]} gradmark: {gate.answer}", "", f"Against {gate.against}: {counts(gate)}."]
    if shown := [finding for word in ORDER for finding in gate.of(word)]:
        text += ["", "| | cell | metric | change | why |", "|---|---|---|---|---|"]
        for finding in shown:
            parts = [MARKS[finding.word], f"`{finding.cell}`", finding.metric, change(finding), finding.reason]
            text.append("| " + " | ".join(one_line(part).replace("|", "\\|") for part in parts) + " |")
    if gate.notes:
        text += ["", *(f"- {one_line(note)}" for note in gate.notes)]
    return "\n".join(text) + "\n"
