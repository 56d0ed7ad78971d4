"""The contract: what a good engine promises, and whether the measurements bear it out.

In: measurements, among them those of one engine on `WORKLOADS`. Out: a verdict for each promise, with its evidence.
"""

from collections.abc import Sequence
from typing import Literal

from gradmark.analyse.scaling import NEEDED_SIZES, fits, in_words
from gradmark.records import Fit, Measurement, Verdict
from gradmark.records.metric import metric, numbers

# The workloads that the promises need.
WORKLOADS = ["poly", "expression", "shared", "constants"]
# A derivative of one function, doubled exactly: its own rounding and that of the last step.
MOST_ULPS = 4.0
# In `constants`, one operation in a hundred needs a derivative; recording more than a tenth is recording constants.
MOST_RECORDED = 0.1


def contract(measurements: Sequence[Measurement], engine: str) -> list[Verdict]:
    """The four promises, in order."""
    ours = [m for m in measurements if m.cell.engine == engine]
    sizes = [m for m in ours if m.cell.workload == "poly" and m.status == "ok"]
    grown = {fit.metric: fit for fit in fits(sizes, "n")} if len(sizes) >= NEEDED_SIZES else {}
    return [
        _verdict(
            "recording is linear in the differentiable operations that are executed",
            engine,
            [_linear(grown, "forward"), _linear(grown, "tape_instructions"), *_constants(ours)],
            _failures(ours, "poly", "constants"),
        ),
        _verdict(
            "backward is linear in the recorded instructions",
            engine,
            [_linear(grown, "backward")],
            _failures(ours, "poly"),
        ),
        _verdict(
            "a reused tape does not allocate in steady state",
            engine,
            [_allocations(m) for m in ours if m.cell.workload in ("expression", "poly") and m.status == "ok"],
            _failures(ours, "expression", "poly"),
        ),
        _verdict(
            "gradients add up exactly, to rounding",
            engine,
            [_exact(m) for m in ours if m.cell.workload in ("shared", "expression") and m.accuracy is not None],
            _failures(ours, "shared", "expression"),
        ),
    ]


# A finding and its words. Open: measured, but not decided. Missing: not measured.
Finding = tuple[Literal["kept", "broken", "open", "missing"], str]


def _verdict(claim: str, engine: str, findings: Sequence[Finding], failures: Sequence[Measurement]) -> Verdict:
    """Broken if one finding is, undecided if one is open, kept if all are kept; never kept without evidence."""
    states = [state for state, _ in findings]
    verdict: Literal["kept", "broken", "undecided", "not measured"] = "kept"
    if "broken" in states or any(m.status == "wrong-gradient" for m in failures):
        verdict = "broken"
    elif all(state == "missing" for state in states):
        verdict = "not measured"
    elif set(states) != {"kept"} or failures:
        verdict = "undecided"
    said = [text for _, text in findings] + [f"{m.cell.row}: {m.status}: {m.message}" for m in failures]
    return Verdict(claim=claim, verdict=verdict, evidence=said or ["nothing was measured"], engine=engine)


def _failures(measurements: Sequence[Measurement], *workloads: str) -> list[Measurement]:
    return [m for m in measurements if m.cell.workload in workloads and m.status != "ok"]


def _linear(grown: dict[str, Fit], name: str) -> Finding:
    fit = grown.get(name)
    if fit is None:
        return "missing", f"{name}: no numbers for three sizes"
    text = f"{in_words(fit)}: {fit.verdict}"
    if fit.verdict == "unclear":
        return "open", f"{text}; measure again with --full, or on a calmer machine"
    return ("broken" if fit.verdict == "superlinear" else "kept"), text


def _constants(measurements: Sequence[Measurement]) -> list[Finding]:
    for m in measurements:
        recorded = metric("tape_instructions").number(m)
        if m.cell.workload == "constants" and recorded is not None and m.operations:
            text = f"of {m.operations} operations, 99 % on constants, {recorded:g} are on the tape"
            return [("kept" if recorded <= MOST_RECORDED * m.operations else "broken", text)]
    return [("missing", "constants: no count of what is on the tape")]


def _allocations(measurement: Measurement) -> Finding:
    known, row = numbers(measurement), measurement.cell.row
    if "allocations" not in known:
        return "missing", f"{row}: {metric('allocations').why_missing(measurement, known)}"
    count = known["allocations"].value
    return ("broken" if count else "kept"), f"{row}: {count:g} allocations in an iteration"


def _exact(measurement: Measurement) -> Finding:
    ulps, row = metric("error_ulps").number(measurement), measurement.cell.row
    if ulps is None:
        return "missing", f"{row}: no exact reference"
    return ("kept" if ulps <= MOST_ULPS else "broken"), f"{row}: {ulps:.2g} ulp"
