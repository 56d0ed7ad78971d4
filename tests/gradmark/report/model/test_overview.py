from typing import Any

import pytest

from gradmark.analyse.contract import contract
from gradmark.records import Run
from gradmark.report.model.overview import HEADS, Overview, overview
from gradmark.report.model.rows import rows


def of(run: Run) -> Overview:
    engines = dict.fromkeys(m.cell.engine for m in run.measurements)
    return overview(run, rows(run), [v for engine in engines for v in contract(run.measurements, engine)])


def row(make: Any, workload: str, **totals: float) -> list[Any]:
    """One row on several engines, each with six steady processes."""
    return [
        make.measurement(make.cell(workload, engine.replace("_", ":")), samples=make.totals(*[total] * 6))
        for engine, total in totals.items()
    ]


def test_the_sentence_names_the_winners_the_ties_and_what_is_open(make: Any) -> None:
    found = of(
        make.run(
            *row(make, "poly", tapegrad_jit=100.0, jax=300.0),
            *row(make, "tree", tapegrad_jit=100.0, jax=300.0),
            *row(make, "chain", tapegrad_jit=400.0, jax=300.0),
            *row(make, "shared", tapegrad_jit=300.0, jax=301.0),
        )
    )
    assert found.sentence == (
        "tapegrad:jit is fastest on 2 of 4 rows and jax on 1; 1 tie. All 8 times, one per row and engine, are steady."
    )


def test_operators_do_not_compete_beside_functions(make: Any) -> None:
    """Seen: a page of a run and of `gradmark ops` on two engines called one fastest on 31 of 38 rows."""
    operators = [
        make.measurement(
            make.cell("operator", engine, None, params={"operation": "exp"}), samples=make.totals(*[5.0] * 6)
        )
        for engine in ("tapegrad", "jax")
    ]
    found = of(make.run(*row(make, "poly", tapegrad=100.0, jax=300.0), *operators))
    assert found.sentence.startswith("tapegrad is fastest on 1 of 1 row. All 4 times")
    assert [line.texts[-1] for line in found.lines] == ["1 of 1", "1 of 1"]
    assert of(make.run(*operators)).sentence.startswith("No engine is the sole fastest on any row; 1 tie.")


@pytest.mark.parametrize("count", [1, 3])
def test_one_engine_is_no_contest(make: Any, count: int) -> None:
    found = of(make.run(*(make.measurement(make.cell(n=n), samples=make.totals(100.0)) for n in range(1, 1 + count))))
    steady = "The time is steady." if count == 1 else "All 3 times are steady."
    assert found.sentence == f"tapegrad was timed on {count} row{'s' * (count > 1)}. {steady}"
    assert (found.lines, found.note) == ([], "")


def test_nothing_timed_says_nothing(make: Any) -> None:
    assert of(make.run(make.failed("crash"))).sentence == ""


def test_unsteady_times_are_counted(make: Any) -> None:
    samples = make.totals(100.0, 200.0, 300.0)
    members = [make.measurement(make.cell(engine=engine), samples=samples) for engine in ("a", "b")]
    assert of(make.run(*members)).sentence.endswith(" Of 2 times, one per row and engine, 2 are unsteady.")


def test_the_first_engine_asked_for_is_the_readers_own_with_its_variants(make: Any) -> None:
    found = of(make.run(*row(make, "poly", null=1.0, jax=100.0, tapegrad=50.0, jax_eager=900.0)))
    assert {line.engine: line.own for line in found.lines} == {
        "null": True, "jax": False, "tapegrad": False, "jax:eager": False
    }  # fmt: skip
    unchecked = make.measurement(make.cell(engine="null"), accuracy=None)
    found = of(make.run(unchecked, *row(make, "poly", jax=100.0, tapegrad=50.0, jax_eager=900.0)))
    assert {line.engine: line.own for line in found.lines} == {"jax": True, "tapegrad": False, "jax:eager": True}


def test_each_line_has_a_text_for_each_head(make: Any) -> None:
    found = of(make.run(*row(make, "expression", tapegrad=100.0, jax=300.0)))
    line = found.lines[0]
    assert dict(zip(HEADS, line.texts, strict=True)) == {
        "× fastest": "1.00", "fastest": "1", "tied": "0", "not settled": "0", "× least peak memory": "1.00",
        "fewest digits": "16.0", "allocation-free rows": "1 of 1", "rows timed": "1 of 1",
    }  # fmt: skip
    assert (line.contract, line.broken) == ("2 of 2", False)
    assert found.note == (
        "× fastest and peak memory: geometric means over the 1 row that all engines with a mean have."
    )
