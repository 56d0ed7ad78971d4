"""What the measuring verbs share: plans, `--resume`, and a run that is kept while it is measured.

In: what was typed. Out: an `Invocation` for the verb, and an orchestrator with progress, a run file, and advice on how
to go on after an interruption.
"""

import contextlib
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gradmark.commands.helping import Verb
from gradmark.commands.options import OF_OUTPUT, SAMPLING, options, settings_of
from gradmark.commands.terminal import say
from gradmark.errors import StoreError
from gradmark.records import Cell, DerivativeName, Measurement, Run, Settings

if TYPE_CHECKING:
    from gradmark.measure.orchestrator import Orchestrator
    from gradmark.measure.plan import Ask, Chosen, Plan
    from gradmark.measure.process import Place
    from gradmark.store.listing import Listed
    from gradmark.store.store import Store
    from gradmark.workloads.row import Selected


@dataclass(frozen=True)
class Invocation:
    """What was typed, as far as all measuring verbs understand it."""

    verb: str
    arguments: list[str]
    settings: Settings
    store: "Store"
    begun: Run | None = None  # the run that goes on, and where the store has it
    found: str = ""

    def select(self, patterns: Sequence[str], keyword: str | None = None) -> "list[Selected]":
        """What the patterns name. Files are loaded in processes of their own, under the limits of the settings."""
        from gradmark.commands.progress import working
        from gradmark.workloads.selection import select_rows

        with working("loading workloads", quiet=True):
            return select_rows(patterns, keyword, self.settings)

    def plan(
        self,
        chosen: "Chosen",
        engines: Sequence[str],
        *,
        settings: Settings | None = None,
        full: bool | None = None,
        dtypes: Sequence[str] = (),
        devices: Sequence[str] = (),
        derivatives: Sequence[DerivativeName] = (),
        tries: bool = True,
        ask: "Ask | None" = None,
    ) -> "Plan":
        """The plan of engines on what was chosen: engines are asked what they can do, functions are tried.

        full: whether the plan has all sizes, if not as the settings say. tries: off, if the plan is only shown. ask:
        who is asked, if not this machine. An engine that cannot be used is an error.
        """
        import msgspec

        from gradmark.commands.progress import working
        from gradmark.measure import plan, process

        settings = settings or self.settings
        sizes = settings if full is None else msgspec.structs.replace(settings, full=full)
        asked = plan.Request(chosen=chosen, engines=engines, dtypes=dtypes, devices=devices, derivatives=derivatives)
        with working("asking the engines what they can do", quiet=True) as watch:
            planned = plan.make_plan(
                asked, sizes, ask or process.run, verb=self.verb, tries=tries, stop=process.end_all, watch=watch
            )
        for problem in planned.left_out.values():
            say(f"left out: {problem}", err=True)
        return msgspec.structs.replace(planned, settings=settings, arguments=self.arguments)

    def plan_of_cells(self, cells: Sequence[Cell], settings: Settings, known: Sequence[Measurement] = ()) -> "Plan":
        """The plan of cells that are chosen already."""
        from gradmark.measure.plan import Plan

        return Plan(verb=self.verb, arguments=self.arguments, cells=list(cells), settings=settings, known=list(known))


class MeasuringCommand(Verb):
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
            if context.params["trust"]:
                raise click.UsageError("--trust only works with --resume", context)
            context.obj = _Typed(verb, typed)
            return context
        _refuse_planning(self, context)
        place, begun = _begun(name, verb, context.params["store"], context.params["trust"])
        if not begun.finished and not _on_fleet(context, begun):
            _refuse_elsewhere(begun)
        arguments = [*begun.arguments, *_of_output(context, self)]
        context = super().make_context(info_name, arguments, parent, **extra)
        context.obj = _Typed(verb, begun.arguments, begun, place)
        return context


@dataclass(frozen=True)
class _Typed:
    verb: str
    arguments: list[str]
    begun: Run | None = None
    found: str = ""


