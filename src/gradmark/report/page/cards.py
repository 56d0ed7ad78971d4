"""Cards: the verdicts at a glance. Each is a sentence with its number, and leads to its evidence.

In: material, the verdicts on the contract, and the gate's if there is a baseline. Out: five cards.
"""

from collections.abc import Sequence
from typing import Literal

from gradmark import units
from gradmark.records import Record, Verdict
from gradmark.report.model.characters import some
from gradmark.report.page.material import Material
from gradmark.report.page.points import digits

State = Literal["good", "bad", "doubt", "none"]


class Card(Record, frozen=True, kw_only=True):
    """One verdict; the word says what the colour says."""

    title: str
    state: State
    word: str
    text: str
    link: str


def cards(material: Material, promises: Sequence[Verdict], gate: Verdict | None) -> list[Card]:
    """Contract, gradients, allocations, scaling, gate."""
    return [_contract(promises), _gradients(material), _allocations(material), _scaling(material), _gate(gate)]


def _card(title: str, state: State, word: str, text: str, link: str) -> Card:
    return Card(title=title, state=state, word=word, text=text, link=link)


def _contract(promises: Sequence[Verdict]) -> Card:
    judged = [p for p in promises if p.verdict != "not measured"]
    if not judged:
        return _card("Contract", "none", "not measured", "`gradmark contract` measures what it needs.", "verdicts")
    kept = [p for p in judged if p.verdict == "kept"]
    broken = [p for p in judged if p.verdict == "broken"]
    text = f"{len(kept)} of {len(promises)} promises are kept"
    if broken:
        names = [f"{p.engine} ({len([b for b in broken if b.engine == p.engine])})" for p in broken]
        return _card("Contract", "bad", "broken", f"{text}; broken by {some(list(dict.fromkeys(names)))}.", "verdicts")
    if len(kept) < len(promises):
        return _card("Contract", "doubt", "undecided", f"{text}; the others are not decided.", "verdicts")
    return _card("Contract", "good", "kept", f"{text}.", "verdicts")


def _gradients(material: Material) -> Card:
    wrong = [e.row for e in material.entries if e.row.status == "wrong-gradient"]
    checked = [e.row for e in material.entries if e.row.relative_error is not None]
    if wrong:
        names = some([f"{row.workload} on {row.engine}" for row in wrong])
        text = f"{len(wrong)} of {max(len(checked), len(wrong))} gradients are wrong: {names}."
        return _card("Gradients", "bad", "wrong", text, "accuracy")
    if not checked:
        return _card("Gradients", "none", "not checked", "No engine of this run gives a gradient.", "accuracy")
    worst = min(checked, key=lambda row: digits(row.relative_error or 0.0))
    text = (
        f"All {len(checked)} gradients are within their tolerance; the least exact has "
        f"{digits(worst.relative_error or 0.0):.1f} digits ({worst.workload} on {worst.engine})."
    )
    return _card("Gradients", "good", "right", text, "accuracy")


def _allocations(material: Material) -> Card:
    counted = [e.row for e in material.fine if e.row.allocations is not None]
    if not counted:
        reasons = [e.row.reasons["allocations"] for e in material.fine if "allocations" in e.row.reasons]
        reason = reasons[0] if reasons else "nothing was measured"
        return _card("Allocations", "none", "not counted", f"No row has a count: {reason}.", "memory")
    free = sum((row.allocations or 0.0) <= 0 for row in counted)
    most = max(counted, key=lambda row: row.allocations or 0.0)
    text = f"{free} of {len(counted)} rows allocate nothing in steady state"
    if free == len(counted):
        return _card("Allocations", "good", "none", f"{text}.", "memory")
    text += f"; most has {most.workload} on {most.engine}: {units.count(most.allocations or 0.0)} per iteration."
    return _card("Allocations", "doubt", "some", text, "memory")


def _scaling(material: Material) -> Card:
    fits = [(name, fit) for name, members in material.growth[0] for fit in members]
    if not fits:
        text = "No workload has enough sizes. `gradmark scale poly` measures them."
        return _card("Scaling", "none", "not measured", text, "scaling")
    steep = [f"{fit.metric} of {name}, n^{fit.p:.2f}" for name, fit in fits if fit.verdict == "superlinear"]
    unclear = sum(fit.verdict == "unclear" for _, fit in fits)
    text = f"{len(fits) - len(steep) - unclear} of {len(fits)} costs grow at most linearly"
    if steep:
        return _card("Scaling", "bad", "superlinear", f"{text}; not so: {some(steep)}.", "scaling")
    if unclear:
        return _card("Scaling", "doubt", "unclear", f"{text}; of {unclear} it is not clear.", "scaling")
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
    return _card("Gate", state, word, gate.evidence[0].capitalize() + ".", "verdicts")
