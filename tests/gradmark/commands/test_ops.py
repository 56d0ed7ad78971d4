"""`gradmark ops`: what an operation adds to the loop it stands in, from measurements made by hand."""

from gradmark.commands.ops import Operation, operations, print_operations
from gradmark.records import Accuracy, Cell, Measurement, Memory, Phase, Sample, TapeSize
from gradmark.workloads.operators import BASELINE, POINTS


def sample(forward, backward):
    phases = {
        name: Phase(how="measured", iterations=1, block_ns=[ns + 9.0, ns])
        for name, ns in (("forward", forward), ("backward", backward))
    }
    return Sample(process=0, phases=phases, once_ns={}, harness_ns=1.0, clock_ns=1.0)


def measured(operation, forward, backward, engine="e", **more):
    return Measurement(
        cell=Cell(engine=engine, workload="operator", suite="operators", params={"operation": operation}),
        status="ok",
        samples=[sample(forward + 100.0, backward), sample(forward, backward + 100.0)],
        **more,
    )


def counts(allocations, tape, ulps):
    return {
        "memory": Memory(allocations=allocations),
        "tape": TapeSize(saved_bytes=tape),
        "accuracy": Accuracy(reference="r", relative_error=0.0, ulps=ulps, tolerance=1e-9),
    }


BASE = measured(BASELINE, 1000.0, 500.0, **counts(0.0, 1000, 0.0))


def failed(operation, status="unsupported", message="it has none"):
    return Measurement(
        cell=Cell(engine="e", workload="operator", suite="operators", params={"operation": operation}),
        status=status,
        message=message,
    )


def test_what_an_operation_adds():
    exp = measured("exp", 1000.0 + 20.0 * POINTS, 500.0 + 8.0 * POINTS, **counts(2.0 * POINTS, 1000 + 24 * POINTS, 0.7))
    assert operations([BASE, exp], "e") == [Operation("exp", 20.0, 8.0, 2.0, 24.0, 0.7)]


def test_what_is_not_known_is_none():
    assert operations([BASE, measured("exp", 1000.0 + POINTS, 500.0)], "e") == [
        Operation("exp", 1.0, 0.0, None, None, None)
    ]


def test_the_dearest_comes_first_and_failures_last():
    found = operations([failed("tan"), BASE, measured("add", 1050.0, 500.0), measured("exp", 3000.0, 500.0)], "e")
    assert [operation.name for operation in found] == ["exp", "add", "tan"]
    assert found[2] == Operation("tan", None, None, None, None, None, "unsupported: it has none")


def test_failures_come_last_even_after_less_than_nothing():
    found = operations([BASE, failed("tan"), measured("add", 1000.0 - 2.0 * POINTS, 500.0)], "e")
    assert [operation.name for operation in found] == ["add", "tan"]


def test_without_the_baseline_nothing_can_be_said():
    (found,) = operations([failed(BASELINE, "crash", "SIGSEGV"), measured("add", 1.0, 1.0)], "e")
    assert (found.forward_ns, found.problem) == (None, "crash: SIGSEGV")


def test_without_any_baseline_the_reason_says_so():
    (found,) = operations([measured("add", 1.0, 1.0)], "e")
    assert not found.problem.startswith("ok")


def test_other_engines_are_left_out():
    assert operations([BASE, measured("exp", 2000.0, 500.0, engine="other")], "e") == []


def test_the_table(capsys):
    print_operations("e", [Operation("exp", 20.0, 8.0, None, 24.0, 0.7), Operation("tan", *[None] * 5, "crash: x")])
    out = capsys.readouterr().out
    assert "operations of e" in out
    row = next(line for line in out.splitlines() if " exp " in line)
    assert [cell.strip() for cell in row.strip("│").split("│")] == ["exp", "20.0", "8.0", "n/a", "24.0", "0.7"]
    assert "crash: x" in out