def _of_output(context: click.Context, command: click.Command) -> list[str]:
    """The options of output that were typed, as one would type them again."""
    typed = []
    for parameter in command.params:
        name = parameter.name or ""
        if name not in OF_OUTPUT or name in ("resume", "trust") or not chosen_by_user(name, context):
            continue
        value = context.params[name]
        value = value.option if name == "store" else value
        typed += [parameter.opts[-1]] if value is True else [parameter.opts[-1], str(value)]
    return typed


def chosen_by_user(option: str, context: click.Context | None = None) -> bool:
    """Whether an option was given on the command line."""
    source = (context or click.get_current_context()).get_parameter_source(option)
    return source is click.core.ParameterSource.COMMANDLINE


def measuring(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds these options of OPTIONS. Those on how to measure arrive as `invocation`, the others by their names.

    It stands next to the function: all other options are above it.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @click.pass_obj
        def wrapped(typed: _Typed, /, **given: Any) -> Any:
            how = {name: given.pop(name) for name in SAMPLING if name in given}
            store = how.pop("store")
            del how["resume"], how["trust"]
            invocation = Invocation(typed.verb, typed.arguments, settings_of(**how), store, typed.begun, typed.found)
            return function(invocation=invocation, **given)

        wrapped.__doc__ = function.__doc__
        return options(*names)(wrapped)

    return decorate


def measure(
    invocation: Invocation,
    plan: Callable[[], "Plan"],
    unsettled: Callable[[Run], Sequence[Cell]] | None = None,
) -> tuple[Run, str]:
    """Carries out a plan, or the rest of the run that is resumed. Gives back the run, and where it is kept."""
    with orchestrating(invocation, plan) as (orchestrator, kept):
        run = orchestrator.carry_out(unsettled)
    return run, kept.where


def measure_workload(invocation: Invocation, workload: str | None, plan: Callable[[str], "Plan"]) -> tuple[Run, str]:
    """Carries out what a verb plans of its one WORKLOAD, which may only be left out with --resume."""
    if workload is None:
        raise click.UsageError("Missing argument 'WORKLOAD'.")
    return measure(invocation, partial(plan, workload))


@dataclass
class Kept:
    """Where a run is kept, in words; known when it has ended."""

    where: str = ""


@contextlib.contextmanager
def orchestrating(
    invocation: Invocation, plan: Callable[[], "Plan"], places: Mapping[str, "Place"] | None = None
) -> Iterator[tuple["Orchestrator", Kept]]:
    """An orchestrator with progress, whose run is on disk at any moment, and where it is when it has ended.

    The plan is made only for a new run. A run that is finished is opened to be shown: nothing is measured.
    """
    import msgspec

    from gradmark.commands.progress import progress
    from gradmark.measure.orchestrator import Orchestrator, begin
    from gradmark.store import sources

    known: Sequence[Measurement] = ()
    kept, store = Kept(invocation.found), invocation.store
    if invocation.begun is not None:
        if invocation.begun.finished:
            with Orchestrator(invocation.begun, _refuse_event) as orchestrator:
                yield orchestrator, kept
            return
        journal = store.resume(invocation.found)
    else:
        store.reachable()
        planned = plan()
        store.ready()
        known = planned.known
        begun = begin(planned)
        begun = msgspec.structs.replace(begun, sources=sources.digests(begun.planned))
        journal = store.begin(begun)
    try:
        with (
            progress() as watch,
            Orchestrator(journal.run, journal, known=known, places=places, watch=watch) as orchestrator,
        ):
            yield orchestrator, kept
    except KeyboardInterrupt as error:
        advice = f"interrupted; continue with: {command_to_resume(journal.run, store)}"
        raise click.Abort(advice) from error
    finally:
        journal.close()
        kept.where = store.put_away(journal.path)


def command_to_resume(run: "Run | Listed", store: "Store") -> str:
    """What to type to go on with a run."""
    option = f" --store {shlex.quote(store.option)}" if store.option else ""
    words = [*run.verb.split(), "--resume", run.id]
    return f"gradmark {shlex.join(words)}{option}"  # it is made to be pasted, and a file may name itself anything


def _refuse_event(_event: object) -> None:
    raise AssertionError("it is finished, and nothing is left to measure")


def _refuse_planning(command: click.Command, context: click.Context) -> None:
    planning = [p for p in command.params if p.name not in OF_OUTPUT and chosen_by_user(p.name or "", context)]
    if planning:
        names = ", ".join(
            max(p.opts, key=len) if isinstance(p, click.Option) else p.make_metavar(context).strip("[].")
            for p in planning
        )
        raise click.UsageError(f"--resume continues a run as it was planned; leave out {names}", context)


def _begun(name: str, verb: str, store: "Store", trusted: bool) -> tuple[str, Run]:
    """The run to go on with, and where the store has it: of this verb, and begun by this user here, or trusted."""
    if name == "latest":
        unfinished = [kept for kept in store.listed() if kept.verb == verb and not kept.finished]
        if not unfinished:
            raise StoreError(
                f"no unfinished run of `gradmark {verb}` in {store.name}; `gradmark list runs` shows all runs"
            )
        name = unfinished[-1].path or unfinished[-1].id
    place = store.find(name)
    begun = store.load(place)
    if begun.verb == "pytest":
        raise StoreError(f"run {begun.id} was made by a test; run the test again with pytest")
    if begun.verb != verb:
        raise StoreError(
            f"run {begun.id} was made by `gradmark {begun.verb}`; continue with: {command_to_resume(begun, store)}"
        )
    if not begun.finished:
        place = str(store.local(place))
    if not trusted:
        _refuse_strange(begun, Path(place) if begun.finished and Path(place).exists() else store.local(place))
    if not begun.finished:
        _refuse_edited(begun)
    return place, begun


def _on_fleet(context: click.Context, begun: Run) -> bool:
    """Whether the rest of a run is measured by a fleet, which has machines of its class or says that it has none."""
    words = [word.partition("=")[0] for word in begun.arguments]
    return context.params.get("fleet") is not None or "--fleet" in words


def _refuse_strange(begun: Run, path: Path) -> None:
    """Raises if somebody else says what is run: the file names code, and options that write files."""
    from gradmark.store import journal

    if journal.begun_here(path):
        return
    files = [cell.file for cell in begun.planned if cell.file is not None]
    named = dict.fromkeys([*files, *(cell.engine for cell in begun.planned)])
    raise StoreError(
        f"run {begun.id} does not have your seal: it was started by somebody else, on another machine, or by an older "
        f"gradmark. It names what would be run: `gradmark {shlex.join([*begun.verb.split(), *begun.arguments])}`, with "
        f"{', '.join(named)}. Add --trust if you trust it; `gradmark report {shlex.quote(str(path))}` only shows it"
    )


def _refuse_elsewhere(begun: Run) -> None:
    """Raises if the rest of a run would be measured on another machine."""
    from gradmark.errors import UnlikeRunsError
    from gradmark.measure import environment

    differences = begun.environment.unlike(environment.collect())
    if differences:
        raise UnlikeRunsError(
            f"run {begun.id} was started elsewhere ({'; '.join(differences)}); runs that differ are not mixed: "
            "start a new one"
        )


def _refuse_edited(begun: Run) -> None:
    """Raises if the rest of a run would be measured of another function, or with another engine, of the same name."""
    from gradmark.errors import UnlikeRunsError
    from gradmark.store import sources

    changed = sources.changed(begun.sources)
    if changed:
        names = ", ".join(map(os.path.relpath, changed))
        raise UnlikeRunsError(f"{names} changed since run {begun.id} began; start a new run")
