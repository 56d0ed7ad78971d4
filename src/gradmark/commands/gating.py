"""What `baseline` and `check` share: their options, what they measure, and how they show progress."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gradmark.commands.measuring import _number
from gradmark.records import Cell, Measurement, Settings

if TYPE_CHECKING:
    from gradmark.gate.configuration import Configuration

OPTIONS = [
    click.argument("select", nargs=-1),
    click.option("-e", "--engine", "engines", multiple=True, help="Engine; again for more. Default: pyproject.toml's."),
    click.option("-k", "keyword", help="Only workloads with this in their name."),
    click.option(
        "--baseline", "file", type=click.Path(path_type=Path), help="The file. Default: gradmark-baseline.json."
    ),
    click.option("--seed", default=0, show_default=True, help="Of the inputs and of the order."),
    click.option("--threads", type=click.IntRange(1), default=1, show_default=True, help="Threads of each engine."),
    click.option(
        "--timeout", type=float, default=60.0, show_default=True, metavar="S", callback=_number, help="Of one process."
    ),
]


def gating(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options; they arrive as `select`, `engines`, `keyword`, `file` and `settings`."""

    def wrapped(file: Path | None, seed: int, threads: int, timeout: float, **rest: Any) -> Any:
        from gradmark.store import baselines

        settings = Settings(seed=seed, threads=threads, timeout_s=timeout)
        return function(file=file or baselines.FILE, settings=settings, **rest)

    wrapped.__doc__ = function.__doc__
    for option in reversed(OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def planned(
    configuration: "Configuration", select: Sequence[str], engines: Sequence[str], keyword: str | None
) -> list[Cell]:
    """The cells to look at: those of pyproject.toml, or those that were asked for."""
    from gradmark.engines import discovery
    from gradmark.measure.plan import cells_of
    from gradmark.workloads.selection import select as choose

    engines = engines or configuration.engines
    for engine in engines:
        discovery.check(engine)
    return cells_of(choose(select or configuration.select, keyword), engines, full=False)


def inspected(cells: Sequence[Cell], settings: Settings) -> list[Measurement]:
    """Exact metrics of the cells, with progress."""
    from gradmark.measure.inspector import inspect
    from gradmark.measure.process import end_all, run

    with progress(len(cells)) as step:
        found = {}
        for measurement, _ in inspect(cells, run, end_all, settings):
            found[measurement.cell.id] = measurement
            step(f"inspect: {measurement.cell.row} {measurement.cell.engine}")
    return [found[cell.id] for cell in cells]


class progress:  # noqa: N801  used as a function
    """A bar on standard error with the time that is left; entering gives a function that goes one step on."""

    def __init__(self, steps: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self.bar = Progress(
            BarColumn(20),
            TextColumn("{task.completed}/{task.total}"),
            TimeRemainingColumn(elapsed_when_finished=True),
            TextColumn("{task.description}", markup=False),
            console=Console(stderr=True),
            transient=True,
        )
        self.task = self.bar.add_task("", total=steps)

    def __enter__(self) -> Callable[[str], None]:
        self.bar.start()
        return lambda text: self.bar.update(self.task, advance=1, description=text)

    def __exit__(self, *_: object) -> None:
        self.bar.stop()
