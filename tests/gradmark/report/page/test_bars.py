import math
from typing import Any

import pytest

from gradmark.records import Memory, Run
from gradmark.records.times import HARNESS_ERROR_NS
from gradmark.report.page import bars
from gradmark.report.page.material import Material


def test_bars_compare_the_engines_on_one_workload(material: Material) -> None:
    found = bars.phases(material)
    assert found.heads == ["forward", "backward", "bwd/fwd"]
    assert [(bar.workload, bar.first, bar.second, bar.numbers) for bar in found.bars[:2]] == [
        ("poly/n=10", 23.333, 10.0, ["700 ns", "300 ns", "0.43"]),
        ("poly/n=10", 70.0, 30.0, ["2.10 µs", "900 ns", "0.43"]),
    ]


def test_lengths_are_proportional_to_the_numbers_and_the_ratio_is_their_quotient(noisy: Run) -> None:
    material = Material([noisy])
    rows = {(row.workload, row.engine): row for row in material.rows}
    drawn = bars.phases(material).bars
    assert len(drawn) == sum({"forward", "backward"} <= row.numbers.keys() for row in material.rows) >= 13
    longest: dict[str, float] = {}
    for bar in drawn:
        row = rows[bar.workload, bar.engine]
        forward, backward = row.numbers["forward"].value, row.numbers["backward"].value
        if min(forward, backward) <= HARNESS_ERROR_NS:  # too short for a ratio
            continue
        assert row.numbers["backward_forward"].value == backward / forward
        if bar.log:
            # Two places on one logarithm: the distance between them is that of the numbers.
            apart = (bar.second - bar.first) / bar.decade
            assert min(bar.first, bar.second) == 0.0 or apart == pytest.approx(math.log10(backward / forward), abs=1e-3)
            continue
        # lengths are written to a thousandth of a per cent
        assert bar.second == pytest.approx(bar.first * backward / forward, abs=0.001 * (1 + backward / forward))
        longest[bar.workload] = max(longest.get(bar.workload, 0.0), bar.first + bar.second)
    assert longest == pytest.approx(dict.fromkeys(longest, 100.0), abs=0.01)


def test_memory_bars_are_retained_and_the_rest_of_the_peak(material: Material) -> None:
    found = bars.memory(material)
    first = found.bars[0]
    assert found.heads == ["allocs", "peak", "retained", "tape instructions", "tape bytes"]
    assert (first.first, first.second, first.numbers) == (60.0, 40.0, ["0", "1000 B", "600 B", "20", "500 B"])
    assert found.gaps == ["1 row of tapegrad: memray is not installed."]


def test_no_bars_without_numbers(make: Any) -> None:
    found = bars.memory(Material([make.run(make.measurement(memory=Memory(reason="memray is not installed")))]))
    assert (found.bars, found.gaps) == ([], ["1 row of tapegrad: memray is not installed."])


def test_what_spans_decades_is_on_a_logarithm(make: Any) -> None:
    def timed(engine: str, scale: float) -> Any:
        times = {"forward": 70.0 * scale, "backward": 30.0 * scale, "total": 100.0 * scale}
        return make.measurement(make.cell(engine=engine), samples=[make.sample(times=times)])

    near = bars.phases(Material([make.run(timed("a", 1.0), timed("b", 30.0))])).bars
    assert [(bar.log, bar.first, bar.second) for bar in near] == [(False, 2.333, 1.0), (False, 70.0, 30.0)]
    far = bars.phases(Material([make.run(timed("a", 1.0), timed("b", 100.0))])).bars
    assert [bar.log for bar in far] == [True, True]
    assert far[0].decade == 33.33  # from 10 to 10,000 ns
    assert [(round(bar.first, 1), round(bar.second, 1)) for bar in far] == [(28.2, 15.9), (94.8, 82.6)]
