"""Results: what the verbs give in Python. Each shows itself as the terminal does, and as tables in a notebook.

In: records. Out: objects with a few attributes; what they print is what the command prints.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradmark.commands import terminal
from gradmark.errors import InstallationError, StoreError
from gradmark.records import Run

if TYPE_CHECKING:
    from gradmark.analyse.departures import Departure
    from gradmark.analyse.growth import Curves
    from gradmark.analyse.operators import Operation
    from gradmark.analyse.unpaired import Difference
    from gradmark.records.finding import Answer, Finding, Gate
    from gradmark.records.recording import Recording
    from gradmark.report.model.explanation import Explanation
    from gradmark.report.model.rows import Row


class Shown(ABC):
    """What shows itself: as text, and in a notebook as HTML."""

    @abstractmethod
    def _print(self) -> None:
        """Prints what the command prints."""

    def __repr__(self) -> str:
        from gradmark.api.calling import width

        with terminal.captured(width()) as text:
            self._print()
        return text.getvalue().strip("\n")

    def _repr_html_(self) -> str:
        from gradmark.report.exports.notebook import preformatted

        return preformatted(repr(self))


@dataclass(frozen=True, repr=False)
class Result(Shown):
    """A run, as `gradmark run` shows it."""

    run: Run  # all that was measured, with every sample
    path: str = ""  # where it is kept

    @cached_property
    def rows(self) -> "list[Row]":
        """A row for each cell: `row.workload`, `row.engine`, `row.status`, `row.value("total")` in ns."""
        from gradmark.report.model.rows import rows

        return rows(self.run)

    @property
    def ok(self) -> bool:
        """Whether something ran, and nothing failed: the exit code of the command is 0."""
        from gradmark.commands.showing import exit_code

        return exit_code(self.run) == 0

    @cached_property
    def best(self) -> dict[str, list[str]]:
        """The fastest engine of each row; several where they tie, or where too few processes tell them apart."""
        from gradmark.report.model.sides import placed

        return {
            task: [s.engine for s in standings if s.outcome != "slower"]
            for task, standings in placed(self.run).items()
            if standings
        }

    @cached_property
    def answers(self) -> list[str]:
        """A sentence for each row that engines compete on: who is fastest, and by how much."""
        from gradmark.report.model.sides import answers_of

        return answers_of(self.run)

    def to_pandas(self) -> Any:
        """A data frame with the columns of `--format csv`: a line for each cell, times in ns, missing numbers NaN."""
        from gradmark.report.exports.csv import records

        return _frame(records(self.run))

    def page(self, path: str | Path = "report.html") -> Path:
        """Writes the page that `gradmark report` writes."""
        from gradmark.commands import report

        output = Path(path)
        report.ready(output)
        report.write([self.run], output)
        return output

    def save(self, path: str | Path) -> Path:
        """Writes the run to a file, which `gradmark.load`, `compare` and `report` read."""
        from gradmark.store import runs

        runs.ready_file(Path(path))
        runs.save(self.run, Path(path))
        return Path(path)

    def markdown(self) -> str:
        """The tables for a pull request."""
        from gradmark.commands.showing import show

        with terminal.captured(1 << 16) as text:
            show(self.run, "markdown")
        return text.getvalue()

    def _print(self) -> None:
        from gradmark.commands.showing import show

        show(self.run, "table")

    def _repr_html_(self) -> str:
        from gradmark.report.exports.notebook import html

        return html(self.run)


@dataclass(frozen=True, repr=False)
class Scaling(Result):
    """A sweep over sizes, as `gradmark scale` shows it."""

    @cached_property
    def curves(self) -> "list[Curves]":
        """For each engine its fits, cost = a + b·n^p: `curve.name` and, of `curve.fits`, `fit.metric`, `fit.p`."""
        from gradmark.analyse.growth import growth

        return growth(self.run).curves

    def _print(self) -> None:
        from gradmark.commands.scale import show_growth

        show_growth(self.run)

    def _repr_html_(self) -> str:
        return Shown._repr_html_(self)


@dataclass(frozen=True, repr=False)
class Operations(Result):
    """What each operation costs, as `gradmark ops` shows it."""

    engines: Sequence[str] = ()

    @cached_property
    def operations(self) -> "Mapping[str, list[Operation]]":
        """The operations of each engine, the most expensive first."""
        from gradmark.analyse.operators import operations

        return {engine: operations(self.run.measurements, engine) for engine in self.engines}

    def _print(self) -> None:
        from gradmark.commands.ops import show_operations

        show_operations(self.run, self.engines)

    def _repr_html_(self) -> str:
        return Shown._repr_html_(self)


@dataclass(frozen=True, repr=False)
class Explained(Result):
    """One function from its recording to the times of engines, as `gradmark explain` shows it."""

    explanation: "Explanation" = field(kw_only=True)

    @property
    def recording(self) -> "Recording":
        """The operations of function and derivative, as text, and how many they are."""
        return self.explanation.recording

    @property
    def engines(self) -> "list[Departure]":
        """What each engine makes of them: `engine.ratio`, `engine.predicted`, `engine.factor`, `engine.parts`."""
        return self.explanation.engines

    def _print(self) -> None:
        from gradmark.commands.explain import show_explanation

        show_explanation(self.explanation)

    def _repr_html_(self) -> str:
        return Shown._repr_html_(self)


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Two runs, row by row, as `gradmark compare` shows them."""

    old: Run
    new: Run
    changed: bool = False  # only rows that differ are shown

    @cached_property
    def rows(self) -> "list[Difference]":
        """Every cell: `row.cell.row`, `row.cell.engine`, `row.verdict`, `row.time.ratio`, `row.changes`."""
        from gradmark.analyse.unpaired import differences

        return differences(self.old, self.new)

    def to_pandas(self) -> Any:
        """A data frame with a line for each cell; times in ns, ratio = new / old."""
        return _frame(
            [
                {
                    "row": d.cell.row,
                    "engine": d.cell.engine,
                    "old_ns": d.time and d.time.first,
                    "new_ns": d.time and d.time.second,
                    "ratio": d.time and d.time.ratio,
                    "verdict": d.verdict,
                    "reason": d.reason,
                    "changes": "; ".join(f"{c.metric}: {c.old} → {c.new}" for c in d.changes),
                }
                for d in self.rows
            ]
        )

    def _print(self) -> None:
        from gradmark.commands.compare import show_differences

        show_differences(self.old, self.new, changed=self.changed)


