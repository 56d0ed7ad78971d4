from typing import Any

import msgspec
import pytest

from gradmark.records import Accuracy, Memory, Verdict
from gradmark.report.page.cards import cards
from gradmark.report.page.material import Material


def said(*measurements: Any, make: Any, promises: Any = (), gate: Any = None) -> list[tuple[str, str, str]]:
    return [(c.title, c.state, c.text) for c in cards(Material([make.run(*measurements)]), promises, gate)]


def test_cards_without_data_say_what_to_do(make: Any) -> None:
    nothing = make.measurement(accuracy=None, memory=Memory(reason="memray is not installed"))
    assert said(nothing, make=make) == [
        ("Contract", "none", "`gradmark contract` measures what it needs."),
        ("Gradients", "none", "No engine of this run gives a gradient."),
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
    gate = Verdict(claim="g", verdict="kept", evidence=["against the file: 9 pass", "more"])
    assert said(*rows, make=make, promises=promises, gate=gate) == [
        ("Contract", "good", "1 of 1 promises are kept."),
        ("Gradients", "good", "All 4 gradients are within their tolerance; the least exact has 16.0 digits "
         "(poly/n=10 on tapegrad)."),
        ("Allocations", "good", "4 of 4 rows allocate nothing in steady state."),
        ("Scaling", "good", "7 of 7 costs grow at most linearly."),
        ("Gate", "good", "Against the file: 9 pass."),
    ]  # fmt: skip


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
        Verdict(claim="c", verdict="broken", evidence=["e"], engine="slow"),
        Verdict(claim="d", verdict="kept", evidence=["e"], engine="slow"),
    ]
    found = {title: (state, text) for title, state, text in said(*rows, wrong, make=make, promises=promises)}
    assert found["Contract"] == ("bad", "1 of 2 promises are kept; broken by slow (1).")
    assert found["Gradients"] == ("bad", "1 of 5 gradients are wrong: tree/n=10 on tapegrad.")
    assert found["Allocations"] == (
        "doubt",
        "0 of 4 rows allocate nothing in steady state; most has poly/n=10000 on tapegrad: 10.0 k per iteration.",
    )
    assert found["Scaling"] == ("bad", "3 of 4 costs grow at most linearly; not so: total of poly tapegrad, n^2.00.")


@pytest.mark.parametrize(
    ("verdict", "state", "word"),
    [("broken", "bad", "fail"), ("undecided", "doubt", "inconclusive"), ("not measured", "none", "nothing to compare")],
)
def test_the_gates_answer(make: Any, verdict: Any, state: str, word: str) -> None:
    gate = msgspec.structs.replace(Verdict(claim="g", verdict="kept", evidence=["e"]), verdict=verdict)
    card = cards(Material([make.run(make.measurement())]), [], gate)[-1]
    assert (card.state, card.word) == (state, word)
