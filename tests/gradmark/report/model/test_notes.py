from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from oracles.watched import never_calm

from gradmark.analyse.growth import Curves
from gradmark.analyse.scaling import swept
from gradmark.analyse.suspects import Suspect, sentence
from gradmark.records import Accuracy, Code, Fit, Instructions, Measurement, Memory, Run, Settings, Warning
from gradmark.report.model.note import Note
from gradmark.report.model.notes import notes


def said(run: Run, curves: Sequence[Curves] = (), suspects: Sequence[Suspect] = ()) -> list[tuple[str, str]]:
    return [(note.level, note.text) for note in without_harness(notes(run, curves, suspects))]


def without_harness(found: list[Note]) -> list[Note]:
    """The notes but for the two that every run with times has."""
    return [note for note in found if not note.text.startswith(("harness:", "machine:"))]


def memory(allocations: float = 0.0, leaked_bytes: float = 0.0) -> Memory:
    return Memory(allocations=allocations, leaked_bytes=leaked_bytes, peak_bytes=1, retained_bytes=1)


def ulps(number: float) -> Accuracy:
    return Accuracy(reference="mpmath", relative_error=1e-12, ulps=number, tolerance=1e-9)


def fit(metric: str, verdict: Any) -> Fit:
    return Fit(metric=metric, sizes=[], costs=[], a=0, b=1, p=1.52, low=1.4, high=1.6, verdict=verdict)


def test_nothing_to_say(make: Any) -> None:
    assert said(make.run()) == []
    assert said(make.run(make.measurement()), [Curves(make.cell(), [fit("total", "linear")])]) == []


@pytest.mark.parametrize(
    ("status", "level", "text"),
    [
        (
            "wrong-gradient",
            "warning",
            "wrong gradient on tapegrad: poly/n=10 (why). It was not timed. Compare with an independent gradient: "
            "`gradmark run poly/n=10 -e tapegrad -e finite-difference`.",
        ),
        (
            "wrong-value",
            "warning",
            "wrong value on tapegrad: poly/n=10 (why). It was not timed. Compare with plain numbers: "
            "`gradmark run poly/n=10 -e tapegrad -e python-floats`.",
        ),
        (
            "untimed-work",
            "warning",
            "untimed work on tapegrad: poly/n=10 (why). It was not timed. Do all work inside the timed calls, on the "
            "current inputs.",
        ),
        (
            "error",
            "warning",
            "error on tapegrad: poly/n=10 (why). Run it alone: `gradmark run poly/n=10 -e tapegrad`; `--format json` "
            "shows the whole message.",
        ),
        (
            "crash",
            "warning",
            "crashed on tapegrad: poly/n=10 (why). Run it alone: `gradmark run poly/n=10 -e tapegrad`; `--format json` "
            "shows the whole message.",
        ),
        (
            "timeout",
            "warning",
            "timed out on tapegrad: poly/n=10 (why). Look for a hang, or allow more time: "
            "`gradmark run poly/n=10 -e tapegrad --timeout 120`.",
        ),
        (
            "out-of-memory",
            "warning",
            "out of memory on tapegrad: poly/n=10 (why). Allow more memory: "
            "`gradmark run poly/n=10 -e tapegrad --memory-limit 16`.",
        ),
        (
            "unsupported",
            "info",
            "unsupported on tapegrad: poly/n=10 (why).",
        ),
        (
            "invalid",
            "warning",
            "not measurable: poly/n=10 (why). No engine was timed on it. Change the function or its inputs.",
        ),
        (
            "skipped",
            "info",
            "skipped on tapegrad: poly/n=10 (why). It will be measured once the smaller size passes.",
        ),
    ],
)
def test_every_failure_has_its_message_and_what_to_do(make: Any, status: str, level: str, text: str) -> None:
    assert said(make.run(make.failed(status, "why."))) == [(level, text)]


def test_equal_failures_are_said_once(make: Any) -> None:
    run = make.run(*(make.failed("skipped", cell=make.cell(n=n)) for n in (10, 100, 1000, 10_000, 100_000)))
    assert said(run) == [
        (
            "info",
            "skipped on tapegrad: poly/n=10, poly/n=100, poly/n=1000 and 2 more. "
            "It will be measured once the smaller size passes.",
        )
    ]


def test_a_function_that_cannot_be_measured_is_said_once_for_all_engines(make: Any) -> None:
    cells = [make.cell(engine=engine, n=n) for n in (10, 100) for engine in ("a", "b")]
    ((_, text),) = said(make.run(*(make.failed("invalid", "it is random", cell) for cell in cells)))
    assert text.startswith("not measurable: poly/n=10, poly/n=100 (it is random). No engine was timed")


