"""What pages have from the code: the table of metrics, made of the registry.

In: a page with the directive `metrics`. Out: its nodes. The reference of operations is written by setup.py instead.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from gradmark.records.metric import REGISTRY, Metric

UNITS = {"time": "ns", "bytes": "B", "flops": "FLOP/s", "traffic": "B/s"}
# Each head, and how wide its column is.
HEADS = {"metric": 22, "what it is": 36, "unit": 8, "gate": 10, "CSV": 24}


def row(entry: Metric) -> list[str]:
    """One metric as texts, in the order of HEADS."""
    budget = "" if entry.budget is None else str(entry.budget)
    gate = ", ".join(filter(None, ["exact" if entry.exact else "", budget]))
    meaning = entry.meaning + ("; higher is better" if entry.better == "higher" else "")
    return [entry.name, meaning, UNITS.get(entry.unit, entry.unit), gate, entry.column]


class Metrics(SphinxDirective):
    """The table of all metrics."""

    def run(self) -> list[nodes.Node]:
        """One row for each entry of the registry."""
        return [table(HEADS, [row(entry) for entry in REGISTRY])]


def table(heads: Mapping[str, int], rows: Sequence[Sequence[str]]) -> nodes.table:
    """A table of texts; first and last column are code."""
    group = nodes.tgroup(cols=len(heads))
    group += [nodes.colspec(colwidth=width) for width in heads.values()]
    head, body = nodes.thead(), nodes.tbody()
    head += line(list(heads), code=())
    body += [line(texts, code=(0, len(heads) - 1)) for texts in rows]
    group += [head, body]
    return nodes.table("", group, classes=["registry"])


def line(texts: Sequence[str], code: Sequence[int]) -> nodes.row:
    """One row."""
    made = nodes.row()
    for place, text in enumerate(texts):
        content = nodes.literal(text, text) if place in code and text else nodes.Text(text)
        made += nodes.entry("", nodes.paragraph("", "", content))
    return made


def mend_code(_app: Any, _what: str, _name: str, _thing: Any, _options: Any, lines: list[str]) -> None:
    """Docstrings say `Var`s; reStructuredText wants to see where the code ends."""
    lines[:] = [re.sub(r"(?<!`)`([^`]+)`(?=\w)", r"`\1`\\ ", line) for line in lines]


def setup(app: Any) -> dict[str, bool]:
    """Sphinx calls this."""
    app.add_directive("metrics", Metrics)
    app.connect("autodoc-process-docstring", mend_code)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
