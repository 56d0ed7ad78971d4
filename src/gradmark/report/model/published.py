"""Published beside measured: the ratio of derivative and function here, and what others report. Never one table.

In: the rows of a run. Out: a `Beside` for each function that a source has, in words and numbers for terminal and page.
"""

from collections.abc import Sequence

from gradmark import units
from gradmark.records import Record
from gradmark.records.metric import metric
from gradmark.records.published import Source, Stated
from gradmark.report.model.characters import one_line
from gradmark.report.model.columns import number_text
from gradmark.report.model.rows import Row
from gradmark.workloads.gradbench.evals import of_workload
from gradmark.workloads.published import stated

# The suite whose functions stand in papers.
SUITE = "literature"
# Either is total by primal, of gradients and of other derivatives.
RATIOS = ("gradient_primal", "derivative_primal")
PLAIN = (
    "here: functions of numbers are plain Python, which takes as long as recording them; their ratios say little "
    "beside those of compiled functions"
)
TITLE = "published beside measured: time of the derivative ÷ time of the function"


class Others(Record, frozen=True, kw_only=True):
    """What one source says, the smallest ratio first."""

    source: str
    size: str
    ratios: list[tuple[str, str]]


class Beside(Record, frozen=True, kw_only=True):
    """One function at one size: what was measured here, and what others published."""

    row: str
    here: list[tuple[str, str]]
    others: list[Others]
    remark: str = ""  # where the published derivative is another one


class BesideAll(Record, frozen=True, kw_only=True):
    """All of a run, and the sources that are quoted."""

    rows: list[Beside]
    sources: list[str]  # a sentence each, and what to know of the measured ones


def beside(rows: Sequence[Row]) -> BesideAll:
    """Every row of the suite that a source has; engines of one row together."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row.cell.suite == SUITE and row.cell.file is None and row.status == "ok":
            groups.setdefault(one_line(row.cell.task), []).append(row)
    shown: list[Beside] = []
    quoted: dict[str, Source] = {}
    for task, members in groups.items():
        statements = stated(members[0].cell.workload, members[0].cell.params)
        here = [(row.engine, text) for row in members if (text := _ratio(row))]
        if not statements or not here:
            continue
        problem = of_workload(members[0].cell.workload)
        quoted |= {statement.source.name: statement.source for statement in statements}
        remark = problem.remark if problem is not None else ""
        shown.append(Beside(row=task, here=here, others=[_others(s) for s in statements], remark=remark))
    timed = [(row, row.time) for members in groups.values() for row in members if row.time is not None]
    of_numbers = any(row.cell.kind == "scalar" and time.how != "self-timed" for row, time in timed)
    return BesideAll(rows=shown, sources=[*map(_words, quoted.values()), *([PLAIN] if of_numbers else [])])


def _words(source: Source) -> str:
    return f"{source.name}: {source.title}; {source.ratio}; {source.machine}; {source.where}; {source.licence} licence"


def _ratio(row: Row) -> str:
    """The measured ratio as tables show it; empty if there is none."""
    name = next((name for name in RATIOS if name in row.numbers), None)
    return "" if name is None else number_text(metric(name), row.numbers[name])


def _others(statement: Stated) -> Others:
    size = statement.size if statement.exact else f"{statement.size}, the nearest"
    ratios = [(tool, units.text("ratio", ratio)) for tool, ratio in statement.ratios]
    return Others(source=statement.source.name, size=size, ratios=ratios)


def listed(ratios: Sequence[tuple[str, str]], most: int) -> str:
    """The first of them, and how many more up to the last.

    >>> listed([("a", "1.5"), ("b", "2"), ("c", "9"), ("d", "50")], 2)
    'a 1.5, b 2, … d 50 (4 tools)'
    """
    if len(ratios) <= most + 1:
        return ", ".join(f"{tool} {text}" for tool, text in ratios)
    first = ", ".join(f"{tool} {text}" for tool, text in ratios[:most])
    tool, text = ratios[-1]
    return f"{first}, … {tool} {text} ({len(ratios)} tools)"