@dataclass(frozen=True, repr=False)
class Check(Shown):
    """What the gate says, as `gradmark check` shows it."""

    gate: "Gate" = field(kw_only=True)

    @property
    def answer(self) -> "Answer":
        """pass, fail or inconclusive."""
        return self.gate.answer

    @property
    def ok(self) -> bool:
        """Whether it passes; doubt is no pass."""
        return self.gate.answer == "pass"

    @property
    def findings(self) -> "list[Finding]":
        """What is said of each metric of each cell."""
        return self.gate.findings

    def markdown(self) -> str:
        """A comment for a pull request."""
        from gradmark.report.tables.gate import markdown

        return markdown(self.gate)

    def _print(self) -> None:
        from gradmark.report.tables.gate import lines

        for line in lines(self.gate):
            terminal.say(line)


def _frame(records: Sequence[Mapping[str, object]]) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise InstallationError(
            "to_pandas() needs pandas, which gradmark does not install: python -m pip install pandas; without it, "
            "`rows` has the same numbers"
        ) from error
    return pandas.DataFrame.from_records(list(records))


def run_of(result: "Result | Run | str | Path", store: "str | Path | None" = None) -> Run:
    """A run that was given, or that is kept under a name."""
    from gradmark.store import runs
    from gradmark.store.store import open_store

    if isinstance(result, Run):
        return result
    if isinstance(result, Result):
        return result.run
    if not isinstance(result, str | Path):
        raise StoreError(f"expected a result, or the id or file of a run, got {result!r}")
    kept = open_store(store)
    return kept.load(kept.find(str(result), runs.SHOWN_VERBS))