def test_an_independent_gradient_need_not_be_on_the_same_device(make: Any) -> None:
    cell = msgspec.structs.replace(make.cell(engine="eng:Cuda"), device="cuda")
    ((_, text),) = said(make.run(make.failed("wrong-gradient", "why", cell)))
    assert "`gradmark run poly/n=10 -e eng:Cuda -e finite-difference`" in text


def test_warnings_come_first(make: Any) -> None:
    run = make.run(make.failed("skipped"), make.failed("crash", cell=make.cell(n=100)))
    assert [level for level, _ in said(run)] == ["warning", "info"]


def test_unsupported_rows_with_one_reason_are_said_once(make: Any) -> None:
    message = "tapegrad has no tensors, and {} is a function of tensors"
    run = make.run(
        *(
            make.failed("unsupported", message.format(name), make.cell(name, n=None))
            for name in ("matmul", "sum", "mlp")
        )
    )
    assert said(run) == [
        (
            "info",
            "unsupported on tapegrad: matmul, sum, mlp (it has no tensors, and this is a function of tensors).",
        )
    ]


def test_missing_operations_are_said_once(make: Any) -> None:
    lacking = [
        make.measurement(
            make.cell(name, n=None), status="unsupported", message=f"tapegrad has no {op}, which …", lacks=[op]
        )
        for name, op in (("a", "exp"), ("b", "log"), ("c", "exp"))
    ]
    assert said(make.run(*lacking)) == [("info", "unsupported on tapegrad: a, b, c (it lacks exp, log).")]


UNSTEADY = (
    "Close other programs, ask `gradmark doctor` about this machine, and measure again with `--full`, which "
    "uses more processes."
)


def test_unsteady_rows_are_one_note_the_worst_first(make: Any) -> None:
    run = make.run(
        make.measurement(samples=make.totals(1000.0, 1120.0, 1250.0)),
        make.measurement(make.cell(n=100), samples=make.totals(1000.0, 1500.0, 1700.0)),
        make.measurement(make.cell(n=1000), samples=make.totals(1000.0, 1010.0, 1150.0)),
    )
    assert said(run) == [
        (
            "warning",
            "unsteady: 2 of 3 times have an interval wider than ±10 %: poly/n=100 on tapegrad ±23 %, poly/n=10 on "
            f"tapegrad ±11 %. {UNSTEADY}",
        )
    ]
    assert said(make.run(run.measurements[0])) == [
        (
            "warning",
            f"unsteady: 1 of 1 time has an interval wider than ±10 %: poly/n=10 on tapegrad ±11 %. {UNSTEADY}",
        )
    ]


def test_growth_and_its_suspects(make: Any) -> None:
    steep = [fit("primal", "linear"), fit("total", "superlinear"), fit("tape_instructions", "superlinear")]
    cell = swept(make.cell(), "n")
    suspect = Suspect(grown=fit("total", "superlinear"), key="phase", family="poly/n=*@tape\x1b[1mgrad")
    (_, first), (_, second) = said(make.run(make.measurement()), [Curves(cell, steep)], [suspect])
    assert first == (
        "poly/n=*@tapegrad grows faster than linearly: total as n^1.52 (1.40 to 1.60), tape as n^1.52 (1.40 to 1.60). "
        "`gradmark scale poly -e tapegrad` shows the sweep."
    )
    assert second == sentence(suspect).replace("\x1b[1m", "")


def test_the_workload_of_a_file_that_is_scaled(make: Any) -> None:
    family = Curves(swept(make.cell(engine="mine:E", file="my.py"), "n"), [fit("total", "superlinear")])
    ((_, text),) = said(make.run(make.measurement()), [family])
    assert "`gradmark scale my.py:poly -e mine:E` shows the sweep" in text


@pytest.mark.parametrize(("number", "expected"), [(1000.0, 0), (1001.0, 1), (float("inf"), 1), (float("nan"), 1)])
def test_accuracy(make: Any, number: float, expected: int) -> None:
    assert len(said(make.run(make.measurement(accuracy=ulps(number))))) == expected


def test_accuracy_in_words(make: Any) -> None:
    assert said(make.run(make.measurement(accuracy=ulps(2345.0)))) == [
        (
            "warning",
            "inaccurate: the gradient of poly/n=10 on tapegrad is off by 2.35 k units in the last place, though within "
            "the engine's tolerance. `gradmark ops -e tapegrad` shows the error of each operator.",
        )
    ]


def test_leaks(make: Any) -> None:
    assert said(make.run(make.measurement(memory=memory(leaked_bytes=0.5)))) == []
    assert said(make.run(make.measurement(memory=memory(leaked_bytes=48.0)))) == [
        (
            "warning",
            "leak: poly/n=10 on tapegrad keeps memory after each iteration; worst: 48 B on poly/n=10. "
            "`gradmark run poly/n=10 -e tapegrad --full` shows whether it continues.",
        )
    ]


