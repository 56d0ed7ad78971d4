"""The page: all that the HTML file shows, as plain data.

In: one or more runs, the gate's verdict if there is one, hypotheses of one's own. Out: a `Page`; `html` escapes it.
"""

from collections.abc import Iterator, Sequence

import msgspec

from gradmark import units
from gradmark.analyse.contract import contract
from gradmark.analyse.growth import Curves
from gradmark.analyse.hypotheses import BUILT_IN, Hypothesis, judge
from gradmark.records import Record, Run, Verdict
from gradmark.records.metric import metric
from gradmark.report.model import sides
from gradmark.report.model.answers import answers
from gradmark.report.model.characters import one_line, plural
from gradmark.report.model.note import Note
from gradmark.report.model.notes import notes, unfinished
from gradmark.report.model.overview import Overview, overview
from gradmark.report.model.published import BesideAll, beside
from gradmark.report.page import bars, curves, grid, heat, points
from gradmark.report.page.cards import Card, cards
from gradmark.report.page.chart import Chart
from gradmark.report.page.history import history
from gradmark.report.page.icicle import icicle
from gradmark.report.page.index import Index, index
from gradmark.report.page.material import NOTED, Material
from gradmark.report.page.matrix import Matrix, matrix
from gradmark.report.page.roofline import roofline
from gradmark.report.page.samples import samples


class Growth(Record, frozen=True, kw_only=True):
    """One fit in words."""

    name: str
    metric: str
    exponent: str
    interval: str
    verdict: str
    cells: str  # the places of what was fitted


class Transcript(Record, frozen=True, kw_only=True):
    """What was said to a program that failed, and what it answered."""

    cell: int
    place: str
    message: str
    lines: list[str]


class Page(Record, frozen=True, kw_only=True):
    """Everything, in the order in which it is shown."""

    title: str
    facts: list[tuple[str, str]]  # machine, commit, settings
    overview: Overview
    index: Index
    answers: list[tuple[int, str]]  # one for each task on which engines were compared, with its place
    absent: list[str]  # engines that ran nothing
    cards: list[Card]
    notes: list[Note]
    grid: grid.Grid
    transcripts: list[Transcript]
    phases: bars.Bars
    scaling: Chart
    growth: list[Growth]
    operators: list[heat.Heat]
    icicle: Chart
    memory: bars.Bars
    accuracy: Chart
    samples: Chart
    engines: heat.Heat | None
    published: BesideAll
    first_call: Chart
    pareto: Chart
    roofline: Chart
    history: Chart
    contract: Matrix
    verdicts: list[Verdict]

    @property
    def charts(self) -> list[Chart]:
        """What is drawn from the packed data."""
        charts = [
            *(self.scaling, self.icicle, self.accuracy, self.samples),
            *(self.first_call, self.pareto, self.roofline, self.history),
        ]
        return [chart for chart in charts if chart.views]


def page(runs: Sequence[Run], gate: Verdict | None = None, own: Sequence[Hypothesis] = ()) -> Page:
    """The page of these runs: the newest measurement of each cell, and the history of all."""
    material = Material(runs)
    promises = list(_promises(material))
    compared = sides.compares(material.run)
    return Page(
        title=f"Gradmark: {material.run.id}",
        facts=list(_facts(material)),
        overview=overview(material.compared, material.rows, promises, material.standings),
        index=index(material),
        answers=_answers(material) if compared else [],
        absent=sides.absent(material.run, material.summaries) if compared else [],
        cards=cards(material, promises, gate),
        notes=_notes(material),
        grid=grid.grid(material),
        transcripts=[
            Transcript(
                cell=entry.place,
                place=entry.row.place,
                message=entry.row.message,
                lines=[one_line(line) for line in entry.measurement.transcript],
            )
            for entry in material.entries
            if entry.measurement.transcript
        ],
        phases=bars.phases(material),
        scaling=curves.scaling(material),
        growth=[
            Growth(
                name=one_line(family.name),
                metric=metric(fit.metric).title,
                exponent=f"{fit.p:.2f}",
                interval=f"{fit.low:.2f} to {fit.high:.2f}",
                verdict=fit.verdict,
                cells=_cells(material, family),
            )
            for family in material.growth.curves
            for fit in family.fits
        ],
        operators=heat.operators(material),
        icicle=icicle(material),
        memory=bars.memory(material),
        accuracy=points.accuracy(material),
        samples=samples(material),
        engines=heat.side_by_side(material),
        published=beside(material.rows),
        first_call=points.first_call(material),
        pareto=points.pareto(material),
        roofline=roofline(material),
        history=history(material),
        contract=matrix(material, promises),
        verdicts=[*([gate] if gate else []), *_hypotheses(material, own)],
    )


