from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from gradmark import units
from gradmark.records import Accuracy, Fit, Instructions, Measurement, Memory, Run
from gradmark.report.model.notes import Note, notes


def said(
    make: Any,
    run: Run,
    fits: Sequence[tuple[str, Sequence[Fit]]] = (),
    suspects: Sequence[str] = (),
    **summary: Any,
) -> list[tuple[str, str]]:
    summaries = [make.summary(m, **summary) for m in run.measurements]
    return [(note.level, note.text) for note in without_harness(notes(run, fits, suspects, summaries))]


def without_harness(found: list[Note]) -> list[Note]:
    """The notes but for the one that every run with times has."""
    return [note for note in found if not note.text.startswith("harness:")]


def memory(allocations: float = 0.0, leaked_bytes: float = 0.0) -> Memory:
    return Memory(allocations=allocations, leaked_bytes=leaked_bytes, peak_bytes=1, retained_bytes=1)


def ulps(number: float) -> Accuracy:
    return Accuracy(reference="mpmath", relative_error=1e-12, ulps=number, tolerance=1e-9)


def fit(metric: str, verdict: Any) -> Fit:
    return Fit(metric=metric, sizes=[], costs=[], a=0, b=1, p=1.52, low=1.4, high=1.6, verdict=verdict)


def test_what_the_harness_takes_is_said(make: Any) -> None:
    run = make.run(make.measurement())
    (sample,) = {sample.harness_ns for sample in run.measurements[0].samples}
    (note,) = notes(run, [], [])
    assert note.level == "info"
    assert note.text.startswith(
        f"harness: a call of an empty function takes {units.time(sample)} here; this is subtracted"
    )
    assert notes(make.run(), [], []) == []


def test_forked_workers_are_said(make: Any) -> None:
    run = make.run(make.measurement())
    forked = msgspec.structs.replace(run, settings=msgspec.structs.replace(run.settings, forked=True))
    (note,) = without_harness(notes(forked, [], []))
    assert note.level == "info"
    assert note.text.startswith("workers: each engine was imported once a round")


def test_a_device_s_memory_is_said(make: Any) -> None:
    measurement = make.measurement()
    memory = msgspec.structs.replace(measurement.memory, of_device=True)
    (note,) = without_harness(notes(make.run(msgspec.structs.replace(measurement, memory=memory)), [], []))
    assert note == Note(
        level="info",
        text="device: memory and allocations of tapegrad are those of its device, by the engine's own counters; what "
        "the host allocates is not in them.",
    )


def test_nothing_to_say(make: Any) -> None:
    assert said(make, make.run()) == []
    assert said(make, make.run(make.measurement()), [("poly tapegrad", [fit("total", "linear")])]) == []


@pytest.mark.parametrize(
    ("status", "level", "text"),
    [
        (
            "wrong-gradient",
            "warning",
            "wrong gradient on tapegrad: poly/n=10 (why). It was not timed. Compare with an independent gradient: "
            "`gradmark run poly -e tapegrad -e finite-difference`.",
        ),
        (
            "error",
            "warning",
            "error on tapegrad: poly/n=10 (why). Run it alone: `gradmark run poly -e tapegrad`; `--format json` shows "
            "the whole message.",
        ),
        (
            "crash",
            "warning",
            "crashed on tapegrad: poly/n=10 (why). Run it alone: `gradmark run poly -e tapegrad`; `--format json` "
            "shows the whole message.",
        ),
        (
            "timeout",
            "warning",
            "timed out on tapegrad: poly/n=10 (why). The limit is 60 s; raise it: `gradmark run poly -e tapegrad` with "
            "`--timeout`.",
        ),
        (
            "out-of-memory",
            "warning",
            "out of memory on tapegrad: poly/n=10 (why). The limit is 8.00 GiB; raise it: "
            "`gradmark run poly -e tapegrad` with `--memory-limit`.",
        ),
        (
            "unsupported",
            "info",
            "unsupported on tapegrad: poly/n=10 (why). Choose another engine with `-e` for it; `gradmark list` "
            "names them.",
        ),
        (
            "skipped",
            "info",
            "skipped on tapegrad: poly/n=10 (why). It is measured once the smaller size passes.",
        ),
    ],
)
def test_every_failure_has_its_message_and_what_to_do(make: Any, status: str, level: str, text: str) -> None:
    assert said(make, make.run(make.failed(status, "why."))) == [(level, text)]


