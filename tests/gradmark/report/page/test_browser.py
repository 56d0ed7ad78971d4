"""The page in a real browser: nothing fails, all of it can be used, narrow and wide, in light and dark, by keyboard."""

import csv
from typing import Any

import pytest

from gradmark.records import Run
from gradmark.report.exports.csv import csv as csv_of

from .conftest import Open, only

pytestmark = pytest.mark.browser

SERIOUS = ("serious", "critical")


def texts(page: Any, column: int) -> list[str]:
    """The visible cells of a column of the table."""
    found: list[str] = page.locator(f"#grid tbody tr:not([hidden]) > :nth-child({column})").all_text_contents()
    return found


def place(page: Any, title: str) -> int:
    titles: list[str] = page.locator("#grid thead th").all_text_contents()
    return titles.index(title) + 1


def test_every_section_is_there_and_every_plot_is_drawn(opened: Open) -> None:
    page = opened()
    assert page.locator("main > section > h2").all_text_contents() == [
        "At a glance", "Ratios", "The table", "Contract and hypotheses", "Forward and backward", "Scaling", "Operators",
        "Memory", "Accuracy", "Samples", "Engines side by side", "Roofline", "Published beside measured", "History",
    ]  # fmt: skip
    for chart in (
        "ratios",
        "scaling",
        "icicle",
        "accuracy",
        "spread",
        "samples",
        "first-call",
        "pareto",
        "roofline",
        "history",
    ):
        figure = page.locator(f"#{chart}-chart")
        figure.scroll_into_view_if_needed()
        figure.locator(".plot svg").first.wait_for()
        assert figure.locator(".summary").text_content().endswith(".")
    for link in page.locator("nav a, .card a").evaluate_all("links => links.map(one => one.hash)"):
        assert page.locator(f"section{link}").count() == 1


def test_an_icicle_is_drawn_to_scale_and_follows_the_filter(opened: Open) -> None:
    page = opened()
    figure = page.locator("#icicle-chart")
    figure.scroll_into_view_if_needed()
    figure.locator("svg rect.box").first.wait_for()
    boxes = figure.evaluate("figure => figure.view.boxes")
    widths = figure.locator("svg rect.box").evaluate_all("all => all.map((one) => Number(one.getAttribute('width')))")
    whole = boxes[0]["width"]
    assert [round(width / widths[0], 3) for width in widths] == [round(box["width"] / whole, 3) for box in boxes]
    assert {"forward", "backward", "exp"} <= set(figure.locator("svg text.note").all_text_contents())
    box = figure.locator("svg rect.box").nth(1).bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + box["height"] / 2)
    assert page.locator(".tip").text_content().startswith("forward: ")
    assert figure.evaluate("figure => linesOf(figure)")[:2] == [
        ["level", "name", "start_ns", "width_ns"], [0, "forward + backward", 0, whole],
    ]  # fmt: skip
    assert figure.locator("select").nth(1).locator("option").count() == 2
    only(page, "tapegrad")
    assert figure.locator("select").nth(1).locator("option").all_text_contents() == ["tapegrad"]


def test_plots_wait_until_they_are_near(opened: Open) -> None:
    page = opened()
    assert page.locator("#samples-chart svg").count() == 0
    page.locator("#samples-chart").scroll_into_view_if_needed()
    page.locator("#samples-chart .plot svg").wait_for()


def test_without_scripts_every_column_is_shown(chromium: Any, written: str) -> None:
    page = chromium.new_page(java_script_enabled=False)
    page.goto(written)
    heads = page.locator("#grid thead th")
    assert page.locator("#grid thead th[hidden]").count() > 5
    assert all(heads.nth(place).is_visible() for place in range(heads.count()))
    assert page.locator("#count").text_content() == "17 of 17 cells"
    assert page.locator("#memory .bars").is_visible()
    page.close()