def _cells(material: Material, family: Curves) -> str:
    """The places of the cells of a family."""
    measurements = [m for (name, _), members in material.families.items() if name == family.name for m in members]
    return " ".join(str(material.places[m.cell.id]) for m in measurements)


def _answers(material: Material) -> list[tuple[int, str]]:
    """Each answer with the place of its task, by which the filter knows it."""
    contested = [one_line(task) for task, row in material.standings.items() if len(row) > 1]
    return list(zip(map(material.tasks.index, contested), answers(material.standings), strict=True))


def _facts(material: Material) -> Iterator[tuple[str, str]]:
    run = material.run
    environment, settings = run.environment, run.settings
    yield "run", run.id if len(material.runs) == 1 else f"{run.id}, the newest of {len(material.runs)}"
    yield "started", run.started.replace("T", " ")[:16] + " UTC"
    memory = units.size(environment.memory_bytes) if environment.memory_bytes else "memory unknown"
    cores = plural(environment.cores, "core")
    processors = [f"{environment.cpu}, {cores}, {memory}", *environment.gpus]
    yield "machine", one_line("; ".join(processors))
    yield "system", one_line(f"{environment.os}, {environment.python}")
    yield "commit", one_line(", ".join(material.commits))
    counts = sorted({len(m.samples) for m in run.measurements if m.samples}) or [settings.processes]
    processes = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    yield "processes", f"{processes} for each row, interleaved; {settings.blocks} blocks in each"
    yield "threads", str(settings.threads)
    yield "seed", str(settings.seed)
    if environment.packages:
        yield "packages", one_line(", ".join(f"{name} {version}" for name, version in environment.packages.items()))


def _notes(material: Material) -> list[Note]:
    """Warnings first: what the page left out, what is not finished, and what the terminal says of a run."""
    # Each run is finished by its own command, so that is said run by run.
    whole = msgspec.structs.replace(material.run, finished=True)
    all_notes = [
        *_left_out(material),
        *(note for run in material.unfinished for note in unfinished(run)),
        *_differing(material),
        *notes(whole, *material.growth, material.summaries),
    ]
    return sorted(all_notes, key=lambda note: note.level == "info")


def _left_out(material: Material) -> Iterator[Note]:
    for name, reasons in material.left_out.items():
        text = f"run {name} is only in the history: its times do not compare ({'; '.join(reasons)})."
        yield Note(level="warning", text=one_line(text))
    for run in material.runs:
        if any(cell.side for cell in run.planned) and run.id not in material.left_out:
            text = f"run {run.id} measured two builds side by side; the rows are those of the newer."
            yield Note(level="info", text=one_line(text))
    if len(material.merged) > 1 and len(material.commits) > 1:
        text = f"the rows come from {len(material.merged)} runs of different commits: {', '.join(material.commits)}."
        yield Note(level="warning", text=one_line(text))


def _differing(material: Material) -> Iterator[Note]:
    """Runs whose rows are shown though they were measured a little differently."""
    shown: dict[str, int] = {}
    for run in material.sources.values():
        shown[run.id] = shown.get(run.id, 0) + 1
    for run in material.merged[:-1]:
        ways = [WAYS[field][getattr(run.settings, field)] for field in NOTED if _differs(material, run, field)]
        if ways and run.id in shown:
            text = (
                f"{plural(shown[run.id], 'row')} of run {run.id}: {'; '.join(ways)}, unlike those of {material.run.id}."
            )
            yield Note(level="info", text=one_line(text))


def _differs(material: Material, run: Run, field: str) -> bool:
    return bool(getattr(run.settings, field) != getattr(material.run.settings, field))


# How runs were measured, by setting.
WAYS = {
    "full": {
        True: "a full run, with more processes and blocks, so its times are more precise",
        False: "a quick run, with fewer processes and blocks, so its times are less precise",
    },
    "forked": {
        True: "processes forked from one import of each engine",
        False: "fresh processes",
    },
}


def _promises(material: Material) -> Iterator[Verdict]:
    """The contract of every engine that was measured on some of its workloads."""
    for engine in dict.fromkeys(m.cell.engine for m in material.run.measurements):
        verdicts = contract(material.run.measurements, engine)
        if any(verdict.verdict != "not measured" for verdict in verdicts):
            yield from verdicts


def _hypotheses(material: Material, own: Sequence[Hypothesis]) -> Iterator[Verdict]:
    """Those that were asked for, and of the built-in ones those that the run can judge."""
    for hypothesis in (*own, *BUILT_IN):
        verdict = judge(hypothesis, material.compared.measurements)
        if hypothesis in own or verdict.verdict != "not measured":
            yield verdict
