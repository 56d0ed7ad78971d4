from typing import Any

import msgspec
import pytest

from gradmark.records import Accuracy, Memory, Settings, Verdict
from gradmark.report.page.cards import cards
from gradmark.report.page.material import Material
from gradmark.report.page.page import page


def said(*measurements: Any, make: Any, promises: Any = (), gate: Any = None) -> list[tuple[str, str, str]]:
    return [(c.title, c.state, c.text) for c in cards(Material([make.run(*measurements)]), promises, gate)]


def test_cards_without_data_say_what_to_do(make: Any) -> None:
    nothing = make.measurement(accuracy=None, memory=Memory(reason="memray is not installed"))
    assert said(nothing, make=make) == [
        ("Rows", "good", "Timed: 1 of 1 row."),
        ("Contract", "none", "`gradmark contract` measures what it needs."),
        ("Gradients", "none", "No engine in this run computes a gradient."),
        ("Allocations", "none", "No row has a count: memray is not installed."),
        ("Scaling", "none", "No workload has enough sizes. `gradmark scale poly` measures them."),
        (
            "Gate",
            "none",
            "There is no baseline. `gradmark baseline update` makes one; `gradmark check` compares with it.",
        ),
    ]


def test_cards_of_a_good_run(make: Any) -> None:
    rows = [make.measurement(make.cell(n=n), operations=n) for n in (10, 100, 1000, 10000)]
    promises = [Verdict(claim="c", verdict="kept", evidence=["e"], engine="tapegrad")]
    gate = Verdict(claim="g", verdict="kept", evidence=["against gradmark-baseline.json: 9 pass", "more"])
    assert said(*rows, make=make, promises=promises, gate=gate) == [
        ("Rows", "good", "Timed: 4 of 4 rows."),
        ("Contract", "good", "tapegrad keeps 1 of 1 promise."),
        ("Gradients", "good", "All 4 gradients are within their tolerance; the least accurate has 16.0 digits "
         "(poly/n=10 on tapegrad)."),
        ("Allocations", "good", "No allocations on 4 of 4 rows."),
        ("Scaling", "good", "At most linear: 8 of 8 costs."),
        ("Gate", "good", "Against gradmark-baseline.json: 9 pass."),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("verdicts", "text"),
    [
        (["kept", "undecided"], "tapegrad keeps 1 of 2 promises; 1 undecided."),
        (["kept", "not measured", "not measured"], "tapegrad keeps 1 of 1 promise; 2 not measured."),
        (
            ["broken", "undecided", "not measured"],
            "tapegrad keeps 0 of 2 promises; 1 undecided; 1 not measured; broken: c.",
        ),
    ],
)
def test_promises_are_counted_as_in_the_standings(make: Any, verdicts: list[Any], text: str) -> None:
    promises = [Verdict(claim="c", verdict=verdict, evidence=["e"], engine="tapegrad") for verdict in verdicts]
    assert {title: words for title, _, words in said(make.measurement(), make=make, promises=promises)}[
        "Contract"
    ] == text


def test_cards_of_a_bad_run(make: Any) -> None:
    rows = [
        make.measurement(
            make.cell(n=n), operations=n, samples=[make.sample(times={"total": float(n * n)})],
            memory=Memory(allocations=float(n), peak_bytes=1),
        )
        for n in (10, 100, 1000, 10000)
    ]  # fmt: skip
    wrong = make.failed(
        "wrong-gradient", cell=make.cell("tree"), accuracy=Accuracy(reference="r", relative_error=1.0, tolerance=1e-9)
    )
    promises = [
        Verdict(claim="c", verdict="broken", evidence=["e"], engine="tapegrad"),
        Verdict(claim="d", verdict="kept", evidence=["e"], engine="tapegrad"),
        Verdict(claim="d", verdict="broken", evidence=["e"], engine="tapegrad:jit"),
        Verdict(claim="c", verdict="broken", evidence=["e"], engine="jax"),
    ]
    found = {title: (state, text) for title, state, text in said(*rows, wrong, make=make, promises=promises)}
    assert found["Contract"] == ("bad", "tapegrad keeps 1 of 2 promises; broken: c. Broken by tapegrad:jit: 1.")
    assert found["Gradients"] == ("bad", "1 of 5 gradients wrong: tree/n=10 on tapegrad.")
    assert found["Allocations"] == (
        "doubt",
        "No allocations on 0 of 4 rows; worst: poly/n=10000 on tapegrad, 10.0 k per iteration.",
    )
    assert found["Scaling"] == ("bad", "At most linear: 3 of 4 costs; superlinear: total of poly/n=*@tapegrad, n^2.00.")


def test_rows_without_a_time_are_counted_as_the_notes_count_them(make: Any) -> None:
    cells = [make.cell(n=n) for n in range(1, 228)]
    timed = [make.measurement(cell) for cell in cells[:100]]
    untimed = [make.measurement(cell, samples=[]) for cell in cells[100:219]]
    run = make.run(*timed, *untimed, planned=cells, settings=Settings(processes=1))
    card = cards(Material([run]), [], None)[0]
    assert (card.word, card.text) == ("unfinished", "Timed: 100 of 227 rows; 127 not timed yet.")
    (note,) = [note.text for note in page([run]).notes if note.text.startswith("unfinished")]
    assert "of 227 cells, 8 were not reached and 119 have no time yet." in note


def test_failed_rows_are_not_waiting(make: Any) -> None:
    rows = [make.measurement(), make.failed("crash", cell=make.cell(n=1)), make.failed("skipped", cell=make.cell(n=2))]
    assert said(*rows, make=make)[0] == ("Rows", "bad", "Timed: 1 of 3 rows; 1 failed; 1 unsupported or skipped.")


@pytest.mark.parametrize(
    ("verdict", "state", "word"),
    [("broken", "bad", "fail"), ("undecided", "doubt", "inconclusive"), ("not measured", "none", "nothing to compare")],
)
def test_the_gates_answer(make: Any, verdict: Any, state: str, word: str) -> None:
    gate = msgspec.structs.replace(Verdict(claim="g", verdict="kept", evidence=["e"]), verdict=verdict)
    card = cards(Material([make.run(make.measurement())]), [], gate)[-1]
    assert (card.state, card.word) == (state, word)


def test_what_others_break_is_not_the_verdict(make: Any) -> None:
    promises = [
        Verdict(claim="c", verdict="kept", evidence=["e"], engine="tapegrad"),
        Verdict(claim="c", verdict="broken", evidence=["e"], engine="jax"),
    ]
    rows = [make.measurement(make.cell(engine=engine)) for engine in ("tapegrad", "jax")]
    assert ("Contract", "good", "tapegrad keeps 1 of 1 promise.") in said(*rows, make=make, promises=promises)
