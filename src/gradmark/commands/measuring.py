"""What the measuring verbs share: their options, `--resume`, and a run that is kept while it is measured.

In: what was typed. Out: a `Request` for the verb, and an orchestrator with progress, a run file, and advice on how to
go on after an interruption.
"""

import contextlib
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gradmark.errors import SelectionError, StoreError
from gradmark.records import Cell, Measurement, Run, Settings

if TYPE_CHECKING:
    from gradmark.measure.orchestrator import Orchestrator
    from gradmark.measure.plan import Plan
    from gradmark.measure.process import Place
    from gradmark.store.listing import Listed

DEFAULT_ENGINE = "tapegrad"


def _positive(context: click.Context, parameter: click.Parameter, value: float) -> float:
    if not 0.0 < value < 1e6:  # nan is not
        raise click.BadParameter(f"expected a number above 0, got {value}", context, parameter)
    return value


# Every option that more than one verb has, once.
OPTIONS: dict[str, Callable[[Any], Any]] = {
    "engines": click.option(
        "-e", "--engine", "engines", multiple=True, metavar="ENGINE", help="Engine to measure; repeatable."
    ),
    "keyword": click.option("-k", "keyword", metavar="TEXT", help="Only workloads with this in their name."),
    "dtypes": click.option(
        "--dtype",
        "dtypes",
        multiple=True,
        type=click.Choice(["float32", "float64"]),
        help="Tensor dtype; repeatable. Default: float32, both with --full.",
    ),
    "pairs": click.option(
        "--pairs", type=click.IntRange(2), default=12, show_default=True, help="Pairs of processes for each row."
    ),
    "quick": click.option(
        "--quick/--full", "quick", default=True, help="Fewer sizes and processes, or all. Default: quick."
    ),
    "processes": click.option(
        "--processes", type=click.IntRange(1), help="Processes per cell. Default: 5, or 10 with --full."
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
    "pin": click.option("--pin/--no-pin", default=True, help="Keep each worker on one core. Default: yes."),
    "store": click.option(
        "--store", type=click.Path(path_type=Path), metavar="FOLDER", help="Run files. Default: .gradmark/runs."
    ),
    "resume": click.option(
        "--resume", metavar="RUN", help="Continue an interrupted run: its id, its file, or `latest`."
    ),
}
HOW = ("seed", "threads", "timeout", "memory_limit", "pin", "store", "resume")
SAMPLING = ("quick", "processes", "memory", "instructions", *HOW)
# Options that change what becomes of a run, not the run: they may be given with --resume.
OF_OUTPUT = ("form", "output", "json_file", "html_file", "as_json", "store", "resume")


@dataclass(frozen=True)
class Request:
    """What was typed, as far as all measuring verbs understand it."""

    verb: str
    arguments: list[str]
    settings: Settings
    store: Path
    begun: Run | None = None  # the run that goes on, and its file
    path: Path | None = None

    def plan(self, cells: Sequence[Cell], settings: Settings | None = None) -> "Plan":
        """The plan of this verb."""
        from gradmark.measure.plan import Plan

        settings = settings or self.settings
        return Plan(verb=self.verb, arguments=self.arguments, cells=list(cells), settings=settings)


class MeasuringCommand(click.Command):
    """A verb that measures. With --resume it is called as it was when the run began; new output options count."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context of what was typed, or of what was typed when the run began."""
        typed = list(args)
        context = super().make_context(info_name, args, parent, **extra)
        verb = " ".join(context.command_path.split()[1:])
        name = context.params.get("resume")
        if name is None:
            context.obj = _Typed(verb, typed)
            return context
        _refuse_planning(self, context)
        path, begun = _begun(name, verb, context.params["store"] or _default_store())
        arguments = [*begun.arguments, *_of_output(context, self)]
        context = super().make_context(info_name, arguments, parent, **extra)
        context.obj = _Typed(verb, begun.arguments, begun, path)
        return context


@dataclass(frozen=True)
class _Typed:
    verb: str
    arguments: list[str]
    begun: Run | None = None
    path: Path | None = None


def _of_output(context: click.Context, command: click.Command) -> list[str]:
    """The options of output that were typed, as one would type them again."""
    typed = []
    for parameter in command.params:
        name = parameter.name or ""
        if name not in OF_OUTPUT or name == "resume" or not chosen_by_user(name, context):
            continue
        value = context.params[name]
        typed += [parameter.opts[-1]] if value is True else [parameter.opts[-1], str(value)]
    return typed


def chosen_by_user(option: str, context: click.Context | None = None) -> bool:
    """Whether an option was given on the command line."""
    source = (context or click.get_current_context()).get_parameter_source(option)
    return source is click.core.ParameterSource.COMMANDLINE


def options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds these options of OPTIONS; they arrive by their names."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            function = OPTIONS[name](function)
        return function

    return decorate


def measuring(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds these options of OPTIONS. Those on how to measure arrive as `request`, the others by their names.

    It stands next to the function: all other options are above it.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @click.pass_obj
        def wrapped(typed: _Typed, /, **given: Any) -> Any:
            how = {name: given.pop(name) for name in SAMPLING if name in given}
            store = how.pop("store") or _default_store()
            how.pop("resume")
            request = Request(typed.verb, typed.arguments, settings_of(**how), store, typed.begun, typed.path)
            return function(request=request, **given)

        wrapped.__doc__ = function.__doc__
        return options(*names)(wrapped)

    return decorate


def settings_of(
    *, quick: bool = True, processes: int | None = None, timeout: float = 60.0, memory_limit: float = 8.0, **more: Any
) -> Settings:
    """The settings that the options ask for."""
    return Settings(
        processes=processes or (5 if quick else 10),
        blocks=8 if quick else 20,
        timeout_s=timeout,
        memory_limit_bytes=int(memory_limit * 2**30),
        full=not quick,
        **more,
    )


def refuse_nothing(cells: Sequence[Cell], dtypes: Sequence[str]) -> None:
    """Raises if no workload has what was asked for."""
    if not cells:
        raise SelectionError(f"no selected workload has {' or '.join(dtypes)}; functions of numbers have only float64")


def measure(request: Request, plan: Callable[[], "Plan"]) -> tuple[Run, Path]:
    """Carries out a plan, or the rest of the run that is resumed."""
    with orchestrating(request, plan) as (orchestrator, path):
        return orchestrator.carry_out(), path


@contextlib.contextmanager
def orchestrating(
    request: Request, plan: Callable[[], "Plan"], places: Mapping[str, "Place"] | None = None
) -> Iterator[tuple["Orchestrator", Path]]:
    """An orchestrator with progress, whose run is on disk at any moment, and the file that it is in.

    The plan is made only for a new run. A run that is finished is opened to be shown: nothing is measured.
    """
    from gradmark.commands.progress import progress
    from gradmark.measure.orchestrator import Orchestrator, begin
    from gradmark.store import runs

    known: Sequence[Measurement] = ()
    if request.begun is not None and request.path is not None:
        if request.begun.finished:
            with Orchestrator(request.begun, _refuse_event) as orchestrator:
                yield orchestrator, request.path
            return
        journal = runs.Journal.resume(request.path)
    else:
        planned = plan()
        runs.ready(request.store)
        known = planned.known
        journal = runs.Journal.begin(begin(planned), request.store)
    try:
        with (
            progress() as watch,
            Orchestrator(journal.run, journal, known=known, places=places, watch=watch) as orchestrator,
        ):
            yield orchestrator, journal.path
    except KeyboardInterrupt:
        click.echo(f"interrupted; go on with: {command_to_resume(journal.run, journal.path)}", err=True)
        raise click.Abort from None
    finally:
        journal.close()


def command_to_resume(run: "Run | Listed", path: Path) -> str:
    """What to type to go on with a run."""
    folder = path.parent
    store = "" if folder.resolve() == _default_store().resolve() else f" --store {shlex.quote(str(folder))}"
    return f"gradmark {run.verb} --resume {run.id}{store}"


def _default_store() -> Path:
    from gradmark.store import runs

    return runs.FOLDER


def _refuse_event(_event: object) -> None:
    raise AssertionError("a finished run is not measured any further")


def _refuse_planning(command: click.Command, context: click.Context) -> None:
    planning = [p for p in command.params if p.name not in OF_OUTPUT and chosen_by_user(p.name or "", context)]
    if planning:
        names = ", ".join(
            max(p.opts, key=len) if isinstance(p, click.Option) else p.make_metavar(context).strip("[].")
            for p in planning
        )
        raise click.UsageError(f"--resume continues a run as it was planned; leave out {names}", context)


def _begun(name: str, verb: str, store: Path) -> tuple[Path, Run]:
    """The run to go on with, and its file: of this verb, and begun on this machine."""
    from gradmark.store import listing, runs

    if name == "latest":
        unfinished = [kept for kept in listing.headers(store) if kept.verb == verb and not kept.finished]
        if not unfinished:
            raise StoreError(f"no unfinished run of `gradmark {verb}` in {store}; `gradmark list runs` shows all runs")
        path = Path(unfinished[-1].path)
    else:
        path = runs.find(name, store)
    begun = runs.load(path)
    if begun.verb == "pytest":
        raise StoreError(f"run {begun.id} was made by a test; run the test again with pytest")
    if begun.verb != verb:
        raise StoreError(
            f"run {begun.id} was made by `gradmark {begun.verb}`; go on with: {command_to_resume(begun, path)}"
        )
    if not begun.finished:
        _refuse_elsewhere(begun)
    return path, begun


def _refuse_elsewhere(begun: Run) -> None:
    """Raises if the rest of a run would be measured on another machine."""
    from gradmark.errors import UnlikeRunsError
    from gradmark.measure import environment

    differences = begun.environment.unlike(environment.collect())
    if differences:
        raise UnlikeRunsError(
            f"run {begun.id} was begun elsewhere ({'; '.join(differences)}); unlike runs are not mixed: start a new one"
        )