def test_sorting_is_by_number_and_by_word_and_by_keyboard(opened: Open) -> None:
    page = opened(plots=False)
    heading = page.locator("#grid thead th", has_text="total")
    heading.locator("button").focus()
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "ascending"
    values = texts(page, place(page, "total"))
    assert values[0] == "1.00 µs"
    assert values[-1] == "wrong gradient"  # what has no number is last
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    assert texts(page, place(page, "total"))[0] == "3.00 ms"
    assert texts(page, place(page, "total"))[-1] == "wrong gradient"
    page.locator("#grid thead th button", has_text="workload").click()
    assert heading.get_attribute("aria-sort") is None
    assert texts(page, 1)[:2] == ["bare/n=1", "mlp/batch=128"]


def test_a_long_table_is_sorted_in_brief_and_then_whole(opened: Open) -> None:
    page = opened(plots=False)
    page.evaluate("grid.tBodies[0].append(...Array.from({length: 80}, () => grid.tBodies[0].rows[0].cloneNode(true)))")
    page.locator("#grid:not(.brief)").wait_for()
    shown = "[...grid.tBodies[0].rows].filter((row) => row.checkVisibility()).length"
    assert page.evaluate(f"sortBy(grid, 0); {shown}") == 49
    page.locator("#grid:not(.brief)").wait_for()
    assert page.evaluate(shown) == 97
    page.emulate_media(media="print")
    assert page.evaluate(f"sortBy(grid, 0); {shown}") == 97


def test_filtering_by_text_suite_and_engine(opened: Open) -> None:
    page = opened(plots=False)
    count = page.locator("#count")
    assert count.text_content() == "17 of 17 cells"
    page.fill("#find", "poly 1000")
    assert count.text_content() == "4 of 17 cells"
    only(page, "tapegrad")
    assert texts(page, 1) == ["poly/n=1000", "poly/n=10000"]
    page.fill("#find", "")
    page.select_option("#by-suite", label="tensor")
    assert texts(page, 1) == ["mlp/batch=128"]


def test_columns_are_chosen_and_intervals_shown(opened: Open) -> None:
    page = opened(plots=False)
    heading = page.locator("#grid thead th", has_text="peak")
    assert not heading.is_visible()
    page.locator("summary", has_text="Columns").click()
    page.locator(".controls").get_by_label("peak").check()
    assert heading.is_visible()
    page.get_by_role("checkbox", name="forward").uncheck()
    assert not page.locator("#grid thead th", has_text="forward").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator(".controls .menu fieldset").is_visible()
    cell = page.locator("#grid td[data-more]:visible").first
    shown = "cell => getComputedStyle(cell, '::after').content"
    assert cell.evaluate(shown) == "none"
    cell.hover()
    assert "median" in cell.evaluate(shown)
    page.mouse.move(0, 0)
    page.get_by_label("intervals").check()
    assert "median" in cell.evaluate(shown)


def test_the_copied_csv_has_the_numbers_of_csv_files(opened: Open, several: Run) -> None:
    page = opened(plots=False)
    page.fill("#find", "poly/n=10 tapegrad")
    only(page, "tapegrad")
    lines = page.evaluate("csvOf(document.getElementById('grid'))").splitlines()
    assert lines[0].startswith("row,engine,forward_ns,backward_ns,total_ns,times_fastest,")
    assert lines[1].startswith("poly/n=10,tapegrad,700.0,300.0,1000.0,1.0,")
    page.fill("#find", "")
    only(page)
    page.locator("summary", has_text="Columns").click()
    for box in page.locator("[data-column]").all():
        box.check()
    copied = list(csv.DictReader(page.evaluate("csvOf(document.getElementById('grid'))").splitlines()))
    exported = {(line["row"], line["engine"]): line for line in csv.DictReader(csv_of(several).splitlines())}
    assert len(copied) == len(exported) == 17
    # Of metrics that share a column a table shows the first, and nothing of what says little of the kind of workload.
    less = {"retained_bytes", "operations_per_s", "tape_bytes", "relative_error"}
    for line in copied:
        assert line.pop("times_fastest") in ("", "1.0", "3.0")
        kept = exported[line["row"], line["engine"]]
        assert {name: text for name, text in line.items() if text or name not in less} == {
            name: kept[name] for name, text in line.items() if text or name not in less
        }
    assert page.evaluate("csvField('=1+1')") == "'=1+1"
    assert page.evaluate("""csvField('a,"b"')""") == '"a,""b"""'
    tool = page.get_by_role("button", name="Copy as CSV: All rows")
    tool.click()
    page.locator("button", has_text="Copied").wait_for()


