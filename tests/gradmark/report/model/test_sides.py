"""Engines side by side: columns by speed, marks for winners and ties, nobody left out."""

import io
from typing import Any

import msgspec
from oracles.watched import never_calm
from rich.console import Console

from gradmark.records import Run, Settings
from gradmark.report.exports.markdown import multiples as multiples_in_markdown
from gradmark.report.exports.markdown import side_by_side
from gradmark.report.model.multiples import multiples
from gradmark.report.model.sides import Side, answers_of, compares, comparison, wanted
from gradmark.report.tables.terminal import print_comparison


def run_of(make: Any, *totals: tuple[str, float], others: Any = (), processes: int = 5, **fields: Any) -> Run:
    """Engines on one row, by their totals, each in so many processes."""
    members = [
        make.measurement(make.cell(engine=engine), samples=make.totals(*[total] * processes))
        for engine, total in totals
    ]
    return make.run(*members, *others, **fields)


def lines(side: Side) -> dict[str, list[str]]:
    return dict(side.lines)


def summed_up(make: Any, run: Run) -> dict[str, list[str]]:
    """The summary of a run and of the same rows at another size."""
    twice = [
        msgspec.structs.replace(m, cell=make.cell(engine=m.cell.engine, n=n))
        for n in (10, 20)
        for m in run.measurements
    ]
    summary = comparison(make.run(*twice)).sides[-1]
    assert summary.title == "summary of 2 rows"
    assert summary.remarks in ([], ["mean × fastest: geometric mean over the 2 rows that all engines with a mean have"])
    return lines(summary)


def test_three_engines_are_side_by_side(make: Any) -> None:
    two, three = run_of(make, ("a", 100.0), ("b", 200.0)), run_of(make, ("a", 100.0), ("b", 200.0), ("c", 300.0))
    assert (wanted(two), wanted(three)) == (False, True)
    assert (compares(two), compares(run_of(make, ("a", 100.0)))) == (True, False)
    alone = [make.measurement(make.cell(engine="a", params={"n": n})) for n in (20, 30)]
    assert not wanted(make.run(*three.measurements, *alone))


def test_columns_by_speed_with_the_winner_marked(make: Any) -> None:
    found = comparison(run_of(make, ("slow", 3000.0), ("tapegrad", 1000.0), ("manual", 2000.0)))
    (row,) = found.sides  # of one row there is nothing to sum up
    assert row.title == "poly/n=10"
    assert row.engines == ["tapegrad", "manual", "slow"]
    assert lines(row)["total"] == ["1.00 µs", "2.00 µs", "3.00 µs"]
    assert lines(row)["× fastest"] == ["1.00◀", "2.00", "3.00"]
    assert lines(row)["× by hand"] == ["0.50", "1.00", "1.50"]
    assert lines(row)["spread"] == ["±0.0 %"] * 3
    assert lines(row)["error"] == ["0.50 ulp"] * 3
    assert lines(row)["Pareto"] == ["●", "", ""]
    assert found.legend == [
        "◀ fastest",
        "times: measured in calm moments, at one clock speed",
        "× by hand: against `manual`, whose derivatives are written by hand",
        "● Pareto-optimal: no other engine is at least as good in time, peak memory and digits and better in one",
        "every engine: 1 thread, in processes of its own",
    ]
    assert found.answers == ["poly/n=10: tapegrad, 1.00 µs; 2.00 times as fast as manual, 3.00 times as fast as slow"]


def test_the_legend_has_what_is_on_the_screen_and_nothing_else(make: Any) -> None:
    tie = comparison(run_of(make, ("a", 1000.0), ("b", 1010.0), ("c", 2000.0)))
    assert tie.legend[:2] == ["= tied with the fastest", "times: measured in calm moments, at one clock speed"]
    assert not any(line.startswith(("× by hand", "n/a")) for line in tie.legend)
    nothing = make.measurement(make.cell(engine="d"), memory=None, tape=None, samples=make.totals(*[3000.0] * 5))
    found = comparison(run_of(make, ("a", 1000.0), ("b", 1300.0), others=[nothing], processes=2))
    assert found.legend[0] == "? not settled: too few processes, or the machine was never calm"
    assert "n/a: not available or not reported; `--format csv` gives the reason for each" in found.legend


def test_the_time_that_is_shown_is_the_time_that_is_compared(make: Any) -> None:
    """By medians the first would lose, by its fastest block it leads: one of the two is shown and compared."""
    run = make.run(
        make.measurement(make.cell(engine="a"), samples=make.totals(1000.0, 4000.0, 4000.0, 4000.0)),
        make.measurement(make.cell(engine="b"), samples=make.totals(1040.0, 1050.0, 1050.0, 1050.0)),
        make.measurement(make.cell(engine="c"), samples=make.totals(9000.0, 9000.0, 9000.0, 9000.0)),
    )
    row = comparison(run).sides[0]
    assert row.engines == ["a", "b", "c"]
    assert lines(row)["total"] == ["1.00 µs", "1.04 µs", "9.00 µs"]
    assert lines(row)["× fastest"] == ["1.00=", "1.04=", "9.00"]


