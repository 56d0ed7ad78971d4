from pathlib import Path
from typing import Any

import pytest

from gradmark.records import Measurement, Phase, Run, Sample
from gradmark.report.page import samples as drawn
from gradmark.report.page.chart import BELOW, NOTHING, ZERO, Blocks, Chart, Course
from gradmark.report.page.material import Material
from gradmark.report.page.samples import samples
from gradmark.store.runs import load

RUNS = Path(__file__).parents[3] / "data" / "runs"
REFERENCE = {"core": 10_000.0, "memory": 8_000.0}
CALM, SLOW = (10_000.0, 10_200.0), (10_100.0, 16_000.0)
OLD = "This file has no pilots: which of its blocks were calm is unknown."


def numbers(written: str) -> list[int | None]:
    """What the page reads from letters."""
    codes = [None if letter == NOTHING else ord(letter) for letter in written]
    return [code and (code - BELOW if code > BELOW - 1000 else code - ZERO) for code in codes]


def times(chart: Chart, place: int = 0) -> list[float]:
    """The times of a view in nanoseconds."""
    blocks = blocks_of(chart, place)
    return [blocks.low + blocks.step * (steps or 0) for steps in numbers(chart.times[place])]


def blocks_of(chart: Chart, place: int = 0) -> Blocks:
    blocks = chart.views[place].blocks
    assert blocks is not None
    return blocks


def phase(blocks: list[float], core: list[tuple[float, float]], **others: Any) -> Phase:
    return Phase(iterations=10, block_ns=blocks, pilots={"core": core, **others}, reference=REFERENCE)


def row(make: Any, *phases: Phase) -> Measurement:
    """One process for each of these totals."""
    found = [
        Sample(process=process, phases={"total": part}, once_ns={}, harness_ns=30.0, clock_ns=1.0)
        for process, part in enumerate(phases)
    ]
    measured: Measurement = make.measurement(samples=found)
    return measured


def chart_of(make: Any, *phases: Phase) -> Chart:
    return samples(Material([make.run(row(make, *phases))]))


def test_every_block_is_there(material: Material) -> None:
    chart = samples(material)
    assert [view.keys[1] for view in chart.views[:4]] == ["total", "primal", "forward", "backward"]
    view = chart.views[0]
    assert view.keys[0] == "poly/n=10@tapegrad"
    assert blocks_of(chart).processes == [(1, 3), (2, 3), (3, 3)]
    assert times(chart) == [1000, 1010, 1020, 1040, 1050, 1060, 1080, 1090, 1100]
    assert view.summary == (
        "3 processes, 9 blocks. The fastest block took 1.00 µs; those of the processes lie between that and 1.08 µs."
    )


def test_an_older_file_says_that_it_has_no_pilots(material: Material) -> None:
    chart = samples(material)
    assert chart.views[0].answer == f"{OLD} The number shown, 1.00 µs, is the fastest block."
    assert (chart.pilots, blocks_of(chart).pilots, blocks_of(chart).shown) == ({}, {}, 1000)
    assert "Pilots" not in chart.title


def test_calm_and_slow_blocks_with_the_pilots_of_both(make: Any) -> None:
    blocks = [1000.0, 1010.0, 1020.0, 1600.0]
    chart = chart_of(make, phase(blocks, [CALM, CALM, CALM, SLOW]), phase(blocks, [CALM, CALM, CALM, CALM]))
    assert list(chart.pilots) == ["core"]
    assert numbers(chart.pilots["core"][0]) == [0, 20, 0, 20, 0, 20, 10, 600, 0, 20, 0, 20, 0, 20, 0, 20]
    assert blocks_of(chart).pilots == {"core": Course(parts=1000, limit=100)}
    assert chart.views[0].answer == (
        "87 % of the blocks were calm; slow pilots took 1.6 times as long as on a calm machine (median). "
        "The number shown, 1.00 µs, is the calm time (median over 2 processes)."
    )
    assert chart.views[0].summary == (
        "2 processes, 8 blocks. The lower quartile of the calm blocks, at the clock of the reference, is 1.00 µs in "
        "the fastest process, 1.00 µs in the slowest."
    )


def test_the_number_shown_is_that_of_the_table(make: Any) -> None:
    """At the clock of the reference, to which the faster of the two pilots corrects."""
    part = phase([1000.0, 1010.0, 1020.0, 1030.0, 1040.0], [(10_500.0, 10_600.0)] * 5)
    material = Material([make.run(row(make, part))])
    chart = samples(material)
    assert material.entries[0].texts(material.columns)["total"] == "962 ns"
    assert blocks_of(chart).shown == 1010.0 * 10_000 / 10_500
    assert chart.views[0].answer == "All 5 blocks were calm. The number shown, 962 ns, is the calm time."


def test_memory_pilots_are_beside_those_of_the_core(make: Any) -> None:
    part = phase([1000.0] * 4, [CALM] * 4, memory=[(8_000.0, 10_392.0)] * 3 + [(8_800.0, 10_408.0)])
    chart = chart_of(make, part)
    assert numbers(chart.pilots["memory"][0]) == [0, 30, 0, 30, 0, 30, 10, 31]  # 1.301 is over the limit of 1.3
    assert blocks_of(chart).pilots["memory"] == Course(parts=100, limit=30)
    assert chart.views[0].answer.startswith("75 % of the blocks were calm; slow pilots took 1.3 times as long")


@pytest.mark.parametrize(("ns", "thousandths"), [(11_000.0, 100), (11_000.1, 101), (11_044.0, 101), (11_050.1, 110)])
def test_rounding_moves_no_pilot_over_the_limit(make: Any, ns: float, thousandths: int) -> None:
    part = phase([1000.0] * 4, [CALM, CALM, CALM, (10_000.0, ns)])
    assert numbers(chart_of(make, part).pilots["core"][0])[-1] == thousandths
    assert (3 in part.calm) == (thousandths <= 100)


