"""Markdown: tables that no name can break."""

from typing import Any

from gradmark.records import Memory
from gradmark.report.exports import markdown
from gradmark.report.model.note import Note


def test_a_table(make: Any) -> None:
    times = {"primal": 1000.0, "forward": 2000.0, "total": 2500.0}
    tables = make.tables(
        make.measurement(samples=[make.sample(k, times) for k in range(2)], memory=Memory(allocations=0.0)),
        make.failed("timeout", cell=make.cell("a|b`c`", "<b>*x*_")),
        make.measurement(
            make.cell(n=20), samples=[make.sample(k, times) for k in range(2)], memory=Memory(reason="no_memray")
        ),
    )
    notes = [Note(level="warning", text="Look at `this` | that.")]
    assert markdown.suites(tables, notes) == (
        "### scalar\n"
        "\n"
        "| workload | engine | primal | forward | backward | total | spread | bwd/fwd | grad/primal (theory: ≤ 4) | "
        "ops/s | allocs | tape | error | first call |\n"
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| poly/n=10 | tapegrad | 1.00 µs | 2.00 µs | ~500 ns | 2.50 µs | ±0.0 % | ~0.25 | 2.50 | 8.00 M | 0 | 20"
        " | 0.50 ulp | 7.00 µs |\n"
        "| poly/n=20 | tapegrad | 1.00 µs | 2.00 µs | ~500 ns | 2.50 µs | ±0.0 % | ~0.25 | 2.50 | 8.00 M | n/a | 20"
        " | 0.50 ulp | 7.00 µs |\n"
        "| a\\|b\\`c\\`/n=10 | \\<b\\>\\*x\\*\\_ |  |  |  | timed out |  |  |  |  |  |  |  |  |\n"
        "\n"
        "- times: fastest block (no pilots)\n"
        "- spread: half the width of the time's interval (95 % from six processes on, else the range)\n"
        "- \\~ computed as total − the other part\n"
        "- n/a allocs (poly/n=20): no_memray\n"
        "\n"
        "- **warning**: Look at \\`this\\` \\| that.\n"
    )


def test_nothing() -> None:
    assert markdown.suites([], []) == "Nothing was measured.\n"


def test_a_name_cannot_end_the_table(make: Any) -> None:
    tables = make.tables(make.measurement(make.cell("x\n\n# title", "e\r\n|")))
    lines = markdown.suites(tables, []).splitlines()
    assert lines[4].startswith("| x \\# title/n=10 | 1.00 µs |")
    assert len({line.replace("\\|", "").count("|") for line in lines[2:5]}) == 1


def test_medians_on_demand(make: Any) -> None:
    tables = make.tables(make.measurement(samples=make.totals(1000.0, 1400.0, 1300.0)))
    assert " 1.30 µs (range 1.00 µs to 1.40 µs) |" in markdown.suites(tables, [], medians=True)
    assert "median" not in markdown.suites(tables, [])