def test_several_rows_have_an_overview(make: Any) -> None:
    others = [
        make.measurement(make.cell(engine="a", n=20), samples=make.totals(*[1000.0] * 5)),
        make.failed("wrong-gradient", "off", make.cell(engine="b", n=20)),
    ]
    overview = comparison(run_of(make, ("a", 1000.0), ("b", 1010.0), ("c", 2000.0), others=others)).sides[-2]
    assert overview.title == "total, all rows"
    assert overview.engines == ["a", "b", "c"]
    assert overview.lines == [
        ("poly/n=10", ["1.00 µs=", "1.01 µs=", "2.00 µs"]),
        ("poly/n=20", ["1.00 µs◀", "wrong gradient", ""]),
    ]


def test_ties_are_shown_as_ties(make: Any) -> None:
    found = comparison(run_of(make, ("a", 1000.0), ("b", 1010.0), ("c", 2000.0)))
    (row,) = found.sides
    assert lines(row)["× fastest"] == ["1.00=", "1.01=", "2.00"]
    assert row.best == {"× fastest": [True, True, False]}
    summary = summed_up(make, run_of(make, ("a", 1000.0), ("b", 1010.0), ("c", 2000.0)))
    assert (summary["fastest"], summary["tied"]) == (["0", "0", "0"], ["2", "2", "0"])
    assert found.answers == ["poly/n=10: a (1.00 µs) and b (1.01 µs) tie; a is 2.00 times as fast as c"]


def test_two_processes_settle_nothing_that_is_near(make: Any) -> None:
    found = comparison(run_of(make, ("a", 1000.0), ("b", 1300.0), ("c", 2900.0), processes=2))
    (row,) = found.sides
    assert lines(row)["× fastest"] == ["1.00?", "1.30?", "2.90"]
    assert row.best == {"× fastest": [False, False, False]}
    summary = summed_up(make, run_of(make, ("a", 1000.0), ("b", 1300.0), ("c", 2900.0), processes=2))
    assert summary["not settled"] == ["2", "2", "0"]
    assert found.answers == [
        "poly/n=10: a (1.00 µs) and b (1.30 µs): 2 processes do not settle the order; measure again with "
        "--processes 6; a is 2.90 times as fast as c"
    ]


def test_unsupported_engines_with_one_reason_are_one_line(make: Any) -> None:
    message = "{} has no sin, which this function needs"
    others = [
        *(make.failed("unsupported", message.format(engine), make.cell(engine=engine)) for engine in ("d", "e")),
        make.failed("crash", "SIGSEGV", make.cell(engine="f")),
        *(make.measurement(make.cell(engine=engine, n=20)) for engine in "abdef"),
    ]
    row = comparison(run_of(make, ("a", 1000.0), ("b", 2000.0), others=others)).sides[0]
    assert row.engines == ["a", "b"]
    assert row.remarks == ["d and e: it has no sin, which this function needs", "f: crashed: SIGSEGV"]


def test_engines_that_ran_nothing_are_one_line_and_no_column(make: Any) -> None:
    def absent(engine: str, message: str, status: str = "unsupported") -> list[Any]:
        return [
            make.failed(status, message.format(workload), make.cell(workload, engine)) for workload in ("poly", "dot")
        ]

    others = [
        make.measurement(make.cell("dot", "a"), samples=make.totals(*[1000.0] * 5)),
        make.measurement(make.cell("dot", "b"), samples=make.totals(*[3000.0] * 5)),
        *absent("d", "d has no tensors, and {} is a function of tensors"),
        *absent("e", "no clang for {}", status="crash"),
        *(
            make.measurement(make.cell(workload, "numpy"), samples=[make.sample(times={"primal": 9.0})], accuracy=None)
            for workload in ("poly", "dot")
        ),
    ]
    found = comparison(run_of(make, ("a", 1000.0), ("b", 2000.0), others=others))
    assert found.absent == [
        "d ran nothing: it has no tensors, and this is a function of tensors",
        "e ran nothing: crashed: no clang for poly (and 1 other reason on other rows)",
        "numpy was not ranked: it computes no gradient",
    ]
    assert {engine for side in found.sides for engine in side.engines} == {"a", "b"}


def test_an_engine_that_lacks_several_operations_ran_nothing_for_one_reason(make: Any) -> None:
    lacking = [
        make.measurement(make.cell(name, "d"), status="unsupported", message=f"d has no {op}", lacks=[op])
        for name, op in (("poly", "exp"), ("dot", "log"))
    ]
    found = comparison(run_of(make, ("a", 1000.0), ("b", 2000.0), others=lacking))
    assert found.absent == ["d ran nothing: it lacks exp, log"]