def test_equal_failures_are_said_once(make: Any) -> None:
    run = make.run(*(make.failed("skipped", cell=make.cell(n=n)) for n in (10, 100, 1000, 10_000, 100_000)))
    assert said(make, run) == [
        (
            "info",
            "skipped on tapegrad: poly/n=10, poly/n=100, poly/n=1000 and 2 more. "
            "It is measured once the smaller size passes.",
        )
    ]


def test_warnings_come_first(make: Any) -> None:
    run = make.run(make.failed("skipped"), make.failed("crash", cell=make.cell(n=100)))
    assert [level for level, _ in said(make, run)] == ["warning", "info"]


def test_unsteady_rows_are_one_note_the_worst_first(make: Any) -> None:
    run = make.run(make.measurement(), make.measurement(make.cell(n=100)))
    calm, wild = ({"total": make.estimate(100.0, high=high)} for high in (112.0, 150.0))
    unsteady = ["unsteady: the floors are apart"]
    summaries = [
        make.summary(m, phases=phases, steady=False, warnings=unsteady)
        for m, phases in zip(run.measurements, (calm, wild), strict=True)
    ]
    assert without_harness(notes(run, [], [], summaries)) == [
        Note(
            level="warning",
            text="unsteady: poly/n=100 on tapegrad ±50 %, poly/n=10 on tapegrad ±12 %. Do not compare these times. "
            "Close other programs, see what `gradmark doctor` says of this machine, and measure again with `--full`, "
            "which takes more processes.",
        )
    ]


def test_growth_and_its_suspects(make: Any) -> None:
    fits = [("poly tapegrad", [fit("primal", "linear"), fit("total", "superlinear"), fit("tape", "superlinear")])]
    assert said(make, make.run(make.measurement()), fits, ["total grows: look at \x1b[1mthe tape."]) == [
        (
            "warning",
            "poly tapegrad grows faster than linearly: total as n^1.52 (1.40 to 1.60), tape as n^1.52 (1.40 to 1.60). "
            "`gradmark scale poly` shows the sweep.",
        ),
        ("warning", "total grows: look at the tape."),
    ]


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("polygon x", "`gradmark scale polygon`"),
        ("poly", "`gradmark scale poly`"),
        ("mlp x", "`gradmark scale WORKLOAD`"),
    ],
)
def test_the_workload_that_is_scaled(make: Any, name: str, command: str) -> None:
    run = make.run(make.measurement(), make.measurement(make.cell("polygon")))
    ((_, text),) = said(make, run, [(name, [fit("total", "superlinear")])])
    assert command in text


@pytest.mark.parametrize(("number", "expected"), [(1000.0, 0), (1001.0, 1), (float("inf"), 1), (float("nan"), 1)])
def test_accuracy(make: Any, number: float, expected: int) -> None:
    assert len(said(make, make.run(make.measurement(accuracy=ulps(number))))) == expected


def test_accuracy_in_words(make: Any) -> None:
    assert said(make, make.run(make.measurement(accuracy=ulps(2345.0)))) == [
        (
            "warning",
            "inaccurate: the gradient of poly/n=10 on tapegrad is off by 2.35 k units of the last place, though within "
            "the engine's tolerance. `gradmark ops -e tapegrad` shows the error of each operator.",
        )
    ]


def test_leaks(make: Any) -> None:
    assert said(make, make.run(make.measurement(memory=memory(leaked_bytes=0.5)))) == []
    assert said(make, make.run(make.measurement(memory=memory(leaked_bytes=48.0)))) == [
        (
            "warning",
            "leak: poly/n=10 on tapegrad keeps 48 B more after each iteration. "
            "See whether it goes on: `gradmark run poly -e tapegrad` with `--full`.",
        )
    ]


