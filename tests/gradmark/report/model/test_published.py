"""Published beside measured: which rows, which numbers, and never one list of both."""

from typing import Any

import msgspec
import pytest

from gradmark.records import Measurement, Sample
from gradmark.report.exports import markdown
from gradmark.report.model.answers import answers
from gradmark.report.model.columns import cells, legend
from gradmark.report.model.notes import notes
from gradmark.report.model.published import PLAIN, beside
from gradmark.report.model.rows import rows
from gradmark.report.model.sides import placed
from gradmark.report.page.html import render
from gradmark.report.page.page import page

SIZE = {"l": 2, "c": 1024}


def self_timed(sample: Sample) -> Sample:
    phases = {name: msgspec.structs.replace(phase, how="self-timed") for name, phase in sample.phases.items()}
    return msgspec.structs.replace(sample, phases=phases)


@pytest.fixture
def measurements(make: Any) -> list[Measurement]:
    """An engine and a tool on one row, one more function, and one that nobody has published."""
    of_suite = {"suite": "literature", "n": None}
    tensor = {**of_suite, "kind": "tensor", "params": SIZE}
    tool = make.measurement(
        make.cell("lstm_array", engine="gradbench:./a <tool>", **tensor),
        samples=[self_timed(make.sample(times={"primal": 1000.0, "total": 2000.0}))],
    )
    return [
        make.measurement(make.cell("lstm_array", **tensor)),
        tool,
        make.measurement(make.cell("kmeans", suite="literature", n=None, params={"k": 10, "n": 1000, "d": 8})),
        make.measurement(make.cell("hello", suite="literature", n=None, params={"x": 4})),
        make.measurement(make.cell("lstm", suite="mine", n=None, params=SIZE)),
    ]


def test_what_is_beside_what(make: Any, measurements: list[Measurement]) -> None:
    everything = beside(rows(make.run(*measurements)))
    assert [row.row for row in everything.rows] == [
        "lstm_array/l=2/c=1024/dtype=float64",
        "kmeans/k=10/n=1000/d=8",
    ]
    lstm, kmeans = everything.rows
    assert lstm.here == [("tapegrad", "2.50"), ("gradbench:./a <tool>", "2.00*")]
    (others,) = lstm.others
    assert (others.source, others.size, others.ratios[0]) == (
        "GradBench 2026-03-14",
        "l=2,c=1024",
        ("codipack", "2.15"),
    )
    assert kmeans.remark == "the gradient divided by the diagonal of the Hessian, both of which it takes"
    assert [source.partition(":")[0] for source in everything.sources] == ["GradBench 2026-03-14", "here"]
    assert everything.sources[-1] == PLAIN  # kmeans is a function of numbers


def test_without_the_suite_there_is_nothing(make: Any) -> None:
    nothing = beside(rows(make.run(make.measurement())))
    assert (nothing.rows, nothing.sources) == ([], [])
    assert markdown.published(nothing) == ""


def test_markdown(make: Any, measurements: list[Measurement]) -> None:
    text = markdown.published(beside(rows(make.run(*measurements[:2]))))
    assert text.splitlines()[0].startswith("### published beside measured")
    assert "  - GradBench 2026-03-14 (l=2,c=1024): codipack 2.15, pytorch 2.20, ad-hpp 2.67" in text


def test_a_self_timed_number_is_marked_wherever_it_is_shown(make: Any, measurements: list[Measurement]) -> None:
    run = make.run(*measurements[:2])
    _, tool = rows(run)
    texts = cells(tool)
    assert (texts["total"], texts["primal"], texts["gradient_primal"]) == ("2.00 µs*", "1.00 µs*", "2.00*")
    shown = [column for column in legend([tool], []) if column.startswith("*")]
    assert shown == []  # nothing that is marked is shown
    (answer,) = answers(placed(run))
    assert answer.partition(": ")[2].startswith("gradbench:./a <tool>")
    assert "2.00 µs*" in answer
    said = [note.text for note in notes(run, [], []) if note.text.startswith("self-timed")]
    assert len(said) == 1
    assert said[0].startswith("self-timed: the times of gradbench:./a <tool>, marked *, are those that it reports")


def test_the_page(make: Any, measurements: list[Measurement]) -> None:
    failed = msgspec.structs.replace(
        measurements[1],
        status="crash",
        message="it <b>ended</b>",
        transcript=['{"message": "<script>"}', "… 3 more lines"],
    )
    text = render(page([make.run(measurements[0], failed)]))
    assert "<h3>lstm_array/l=2/c=1024/dtype=float64</h3>" in text
    assert '<span class="pair">codipack 2.15</span>' in text
    assert "What was said before lstm_array/l=2/c=1024/dtype=float64 on gradbench:./a &lt;tool&gt; failed" in text
    assert "{&#34;message&#34;: &#34;&lt;script&gt;&#34;}" in text
    assert "<script>&#34;" not in text


def test_a_page_without_the_suite_says_how_to_get_there(make: Any) -> None:
    text = render(page([make.run(make.measurement())]))
    assert "No function of this page stands in a paper with its ratios." in text
