"""The options that more than one measuring verb has, each written once.

In: names of options. Out: a decorator that adds them, and the settings that their values ask for.
"""

from collections.abc import Callable
from typing import Any

import click

from gradmark.records import Settings
from gradmark.records.derivative import DERIVATIVES

DEFAULT_ENGINE = "tapegrad"
# Quick runs have fewer blocks in each process. A cell has at least so many processes, and further ones, up to so many,
# while their interval is wide and the run has taken less than so many seconds for each of its cells.
PROCESSES, MOST_PROCESSES, BLOCKS, CELL_S = 9, 60, 10, 2.0
PROCESSES_OF_FULL, MOST_PROCESSES_OF_FULL, BLOCKS_OF_FULL, CELL_S_OF_FULL = 15, 60, 20, 8.0
# On a device: a round of all rows of an engine is a process. Six give an interval of 95 %.
DEVICE_PROCESSES, DEVICE_PROCESSES_OF_FULL = 3, 6


def _text(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str:
    return value or ""


def _positive(context: click.Context, parameter: click.Parameter, value: float) -> float:
    if not 0.0 < value < 1e6:  # nan is not
        raise click.BadParameter(f"expected a number above 0, got {value}", context, parameter)
    return value


def _opened(_context: click.Context, _parameter: click.Parameter, value: str) -> Any:
    """The store of a folder or a URL. Nothing is connected to yet; a password is refused before anything else."""
    from gradmark.store.store import open_store

    return open_store(value)


# Of every verb that reads or writes runs.
store_option = click.option(
    "--store",
    default="",
    metavar="FOLDER|URL",
    callback=_opened,
    help="Where runs are kept: a folder, or postgresql://HOST/DATABASE. Default: .gradmark/runs.",
)

OPTIONS: dict[str, Callable[[Any], Any]] = {
    "engines": click.option(
        "-e", "--engine", "engines", multiple=True, metavar="ENGINE", help="Engine to measure; repeatable."
    ),
    "keyword": click.option("-k", "keyword", metavar="TEXT", help="Only rows whose name contains this text."),
    "dtypes": click.option(
        "--dtype",
        "dtypes",
        multiple=True,
        type=click.Choice(["float32", "float64"]),
        help="Tensor dtype; repeatable. Default: float32, both with --full.",
    ),
    "devices": click.option(
        "--device",
        "devices",
        multiple=True,
        metavar="NAME",
        help="Device to compute on, such as cuda; repeatable. Default: each engine's first.",
    ),
    "derivatives": click.option(
        "-d",
        "--derivative",
        "derivatives",
        multiple=True,
        metavar="NAME",
        type=click.Choice(DERIVATIVES),
        help=f"Derivative to compute: {', '.join(DERIVATIVES)}. Repeatable. Default: what each workload asks "
        "for, mostly the gradient.",
    ),
    "pairs": click.option(
        "--pairs", type=click.IntRange(2), default=12, show_default=True, help="Process pairs per row."
    ),
    "quick": click.option(
        "--quick/--full",
        "quick",
        default=True,
        help=f"Quick: few sizes, at least {PROCESSES} processes. Full: all sizes, at least {PROCESSES_OF_FULL}. "
        "Default: quick.",
    ),
    "processes": click.option(
        "--processes",
        type=click.IntRange(1),
        help=f"Exact number of processes per cell. Default: {PROCESSES} to {MOST_PROCESSES}, until they "
        f"agree; with --full {PROCESSES_OF_FULL} to {MOST_PROCESSES_OF_FULL}; with more than four engines fewer (see "
        "`--dry-run`).",
    ),
    "seed": click.option("--seed", default=0, show_default=True, help="Random seed for inputs and cell order."),
    "threads": click.option(
        "--threads", type=click.IntRange(1), default=1, show_default=True, help="Threads per worker."
    ),
    "timeout": click.option(
        "--timeout",
        type=float,
        default=60.0,
        show_default=True,
        metavar="SECONDS",
        callback=_positive,
        help="Time limit per worker, in seconds.",
    ),
    "memory_limit": click.option(
        "--memory-limit",
        type=float,
        default=8.0,
        show_default=True,
        metavar="GIB",
        callback=_positive,
        help="Memory limit per worker, in GiB.",
    ),
    "memory": click.option(
        "--memory/--no-memory", default=True, help="Count allocations and bytes with memray. Default: yes."
    ),
    "instructions": click.option(
        "--instructions", is_flag=True, help="Also count machine instructions with callgrind; slow."
    ),
    "pin": click.option("--pin/--no-pin", default=True, help="Pin each worker to one core. Default: yes."),
    "huge_pages": click.option(
        "--huge-pages/--no-huge-pages",
        default=False,
        help="Allow huge pages: large arrays get faster, but vary more. Default: no.",
    ),
    "data": click.option(
        "--data",
        type=click.Path(exists=True, file_okay=False, resolve_path=True),
        callback=_text,
        metavar="FOLDER",
        help="Published inputs for the literature suite: ADBench's `data` folder.",
    ),
    "store": store_option,
    "fleet": click.option(
        "--fleet", metavar="ADDRESS", help="Measure on the machines of this Dask scheduler, such as tcp://host:8786."
    ),
    "on": click.option(
        "--on", metavar="CLASS", help="With --fleet: only on machines of this class (see `gradmark fleet status`)."
    ),
    "each_class": click.option(
        "--each-class", is_flag=True, help="With --fleet: one run per class of machines, all at the same time."
    ),
    "resume": click.option(
        "--resume", metavar="RUN", help="Continue an interrupted run: its id, its file, or `latest`."
    ),
    "trust": click.option(
        "--trust",
        is_flag=True,
        help="With --resume: continue a run that you did not start on this machine; it runs what its file names.",
    ),
}
HOW = ("seed", "threads", "timeout", "memory_limit", "pin", "huge_pages", "data", "store", "resume", "trust")
ON_FLEET = ("fleet", "on", "each_class")
SAMPLING = ("quick", "processes", "memory", "instructions", *HOW)
# Options that change what becomes of a run, not the run: they may be given with --resume.
OF_OUTPUT = ("form", "output", "json_file", "html_file", "medians", "as_json", "store", "fleet", "resume", "trust")


def options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds these options of OPTIONS; they arrive by their names."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            function = OPTIONS[name](function)
        return function

    return decorate


def settings_of(
    *,
    quick: bool | None = None,
    processes: int | None = None,
    timeout: float = 60.0,
    memory_limit: float = 8.0,
    huge_pages: bool = False,
    **more: Any,
) -> Settings:
    """The settings that the options ask for.

    quick: None for verbs that have no such choice. They count rather than time, or have environments of their own, and
    start every process afresh.
    """
    from gradmark.measure import nursery

    full = quick is False
    return Settings(
        processes=processes or (PROCESSES_OF_FULL if full else PROCESSES),
        most_processes=processes or (MOST_PROCESSES_OF_FULL if full else MOST_PROCESSES),
        device_processes=processes or (DEVICE_PROCESSES_OF_FULL if full else DEVICE_PROCESSES),
        cell_s=CELL_S_OF_FULL if full else CELL_S,
        blocks=BLOCKS_OF_FULL if full else BLOCKS,
        timeout_s=timeout,
        memory_limit_bytes=int(memory_limit * 2**30),
        huge_pages=huge_pages,
        full=full,
        forked=quick is True and nursery.possible(),
        **more,
    )