def test_nobody_ran(make: Any) -> None:
    found = comparison(make.run(*(make.failed("unsupported", "no", make.cell(engine=e)) for e in "abc")))
    assert (found.sides, found.answers) == ([], [])
    assert found.absent == ["a ran nothing: no", "b ran nothing: no", "c ran nothing: no"]


def test_devices_of_one_engine_compete(make: Any) -> None:
    run = make.run(
        *(
            make.tensor(make.tensor_cell(engine=engine, device=device), samples=make.totals(*[total] * 5))
            for engine, device, total in (("torch", "cpu", 9000.0), ("torch", "cuda", 1000.0), ("jax", "cpu", 4000.0))
        )
    )
    row = comparison(run).sides[0]
    assert row.title == "mlp/batch=128"
    assert row.engines == ["torch (cuda)", "jax", "torch (cpu)"]
    assert lines(row)["total"] == ["1.00 µs", "4.00 µs", "9.00 µs"]
    assert answers_of(run) == [
        "mlp/batch=128: torch (cuda), 1.00 µs; 4.00 times as fast as jax, 9.00 times as fast as torch (cpu)"
    ]


def test_a_first_call_that_pays_off_late_is_told(make: Any) -> None:
    def compiled(engine: str, total: float, first: float) -> Any:
        samples = [
            make.sample(k, {"total": total}, once_ns={"prepare": first / 2, "first_call": first / 2}) for k in range(5)
        ]
        return make.measurement(make.cell(engine=engine), samples=samples)

    run = make.run(compiled("jax", 1e3, 2e8), compiled("torch", 5e3, 1e5), compiled("tapegrad", 5e2, 1e4))
    row = comparison(run).sides[0]
    assert row.remarks == ["jax: first call 200 ms; breaks even with torch after 50.0 k calls, never with tapegrad"]
    assert lines(row)["first call"] == ["10.0 µs", "200 ms", "100 µs"]
    run = make.run(compiled("jax", 9e3, 2e10), compiled("torch", 5e3, 1e5), compiled("tapegrad", 5e2, 1e4))
    assert comparison(run).sides[0].remarks == ["jax: first call 20.0 s; never breaks even with torch, tapegrad"]


def test_threads_are_said(make: Any) -> None:
    run = run_of(make, ("a", 1000.0), ("b", 2000.0), ("c", 3000.0), settings=Settings(threads=4))
    assert comparison(run).legend[-1] == "every engine: 4 threads, in processes of its own"


def test_what_does_not_fit_goes_below(make: Any) -> None:
    found = comparison(run_of(make, ("first-engine", 1000.0), ("second-engine", 2000.0), ("third-engine", 3000.0)))
    console = Console(width=45, record=True, file=io.StringIO())
    print_comparison(found, [], console)
    heads = [line.split() for line in console.export_text().splitlines() if line.strip().endswith("-engine")]
    assert heads[:2] == [["first-engine", "second-engine"], ["third-engine"]]


def test_the_answers_come_last_on_a_terminal_and_first_in_markdown(make: Any) -> None:
    run = run_of(make, ("a", 1000.0), ("b", 2000.0), ("c", 3000.0))
    found = comparison(run)
    console = Console(width=120, record=True, file=io.StringIO())
    print_comparison(found, [], console)
    answer = "poly/n=10: a, 1.00 µs; 2.00 times as fast as b, 3.00 times as fast as c"
    assert console.export_text().splitlines()[-1] == answer
    details = side_by_side(found, [])
    assert details.startswith("### poly/n=10\n\n|  | a | b | c |\n| --- | ---: | ---: | ---: |\n")
    text = multiples_in_markdown(multiples(run), found.answers, details)
    assert text.startswith(f"- {answer}\n\n| workload | function | a | b | c |\n")
    assert "| × fastest | 1.00◀ | 2.00 | 3.00 |" in details


def test_an_engine_that_was_never_calm_is_shown_and_wins_nothing(make: Any) -> None:
    run = run_of(make, ("a", 1000.0), ("b", 900.0), ("manual", 3000.0))
    first, second, third = run.measurements
    found = comparison(make.run(first, never_calm(second), third))
    (row,) = found.sides
    assert row.engines == ["b", "a", "manual"]
    assert lines(row)["total"] == ["900 ns?", "1.00 µs", "3.00 µs"]
    assert lines(row)["× fastest"] == ["0.90?", "1.00?", "3.00"]
    assert lines(row)["× by hand"] == ["0.30?", "0.33", "1.00"]
    assert lines(row)["Pareto"] == ["", "●", ""]
    assert row.remarks[0] == "? the machine was never calm while b ran"
    assert row.best == {"× fastest": [False, False, False]}
    assert found.legend[0] == "? not settled: too few processes, or the machine was never calm"
