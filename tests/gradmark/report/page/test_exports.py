"""What can be taken from the page, on paper and with a finger: files of plots and tables, print, touch."""

import csv
import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from .conftest import Open, only

pytestmark = pytest.mark.browser
SVG = "{http://www.w3.org/2000/svg}"
# Text and graphics that must be told apart, WCAG 1.4.11.
LEAST_CONTRAST = 3.0
LONG_TASK_MS = 1000


def saved(page: Any, name: str) -> bytes:
    with page.expect_download() as download:
        page.get_by_role("button", name=name, exact=True).click()
    with open(download.value.path(), "rb") as file:
        return file.read()


@pytest.fixture
def drawn(opened: Open, written_recorded: str) -> Any:
    page = opened(address=written_recorded)
    page.evaluate("drawAll()")
    return page


def test_a_plot_is_saved_as_svg_with_its_colours(drawn: Any) -> None:
    root = ElementTree.fromstring(saved(drawn, "Save gradmark-ratios as SVG"))
    assert root.tag == f"{SVG}svg"
    texts = [one.text for one in root.iter(f"{SVG}text")]
    assert {"expression", "tapegrad", "× fastest"} <= set(texts)
    assert not any("class" in one.attrib for one in root.iter())
    assert "rgb(11, 98, 176)" in {one.get("fill") for one in root.iter(f"{SVG}path")}
    assert float(root.get("width", "0")) > 600


def test_a_plot_is_saved_as_png(drawn: Any) -> None:
    content = saved(drawn, "Save gradmark-ratios as PNG")
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    width = int.from_bytes(content[16:20], "big")
    assert width == 2 * drawn.locator("#ratios-chart svg").evaluate("one => one.viewBox.baseVal.width")


def test_a_plot_is_saved_as_csv_of_what_is_shown(drawn: Any) -> None:
    only(drawn, "tapegrad", "jax")
    lines = list(csv.DictReader(saved(drawn, "Save gradmark-ratios as CSV").decode().splitlines()))
    assert {line["engine"] for line in lines} == {"tapegrad", "jax"}
    assert len(lines) == 16
    assert all(float(line["ratio"]) >= 1.0 for line in lines)
    samples = list(csv.DictReader(saved(drawn, "Save gradmark-samples as CSV").decode().splitlines()))
    assert len(samples) == 32
    spread = list(csv.DictReader(saved(drawn, "Save gradmark-spread as CSV").decode().splitlines()))
    assert {line["engine"] for line in spread} == {"tapegrad", "jax"}


def test_tables_are_markdown(drawn: Any) -> None:
    drawn.locator("p.save").first.wait_for()
    only(drawn, "tapegrad", "casadi")
    text = drawn.evaluate("markdownOf(document.getElementById('standings'))")
    lines = text.splitlines()
    assert lines[0].startswith("| engine | × fastest | fastest | tied |")
    assert set(lines[1]) == set("| -:")
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| casadi", "| tapegrad"]
    grid = drawn.evaluate("markdownOf(document.getElementById('grid'))").splitlines()
    assert len(grid) == 2 + 16
    assert drawn.evaluate("markdownText('a|b `c` <d> *e*')") == "a\\|b \\`c\\` \\<d\\> \\*e\\*"
    drawn.get_by_role("button", name="Copy as markdown: Where each engine stands").click()
    drawn.locator("button", has_text="Copied").wait_for()


