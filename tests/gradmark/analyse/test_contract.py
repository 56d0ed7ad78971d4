"""The contract on measurements made by hand: each promise kept, broken in each of its ways, open, and not measured."""

import msgspec
import pytest
from oracles.watched import never_calm

from gradmark.analyse.contract import WORKLOADS, contract
from gradmark.records import Accuracy, Cell, Measurement, Memory, Phase, Sample, TapeSize
from gradmark.workloads.selection import select

SIZES = [10, 30, 100, 300, 1000, 3000, 10_000]
RECORDING, BACKWARD, ALLOCATIONS, EXACT = range(4)


def sample(**ns):
    phases = {name: Phase(how="measured", iterations=1, block_ns=[value]) for name, value in ns.items()}
    return Sample(process=0, phases=phases, once_ns={}, harness_ns=1.0, clock_ns=1.0)


def good(workload, operations, **params):
    return Measurement(
        cell=Cell(engine="e", workload=workload, suite="scalar", params=params),
        status="ok",
        samples=[sample(forward=20.0 * operations, backward=8.0 * operations)],
        tape=TapeSize(instructions=operations),
        memory=Memory(allocations=0.0),
        accuracy=Accuracy(reference="mpmath", relative_error=1e-17, ulps=0.5, tolerance=1e-9),
        operations=operations,
    )


def all_good():
    measurements = [good("poly", 2 * n, n=n) for n in SIZES]
    measurements += [good("expression", 3), good("shared", 5, k=4)]
    constants = good("constants", 1000, n=1000)
    return [*measurements, msgspec.structs.replace(constants, tape=TapeSize(instructions=10))]


def changed(workload, **changes):
    """All good, but for one workload; a change may be a function of the measurement."""
    return [
        msgspec.structs.replace(m, **{k: v(m) if callable(v) else v for k, v in changes.items()})
        if m.cell.workload == workload
        else m
        for m in all_good()
    ]


def verdicts(measurements, engine="e"):
    return [verdict.verdict for verdict in contract(measurements, engine)]


def but(promise, verdict):
    expected = ["kept"] * 4
    expected[promise] = verdict
    return expected


def test_the_workloads_exist():
    assert [w.name for w in select(WORKLOADS)] == WORKLOADS


def test_all_promises_kept():
    found = contract(all_good(), "e")
    assert [verdict.verdict for verdict in found] == ["kept"] * 4
    assert {verdict.engine for verdict in found} == {"e"}
    assert [verdict.claim for verdict in found] == [
        "recording is linear in the differentiable operations executed",
        "backward is linear in the recorded instructions",
        "a reused tape does not allocate in steady state",
        "gradients add up exactly, to rounding",
    ]
    assert found[RECORDING].evidence == [
        "forward grows as n^1.00 (0.98 to 1.02): linear",
        "tape grows as n^1.00 (0.98 to 1.02): linear",
        "of 1000 operations, 99 % on constants, 10 are on the tape",
    ]
    assert found[ALLOCATIONS].evidence[-1] == "expression: 0 allocations in an iteration"
    assert found[EXACT].evidence == ["expression: 0.50 ulp", "shared/k=4: 0.50 ulp"]


def test_broken_by_a_superlinear_backward():
    found = contract(
        changed("poly", samples=lambda m: [sample(forward=20.0 * m.operations, backward=m.operations**2)]), "e"
    )
    assert [verdict.verdict for verdict in found] == but(BACKWARD, "broken")
    assert found[BACKWARD].evidence == ["backward grows as n^2.00 (1.98 to 2.02): superlinear"]


def test_broken_by_a_superlinear_forward():
    slow = changed("poly", samples=lambda m: [sample(forward=m.operations**1.5, backward=m.operations)])
    assert verdicts(slow) == but(RECORDING, "broken")


def test_broken_by_a_superlinear_tape():
    assert verdicts(changed("poly", tape=lambda m: TapeSize(instructions=m.operations**2))) == but(RECORDING, "broken")


@pytest.mark.parametrize("workload", ["poly", "expression"])
def test_broken_by_allocations(workload):
    found = contract(changed(workload, memory=Memory(allocations=2.0)), "e")
    assert [verdict.verdict for verdict in found] == but(ALLOCATIONS, "broken")
    assert any(text.endswith(": 2 allocations in an iteration") for text in found[ALLOCATIONS].evidence)


@pytest.mark.parametrize(("recorded", "verdict"), [(100, "kept"), (101, "broken"), (1000, "broken")])
def test_broken_by_recorded_constants(recorded, verdict):
    assert verdicts(changed("constants", tape=TapeSize(instructions=recorded))) == but(RECORDING, verdict)


@pytest.mark.parametrize(("ulps", "verdict"), [(4.0, "kept"), (4.1, "broken")])
@pytest.mark.parametrize("workload", ["shared", "expression"])
def test_broken_by_ulps(workload, ulps, verdict):
    accuracy = Accuracy(reference="mpmath", relative_error=1e-15, ulps=ulps, tolerance=1e-9)
    assert verdicts(changed(workload, accuracy=accuracy)) == but(EXACT, verdict)


def test_broken_by_a_wrong_gradient():
    found = contract(changed("shared", status="wrong-gradient", message="off by 1.0e-06", accuracy=None), "e")
    assert [verdict.verdict for verdict in found] == but(EXACT, "broken")
    assert found[EXACT].evidence == ["expression: 0.50 ulp", "shared/k=4: wrong-gradient: off by 1.0e-06"]


