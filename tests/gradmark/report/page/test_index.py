from typing import Any

from gradmark.report.page.html import render
from gradmark.report.page.index import index
from gradmark.report.page.material import Material
from gradmark.report.page.page import page


def devices(make: Any) -> Any:
    """One engine on two devices beside another, and a derivative that is no gradient."""
    cells = [
        make.tensor_cell("matmul", "torch"),
        make.tensor_cell("matmul", "torch", device="cuda"),
        make.tensor_cell("matmul", "jax"),
        make.tensor_cell("matmul", "jax", derivative="hvp"),
    ]
    totals = [300.0, 100.0, 200.0, 500.0]
    return make.run(*(make.tensor(cell, samples=make.totals(*[t] * 6)) for cell, t in zip(cells, totals, strict=True)))


def test_an_engine_on_two_devices_competes_with_itself(make: Any) -> None:
    found = index(Material([devices(make)]))
    assert (found.engines, found.devices, found.derivatives) == (["torch", "jax"], ["cpu", "cuda"], ["gradient", "hvp"])
    assert found.competitors == ["torch (cpu)", "torch (cuda)", "jax"]
    assert found.tasks == ["matmul/batch=128", "matmul/batch=128/derivative=hvp"]
    places = [cell.place for cell in found.cells]
    assert [place and (round(place.ratio, 6), place.mark) for place in places] == [
        (3.0, ""), (2.0, ""), (1.0, "◀"), (1.0, "◀")
    ]  # fmt: skip
    assert [(cell.engine, cell.device, cell.derivative, cell.task) for cell in found.cells] == [
        (0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (1, 0, 1, 1)
    ]  # fmt: skip
    assert found.own == [0]


def test_the_page_of_two_devices_names_both_and_offers_the_choice(make: Any) -> None:
    made = page([devices(make)])
    assert made.overview.sentence == (
        "torch (cuda) is fastest on 1 of 1 row. All 4 times, one per row and engine, are steady."
    )
    text = render(made)
    for control in ("by-device", "by-derivative"):
        assert f'id="{control}"' in text
    assert 'id="by-suite"' not in text  # there is one
    assert made.engines is not None
    assert (made.engines.heads, made.engines.engines) == (["torch (cpu)", "torch (cuda)", "jax"], [0, 0, 1])


def test_what_failed_has_no_place(make: Any) -> None:
    found = index(Material([make.run(make.measurement(), make.failed("crash", "SIGSEGV", make.cell("tree")))]))
    assert [(cell.status, cell.timed, cell.place is None) for cell in found.cells] == [
        ("ok", True, False), ("crash", False, True)
    ]  # fmt: skip
