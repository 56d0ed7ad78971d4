"""What the measuring verbs share: their options, and a run with progress."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from gradmark.errors import SelectionError
from gradmark.records import Cell, Run, Settings

DEFAULT_ENGINE = "tapegrad"


def _memory(context: click.Context, parameter: click.Parameter, value: float) -> int:
    return int(_number(context, parameter, value) * 2**30)


def _number(context: click.Context, parameter: click.Parameter, value: float) -> float:
    if not 0.0 < value < 1e6:  # nan is not
        raise click.BadParameter(f"expected a number above 0, got {value}", context, parameter)
    return value


OPTIONS = [
    click.option("--quick/--full", "quick", default=True, help="Fewer sizes and processes, or all. Default: quick."),
    click.option("--processes", type=click.IntRange(1), help="Fresh processes for each cell. Default: 5, full 10."),
    click.option("--seed", default=0, show_default=True, help="Of the inputs and of the order of the cells."),
    click.option("--threads", type=click.IntRange(1), default=1, show_default=True, help="Threads of each engine."),
    click.option(
        "--timeout", type=float, default=60.0, show_default=True, metavar="S", callback=_number, help="Of one process."
    ),
    click.option(
        "--memory-limit", type=float, default=8.0, show_default=True, metavar="GIB", callback=_memory, help="Likewise."
    ),
    click.option("--memory/--no-memory", default=True, help="Count allocations and bytes with memray. Default: yes."),
    click.option("--instructions", is_flag=True, help="Count machine instructions with callgrind; slow."),
    click.option("--pin/--no-pin", default=True, help="Keep workers on one core. Default: yes."),
    click.option(
        "--store", type=click.Path(path_type=Path), default=None, help="Folder of run files. Default: .gradmark/runs."
    ),
]


dtype_option = click.option(
    "--dtype",
    "dtypes",
    multiple=True,
    type=click.Choice(["float32", "float64"]),
    help="Of tensors; again for both. Default: float32, full both.",
)


def refuse_nothing(cells: Sequence[Cell], dtypes: Sequence[str]) -> None:
    """Raises if no workload has what was asked for."""
    if not cells:
        raise SelectionError(f"no selected workload has {' or '.join(dtypes)}; functions of numbers have only float64")


def measuring(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options; they arrive as `settings` and `store`."""

    def wrapped(
        quick: bool,
        processes: int | None,
        seed: int,
        threads: int,
        timeout: float,
        memory_limit: int,
        memory: bool,
        instructions: bool,
        pin: bool,
        store: Path | None,
        **rest: Any,
    ) -> Any:
        settings = Settings(
            processes=processes or (5 if quick else 10),
            blocks=8 if quick else 20,
            seed=seed,
            threads=threads,
            timeout_s=timeout,
            memory_limit_bytes=memory_limit,
            memory=memory,
            instructions=instructions,
            pin=pin,
            full=not quick,
        )
        from gradmark.store import runs

        return function(settings=settings, store=store or runs.FOLDER, **rest)

    wrapped.__doc__ = function.__doc__
    for option in reversed(OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def measure(cells: Sequence[Cell], settings: Settings, store: Path) -> tuple[Run, Path]:
    """A new run of these cells, kept in the store."""
    from gradmark.measure.orchestrator import new_run

    return carry_out(new_run(cells, settings), store)


def carry_out(run: Run, store: Path, path: Path | None = None) -> tuple[Run, Path]:
    """Measures what a run still lacks, with progress and the time left; what is measured is on disk at any moment."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from gradmark.measure.orchestrator import Orchestrator
    from gradmark.store import runs

    runs.ready(store)
    path = path or runs.path_of(run, store)
    runs.ready(path.parent)
    orchestrator = Orchestrator(run, lambda grown: runs.save(grown, path))
    columns = [
        BarColumn(20),
        TextColumn("{task.completed}/{task.total}"),
        TimeRemainingColumn(elapsed_when_finished=True),
    ]
    console = Console(stderr=True)
    try:
        with Progress(*columns, TextColumn("{task.description}", markup=False), console=console, transient=True) as bar:
            task = bar.add_task("", total=None)
            for step in orchestrator.steps():
                bar.update(task, total=step.steps, completed=step.done, description=step.text)
    except KeyboardInterrupt:
        place = "" if store == runs.FOLDER else f" --store {store}"
        click.echo(f"interrupted; go on with: gradmark run --resume {run.id}{place}", err=True)
        raise click.Abort from None
    return orchestrator.run, path
