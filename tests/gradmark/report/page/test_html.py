import re
from typing import Any

import msgspec

from gradmark.records import Run
from gradmark.report.page.html import data, render
from gradmark.report.page.page import page

SECTIONS = ["glance", "ratios", "table", "verdicts", "phases", "scaling", "operators", "memory", "accuracy", "samples",
            "engines", "roofline", "published", "history"]  # fmt: skip


def test_one_file_that_needs_no_network(several: Run) -> None:
    text = render(page([several]))
    assert len(text.encode()) < 250_000
    assert re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=", text) == []
    assert re.findall(r"url\(|@import|https?://(?!www.w3.org/2000/svg)", text) == []
    assert re.findall(r'<section id="(\w+)"', text) == SECTIONS


def test_names_are_text(several: Run) -> None:
    text = render(page([several]))
    assert "<script>document.title" not in text
    assert "&lt;script&gt;document.title=&#39;owned&#39;&lt;/script&gt;" in text
    assert "off by &lt;b&gt;2&lt;/b&gt;" in text


def test_commands_are_code_and_nothing_else_is_markup(make: Any) -> None:
    text = render(page([make.run(make.failed("crash", "`<i>`"))]))
    assert "<code>gradmark contract</code>" in text
    assert "<code>&lt;i&gt;</code>" in text


def test_a_run_without_times_has_no_data_and_says_why(make: Any) -> None:
    text = render(page([make.run(make.failed("crash", "SIGSEGV"))]))
    assert 'id="data"' not in text
    assert len(text) < 100_000
    for reason in ("No row has a time.", "No gradient was checked", "No operator was measured by itself.",
                   "No workload was measured at 4 sizes or more.", "nothing was measured."):  # fmt: skip
        assert reason in text


def test_an_empty_run(make: Any) -> None:
    assert "Nothing was measured." in render(page([make.run()]))


def test_data_is_the_charts(several: Run) -> None:
    assert list(msgspec.json.decode(data(page([several])))) == [
        "scaling-chart", "icicle-chart", "accuracy-chart", "samples-chart", "first-call-chart", "pareto-chart",
        "roofline-chart",
    ]  # fmt: skip


def test_a_page_of_one_row_is_small(make: Any) -> None:
    assert len(render(page([make.run(make.measurement())])).encode()) < 120_000


def test_published_rows_are_known_to_the_filter(make: Any) -> None:
    kmeans = {"suite": "literature", "n": None, "params": {"k": 10, "n": 1000, "d": 8}}
    engines = ("tapegrad", "jax")
    cells = [make.cell("poly", "jax"), *(make.cell("kmeans", engine, **kmeans) for engine in engines)]
    text = render(page([make.run(*map(make.measurement, cells))]))
    assert '<div data-t="1">\n<h3>kmeans/k=10/n=1000/d=8</h3>' in text
    assert re.findall(r'<span class="pair" data-e="(\d)">(\w+) <b>', text) == [("0", "jax"), ("1", "tapegrad")]
