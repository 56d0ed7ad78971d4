"""The contract: what a good engine promises, and whether the measurements bear it out.

In: measurements, among them those of one engine on `WORKLOADS`. Out: a verdict for each promise, with its evidence.
"""

from collections.abc import Callable, Sequence
from typing import Literal

from gradmark import units
from gradmark.analyse.calm import is_calm
from gradmark.analyse.scaling import NEEDED_SIZES, fits, in_words
from gradmark.records import DerivativeName, Fit, Measurement, Verdict
from gradmark.records.derivative import USUAL_DERIVATIVE, with_article
from gradmark.records.measurement import WRONG
from gradmark.records.metric import Metric, metric, numbers
from gradmark.records.readings import LEAST_NS

# The workloads that the promises need.
WORKLOADS = ["poly", "expression", "shared", "constants"]
# A derivative of one function, doubled exactly: its own rounding and that of the last step.
MOST_ULPS = 4.0
# In `constants`, one operation in a hundred needs a derivative; recording more than a tenth is recording constants.
MOST_RECORDED = 0.1


# Derivatives that have promises of their own, where they were measured.
OF_DERIVATIVES: tuple[DerivativeName, ...] = ("jvp", "hvp")


def contract(measurements: Sequence[Measurement], engine: str) -> list[Verdict]:
    """The four promises of gradients, in order, and those of the other derivatives that were measured."""
    ours = [m for m in measurements if m.cell.engine == engine]
    there = {m.cell.derivative for m in ours if m.cell.workload in WORKLOADS}
    verdicts = _of_gradients([m for m in ours if m.cell.derivative == USUAL_DERIVATIVE], engine)
    if USUAL_DERIVATIVE not in there and there & set(OF_DERIVATIVES):
        verdicts = []
    for name in OF_DERIVATIVES:
        if name in there:
            verdicts += _of_derivative(name, [m for m in ours if m.cell.derivative == name], engine)
    return verdicts


def _of_derivative(name: DerivativeName, ours: Sequence[Measurement], engine: str) -> list[Verdict]:
    """The promises of a derivative that one call computes."""
    sizes = [m for m in ours if m.cell.workload == "poly" and m.status == "ok"]
    grown = {fit.metric: fit for fit in fits(sizes, "n")} if len(sizes) >= NEEDED_SIZES else {}
    return [
        _verdict(
            f"{with_article(name)} is linear in the operations of the function",
            engine,
            [_linear(grown, sizes, "total")],
            _failures(ours, "poly"),
        ),
        _verdict(
            f"{with_article(name)} does not allocate in steady state",
            engine,
            _allocations([m for m in ours if m.cell.workload in ("expression", "poly") and m.status == "ok"]),
            _failures(ours, "expression", "poly"),
        ),
    ]


def _of_gradients(ours: Sequence[Measurement], engine: str) -> list[Verdict]:
    sizes = [m for m in ours if m.cell.workload == "poly" and m.status == "ok"]
    grown = {fit.metric: fit for fit in fits(sizes, "n")} if len(sizes) >= NEEDED_SIZES else {}
    return [
        _verdict(
            "recording is linear in the differentiable operations executed",
            engine,
            [_linear(grown, sizes, "forward"), _linear(grown, sizes, "tape_instructions"), *_constants(ours)],
            _failures(ours, "poly", "constants"),
        ),
        _verdict(
            "backward is linear in the recorded instructions",
            engine,
            [_linear(grown, sizes, "backward")],
            _failures(ours, "poly"),
        ),
        _verdict(
            "a reused tape does not allocate in steady state",
            engine,
            _allocations([m for m in ours if m.cell.workload in ("expression", "poly") and m.status == "ok"]),
            _failures(ours, "expression", "poly"),
        ),
        _verdict(
            "gradients add up exactly, to rounding",
            engine,
            _exact([m for m in ours if m.cell.workload in ("shared", "expression") and m.accuracy is not None]),
            _failures(ours, "shared", "expression"),
        ),
    ]


# What one thing says, and its words. Open: measured, but not decided. Missing: not measured.
Evidence = tuple[Literal["kept", "broken", "open", "missing"], str]


