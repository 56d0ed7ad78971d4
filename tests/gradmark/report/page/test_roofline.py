from typing import Any

import msgspec
import pytest

from gradmark.records import DeviceWork, Sample
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


def on_device(make: Any, engine: str, cold_ns: float, hot_ns: float, **fields: Any) -> Any:
    """A row on cuda: 1e9 operations, 20 kB that must be moved, and roofs of 1 TB/s and 50 TFLOP/s."""
    times = {"total": cold_ns, "cold": cold_ns, "hot": hot_ns, "host": 10.0}
    samples: list[Sample] = [
        msgspec.structs.replace(make.sample(process, times), roofs={"bytes": 1e12, "flops": 5e13}) for process in (0, 1)
    ]
    return make.tensor(
        make.tensor_cell(engine=engine, device="cuda"), samples=samples, flops=1e9, shapes={"x": [100, 25]},
        device_work=DeviceWork(read_bytes=1e4, moved_bytes=2e4), **fields,
    )  # fmt: skip


def test_roofs_of_a_device_are_those_that_were_measured_there(make: Any) -> None:
    rows = [on_device(make, "tapegrad", 1e5, 5e4), on_device(make, "torch", 4e4, 8e4)]
    arithmetic, traffic = roofline(Material([make.run(*rows)])).views
    assert (arithmetic.keys, traffic.keys) == (["arithmetic"], ["memory traffic"])
    marks = {one.name: (one.style, one.x, one.y) for one in arithmetic.series}
    assert marks["tapegrad"] == ("points", [50_000], [1e13])  # 1e9 operations in 1e5 ns, over 20 kB
    assert marks["tapegrad, hot"] == ("open", [50_000], [2e13])
    assert marks["torch, hot"] == ("open", [50_000], [1.25e13])
    assert marks["a product in float32, 50.0 TFLOP/s"] == ("dashed", [50, 100_000], [5e13, 5e13])
    assert marks["a copy, 1.00 TB/s"] == ("dashed", [12.5, 50], [1.25e13, 5e13])
    assert arithmetic.summary.startswith("Nearest to its roof: mlp/batch=128/device=cuda on torch, 50 % of a product. ")
    marks = {one.name: (one.style, one.x, one.y) for one in traffic.series}
    assert marks["torch"] == ("points", [20_000], [5e8])
    assert marks["a copy, 1.00 TB/s"] == ("dashed", [10_000, 40_000], [1e12, 1e12])


def test_each_device_has_roofs_of_its_own(make: Any) -> None:
    here = make.tensor(samples=make.totals(*[1e5] * 6), flops=1e6, shapes={"x": [100, 25]})
    chart = roofline(Material([make.run(here, on_device(make, "torch", 4e4, 8e4))]))
    assert [view.keys for view in chart.views] == [
        ["arithmetic on cpu"],
        ["arithmetic on cuda"],
        ["memory traffic on cuda"],
    ]
    assert chart.title.endswith("the best rates of this run or what a product and a copy reach on the device")
    assert len(chart.views[0].series) == 2  # a point and a roof: what is on the device is not there
