"""`gradmark hypothesis`: tests performance claims."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gradmark.commands.measuring import Invocation, MeasuringCommand, measure, measuring
from gradmark.commands.options import SAMPLING
from gradmark.commands.showing import show_calmness
from gradmark.commands.verdicts import exit_code, print_verdicts
from gradmark.errors import SelectionError
from gradmark.records import Cell, Measurement, Run

if TYPE_CHECKING:
    from gradmark.analyse.hypotheses import Arm, Hypothesis
    from gradmark.measure.plan import Plan


@click.command(cls=MeasuringCommand)
@click.argument("names", nargs=-1)
@measuring(*SAMPLING)
def command(names: tuple[str, ...], invocation: Invocation) -> None:
    """Test performance claims: built-in ones by name, or your own from Python files. Default: all built-in ones.

    Exit code 1 when one is refuted, 3 when one cannot be decided.
    """
    from gradmark.analyse.hypotheses import judge

    chosen = choose(names)
    run, path = measure(invocation, lambda: planned(invocation, chosen), lambda run: unsettled(run, chosen))
    verdicts = [judge(hypothesis, own_measurements(run, hypothesis, file)) for hypothesis, file in chosen]
    print_verdicts(verdicts)
    show_calmness(run)
    click.echo(f"\nrun file: {path}")
    sys.exit(exit_code(verdicts))


def planned(invocation: Invocation, chosen: "Sequence[tuple[Hypothesis, str | None]]") -> "Plan":
    """Both arms of each hypothesis, once each, in enough rounds to decide."""
    import msgspec

    from gradmark.analyse.hypotheses import LEAST_ROUNDS
    from gradmark.measure import plan, process

    rounds = max(invocation.settings.processes, LEAST_ROUNDS)
    settings = msgspec.structs.replace(invocation.settings, processes=rounds)
    cells = {cell.id: cell for hypothesis, file in chosen for cell in cells_of(hypothesis, file)}
    can = plan.survey([cell.engine for cell in cells.values()], process.run, settings, stop=process.end_all).can
    placed = [msgspec.structs.replace(cell, device=can[cell.engine].devices[0]) for cell in cells.values()]
    known = plan.known_of(placed, can, process.run, settings, stop=process.end_all)
    return invocation.plan_of_cells(placed, settings, known)


def unsettled(run: Run, chosen: "Sequence[tuple[Hypothesis, str | None]]") -> list[Cell]:
    """The cells that another process may settle: whose processes do not agree, or that lack calm rounds to decide."""
    from gradmark.analyse.hypotheses import lacks_rounds
    from gradmark.records.agreement import agreed

    lacking = {
        m.cell.id
        for hypothesis, file in chosen
        if lacks_rounds(hypothesis, own := own_measurements(run, hypothesis, file))
        for m in own
    }
    return [m.cell for m in run.measurements if m.cell.id in lacking or not agreed(m)]


def own_measurements(run: Run, hypothesis: "Hypothesis", file: str | None) -> list[Measurement]:
    """Those of a hypothesis's own arms: two files may have workloads of one name."""
    import msgspec

    arms = cells_of(hypothesis, file)
    return [
        m for m in run.measurements if any(msgspec.structs.replace(arm, device=m.cell.device) == m.cell for arm in arms)
    ]


def choose(names: tuple[str, ...]) -> "list[tuple[Hypothesis, str | None]]":
    """Hypotheses by name or from files, each with the file it came from."""
    import difflib
    import runpy

    from gradmark.analyse.hypotheses import BUILT_IN, Hypothesis
    from gradmark.workloads.lookup import where_it_failed

    known = {hypothesis.name: hypothesis for hypothesis in BUILT_IN}
    hypotheses: list[tuple[Hypothesis, str | None]] = []
    for name in names or tuple(known):
        if name.endswith(".py"):
            try:
                values = runpy.run_path(name).values()
            except Exception as error:
                raise SelectionError(f"{name} cannot be loaded: {where_it_failed(error)}") from error
            own: list[tuple[Hypothesis, str | None]] = [
                (value, name) for value in values if isinstance(value, Hypothesis)
            ]
            if not own:
                raise SelectionError(f"{name} has no Hypothesis; see examples/hypothesis.py")
            hypotheses += own
        elif name in known:
            hypotheses.append((known[name], None))
        else:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
            raise SelectionError(f"no hypothesis is called {name!r}; {hint}")
    return hypotheses


def cells_of(hypothesis: "Hypothesis", file: str | None) -> list[Cell]:
    """The two cells of a hypothesis. Workloads are looked for in its own file first."""
    return [_cell(arm, file) for arm in (hypothesis.first, hypothesis.second)]


def _cell(arm: "Arm", file: str | None) -> Cell:
    from gradmark.engines import discovery
    from gradmark.errors import WorkloadError
    from gradmark.workloads.lookup import from_file
    from gradmark.workloads.selection import select

    discovery.check(arm.engine)
    own = []
    if file is not None:
        try:
            own = [w for w in from_file(Path(file)) if w.name == arm.workload]
        except WorkloadError:
            own = []  # a file with hypotheses only
    workload = own[0] if own else select([arm.workload])[0]
    return Cell(
        engine=arm.engine,
        workload=workload.name,
        suite=workload.suite,
        params=dict(arm.params),
        kind=workload.kind,
        dtype=workload.dtypes[0],
        file=file if own else None,
    )