def _verdict(claim: str, engine: str, evidence: Sequence[Evidence], failures: Sequence[Measurement]) -> Verdict:
    """Broken if one part is, undecided if one is open, kept if all are kept; never kept without evidence."""
    states = [state for state, _ in evidence]
    verdict: Literal["kept", "broken", "undecided", "not measured"] = "kept"
    if "broken" in states or any(m.status in WRONG for m in failures):
        verdict = "broken"
    elif all(state == "missing" for state in states):
        verdict = "not measured"
    elif set(states) != {"kept"} or failures:
        verdict = "undecided"
    texts = [text for _, text in evidence] + [f"{m.cell.row}: {m.status}: {m.message}" for m in failures]
    return Verdict(claim=claim, verdict=verdict, evidence=texts or ["nothing was measured"], engine=engine)


def _failures(measurements: Sequence[Measurement], *workloads: str) -> list[Measurement]:
    return [m for m in measurements if m.cell.workload in workloads and m.status != "ok"]


def _linear(grown: dict[str, Fit], sizes: Sequence[Measurement], name: str) -> Evidence:
    fit = grown.get(name)
    if fit is None:
        return "missing", f"{metric(name).title}: {_why_no_fit(sizes, metric(name))}"
    text = f"{in_words(fit)}: {fit.verdict}"
    if fit.verdict == "unclear":
        return "open", f"{text}; measure again with --full, or on a calmer machine"
    return ("broken" if fit.verdict == "superlinear" else "kept"), text


def _why_no_fit(sizes: Sequence[Measurement], entry: Metric) -> str:
    """Why there is no curve: the reason that most sizes have for their missing number, or too few sizes."""
    known = [numbers(m) for m in sizes]
    reasons = [entry.why_missing(m, have) for m, have in zip(sizes, known, strict=True) if entry.name not in have]
    if not reasons:
        lost = sum(entry.timed and have[entry.name].value <= LEAST_NS for have in known)
        slow = sum(not is_calm(have, entry.name) for have in known)
        too_short = f", {lost} of them too short to be timed" if lost else ""
        never_calm = f", {slow} of them while the machine was never calm" if slow else ""
        measured = f"{len(sizes)} size{'' if len(sizes) == 1 else 's'}"
        return f"measured at {measured} of poly{too_short}{never_calm}; a curve needs {NEEDED_SIZES}"
    usual = max(dict.fromkeys(reasons), key=reasons.count)
    return f"{usual} (on {len(reasons)} of {len(sizes)} sizes of poly)"


def _constants(measurements: Sequence[Measurement]) -> list[Evidence]:
    entry = metric("tape_instructions")
    reason = "not measured"
    for m in measurements:
        if m.cell.workload != "constants" or m.status != "ok":  # a failure is said with its message
            continue
        recorded = entry.number(m)
        if recorded is not None and m.operations:
            text = f"of {m.operations} operations, 99 % on constants, {recorded:g} are on the tape"
            return [("kept" if recorded <= MOST_RECORDED * m.operations else "broken", text)]
        reason = entry.why_missing(m, numbers(m)) if recorded is None else "it does not declare its operations"
    return [("missing", f"constants: {reason}")]


def _allocations(rows: Sequence[Measurement]) -> list[Evidence]:
    return _each_or_all(rows, metric("allocations"), 0.0, "{} allocations in an iteration", "{:g}".format)


def _exact(rows: Sequence[Measurement]) -> list[Evidence]:
    entry = metric("error_ulps")
    return _each_or_all(rows, entry, MOST_ULPS, "{}", lambda ulps: units.text(entry.unit, ulps))


def _each_or_all(
    rows: Sequence[Measurement], entry: Metric, most: float, words: str, shown: Callable[[float], str]
) -> list[Evidence]:
    """What has at most so much keeps a promise. Sizes of one workload that say the same share a line."""
    groups: dict[tuple[str, Literal["kept", "broken"]], list[tuple[str, float]]] = {}
    missing: list[Evidence] = []
    for m in rows:
        known = numbers(m)
        if entry.name not in known:
            missing.append(("missing", f"{m.cell.row}: {entry.why_missing(m, known)}"))
            continue
        value = known[entry.name].value
        groups.setdefault((m.cell.workload, "kept" if value <= most else "broken"), []).append((m.cell.row, value))
    found: list[Evidence] = []
    for (workload, state), members in groups.items():
        ends = list(dict.fromkeys([shown(min(v for _, v in members)), shown(max(v for _, v in members))]))
        name = members[0][0] if len(members) == 1 else f"{workload}, {len(members)} sizes"
        found.append((state, f"{name}: {words.format(' to '.join(ends))}"))
    return [*found, *missing]