def test_plots_follow_the_choice(opened: Open) -> None:
    page = opened()
    figure = page.locator("#scaling-chart")
    figure.scroll_into_view_if_needed()
    figure.locator(".plot svg").first.wait_for()
    figure.get_by_label("Metric").select_option("tape")
    assert "tapegrad grows as n^0.00" in figure.locator(".summary").text_content()
    assert "tapegrad grows as n^0.00" in figure.locator("[role=img]").get_attribute("aria-label")


def legend(figure: Any) -> list[str]:
    found: list[str] = figure.locator(".legend text").all_text_contents()
    return found


@pytest.mark.parametrize("width", [390, 1200])
def test_samples_say_in_which_state_the_machine_was(opened: Open, written_watched: str, width: int) -> None:
    page = opened(width, address=written_watched)
    figure = page.locator("#samples-chart")
    figure.scroll_into_view_if_needed()
    figure.locator(".plot svg").first.wait_for()
    answer = figure.locator(".answer")
    assert answer.is_visible()
    assert answer.text_content() == (
        "75 % of the blocks were calm; slow pilots took 1.6 times as long as on a calm machine (median). "
        "The number shown, 1.00 µs, is the calm time (median over 2 processes)."
    )
    assert answer.text_content() in figure.locator("[role=img]").get_attribute("aria-label")
    assert legend(figure) == ["calm", "machine was slow", "the number shown, 1.00 µs"]
    assert figure.locator("svg .note").all_text_contents() == [
        "pilots, calm up to 1.10× (dotted line)", "memory pilots, calm up to 1.30× (dotted line)"
    ]  # fmt: skip
    figure.get_by_label("Row").select_option("tree/n=10@tapegrad")
    assert answer.text_content().startswith("The machine was never calm: no block was calm; ")
    assert legend(figure) == ["machine was slow", "the number shown, 1.05 µs"]
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_each_block_says_its_times_and_its_pilots(opened: Open, written_watched: str) -> None:
    page = opened(address=written_watched)
    page.evaluate("drawAll()")
    said = page.evaluate("document.querySelector('#samples-chart svg').said.map((one) => one.text)")
    memory = "memory pilots 1.00× and 1.25×"
    assert {text: said.count(text) for text in said if text.startswith("process 1, ")} | {"all": len(said)} == {
        "process 1, block 4: machine was slow\n9.00 µs as measured, not corrected and not counted\n"
        f"pilots 1.00× and 1.63×\n{memory}": 1,
        **{
            f"process 1, block {k}: calm\n{time} as measured, {own} corrected\npilots 1.05× and 1.06×\n{memory}": 1
            for k, time, own in ((1, "1.05 µs", "1.00 µs"), (2, "1.06 µs", "1.01 µs"), (3, "1.07 µs", "1.02 µs"))
        },
        "process 1, after block 4: 1.63×": 1,
        **{f"process 1, before block {k}: 1.05×": 1 for k in (1, 2, 3)},
        **{f"process 1, after block {k}: 1.06×": 1 for k in (1, 2, 3)},
        **{f"process 1, before block {k}: 1.00×": 1 + (k == 4) for k in (1, 2, 3, 4)},
        **{f"process 1, after block {k}: 1.25×": 1 for k in (1, 2, 3, 4)},
        "all": 2 * (4 + 8 + 8),
    }


