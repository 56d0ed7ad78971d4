"""HTML: one file with everything in it: styles, scripts, data. It needs no network, and asks for none.

In: a page. Out: text. The template escapes all text; the data of plots goes in compressed, and the page unpacks it.
"""

import base64
import gzip
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files

import markupsafe
import msgspec

from gradmark.analyse.standings import BY_HAND
from gradmark.report.escaping.html import printable_json, shown, with_code
from gradmark.report.model.overview import HEADS
from gradmark.report.page.page import Page

SCRIPTS = (
    "filter.js", "overview.js", "table.js", "svg.js", "plots.js", "blocks.js",
    "ratios.js", "spread.js", "multiples.js", "icicle.js",
    "exports.js", "loading.js", "page.js",
)  # fmt: skip
# In order, with what the navigation calls them.
SECTIONS = {
    "glance": "Overview",
    "ratios": "Ratios",
    "table": "Table",
    "verdicts": "Contract",
    "phases": "Phases",
    "scaling": "Scaling",
    "operators": "Operators",
    "memory": "Memory",
    "accuracy": "Accuracy",
    "samples": "Samples",
    "engines": "Engines",
    "roofline": "Roofline",
    "published": "Published",
    "history": "History",
}


def render(page: Page) -> str:
    """The page as one HTML document."""
    import jinja2

    assets = files("gradmark.report.page") / "assets"
    environment = jinja2.Environment(
        autoescape=True,
        finalize=shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(lambda name: (assets / name).read_text(encoding="utf-8")),
    )
    environment.filters["code"] = with_code
    environment.globals["zip"] = zip
    with ThreadPoolExecutor(1) as beside:  # compressing lets Python go on; the template needs the result at its end
        return environment.get_template("page.html").render(
            page=page,
            sections={id: name for id, name in SECTIONS.items() if id != "ratios" or page.answers},
            baselines=sorted((line.engine for line in page.overview.lines), key=lambda name: name != BY_HAND),
            heads=HEADS,
            data=beside.submit(packed, data(page)),
            index=markupsafe.Markup(in_script(msgspec.json.encode(page.index).decode())),
            style=(assets / "page.css").read_text(encoding="utf-8"),
            first=(assets / "first.js").read_text(encoding="utf-8"),
            scripts="\n".join((assets / name).read_text(encoding="utf-8") for name in SCRIPTS),
        )


def data(page: Page) -> str:
    """What the plots are drawn from, as JSON. The letters that stand for numbers are read by nobody, and stay."""
    charts = {}
    for chart in page.charts:
        words = msgspec.structs.replace(chart, times=[], pilots={})
        plain = msgspec.json.decode(printable_json(msgspec.json.encode(words).decode()))
        charts[chart.id] = plain | ({"times": chart.times, "pilots": chart.pilots} if chart.times else {})
    return msgspec.json.encode(charts).decode()


def in_script(text: str) -> str:
    """JSON between the tags of a script, which only `</` could end."""
    return printable_json(text).replace("<", "\\u003c")


def packed(text: str) -> str:
    """Compressed, in letters that have no meaning in HTML: the samples of a full run are 10 MB as they are."""
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode()
