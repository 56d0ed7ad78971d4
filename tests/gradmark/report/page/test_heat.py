from typing import Any

from gradmark.report.page import heat
from gradmark.report.page.html import render
from gradmark.report.page.material import Material
from gradmark.report.page.page import page


def test_operators_are_what_they_add_and_the_dearest_are_hottest(material: Material) -> None:
    beside, *found = heat.operators(material)
    assert beside.title == "Engines side by side: scalars"
    assert [(row.name, [square.text for square in row.squares]) for row in beside.rows] == [
        ("exp", ["100 ns · × 1.00", "100 ns · × 1.00"]),
        ("sin", ["10.0 ns · × 1.00", "10.0 ns · × 1.00"]),
    ]
    assert beside.engines == [0, 1]
    assert found[0].title == "tapegrad, scalars"
    shown = [(row.name, row.squares[:2]) for row in found[0].rows]
    assert [(name, [s.text for s in squares], [s.heat for s in squares]) for name, squares in shown] == [
        ("exp", ["70 ns", "30 ns"], [100, 100]),
        ("sin", ["7.00 ns", "3 ns"], [0, 0]),
    ]


def test_an_operator_that_failed_says_so(make: Any) -> None:
    def operator(name: str, **fields: Any) -> Any:
        cell = make.cell("operator", n=None, suite="operators", params={"operation": name})
        return make.failed("error", "no erf", cell) if fields else make.measurement(cell)

    (found,) = heat.operators(Material([make.run(operator("nothing"), operator("erf", failed=True))]))
    assert [(row.name, row.problem) for row in found.rows] == [("erf", "error: no erf")]


def test_heat_is_logarithmic_over_three_decades() -> None:
    assert heat._heats([1000.0, 1.0, 1e-9, 0.0, None, 31.62]) == [100, 0, 0, 0, 0, 50]
    assert heat._heats([7.0, 7.0]) == [50, 50]


def test_engines_side_by_side(material: Material) -> None:
    found = heat.side_by_side(material)
    assert found is not None
    assert [square.text for square in found.rows[0].squares] == ["1.00 µs · × 1.00◀", "3.00 µs · × 3.00"]
    assert found.rows[-1].name == "geometric mean of 4"
    assert found.rows[-1].squares[0].text == "× 1.00"


def test_an_engine_without_gradients_does_not_compete(make: Any) -> None:
    run = make.run(make.measurement(), make.measurement(make.cell(engine="null"), accuracy=None))
    assert heat.side_by_side(Material([run])) is None


def test_an_engine_without_a_time_says_what_became_of_it(make: Any) -> None:
    cells = [make.cell(engine=engine) for engine in ("a", "b", "c")]
    other = [make.measurement(make.cell("tree", engine)) for engine in ("a", "c")]
    run = make.run(*map(make.measurement, cells[:2]), make.failed("timeout", "", cells[2]), *other)
    found = heat.side_by_side(Material([run]))
    assert found is not None
    assert [[square.text for square in row.squares][1:] for row in found.rows] == [
        ["2.50 µs · × 1.00=", "timed out"],
        ["n/a", "2.50 µs · × 1.00="],
    ]


def test_an_engine_on_two_devices_competes_with_itself(make: Any) -> None:
    """And one that is not there says so under the same name."""
    fast, slow = make.totals(1e3), make.totals(5e3)
    cells = [make.cell(engine=name, device=device) for name in ("torch", "jax") for device in ("cpu", "cuda")]
    made = [make.measurement(cells[0], samples=slow), make.measurement(cells[1], samples=fast),
            make.measurement(cells[2], samples=slow), make.failed("crash", "", cells[3])]  # fmt: skip
    run = make.run(*made)
    found = heat.side_by_side(Material([run]))
    assert found is not None
    assert found.heads == ["torch (cpu)", "torch (cuda)", "jax (cpu)"]
    assert "torch (cuda)" in render(page([run]))