def test_what_a_message_says_decides_nothing():
    """Only the status does: a crash may speak of wrong-gradient, and a row may be called so."""
    found = contract(changed("shared", status="crash", message="wrong-gradient in foreign code", accuracy=None), "e")
    assert [verdict.verdict for verdict in found] == but(EXACT, "undecided")


def test_undecided_if_the_fit_is_unclear():
    wild = dict(zip(SIZES, [1, 9, 4, 60, 20, 400, 90], strict=True))
    noisy = changed("poly", samples=lambda m: [sample(forward=m.operations, backward=100.0 * wild[m.cell.params["n"]])])
    found = contract(noisy, "e")
    assert [verdict.verdict for verdict in found] == but(BACKWARD, "undecided")
    assert found[BACKWARD].evidence[0].endswith("unclear; measure again with --full, or on a calmer machine")


def test_undecided_if_a_workload_failed():
    failed = [
        msgspec.structs.replace(m, status="crash", message="ended by SIGSEGV")
        if m.cell.params.get("n") == 10_000
        else m
        for m in all_good()
    ]
    found = contract(failed, "e")
    assert [verdict.verdict for verdict in found] == ["undecided", "undecided", "undecided", "kept"]
    assert found[BACKWARD].evidence[-1] == "poly/n=10000: crash: ended by SIGSEGV"


def test_undecided_if_part_of_the_evidence_is_missing():
    found = contract(changed("poly", memory=Memory(reason="no memray")), "e")
    assert [verdict.verdict for verdict in found] == but(ALLOCATIONS, "undecided")
    assert "poly/n=10: no memray" in found[ALLOCATIONS].evidence


def test_not_measured_without_any_evidence():
    found = contract([], "e")
    assert [verdict.verdict for verdict in found] == ["not measured"] * 4
    assert found[EXACT].evidence == ["nothing was measured"]
    assert found[BACKWARD].evidence == ["backward: measured at 0 sizes of poly; a curve needs 3"]


def test_what_is_missing_has_its_reason():
    """An engine that does both in one call, and does not say what it recorded."""
    fused = changed("poly", samples=lambda m: [sample(total=28.0 * m.operations)], tape=None)
    found = contract(fused, "e")
    assert found[RECORDING].evidence[:2] == [
        "forward: the engine has no separate forward (on 7 of 7 sizes of poly)",
        "tape: the engine does not report it (on 7 of 7 sizes of poly)",
    ]
    assert found[BACKWARD].verdict == "not measured"
    found = contract(changed("constants", tape=None), "e")
    assert found[RECORDING].evidence[-1] == "constants: the engine does not report it"


def test_times_that_the_harness_swallowed_are_no_curve():
    found = contract(changed("poly", samples=[sample(forward=2.0, backward=1.0)]), "e")
    assert found[BACKWARD].evidence == [
        "backward: measured at 7 sizes of poly, 7 of them too short to be timed; a curve needs 3"
    ]


def test_not_measured_without_memray():
    without = [msgspec.structs.replace(m, memory=None) for m in all_good()]
    found = contract(without, "e")
    assert [verdict.verdict for verdict in found] == but(ALLOCATIONS, "not measured")
    assert "expression: not measured" in found[ALLOCATIONS].evidence


def test_other_engines_are_not_taken_into_account():
    assert verdicts(all_good(), "other") == ["not measured"] * 4


def test_recorded_constants_that_were_not_counted_leave_doubt():
    found = changed("constants", tape=None)
    assert verdicts(found) == but(RECORDING, "undecided")


def test_sizes_that_were_never_timed_on_a_calm_machine_are_no_curve():
    slow = [never_calm(m) if m.cell.params.get("n", 0) > 30 else m for m in all_good()]
    evidence = contract(slow, "e")[BACKWARD]
    assert (evidence.verdict, evidence.evidence) == (
        "not measured",
        ["backward: measured at 7 sizes of poly, 5 of them while the machine was never calm; a curve needs 3"],
    )


# --- other derivatives


def of(derivative, measurements):
    """The same measurements as of a derivative that one call computes."""
    return [
        msgspec.structs.replace(
            m,
            cell=msgspec.structs.replace(m.cell, derivative=derivative),
            samples=[sample(total=30.0 * (m.operations or 1))],
        )
        for m in measurements
    ]


def test_a_jvp_has_two_promises():
    found = contract(of("jvp", all_good()), "e")
    assert [(verdict.claim, verdict.verdict) for verdict in found] == [
        ("a jvp is linear in the operations of the function", "kept"),
        ("a jvp does not allocate in steady state", "kept"),
    ]
    assert found[0].evidence == ["total grows as n^1.00 (0.98 to 1.02): linear"]


def test_gradients_come_first_and_are_judged_by_gradients_only():
    bad = [msgspec.structs.replace(m, memory=Memory(allocations=2.0)) for m in of("hvp", all_good())]
    assert verdicts([*all_good(), *bad]) == ["kept"] * 4 + ["kept", "broken"]
    assert contract([*all_good(), *bad], "e")[5].claim == "an hvp does not allocate in steady state"


def test_a_wrong_second_derivative_breaks_them():
    (first, *rest) = of("hvp", all_good())
    wrong = msgspec.structs.replace(first, status="wrong-gradient", samples=[], message="the hvp is off by 1.0")
    assert verdicts([wrong, *rest]) == ["broken", "broken"]


def test_what_an_engine_does_not_have_is_not_measured():
    lacking = [
        msgspec.structs.replace(m, status="unsupported", message="e has no jvp", samples=[])
        for m in of("jvp", all_good())
    ]
    assert verdicts(lacking) == ["not measured", "not measured"]