def test_leaks_are_stated_once_for_each_engine(make: Any) -> None:
    run = make.run(
        make.measurement(make.cell(n=10), memory=memory(leaked_bytes=48.0)),
        make.measurement(make.cell(n=100), memory=memory(leaked_bytes=2048.0)),
        make.measurement(make.cell(n=1000), memory=memory(leaked_bytes=0.0)),
    )
    assert said(make, run) == [
        (
            "warning",
            "leak: tapegrad on 2 of 3 rows, most on poly/n=100: keeps 2.00 KiB more after each iteration. "
            "See whether it goes on: `gradmark run poly -e tapegrad` with `--full`.",
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
    assert said(make, run) == [
        (
            "info",
            "tapegrad allocates on 2 of 3 rows, most on poly/n=100: 3.00 k per iteration. "
            "`gradmark ops -e tapegrad` shows which operators do.",
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
    (_, first), (level, second) = said(make, make.run(*pair(make, "x", memory(12.0))))
    assert first.startswith("x:fresh allocates on 1 of 1 rows")
    assert (level, second) == (
        "info",
        "reuse: poly/n=10 takes 2.50 µs on x and 5.00 µs on x:fresh, 2.00 times as long; allocations 0 and 12. "
        "`gradmark hypothesis` measures such pairs interleaved.",
    )


def test_reuse_without_allocations_known(make: Any) -> None:
    ((_, text),) = said(make, make.run(*pair(make, "x", None)))
    assert text.startswith("reuse: poly/n=10 takes 2.50 µs on x and 5.00 µs on x:fresh, 2.00 times as long. ")


def test_a_pair_is_of_one_row(make: Any) -> None:
    one, other = pair(make, "x", memory())
    other = make.measurement(make.cell(engine="x:fresh", n=100))
    assert said(make, make.run(one, other)) == []
    failed = make.failed("skipped", cell=make.cell(engine="x:fresh"))
    assert not any("reuse" in text for _, text in said(make, make.run(one, failed)))


def test_a_missing_tool_is_said_once(make: Any) -> None:
    nothing = {
        "memory": Memory(reason="memray is not installed; pip install memray"),
        "instructions": Instructions(reason="valgrind is not installed"),
    }
    run = make.run(
        *(make.measurement(make.cell(n=n), **nothing) for n in (10, 100)),
        make.measurement(make.cell(n=1000), memory=Memory(reason="null computes nothing")),
    )
    assert said(make, run) == [
        (
            "info",
            "no allocations and memory on 2 of 3 rows: memray is not installed; pip install memray. "
            "`gradmark doctor` says how to get them.",
        ),
        (
            "info",
            "no machine instructions on 2 of 3 rows: valgrind is not installed. "
            "`gradmark doctor` says how to get them.",
        ),
    ]


def test_other_warnings_are_said_once_with_their_rows(make: Any) -> None:
    run = make.run(*(make.measurement(make.cell(n=n), warnings=["the clock is coarse"]) for n in (10, 100)))
    assert said(make, run, warnings=["unsteady: x"]) == [
        ("warning", "the clock is coarse. (poly/n=10 on tapegrad, poly/n=100 on tapegrad)")
    ]


def test_a_run_that_was_interrupted(make: Any) -> None:
    run = make.run(make.measurement(), planned=[make.cell(n=n) for n in (10, 100, 1000)])
    assert said(make, run) == [
        ("warning", "unfinished: 2 of 3 rows are not measured yet. `gradmark run --resume run-1` goes on.")
    ]


def test_commands_can_be_pasted(make: Any) -> None:
    hostile = make.cell("a; rm -rf $HOME", "e\x1b[0m`x`")
    ((_, text),) = said(make, make.run(make.failed("crash", cell=hostile)))
    assert "`gradmark run 'a; rm -rf $HOME' -e 'e`x`'`" in text
    ((_, text),) = said(make, make.run(make.failed("crash", cell=make.cell(file="my work.py"))))
    assert "`gradmark run 'my work.py' -e tapegrad`" in text


def test_estimates_are_made_if_there_are_none(make: Any) -> None:
    run = make.run(make.measurement(memory=memory(leaked_bytes=48.0)))
    assert [note.text[:5] for note in without_harness(notes(run, [], []))] == ["leak:"]
