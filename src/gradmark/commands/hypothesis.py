"""`gradmark hypothesis`: tests performance claims."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import click

from gradmark.commands.measuring import Invocation, MeasuringCommand, measure, measuring
from gradmark.commands.options import SAMPLING
from gradmark.commands.showing import end, show_calmness
from gradmark.commands.verdicts import exit_code, print_verdicts
from gradmark.errors import SelectionError
from gradmark.records import Cell, Measurement, Run, Settings

if TYPE_CHECKING:
    from gradmark.analyse.hypotheses import Arm, Hypothesis
    from gradmark.measure.plan import Plan
    from gradmark.workloads.outline import Outline


@dataclass(frozen=True)
class Claim:
    """A hypothesis, the file that it came from, and what workloads that file has."""

    hypothesis: "Hypothesis"
    file: str | None = None
    workloads: "Sequence[Outline]" = ()

    @cached_property
    def cells(self) -> list[Cell]:
        """The two cells of the hypothesis. Workloads are looked for in its own file first."""
        return [self._cell(arm) for arm in (self.hypothesis.first, self.hypothesis.second)]

    def _cell(self, arm: "Arm") -> Cell:
        from gradmark.engines import discovery
        from gradmark.workloads.selection import select

        discovery.check(arm.engine)
        own = [workload for workload in self.workloads if workload.name == arm.workload]
        workload = own[0] if own else select([arm.workload])[0]
        return Cell(
            engine=arm.engine,
            workload=workload.name,
            suite=workload.suite,
            params=dict(arm.params),
            kind=workload.kind,
            dtype=workload.dtypes[0],
            derivative=arm.derivative,
            file=self.file if own else None,
        )


@click.command(
    cls=MeasuringCommand, examples=("gradmark hypothesis reuse-time", "gradmark hypothesis my_claims.py --full")
)
@click.argument("names", nargs=-1)
@measuring(*SAMPLING)
def command(names: tuple[str, ...], invocation: Invocation) -> None:
    """Test performance claims: built-in ones by name, or your own from Python files. Default: all built-in claims.

    Exit code 1 if a claim is refuted, 3 if one is undecided.
    """
    from gradmark.analyse.hypotheses import judge

    chosen = choose(names, invocation.settings)
    run, where = measure(invocation, lambda: planned(invocation, chosen), lambda run: unsettled(run, chosen))
    verdicts = [judge(claim.hypothesis, own_measurements(run, claim)) for claim in chosen]
    print_verdicts(verdicts)
    show_calmness(run)
    end(where, exit_code(verdicts))


def planned(invocation: Invocation, chosen: Sequence[Claim]) -> "Plan":
    """Both arms of each hypothesis, once each, in enough rounds to decide."""
    import msgspec

    from gradmark.analyse.hypotheses import LEAST_ROUNDS
    from gradmark.measure import plan, process

    rounds = max(invocation.settings.processes, LEAST_ROUNDS)
    settings = msgspec.structs.replace(invocation.settings, processes=rounds)
    cells = {cell.id: cell for claim in chosen for cell in claim.cells}
    can = plan.survey([cell.engine for cell in cells.values()], process.run, settings, stop=process.end_all).can
    placed = [msgspec.structs.replace(cell, device=can[cell.engine].devices[0]) for cell in cells.values()]
    known = plan.known_of(placed, can, process.run, settings, stop=process.end_all)
    return invocation.plan_of_cells(placed, settings, known)


def unsettled(run: Run, chosen: Sequence[Claim]) -> list[Cell]:
    """The cells that another process may settle: whose processes do not agree, or that lack calm rounds to decide."""
    from gradmark.analyse.hypotheses import lacks_rounds
    from gradmark.records.agreement import agreed

    lacking = {
        m.cell.id
        for claim in chosen
        if lacks_rounds(claim.hypothesis, own := own_measurements(run, claim))
        for m in own
    }
    return [m.cell for m in run.measurements if m.cell.id in lacking or not agreed(m)]


def own_measurements(run: Run, claim: Claim) -> list[Measurement]:
    """Those of a hypothesis's own arms: two files may have workloads of one name."""
    import msgspec

    return [
        m
        for m in run.measurements
        if any(msgspec.structs.replace(arm, device=m.cell.device) == m.cell for arm in claim.cells)
    ]


def choose(names: Sequence[str], settings: Settings) -> list[Claim]:
    """Hypotheses by name or from files, which are loaded under the limits of the settings."""
    import difflib

    from gradmark.analyse import own_hypotheses
    from gradmark.analyse.hypotheses import BUILT_IN

    known = {hypothesis.name: hypothesis for hypothesis in BUILT_IN}
    claims: list[Claim] = []
    for name in names or tuple(known):
        if name.endswith(".py"):
            own = own_hypotheses.of_file(name, settings)
            claims += [Claim(hypothesis, name, own.workloads) for hypothesis in own.hypotheses]
        elif name in known:
            claims.append(Claim(known[name]))
        else:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"choose from: {', '.join(known)}"
            raise SelectionError(f"no hypothesis is called {name!r}; {hint}")
    return claims