def test_leaks_are_stated_once_for_each_engine(make: Any) -> None:
    run = make.run(
        make.measurement(make.cell(n=10), memory=memory(leaked_bytes=48.0)),
        make.measurement(make.cell(n=100), memory=memory(leaked_bytes=2048.0)),
        make.measurement(make.cell(n=1000), memory=memory(leaked_bytes=0.0)),
    )
    assert said(run) == [
        (
            "warning",
            "leak: tapegrad on 2 of 3 rows keeps memory after each iteration; worst: 2.00 KiB on poly/n=100. "
            "`gradmark run poly/n=100 -e tapegrad --full` shows whether it continues.",
        )
    ]


def test_allocations_are_stated_once_for_each_engine(make: Any) -> None:
    run = make.run(
        make.measurement(make.cell(n=10), memory=memory(0.0)),
        make.measurement(make.cell(n=100), memory=memory(3000.0)),
        make.measurement(make.cell(n=1000), memory=memory(2.0)),
        make.measurement(make.cell(engine="other"), memory=memory(0.0)),
        make.measurement(make.cell(engine="unknown"), memory=None),
    )
    assert said(run) == [
        (
            "info",
            "tapegrad allocates on 2 of 3 rows; worst: 3.00 k per iteration on poly/n=100. "
            "`gradmark ops -e tapegrad` shows which operators allocate.",
        )
    ]


def test_allocations_of_many_engines_are_one_note_the_worst_first(make: Any) -> None:
    counts = {"a": 20.0, "b": 0.0, "c": 3000.0, "d": 7.0, "e": 0.0}
    members = [make.measurement(make.cell(engine=e), memory=memory(count)) for e, count in counts.items()]
    ((_, alone),) = said(make.run(*members))
    assert alone.startswith("allocations per iteration, at worst: c 3.00 k, a 20, d 7. None: b and e. ")
    run = make.run(*members, make.measurement(make.cell(engine="b", n=100), memory=memory(0.0)))
    assert said(run) == [
        (
            "info",
            "allocations per iteration, at worst: c 3.00 k (poly/n=10), a 20 (poly/n=10), d 7 (poly/n=10). None: b "
            "and e. `gradmark ops -e c` shows which operators allocate.",
        )
    ]


def pair(make: Any, engine: str, fresh: Memory | None, floor: float = 5000.0) -> list[Measurement]:
    return [
        make.measurement(make.cell(engine=engine), memory=memory(0.0)),
        make.measurement(
            make.cell(engine=f"{engine}:fresh"), memory=fresh, samples=[make.sample(times={"total": floor})]
        ),
    ]


def test_what_reuse_is_worth(make: Any) -> None:
    (_, first), (level, second) = said(make.run(*pair(make, "x", memory(12.0))))
    assert first.startswith("x:fresh makes 12 allocations per iteration on poly/n=10.")
    assert (level, second) == (
        "info",
        "reuse: poly/n=10 takes 2.50 µs on x and 5.00 µs on x:fresh, 2.00 times as long; allocations 0 and 12. "
        "`gradmark hypothesis` tests such claims.",
    )


def test_reuse_without_allocations_known(make: Any) -> None:
    ((_, text),) = said(make.run(*pair(make, "x", None)))
    assert text.startswith("reuse: poly/n=10 takes 2.50 µs on x and 5.00 µs on x:fresh, 2.00 times as long. ")


def test_a_pair_is_of_one_row(make: Any) -> None:
    one, other = pair(make, "x", memory())
    other = make.measurement(make.cell(engine="x:fresh", n=100))
    assert said(make.run(one, other)) == []
    failed = make.failed("skipped", cell=make.cell(engine="x:fresh"))
    assert not any("reuse" in text for _, text in said(make.run(one, failed)))


def test_a_missing_tool_is_said_once(make: Any) -> None:
    nothing = {
        "memory": Memory(reason="memray is not installed; pip install memray", lacks_tool=True),
        "instructions": Instructions(reason="valgrind is not installed", lacks_tool=True),
    }
    run = make.run(
        *(make.measurement(make.cell(n=n), **nothing) for n in (10, 100)),
        make.measurement(make.cell(n=1000), memory=Memory(reason="null computes nothing")),
    )
    assert said(run) == [
        (
            "info",
            "no allocs and peak on 2 of 3 cells: memray is not installed; pip install memray. "
            "`gradmark doctor` says how to get them.",
        ),
        (
            "info",
            "no instrs on 2 of 3 cells: valgrind is not installed. `gradmark doctor` says how to get them.",
        ),
    ]


