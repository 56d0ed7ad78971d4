"""The filter in a real browser: every section follows it, its numbers are those of the model, a link remembers it."""

from typing import Any

import msgspec
import pytest

from gradmark.analyse.contract import contract
from gradmark.records import Run
from gradmark.report.model.overview import Overview, overview
from gradmark.report.model.rows import rows
from gradmark.report.model.sides import TO_FASTEST, comparison
from gradmark.store.runs import load

from .conftest import RECORDED, Open, only

pytestmark = pytest.mark.browser
SAID = "document.querySelector('#ratios-chart svg').said.map((one) => one.text.split('\\n'))"


@pytest.fixture(scope="module")
def recorded() -> Run:
    return load(RECORDED)


def of(run: Run, keep: Any) -> Run:
    """The run with some of its rows."""
    return msgspec.structs.replace(run, measurements=[m for m in run.measurements if keep(m)], planned=[])


def model(run: Run) -> Overview:
    engines = dict.fromkeys(m.cell.engine for m in run.measurements)
    return overview(run, rows(run), [v for engine in engines for v in contract(run.measurements, engine)])


def standings(page: Any) -> dict[str, list[str]]:
    """The numbers of the standings by engine, as the page shows them."""
    lines = page.locator("#standings tbody tr:visible").all()
    return {line.locator("th").inner_text().strip(): line.locator("td[data-n]").all_text_contents() for line in lines}


def numbers_of(found: Overview) -> dict[str, list[str]]:
    return {line.engine: line.texts for line in found.lines}


def test_the_first_screen_is_the_terminals(opened: Open, written_recorded: str, recorded: Run) -> None:
    """The summary of the terminal has the same numbers under the same engines."""
    page = opened(address=written_recorded, plots=False)
    shown = standings(page)
    summary = comparison(recorded).sides[-1]
    terminal = dict(summary.lines)
    heads = [text.strip() for text in page.locator("#standings thead th").all_text_contents()][1:]
    titles = {TO_FASTEST: f"mean {TO_FASTEST}"}
    for place, engine in enumerate(summary.engines):
        line = dict(zip(heads, shown[engine], strict=False))
        for label in (TO_FASTEST, "fastest", "tied", "not settled", "rows timed"):
            assert line[label] == terminal[titles.get(label, label)][place], (engine, label)
    assert page.locator("#sentence").text_content() == (
        "casadi is fastest on 3 of 8 rows, tapegrad:program on 2, tapegrad on 1 and 1 other engine on 1; "
        "1 not settled. Of 54 times, one per row and engine, 23 are unsteady."
    )


@pytest.mark.parametrize("width", [1400, 400])
def test_the_answer_needs_no_scrolling(opened: Open, written_recorded: str, width: int) -> None:
    page = opened(width, address=written_recorded, plots=False)
    box = page.locator("#sentence").bounding_box()
    assert box["y"] + box["height"] < 400
    cards = [card.bounding_box() for card in page.locator(".card").all()]
    assert width < 1000 or all(card["y"] + card["height"] < 900 for card in cards)


def test_the_overview_of_rows_is_pythons_of_these_rows(opened: Open, written_recorded: str, recorded: Run) -> None:
    page = opened(address=written_recorded, plots=False)
    everything = model(recorded)
    page.evaluate("apply()")
    assert (page.locator("#sentence").text_content(), standings(page)) == (everything.sentence, numbers_of(everything))
    assert page.locator("#means").text_content() == everything.note
    for suite in ("scalar", "tensor"):
        page.select_option("#by-suite", label=suite)
        found = model(of(recorded, lambda m, suite=suite: m.cell.suite == suite))
        assert page.locator("#sentence").text_content() == found.sentence
        shown = standings(page)
        assert {engine: shown[engine] for engine in numbers_of(found)} == numbers_of(found)
        assert page.locator("#means").text_content() == found.note
    page.click("#reset")
    page.fill("#find", "poly")
    found = model(of(recorded, lambda m: m.cell.workload == "poly"))
    assert page.locator("#sentence").text_content() == found.sentence
    page.fill("#find", "no such thing")
    assert page.locator("#sentence").text_content() == "The filter hides every time."


def test_hidden_engines_still_count_as_rivals(opened: Open, written_recorded: str) -> None:
    page = opened(address=written_recorded, plots=False)
    before = standings(page)
    only(page, "tapegrad", "jax")
    shown = standings(page)
    assert shown.keys() == {"tapegrad", "jax"}
    for engine, texts in shown.items():
        assert texts[1:4] == before[engine][1:4]
    assert "against all engines of the run, hidden ones too" in page.locator("#means").text_content()


def test_the_filter_drives_every_section(opened: Open, written_recorded: str) -> None:
    page = opened(address=written_recorded)
    page.add_style_tag(content="section { content-visibility: visible !important }")
    page.evaluate("drawAll()")
    only(page, "tapegrad", "jax")
    page.select_option("#by-suite", label="scalar")
    assert page.locator("#count").text_content() == "10 of 64 cells"
    hidden = ("torch", "casadi", "manual", "xad", "null")
    for section, least in (("#grid", 10), ("#phases .bars", 7), ("#memory .bars", 10)):
        names = page.locator(f"{section} tbody tr:visible").all_inner_texts()
        assert least <= len(names) <= 10, section
        assert not any(name in text.split() for text in names for name in hidden), section
    for name in ("ratios", "accuracy", "spread", "first-call", "pareto"):
        drawn = page.locator(f"#{name}-chart svg text").all_text_contents()
        assert any("tapegrad" in text for text in drawn), name
        assert not any(one in text.split(",")[0].split() for text in drawn for one in hidden), (name, drawn)
        assert not any("matmul" in text for text in drawn), name
    options = page.locator("#samples-chart select").first.locator("option").all_text_contents()
    assert {option.split("@")[1] for option in options} == {"tapegrad", "jax"}
    heads = page.locator("#engines .heat thead th:visible").all_inner_texts()
    assert [head.strip() for head in heads] == ["workload", "tapegrad", "jax"]
    assert page.locator("#engines .heat tbody tr:visible").count() >= 5
    promises = page.locator(".contract thead th:visible").all_inner_texts()
    assert [text.strip() for text in promises] == ["promise", "tapegrad", "jax"]


