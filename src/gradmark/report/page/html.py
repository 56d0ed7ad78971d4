"""HTML: one file with everything in it: styles, scripts, plotly, data. It needs no network, and asks for none.

In: a page. Out: text. The template escapes all text; data and plotly go in compressed, and the page unpacks them.
"""

import base64
import gzip
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files

import msgspec

from gradmark.report.escaping.html import printable_json, shown, with_code
from gradmark.report.page.page import Page

SCRIPTS = ("table.js", "plots.js", "blocks.js", "loading.js", "page.js")


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
    plotly = (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8") if page.charts else ""
    with ThreadPoolExecutor(2) as beside:  # compressing lets Python go on; the template needs the results at its end
        return environment.get_template("page.html").render(
            page=page,
            plotly=beside.submit(packed, plotly),
            data=beside.submit(packed, data(page)),
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


def packed(text: str) -> str:
    """Compressed, in letters that have no meaning in HTML; plotly alone takes 5 MB as it is, and 2 MB so."""
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode()