def test_other_warnings_are_said_once_with_their_rows(make: Any) -> None:
    coarse = Warning(code=Code.OTHER, reason="The clock is coarse.")
    kink = Warning(code=Code.UNCHECKED, reason="it has a kink at 0")
    run = make.run(
        make.measurement(make.cell(n=10), warnings=[coarse]),
        make.measurement(make.cell(n=100), warnings=[coarse, kink], samples=make.totals(1000.0, 1500.0, 1700.0)),
    )
    assert said(run)[1:] == [  # the first is of the unsteady row, and says so once
        ("warning", "poly/n=10 on tapegrad, poly/n=100 on tapegrad: The clock is coarse."),
        (
            "warning",
            "poly/n=100 on tapegrad: The gradient was not checked: it has a kink at 0. Choose other inputs to have it "
            "checked.",
        ),
    ]


def test_a_verdict_of_many_rows_is_said_of_the_worst_of_them(make: Any) -> None:
    def bound(host_ns: float) -> Warning:
        return Warning(code=Code.LAUNCH_BOUND, numbers={"host_ns": host_ns, "hot_ns": 1e5})

    run = make.run(*(make.measurement(make.cell(n=n), warnings=[bound(n * 1e4)]) for n in (10, 100, 1000)))
    assert said(run) == [
        (
            "warning",
            "poly/n=1000 on tapegrad: Launch-bound: the host takes 10.0 ms to ask for an iteration, which the device, "
            "back to back, finishes every 100 µs. Fewer and larger kernels, or a captured graph, would make it faster; "
            "faster kernels would not. The same of 2 rows: poly/n=100 on tapegrad, poly/n=10 on tapegrad.",
        )
    ]


def test_what_an_interrupted_run_has_not(make: Any) -> None:
    three = Settings(processes=3)
    planned = [make.cell(n=n) for n in (10, 100, 1000, 10_000, 100_000)]
    run = make.run(
        make.measurement(planned[0], samples=make.totals(1.0, 1.0, 1.0)),
        make.measurement(planned[1], samples=make.totals(1.0)),
        make.measurement(planned[2], samples=[]),
        planned=planned, settings=three,
    )  # fmt: skip
    assert said(run) == [
        (
            "warning",
            "unfinished: of 5 cells, 2 were not reached, 1 has no time yet and 1 has fewer processes than planned. "
            "`gradmark run --resume run-1` continues the run.",
        )
    ]
    untimed = make.run(*(make.measurement(cell, samples=[]) for cell in planned), planned=planned, settings=three)
    assert "of 5 cells, 5 have no time yet. `gradmark run" in said(untimed)[0][1]


def test_a_row_that_failed_is_not_unfinished(make: Any) -> None:
    run = make.run(make.failed("crash"), planned=[make.cell()])
    assert not any("unfinished" in text for _, text in said(run))


def test_an_interrupted_verb_goes_on_as_that_verb(make: Any) -> None:
    run = make.run(planned=[make.cell()], verb="contract")
    ((_, text),) = said(run)
    assert text == "unfinished: of 1 cell, 1 was not reached. `gradmark contract --resume run-1` continues the run."
    assert said(make.run(planned=[make.cell()], finished=True)) == []


def test_commands_can_be_pasted(make: Any) -> None:
    hostile = make.cell("a; rm -rf $HOME", "e\x1b[0m`x`")
    ((_, text),) = said(make.run(make.failed("crash", cell=hostile)))
    assert "`gradmark run 'a; rm -rf $HOME/n=10' -e 'e`x`'`" in text
    ((_, text),) = said(make.run(make.failed("crash", cell=make.cell(file="my work.py"))))
    assert "`gradmark run 'my work.py:poly/n=10' -e tapegrad`" in text


def test_summaries_that_were_made_are_taken(make: Any) -> None:
    run = make.run(make.measurement(memory=memory(leaked_bytes=48.0)))
    assert notes(run, [], []) == notes(run, [], [], make.summaries(run))


# --- how calm the machine was


def test_rows_that_never_saw_a_calm_machine_are_one_note(make: Any) -> None:
    slow = [never_calm(make.measurement(make.cell(n=n), samples=make.totals(2500.0, 5000.0, 5000.0))) for n in (1, 2)]
    found = said(make.run(*slow, make.measurement(make.cell(n=3))))
    assert found == [
        (
            "warning",
            "never calm: 2 of 3 times: poly/n=1 on tapegrad, poly/n=2 on tapegrad. The machine was slow throughout, "
            "so these times, marked ?, decide nothing. Measure again when it is less busy; `gradmark doctor` shows "
            "the machine's states.",
        )
    ]


def test_what_reuse_is_worth_is_not_said_of_a_machine_that_was_never_calm(make: Any) -> None:
    rows = [make.measurement(make.cell(engine=engine)) for engine in ("tapegrad", "tapegrad:fresh")]
    assert any(text.startswith("reuse:") for _, text in said(make.run(*rows)))
    assert not any(text.startswith("reuse:") for _, text in said(make.run(never_calm(rows[0]), rows[1])))