def test_a_row_that_never_was_calm_says_so(make: Any) -> None:
    part = phase([1000.0] * 4, [SLOW] * 4)
    slowed = "slow pilots took 1.6 times as long as on a calm machine (median)"
    assert chart_of(make, part).views[0].answer == (
        f"The machine was never calm: no block was calm; {slowed}. "
        "The number shown, 1.00 µs, is made of slow blocks, and decides nothing."
    )
    part = phase([1000.0] * 4, [SLOW, SLOW, CALM, CALM])
    view = chart_of(make, part).views[0]
    assert view.answer == (
        f"The machine was never calm: no process had 3 calm blocks; {slowed}. "
        "The number shown, 1.00 µs, is made of slow blocks too, and decides nothing."
    )
    assert view.summary == "1 process, 4 blocks. The lower quartile of the blocks is 1.00 µs."


def test_a_process_that_was_not_calm_is_not_counted(make: Any) -> None:
    chart = chart_of(make, phase([1000.0] * 4, [CALM] * 4), phase([900.0] * 4, [SLOW] * 4))
    assert chart.views[0].answer.startswith("50 % of the blocks were calm; ")
    assert chart.views[0].summary == (
        "2 processes, 8 blocks. The lower quartile of the calm blocks, at the clock of the reference, is 1.00 µs. "
        "Not counted: 1 process with fewer than 3 calm blocks."
    )


def test_a_process_without_pilots_has_nothing_in_their_place(make: Any) -> None:
    old = Phase(iterations=10, block_ns=[1000.0, 1100.0])
    chart = chart_of(make, old, phase([1000.0] * 3, [CALM] * 3))
    assert numbers(chart.pilots["core"][0]) == [None] * 4 + [0, 20] * 3
    assert chart.views[0].answer.startswith("All 3 blocks were calm.")


def test_rows_without_a_kind_of_pilots_have_no_letters_for_it(make: Any) -> None:
    scalar = row(make, phase([1000.0] * 3, [CALM] * 3))
    tensor = row(make, phase([1000.0] * 3, [CALM] * 3, memory=[(8_000.0, 8_000.0)] * 3))
    other = make.measurement(make.cell("tree"), samples=tensor.samples)
    chart = samples(Material([make.run(scalar, other)]))
    assert [len(letters) for letters in chart.pilots["core"]] == [6, 6]
    assert [len(letters) for letters in chart.pilots["memory"]] == [0, 6]


def test_what_took_far_longer_is_said(make: Any) -> None:
    chart = chart_of(make, phase([1000.0, 1000.0, 1000.0, 90_000.0], [CALM, CALM, CALM, SLOW]))
    assert blocks_of(chart).top == 2000
    assert times(chart) == pytest.approx([1000.0, 1000.0, 1000.0, 90_000.0])
    assert chart.views[0].summary.endswith("1 block took longer than 2.00 µs: drawn at the upper edge.")


def test_times_below_the_harness_are_drawn_too(make: Any) -> None:
    chart = chart_of(make, Phase(iterations=10, block_ns=[-1.0, 0.0, 3.0]))
    assert times(chart) == pytest.approx([-1.0, 0.0, 3.0], abs=1e-3)
    chart = chart_of(make, Phase(iterations=10, block_ns=[0.0, 0.0]))
    assert times(chart) == [0.0, 0.0]


def test_a_number_that_is_computed_is_not_made_of_the_blocks(make: Any) -> None:
    """No part exceeds the whole: forward is then the whole less backward."""
    found = [make.sample(times={"forward": 3000.0, "backward": 500.0, "total": 2500.0})]
    chart = samples(Material([make.run(make.measurement(samples=found))]))
    place = [view.keys[1] for view in chart.views].index("forward")
    assert chart.views[place].answer == f"{OLD} The number shown, 2.00 µs, is computed from other phases."
    assert blocks_of(chart, place).shown is None


def test_too_many_samples_are_said(several: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn, "MOST_SAMPLES", 10)
    chart = samples(Material([several]))
    assert {view.keys[1] for view in chart.views} == {"total"}
    assert "one phase of each row is shown, the run file has all" in chart.title


def test_no_samples(make: Any) -> None:
    assert samples(Material([make.run(make.failed("crash"))])).missing == "No row has a time."


def test_the_fastest_block_is_said_as_the_table_says_it(make: Any) -> None:
    """1004.9 in four digits is 1005, which would be said as 1.01 µs; the table says 1.00 µs."""
    measured = make.measurement(samples=[make.sample(times={"total": 1004.9})])
    material = Material([make.run(measured)])
    assert material.entries[0].texts(material.columns)["total"] == "1.00 µs"
    assert samples(material).views[0].summary == "1 process, 2 blocks. The fastest block took 1.00 µs."


def test_phases_that_an_engine_declares_are_drawn(make: Any) -> None:
    measured = make.measurement(samples=[make.sample(times={"setup": 10.0, "total": 100.0})])
    assert [view.keys[1] for view in samples(Material([make.run(measured)])).views] == ["total", "setup"]


@pytest.mark.parametrize("path", sorted(RUNS.glob("*.json*")), ids=lambda path: path.name)
def test_files_of_every_older_format_are_drawn(path: Path) -> None:
    run = load(path)
    chart = samples(Material([run]))
    assert chart.views
    assert {view.answer.startswith(OLD) for view in chart.views} == {run.format_version < 4}  # pilots came with 4
    assert [len(letters) for letters in chart.times] == [
        sum(count for _, count in blocks_of(chart, place).processes) for place in range(len(chart.views))
    ]
