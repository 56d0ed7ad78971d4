from typing import Any

import pytest

from gradmark.report.page.material import Material
from gradmark.report.page.roofline import roofline


def test_rates_are_the_tables_and_roofs_the_best_of_them(make: Any) -> None:
    product = make.tensor(samples=make.totals(*[1e5] * 6), flops=1e6, shapes={"x": [100, 25]})
    slower = make.tensor(
        make.tensor_cell(engine="torch"), samples=make.totals(*[2e5] * 6), flops=1e6, shapes={"x": [100, 25]}
    )
    moving = make.tensor(make.tensor_cell("softplus"), samples=make.totals(*[1e5] * 6), flops=None, bytes=4e5)
    material = Material([make.run(product, slower, moving)])
    arithmetic, traffic = roofline(material).views
    assert (arithmetic.keys, traffic.keys) == (["arithmetic"], ["memory traffic"])
    points = {one.name: (one.x, one.y) for one in arithmetic.series if one.style == "points"}
    rates = [row.numbers["flops_per_s"].value for row in material.rows if "flops_per_s" in row.numbers]
    assert points["tapegrad"] == ([50], [pytest.approx(rates[0], rel=1e-3)])  # 1e6 over twice 10,000 bytes
    assert points["torch"] == ([50], [pytest.approx(rates[1], rel=1e-3)])
    roof, slope = [one for one in arithmetic.series if one.style == "dashed"]
    assert roof.y == [rates[0], rates[0]]
    assert slope.y[1] == pytest.approx(rates[0], rel=1e-3)
    assert slope.y[0] / slope.x[0] == pytest.approx(material.rows[2].numbers["bytes_per_s"].value, rel=1e-2)
    assert roof.x[0] == slope.x[1]
    assert arithmetic.summary.startswith("The best: 10.0 GFLOP/s, mlp/batch=128 on tapegrad.")


def test_scalars_have_no_roof(make: Any) -> None:
    found = roofline(Material([make.run(make.measurement())]))
    assert found.views == []
    assert found.missing == "No row declares its arithmetic or its traffic; rows of the suite `tensor` do."
