"""Where a function's time goes, as boxes."""

from typing import Any

from gradmark.report.page.html import data
from gradmark.report.page.icicle import icicle
from gradmark.report.page.material import Material
from gradmark.report.page.page import page


def run(make: Any, calls: dict[str, int]) -> Any:
    """A function that forward spends 2000 ns on and backward 500, and what two operations add to a loop of 50."""

    def operator(name: str, forward: float, backward: float) -> Any:
        times = {"forward": forward, "backward": backward, "total": forward + backward}
        cell = make.cell("operator", n=None, suite="operators", params={"operation": name})
        return make.measurement(cell, samples=[make.sample(times=times)])

    costs = [operator("nothing", 100.0, 50.0), operator("add", 600.0, 100.0), operator("exp", 1100.0, 300.0)]
    return make.run(make.measurement(calls=calls), *costs)


def test_boxes_add_up_level_by_level(make: Any) -> None:
    (view,) = icicle(Material([run(make, {"add": 40, "exp": 50})])).views
    assert view.keys == ["poly/n=10", "tapegrad"]
    levels = [[box for box in view.boxes if box.level == level] for level in range(3)]
    assert [(box.name, box.start, box.width) for box in levels[0]] == [("forward + backward", 0, 2500)]
    assert [(box.name, box.start, box.width) for box in levels[1]] == [("forward", 0, 2000), ("backward", 2000, 500)]
    assert [(box.name, box.start, box.width) for box in levels[2]] == [
        ("exp", 0, 1000), ("add", 1000, 400), ("the rest", 1400, 600),
        ("exp", 2000, 250), ("add", 2250, 40), ("the rest", 2290, 210),
    ]  # fmt: skip
    assert sum(box.width for box in levels[2]) == 2500
    assert levels[2][0].text == "exp in forward: 1.00 µs, 50 % of it; 50 × 20 ns"
    assert view.summary == (
        "Forward, 2.00 µs: exp 50 % (50 calls), add 20 % (40 calls), the rest 30 %. "
        "Backward, 500 ns: exp 50 % (50 calls), add 8 % (40 calls), the rest 42 %."
    )


def test_one_operation_has_one_colour_in_both_phases(make: Any) -> None:
    (view,) = icicle(Material([run(make, {"add": 40, "exp": 50})])).views
    colours = {box.name: {one.colour for one in view.boxes if one.name == box.name} for box in view.boxes}
    assert colours["exp"] != colours["add"]
    assert all(len(found) == 1 for found in colours.values())


def test_operations_that_take_longer_one_by_one_are_shares(make: Any) -> None:
    (view,) = icicle(Material([run(make, {"exp": 200})])).views
    assert [box.width for box in view.boxes if box.name == "exp"] == [2000, 500]
    assert "Timed one by one, its operations take 2.00 times as long; the boxes show shares." in view.summary


def test_what_is_not_known_is_named(make: Any) -> None:
    (view,) = icicle(Material([run(make, {"exp": 10, "erf": 1})])).views
    assert view.summary.endswith("erf: cost unknown on this engine, so part of the rest.")


def test_without_operators_it_says_what_to_type(make: Any) -> None:
    found = icicle(Material([make.run(make.measurement(calls={"add": 3}))]))
    assert found.views == []
    assert "`gradmark ops scalar -e ENGINE`" in found.missing
    assert "functions of numbers" in icicle(Material([make.run(make.tensor())])).missing


def test_it_is_on_the_page(make: Any) -> None:
    assert '"icicle-chart"' in data(page([run(make, {"exp": 10})]))
