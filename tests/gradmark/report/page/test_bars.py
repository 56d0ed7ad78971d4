from typing import Any

from gradmark.records import Memory
from gradmark.report.page import bars
from gradmark.report.page.material import Material


def test_bars_compare_the_engines_on_one_workload(material: Material) -> None:
    found = bars.phases(material)
    assert [(bar.workload, bar.first, bar.second, bar.numbers) for bar in found.bars[:2]] == [
        ("poly/n=10", 24.1, 10.5, ["738 ns", "322 ns", "0.43"]),
        ("poly/n=10", 69.9, 30.1, ["2.14 µs", "922 ns", "0.43"]),
    ]


def test_memory_bars_are_retained_and_the_rest_of_the_peak(material: Material) -> None:
    found = bars.memory(material)
    first = found.bars[0]
    assert (first.first, first.second, first.numbers) == (60.0, 40.0, ["1000 B", "600 B", "0", "20"])
    assert found.gaps == ["1 rows of tapegrad: memray is not installed."]


def test_no_bars_without_numbers(make: Any) -> None:
    found = bars.memory(Material([make.run(make.measurement(memory=Memory(reason="memray is not installed")))]))
    assert (found.bars, found.gaps) == ([], ["1 rows of tapegrad: memray is not installed."])
