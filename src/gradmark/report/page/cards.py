"""Cards: the verdicts at a glance. Each is a sentence with its number, and leads to its evidence.

In: material, the verdicts on the contract, and the gate's if there is a baseline. Out: six cards.
"""

from collections.abc import Sequence
from typing import Literal

from gradmark import units
from gradmark.analyse.standings import digits
from gradmark.records import Record, Verdict
from gradmark.records.measurement import LACKING
from gradmark.records.metric import metric
from gradmark.report.model.characters import listed, one_line, plural, some
from gradmark.report.model.overview import is_own, own_engine
from gradmark.report.page.material import Material

State = Literal["good", "bad", "doubt", "none"]


class Card(Record, frozen=True, kw_only=True):
    """One verdict; the word says what the colour says."""

    title: str
    state: State
    word: str
    text: str
    link: str


def cards(material: Material, promises: Sequence[Verdict], gate: Verdict | None) -> list[Card]:
    """Rows, contract, gradients, allocations, scaling, gate."""
    return [
        _rows(material),
        _contract(promises, own_engine(material.run)),
        _gradients(material),
        _allocations(material),
        _scaling(material),
        _gate(gate),
    ]


def _card(title: str, state: State, word: str, text: str, link: str) -> Card:
    return Card(title=title, state=state, word=word, text=text, link=link)


def _rows(material: Material) -> Card:
    """How many rows have a time, and what became of the others."""
    shown = {row.cell.id: row for row in material.rows}
    planned = {cell.id for cell in material.run.planned} | shown.keys()
    timed = sum(row.time is not None for row in shown.values())
    lacking = sum(row.status in LACKING for row in shown.values())
    failed = sum(row.status != "ok" for row in shown.values()) - lacking
    waiting = len(planned) - timed - lacking - failed
    untimed = "without a time" if material.run.finished else "not timed yet"
    counted = ((failed, "failed"), (waiting, untimed), (lacking, "unsupported or skipped"))
    others = "".join(f"; {count:,} {what}" for count, what in counted if count)
    cells = (
        plural(len(planned), "row") if len(material.engines) < 2 else f"{plural(len(planned), 'cell')} (row × engine)"
    )
    text = f"Timed: {timed:,} of {cells}{others}."
    if failed:
        return _card("Rows", "bad", "failed", text, "table")
    if waiting:
        return _card("Rows", "doubt", "unfinished", text, "table")
    return _card("Rows", "good" if timed else "none", "measured" if timed else "no times", text, "table")


def _contract(promises: Sequence[Verdict], own: str) -> Card:
    """Of the reader's engine. What its variants break is said; the others only stand beside it in the matrix."""
    ours = [p for p in promises if p.engine == own]
    judged = [p for p in ours if p.verdict != "not measured"]
    if not judged:
        return _card("Contract", "none", "not measured", "`gradmark contract` measures what it needs.", "verdicts")
    kept = [p for p in judged if p.verdict == "kept"]
    broken = [one_line(p.claim) for p in judged if p.verdict == "broken"]
    text = f"{one_line(own)} keeps {len(kept)} of {plural(len(judged), 'promise')}"
    undecided, unmeasured = len(judged) - len(kept) - len(broken), len(ours) - len(judged)
    text += f"; {undecided} undecided" * (undecided > 0) + f"; {unmeasured} not measured" * (unmeasured > 0)
    variants = [
        one_line(p.engine) for p in promises if p.engine != own and is_own(p.engine, own) and p.verdict == "broken"
    ]
    beside = f" Broken by {listed(list(dict.fromkeys(variants)))}: {len(variants)}." if variants else ""
    if broken:
        return _card("Contract", "bad", "broken", f"{text}; broken: {some(broken, 1)}.{beside}", "verdicts")
    if len(kept) < len(ours):
        return _card("Contract", "doubt", "undecided", f"{text}.{beside}", "verdicts")
    return _card("Contract", "good", "kept", f"{text}.{beside}", "verdicts")


def _gradients(material: Material) -> Card:
    wrong = [row for row in material.rows if row.status == "wrong-gradient"]
    checked = [row for row in material.rows if "gradient_error" in row.numbers]
    if wrong:
        text = f"{len(wrong)} of {max(len(checked), len(wrong))} gradients wrong: {some([row.place for row in wrong])}."
        return _card("Gradients", "bad", "wrong", text, "accuracy")
    if not checked:
        return _card("Gradients", "none", "not checked", "No engine in this run computes a gradient.", "accuracy")
    exactness = {row.place: digits(row.numbers["gradient_error"].value) for row in checked}
    worst = min(exactness, key=lambda place: exactness[place])
    text = f"All {len(checked)} gradients are within their tolerance; the least accurate has"
    if len(checked) == 1:
        text = "The gradient is within its tolerance; it has"
    text += f" {exactness[worst]:.1f} digits ({worst})."
    return _card("Gradients", "good", "right", text, "accuracy")


def _allocations(material: Material) -> Card:
    counted = [e.row for e in material.fine if "allocations" in e.row.numbers]
    if not counted:
        reasons = [e.row.reasons["allocations"] for e in material.fine if "allocations" in e.row.reasons]
        reason = reasons[0] if reasons else "nothing was measured"
        return _card("Allocations", "none", "not counted", f"No row has a count: {reason}.", "memory")
    free = sum(row.numbers["allocations"].value <= 0 for row in counted)
    worst = max(counted, key=lambda row: row.numbers["allocations"].value)
    what = "row" if len(material.engines) < 2 else "cell"
    text = f"No allocations on {free} of {plural(len(counted), what)}"
    if free == len(counted):
        return _card("Allocations", "good", "none", f"{text}.", "memory")
    text += f"; worst: {worst.place}, {units.count(worst.numbers['allocations'].value)} per iteration."
    return _card("Allocations", "doubt", "some", text, "memory")


def _scaling(material: Material) -> Card:
    fits = [(family.name, fit) for family in material.growth.curves for fit in family.fits]
    if not fits:
        text = "No workload has enough sizes. `gradmark scale poly` measures them."
        return _card("Scaling", "none", "not measured", text, "scaling")
    steep = [
        f"{metric(fit.metric).title} of {one_line(name)}, n^{fit.p:.2f}"
        for name, fit in fits
        if fit.verdict == "superlinear"
    ]
    unclear = sum(fit.verdict == "unclear" for _, fit in fits)
    text = f"At most linear: {len(fits) - len(steep) - unclear} of {plural(len(fits), 'cost')}"
    doubt = f"; {unclear} undecided" if unclear else ""
    if steep:
        return _card("Scaling", "bad", "superlinear", f"{text}{doubt}; superlinear: {some(steep)}.", "scaling")
    if unclear:
        return _card("Scaling", "doubt", "unclear", f"{text}{doubt}.", "scaling")
    return _card("Scaling", "good", "linear", f"{text}.", "scaling")


def _gate(gate: Verdict | None) -> Card:
    if gate is None:
        text = "There is no baseline. `gradmark baseline update` makes one; `gradmark check` compares with it."
        return _card("Gate", "none", "no baseline", text, "verdicts")
    states: dict[str, tuple[State, str]] = {
        "kept": ("good", "pass"),
        "broken": ("bad", "fail"),
        "not measured": ("none", "nothing to compare"),
    }
    state, word = states.get(gate.verdict, ("doubt", "inconclusive"))
    first = gate.evidence[0] if gate.evidence else gate.claim
    return _card("Gate", state, word, first[:1].upper() + first[1:] + ".", "verdicts")