def test_paper_has_all_of_it_and_is_not_too_narrow(opened: Open, written_recorded: str) -> None:
    page = opened(scheme="dark", address=written_recorded)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1015})  # A4 with the margins of a browser
    wide = page.evaluate(
        "[...document.querySelectorAll('table, svg, p, h2, figure, .card')].filter(one =>"
        " one.getBoundingClientRect().right > 719).map(one => one.outerHTML.slice(0, 80))"
    )
    assert wide == []
    assert page.evaluate("getComputedStyle(document.querySelector('.bar i')).printColorAdjust") == "exact"
    assert not page.locator(".save").first.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    content = page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", content)) > 4
    assert page.evaluate("document.documentElement.className") == ""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_bars_and_dots_stand_out(opened: Open, written_recorded: str, scheme: str) -> None:
    page = opened(scheme=scheme, address=written_recorded, plots=False)
    ratios = page.evaluate(
        """() => {
          const style = getComputedStyle(document.documentElement);
          const light = (name) => {
            const text = style.getPropertyValue(name).trim().replace(/^#(.)(.)(.)$/, "#$1$1$2$2$3$3");
            const [r, g, b] = text.match(/\\w\\w/g).map((part) => parseInt(part, 16) / 255)
              .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
            return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
          };
          const names = ["--first", "--second", ...[0, 1, 2, 3, 4, 5, 6, 7].map((place) => `--c${place}`)];
          return Object.fromEntries(names.map((name) => {
            const [a, b] = [light(name), light("--surface")];
            return [name, Math.max(a, b) / Math.min(a, b)];
          }));
        }"""
    )
    assert {name: ratio for name, ratio in ratios.items() if ratio < LEAST_CONTRAST} == {}


def test_a_row_opens_with_all_its_numbers(drawn: Any) -> None:
    button = drawn.locator("#grid tbody th button").nth(1)
    button.focus()
    drawn.keyboard.press("Enter")
    detail = drawn.locator("#grid tr.detail")
    assert button.get_attribute("aria-expanded") == "true"
    said = detail.locator("dl").inner_text()
    assert "median 380 ns (range 372 ns to" in said.replace("\n", " ")
    assert detail.locator("svg circle").count() == 32
    detail.locator("a", has_text="Every block").click()
    assert drawn.locator("#samples-chart select").first.input_value() == "expression@tapegrad:program"
    button.click()
    assert detail.count() == 0
    button.click()
    drawn.locator("#grid thead th button", has_text="total").click()
    assert detail.count() == 0


def test_a_finger_swipes_tables_and_the_engine_stays(chromium: Any, written_recorded: str) -> None:
    context = chromium.new_context(viewport={"width": 400, "height": 800}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(written_recorded)
    page.wait_for_selector("html[data-plots=ready]", state="attached")
    region = page.locator("#table .scroll")
    region.scroll_into_view_if_needed()
    box = region.bounding_box()
    session = context.new_cdp_session(page)
    for moved in range(0, 210, 15):
        at = {"x": box["x"] + 300 - moved, "y": box["y"] + 120}
        session.send("Input.dispatchTouchEvent", {"type": "touchMove" if moved else "touchStart", "touchPoints": [at]})
        page.wait_for_timeout(16)  # a frame
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert region.evaluate("one => one.scrollLeft") > 100
    name = page.locator("#grid tbody th").nth(1)
    assert name.bounding_box()["x"] < box["x"] + 5
    assert name.evaluate("one => getComputedStyle(one, '::after').content") == '"tapegrad:program"'
    page.locator("#ratios-chart").scroll_into_view_if_needed()
    page.locator("#ratios-chart svg").wait_for()
    place = page.evaluate(
        "(() => { const svg = document.querySelector('#ratios-chart svg'), box = svg.getBoundingClientRect();"
        " return [box.left + svg.said[0].x, box.top + svg.said[0].y]; })()"
    )
    page.touchscreen.tap(*place)
    assert "on expression: " in page.locator(".tip").text_content()
    context.close()


def test_no_plot_holds_the_page_for_long(opened: Open, written_recorded: str) -> None:
    """Of the budget of a second a plot takes a few hundredths: room enough for a busy machine."""
    page = opened(address=written_recorded)
    tasks = page.evaluate(
        """async () => {
          const tasks = [];
          const note = (list) => tasks.push(...list.getEntries().map((one) => one.duration));
          new PerformanceObserver(note).observe({ type: "longtask" });
          for (const figure of document.querySelectorAll("figure.chart")) { figure.scrollIntoView(); await later(60); }
          await later(300);
          return tasks;
        }"""
    )
    assert [task for task in tasks if task > LONG_TASK_MS] == []
    assert page.locator("figure.chart:not(:has(svg))").count() == 0