def test_samples_without_pilots_are_of_an_unknown_state(opened: Open) -> None:
    page = opened()
    figure = page.locator("#samples-chart")
    figure.scroll_into_view_if_needed()
    figure.locator(".plot svg").first.wait_for()
    assert figure.locator(".answer").text_content().startswith("This file has no pilots: ")
    assert legend(figure) == ["state unknown", "the number shown, 1.00 µs"]


def test_dark_follows_the_system_and_the_button(opened: Open) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    light, dark = opened(), opened(scheme="dark")
    assert light.evaluate(background) == "rgb(246, 247, 249)"
    assert dark.evaluate(background) == "rgb(18, 22, 28)"
    dark.locator("#scaling-chart").scroll_into_view_if_needed()
    dark.locator("#scaling-chart .plot svg").wait_for()
    assert (
        dark.evaluate("getComputedStyle(document.querySelector('#scaling-chart .title')).fill") == "rgb(231, 235, 240)"
    )
    light.click("#theme")
    assert light.evaluate(background) == "rgb(18, 22, 28)"
    for _ in range(20):  # the browser writes it down when it has time
        light.reload()
        if light.evaluate(background) == "rgb(18, 22, 28)":
            break
        light.wait_for_timeout(100)
    assert light.evaluate(background) == "rgb(18, 22, 28)"  # remembered
    light.click("#theme")


@pytest.mark.parametrize("width", [400, 1000, 1600])
def test_nothing_is_wider_than_the_screen(opened: Open, width: int) -> None:
    page = opened(width)
    page.evaluate("drawAll()")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    outside = page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3, p, li, select, input, button, figure, dl, .scroll')].filter(one => "
        "one.offsetParent && !one.closest('.scroll table, fieldset, nav') &&"
        " one.getBoundingClientRect().right > innerWidth)"
        ".map(one => one.outerHTML.slice(0, 80))"
    )
    assert outside == []
    page.fill("#find", "poly")
    assert page.locator("#count").text_content() == "8 of 17 cells"


@pytest.mark.parametrize(("run", "width", "scheme"), [("written", 400, "dark"), ("written_recorded", 1280, "light")])
def test_axe_finds_nothing_serious(
    opened: Open, request: pytest.FixtureRequest, run: str, width: int, scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.base", reason="axe-playwright-python is not installed")
    page = opened(width, scheme, address=request.getfixturevalue(run))
    page.locator("p.save").first.wait_for()
    page.evaluate("toggle(grid, document.querySelector('#grid tbody th button'))")
    page.evaluate("drawAll()")
    page.add_style_tag(content="section { content-visibility: visible !important }")  # all of it is judged
    page.evaluate(axe.AXE_FILE_PATH.read_text())
    found = page.evaluate("axe.run()")["violations"]
    serious = [
        (one["id"], node["html"][:120], node["failureSummary"])
        for one in found
        if one["impact"] in SERIOUS
        for node in one["nodes"]
    ]
    assert serious == []


def test_hostile_names_stay_text(opened: Open) -> None:
    page = opened()
    page.evaluate("drawAll()")
    assert page.title() == "Gradmark: run-1"
    assert page.locator("section script, section b:not(.bar b), svg script, header script").count() == 0
    legend = page.locator("#scaling-chart .legend text").all_text_contents()
    assert any(text.startswith("<script>document.title='owned'") for text in legend)
    assert "<script>document.title='owned'</script>" in [
        text.strip() for text in page.locator("#by-engine label").all_text_contents()
    ]


def test_on_paper_everything_is_open_and_light(opened: Open) -> None:
    page = opened(scheme="dark")
    assert page.locator("figure.chart:has(svg)").count() < 9  # what was not scrolled to is drawn for the paper
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("details:not(.menu):not([open])").count() == 0
    assert page.locator("figure.chart").count() == page.locator("figure.chart:has(svg)").count()
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    assert not page.locator("nav").is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.pdf()[:5] == b"%PDF-"
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
