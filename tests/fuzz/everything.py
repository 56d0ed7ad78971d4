"""Everything that is done with what was read: a file that opens must also be listed, compared, shown and exported.

In: a run or a baseline. Out: nothing. What raises here is a fault: the border let something through.
"""

import io

from rich.console import Console

from gradmark.analyse.contract import contract
from gradmark.analyse.growth import growth
from gradmark.analyse.histories import histories
from gradmark.analyse.hypotheses import BUILT_IN, judge
from gradmark.analyse.operators import operations
from gradmark.analyse.standings import unsettled
from gradmark.analyse.summary import summarise
from gradmark.analyse.unpaired import differences, environments
from gradmark.commands import compare, history
from gradmark.commands import list as listing
from gradmark.gate import exact
from gradmark.gate.configuration import Configuration
from gradmark.records import Run
from gradmark.records.agreement import agreed
from gradmark.records.finding import Gate
from gradmark.records.outline import outline
from gradmark.report.escaping.terminal import line
from gradmark.report.exports import csv, go, json, machines, markdown
from gradmark.report.model import sides
from gradmark.report.model.notes import notes
from gradmark.report.model.operators import operator_table
from gradmark.report.model.suites import tables
from gradmark.report.page import html
from gradmark.report.page.page import page
from gradmark.report.tables import gate as gate_text
from gradmark.report.tables import terminal
from gradmark.report.tables.levels import levels
from gradmark.store import baselines
from gradmark.store.listing import Listed
from gradmark.store.store import open_store


def done_with(run: Run, beside: Run) -> None:
    """All that commands do with a run that they only read; `beside` is a run that it is compared with."""
    _shown(run)
    _compared(beside, run)
    _compared(run, beside)
    for name in ("total", "spread", "allocations"):
        series = histories([outline(beside), outline(run)], name)
        for machine in dict.fromkeys(one.machine for one in series.series):
            list(history._lines(series, machine))
            levels(series, machine, 100)
    html.data(page([beside, run]))
    gated(baselines.baseline(run.measurements, run.environment), run)


def _shown(run: Run) -> None:
    summaries = [summarise(measurement) for measurement in run.measurements]
    said = notes(run, *growth(run), summaries)
    for medians in (False, True):
        terminal.print_tables(tables(run, summaries), said, Console(file=io.StringIO(), width=100), medians=medians)
        markdown.suites(tables(run, summaries), said, medians=medians)
    if sides.wanted(run):
        comparison = sides.comparison(run, summaries)
        terminal.print_comparison(comparison, said, Console(file=io.StringIO(), width=100))
        markdown.side_by_side(comparison, said)
    csv.csv(run, summaries)
    json.json(run, summaries)
    go.render(run)
    machines.bencher(machines.of_run(run))
    machines.smaller_is_better(machines.of_run(run))
    unsettled(run.measurements)
    for measurement in run.measurements:
        agreed(measurement)
    for engine in dict.fromkeys(m.cell.engine for m in run.measurements):
        contract(run.measurements, engine)
        operator_table(engine, operations(run.measurements, engine), None)
    for hypothesis in BUILT_IN:
        judge(hypothesis, run.measurements)


def _compared(old: Run, new: Run) -> None:
    environments(old, new)
    rows = differences(old, new)
    names = compare.names_of([row.cell for row in rows])
    for row in rows:
        list(compare.lines(row, names[row.cell.id]))


def gated(baseline: baselines.Baseline, run: Run) -> None:
    """All that is done with a baseline: shown, compared with a run in every format, made anew."""
    for kept in baseline.cells.values():
        gate_text.numbers(kept.metrics, kept.scatter)
    here = baselines.described(run.environment)
    findings = exact.compare(baseline, run.measurements, here, Configuration())
    gate = Gate(against="b", findings=findings, differing=exact.unlike(baseline.environment, here))
    gate_text.lines(gate)
    gate_text.markdown(gate)
    for render in (machines.junit, machines.bencher, machines.smaller_is_better, machines.json):
        render(gate)
    baselines.baseline(run.measurements, run.environment, baseline)


def listed(run: Listed) -> None:
    """What a list shows of a file."""
    for text in listing.lines(run, 80, open_store()):
        line(text)