def test_a_filter_that_leaves_nothing_says_so(opened: Open, written_recorded: str) -> None:
    page = opened(address=written_recorded)
    page.evaluate("drawAll()")
    page.fill("#find", "no such thing")
    assert page.locator("#count").text_content() == "0 of 64 cells"
    assert page.locator("#ratios-chart svg").text_content() == "The filter hides everything in this plot."


def test_a_link_shows_the_same_view(opened: Open, written_recorded: str) -> None:
    page = opened(address=written_recorded)
    only(page, "tapegrad", "jax")
    page.fill("#find", "poly")
    page.select_option("#by-suite", label="scalar")
    page.evaluate("drawAll()")
    page.locator("#ratios-chart select").select_option("manual")
    page.locator("nav a", has_text="Memory").click()
    assert page.url.split("#")[1] == "memory?engine=tapegrad&engine=jax&find=poly&suite=scalar&baseline=manual"
    other = opened(address=page.url)
    assert other.locator("#count").text_content() == "2 of 64 cells"
    assert other.locator("#find").input_value() == "poly"
    assert other.locator("#engines-shown").text_content() == "Engines: 2 of 8"
    other.locator("#memory:focus").wait_for()
    assert 0 <= other.evaluate("document.getElementById('memory').getBoundingClientRect().top") < 900
    other.evaluate("drawAll()")
    assert other.locator("#ratios-chart select").input_value() == "manual"
    other.click("#reset")
    assert other.locator("#count").text_content() == "64 of 64 cells"
    assert other.url.split("#")[1] == "memory?baseline=manual"
    page.go_back()
    assert page.locator("#count").text_content() == "2 of 64 cells"


def test_one_engine_alone(opened: Open, written_recorded: str) -> None:
    page = opened(address=written_recorded, plots=False)
    page.click("#engines-shown")
    page.get_by_role("button", name="only casadi").click()
    assert page.locator("#count").text_content() == "8 of 64 cells"
    assert page.locator("#grid tbody tr:visible").count() == 8


def test_dots_are_the_ratios_of_the_terminal(opened: Open, written_recorded: str, recorded: Run) -> None:
    page = opened(address=written_recorded)
    page.evaluate("drawAll()")
    dots = {lines[0].rpartition(": ")[0]: lines for lines in page.evaluate(SAID)}
    sides = [side for side in comparison(recorded).sides if TO_FASTEST in dict(side.lines)]
    for side in sides:
        lines = dict(side.lines)
        for engine, ratio, total in zip(side.engines, lines[TO_FASTEST], lines["total"], strict=True):
            name = f"{engine} on {side.title}"
            first, time, *rest = dots.pop(name)
            assert first == f"{name}: {ratio.rstrip('◀=?')} × the fastest"
            assert time == total.rstrip("*?")
            marks = ("the fastest" in rest, "tied with the fastest" in rest)
            assert marks == (ratio[-1] == "◀", ratio[-1] == "=")
    assert dots == {}
    page.locator("#ratios-chart select").select_option("manual")
    texts = [lines[0] for lines in page.evaluate(SAID)]
    by_hand = {
        (side.title, engine): text
        for side in sides
        for engine, text in zip(side.engines, dict(side.lines).get("× by hand", []), strict=False)
    }
    assert len(texts) > 40
    for text in texts:
        place, _, ratio = text.rpartition(": ")
        engine, _, task = place.partition(" on ")
        assert ratio == f"{by_hand[task, engine].rstrip('?')} × manual"


def test_rows_without_rivals_are_won_by_nobody(opened: Open, several: Run) -> None:
    """Two engines have four sizes in common; the other rows are of one, or operators, which compete elsewhere."""
    page = opened(plots=False)
    found = model(several)
    assert "of 4 rows" in found.sentence
    page.evaluate("apply()")
    assert (page.locator("#sentence").text_content(), standings(page)) == (found.sentence, numbers_of(found))
    only(page, "tapegrad")
    assert page.locator("#sentence").text_content() == found.sentence.replace("16 times", "9 times")
    page.fill("#find", "bare")
    assert page.locator("#sentence").text_content() == "tapegrad was timed on 1 row. The time is steady."


@pytest.mark.parametrize("width", [1280, 400])
def test_a_link_leads_to_its_section_though_plots_are_drawn_on_the_way(
    opened: Open, written_recorded: str, width: int
) -> None:
    page = opened(width, address=written_recorded)
    page.locator("nav a", has_text="Roofline").click()
    page.wait_for_timeout(1800)
    assert page.url.endswith("#roofline")
    assert 0 <= page.evaluate("document.getElementById('roofline').getBoundingClientRect().top") < 200
