"""`gradmark ops`: what an operation adds to the loop it stands in, from measurements made by hand."""

import re
from dataclasses import replace

import msgspec

from gradmark.analyse.operators import Operation, operations
from gradmark.commands.ops import operators, print_operations
from gradmark.measure.plan import cells_of
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


def tensor(operation, forward, backward, **more):
    found = measured(operation, forward, backward, **more)
    cell = msgspec.structs.replace(found.cell, workload="tensor_operator", dtype="float32")
    return msgspec.structs.replace(found, cell=cell, shapes={"input 0": [64, 64]})


def test_of_tensors_one_call_is_measured_and_the_error_is_relative():
    base = tensor(BASELINE, 1000.0, 500.0, **counts(None, 0, None) | {"memory": Memory(gross_allocations=10.0)})
    accuracy = Accuracy(reference="r", relative_error=3e-8, tolerance=1e-4)
    exp = tensor(
        "exp",
        3000.0,
        1200.0,
        **counts(None, 16384, None) | {"accuracy": accuracy, "memory": Memory(gross_allocations=14.0)},
    )
    assert operations([base, exp], "e") == [Operation("exp", 2000.0, 700.0, 4.0, 16384.0, 3e-8)]


def cells(row):
    return re.split(r"\s{2,}", row.strip())


def test_the_table_of_tensors(capsys):
    print_operations(
        "e", [Operation("exp", 2000.0, 700.0, 4.0, 16384.0, 3e-8), Operation("erf", *[None] * 5)], "float32"
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].strip() == "operations of e, tensors, float32"
    assert [cells(line) for line in lines if line.startswith(("exp ", "erf "))] == [
        ["exp", "2.00 µs", "700 ns", "4", "16.0 KiB", "3.0e-08"],
        ["erf", "n/a", "n/a", "n/a", "n/a", "n/a"],
    ]


def test_an_engine_without_tensors_needs_one_line(capsys):
    none = [Operation(name, *[None] * 5, "unsupported: e has no tensors") for name in ("exp", "log")]
    print_operations("e", none, "float32")
    assert capsys.readouterr().out == "operations of e, tensors, float32: unsupported: e has no tensors\n"


def rows(kinds, dtypes):
    return [(cell.workload, cell.dtype) for cell in cells_of(operators(kinds, dtypes), ["e"], full=True, dtypes=dtypes)]


def test_what_is_measured_of_a_kind():
    assert set(rows(["scalar"], [])) == {("operator", "float64")}
    assert set(rows(["tensor"], [])) == {("tensor_operator", "float32")}
    assert set(rows([], [])) == {("operator", "float64"), ("tensor_operator", "float32")}
    assert len(rows(["tensor"], ["float32", "float64"])) == 2 * len(rows(["tensor"], []))
    assert rows(["scalar"], ["float32"]) == []


def test_the_table(capsys):
    print_operations("e", [Operation("exp", 20.0, 8.0, None, 24.0, 0.7), Operation("tan", *[None] * 5, "crash: x")])
    out = capsys.readouterr().out
    assert "operations of e, scalars" in out
    row = next(line for line in out.splitlines() if line.startswith("exp "))
    assert cells(row) == ["exp", "20 ns", "8 ns", "24 B", "0.70 ulp"]
    assert "allocs" not in out  # seen: a column of n/a with --no-memory
    assert "moved" not in out
    assert "tan: crash: x" in out.splitlines()  # seen: a message in the column of times, which pushed them apart


def test_the_bytes_that_are_moved_and_who_says_so(capsys):
    declared = Operation("exp", 20.0, 8.0, 0.0, 24.0, 3e-8, moved_bytes=65536.0)
    print_operations("e", [declared], "float32")
    out = capsys.readouterr().out
    assert cells(next(line for line in out.splitlines() if line.startswith("exp ")))[5] == "64.0 KiB"
    assert "must read and write if no operations are fused" in " ".join(out.split())
    print_operations("e", [replace(declared, moved_is_counted=True)], "float32")
    assert "as the compiler counts them" in " ".join(capsys.readouterr().out.split())


def test_bytes_are_those_that_a_compiler_counts_or_those_of_the_shapes():
    def of(operation, moved, declared):
        return tensor(operation, 1000.0, 500.0, tape=TapeSize(moved_bytes=moved), bytes=declared)

    (fused,) = operations([of(BASELINE, 32768, 100.0), of("exp", 32768, 700.0)], "e")
    assert (fused.moved_bytes, fused.moved_is_counted) == (0.0, True)
    (eager,) = operations([of(BASELINE, None, 100.0), of("exp", None, 700.0)], "e")
    assert (eager.moved_bytes, eager.moved_is_counted) == (600.0, False)


def test_what_an_operation_adds_to_another_derivative():
    def of(one, total):
        phases = {"total": Phase(how="measured", iterations=1, block_ns=[total])}
        alone = Sample(process=0, phases=phases, once_ns={}, harness_ns=1.0, clock_ns=1.0)
        return msgspec.structs.replace(one, cell=msgspec.structs.replace(one.cell, derivative="jvp"), samples=[alone])

    exp = measured("exp", 1.0, 1.0, **counts(2.0 * POINTS, 1000 + 24 * POINTS, 0.7))
    assert operations([of(BASE, 1000.0), of(exp, 1000.0 + 30.0 * POINTS)], "e") == [
        Operation("exp", None, None, 2.0, 24.0, 0.7, total_ns=30.0)
    ]


def test_operators_of_another_derivative_are_planned():
    (one,) = operators(["scalar"], [])[:1]
    cells = cells_of([one], ["e"], full=True, derivatives=["hvp"])
    assert {cell.derivative for cell in cells} == {"hvp"}
    assert cells[1].row == "operator/operation=add/derivative=hvp"
