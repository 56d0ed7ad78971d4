"""Engines side by side: columns by speed, marks for winners and ties, nobody left out."""

import io

from rich.console import Console

from gradmark.report.exports.text import markdown_sides
from gradmark.report.model.sides import LEGEND, sides, wanted
from gradmark.report.tables.terminal import print_sides


def run_of(make, *totals, **more):
    times = {"primal": 50.0, "forward": 60.0, "backward": 40.0}
    members = [
        make.measurement(make.cell(engine=engine), samples=[make.sample(times={**times, "total": total})])
        for engine, total in totals
    ]
    return make.run(*members, *more.get("others", ()))


def lines(side):
    return dict(side.lines)


def test_three_engines_are_side_by_side(make):
    assert not wanted(run_of(make, ("a", 100.0), ("b", 200.0)))
    assert wanted(run_of(make, ("a", 100.0), ("b", 200.0), ("c", 300.0)))
    alone = [make.measurement(make.cell(engine="a", params={"n": n})) for n in (20, 30)]
    assert not wanted(run_of(make, ("a", 100.0), ("b", 200.0), ("c", 300.0), others=alone))


def test_columns_by_speed_with_the_winner_marked(make):
    run = run_of(make, ("slow", 300.0), ("tapegrad", 100.0), ("manual", 200.0))
    row, summary = sides(run, make.summaries(run))
    assert row.title == "poly/n=10"
    assert row.engines == ["tapegrad", "manual", "slow"]
    found = lines(row)
    assert found["total"] == ["100 ns", "200 ns", "300 ns"]
    assert found["× fastest"] == ["1.00◀", "2.00", "3.00"]
    assert found["× by hand"] == ["0.50", "1.00", "1.50"]
    assert found["allocs"] == ["0", "0", "0"]
    assert found["error"] == ["0.50 ulp"] * 3
    assert found["Pareto"] == ["●", "", ""]
    assert summary.title == "all 1 rows; 1 thread for every engine, one engine in a process"
    assert summary.remarks == LEGEND
    assert lines(summary)["fastest"] == ["1", "0", "0"]


def test_several_rows_have_an_overview(make):
    others = [
        make.measurement(make.cell(engine="a", params={"n": 20}), samples=[make.sample(times={"total": 100.0})]),
        make.failed("wrong-gradient", "off", make.cell(engine="b", params={"n": 20})),
    ]
    run = run_of(make, ("a", 100.0), ("b", 101.0), ("c", 200.0), others=others)
    overview = sides(run, make.summaries(run))[-2]
    assert overview.title == "total of all rows, fastest block"
    assert overview.engines == ["a", "b", "c"]
    assert overview.lines == [
        ("poly/n=10", ["100 ns=", "101 ns=", "200 ns"]),
        ("poly/n=20", ["100 ns◀", "wrong gradient", ""]),
    ]


def test_ties_are_shown_as_ties(make):
    run = run_of(make, ("a", 100.0), ("b", 101.0), ("c", 200.0))
    row, summary = sides(run, make.summaries(run))
    assert lines(row)["× fastest"] == ["1.00=", "1.01=", "2.00"]
    assert (lines(summary)["fastest"], lines(summary)["tied"]) == (["0", "0", "0"], ["1", "1", "0"])


def test_who_could_not_run_says_why(make):
    others = [make.failed("unsupported", "it has no sin", make.cell(engine="d"))]
    run = run_of(make, ("a", 100.0), ("b", 120.0), others=others)
    row, summary = sides(run, make.summaries(run))
    assert row.engines == ["a", "b"]
    assert row.remarks == ["d: unsupported: it has no sin"]
    assert lines(summary)["rows timed"] == ["1 of 1", "1 of 1", "0 of 1"]


def test_what_does_not_fit_goes_below(make):
    run = run_of(make, ("first-engine", 100.0), ("second-engine", 200.0), ("third-engine", 300.0))
    console = Console(width=45, record=True, file=io.StringIO())
    print_sides(sides(run, make.summaries(run))[:1], [], console)
    heads = [line.split() for line in console.export_text().splitlines() if "-engine" in line]
    assert heads == [["first-engine", "second-engine"], ["third-engine"]]


def test_markdown(make):
    run = run_of(make, ("a", 100.0), ("b", 200.0), ("c", 300.0))
    text = markdown_sides(sides(run, make.summaries(run)), [])
    assert "### poly/n=10\n\n|  | a | b | c |\n| --- | ---: | ---: | ---: |\n" in text
    assert "| × fastest | 1.00◀ | 2.00 | 3.00 |" in text
