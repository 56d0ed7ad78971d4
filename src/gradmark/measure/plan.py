"""The plan: what is to be measured, decided before anything is timed or written. Every measuring verb makes one.

In: what was selected, engines and settings, and a way to ask workers. Out: cells in the order in which they were asked
for, and what is known of some beforehand: what an engine does not have, and functions that cannot be measured.
"""

import dataclasses
import fnmatch
import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import msgspec

from gradmark.engines import discovery
from gradmark.engines.protocol import Capabilities
from gradmark.errors import EngineError, MissingEngineError, SelectionError
from gradmark.measure import environment
from gradmark.measure.job import Job, Result
from gradmark.records import Cell, DerivativeName, Measurement, Param, Record, Settings
from gradmark.records.cell import USUAL_DEVICE, USUAL_DTYPES
from gradmark.records.derivative import USUAL_DERIVATIVE, why_not
from gradmark.workloads import catalogue
from gradmark.workloads.outline import Outline, Point
from gradmark.workloads.row import Selected

Ask = Callable[[Job], Result]
Chosen = Sequence[Outline | Selected]


class Plan(Record, frozen=True, kw_only=True):
    """What a run measures, and what is known of it beforehand."""

    verb: str
    cells: list[Cell]  # all of them, those that are known among them
    settings: Settings
    arguments: list[str] = []  # what was typed after the verb
    known: list[Measurement] = []  # cells that will not run: unsupported, or of a function that cannot be measured
    left_out: dict[str, str] = {}  # engines of `all` that are broken, and how


@dataclass(frozen=True)
class Request:
    """What the user asked for: the engines as they were typed, `all` among them; what else of it was said."""

    chosen: Chosen
    engines: Sequence[str]
    dtypes: Sequence[str] = ()
    devices: Sequence[str] = ()
    derivatives: Sequence[DerivativeName] = ()


def _nothing() -> None:
    """There is nothing to stop."""


@dataclass(frozen=True)
class Survey:
    """What engines say that they can do; and what is wrong with those that nobody named and that cannot be used."""

    can: Mapping[str, Capabilities]
    left_out: Mapping[str, str]
    missing: Mapping[str, str]  # not installed


def _silent(_text: str) -> None:
    """Nobody watches."""


def make_plan(
    request: Request,
    settings: Settings,
    ask: Ask,
    *,
    verb: str = "run",
    tries: bool = True,
    stop: Callable[[], None] = _nothing,
    watch: Callable[[str], None] = _silent,
) -> Plan:
    """Asks every engine what it can do, tries every function that is not known to work, and plans.

    ask: does a job in a worker, from several threads at once. tries: functions are tried; one that is large takes long,
    and a plan that is only shown does not need it. stop: ends all workers, if this is interrupted. watch: is told what
    goes on. Raises `EngineError` for an engine that was named and cannot be used, before anything is written.
    """
    watch("asking the engines what they can do")
    named_derivatives = {name for part in request.chosen for name in _selected(part).derivatives}
    engines = discovery.chosen(request.engines, named_derivatives.union(request.derivatives))
    beside = [name for part in request.chosen for name in _beside(_selected(part).workload, engines)]
    named = [name for name in request.engines if name != discovery.EVERY]
    surveyed = survey([*engines, *beside], ask, settings, named=named, stop=stop)
    cells = cells_of(
        request.chosen,
        [name for name in engines if name in surveyed.can],
        full=settings.full,
        dtypes=request.dtypes,
        devices=request.devices,
        derivatives=request.derivatives,
        can=surveyed.can,
    )
    if not cells:
        raise SelectionError(_nothing_left(request, surveyed))
    without = without_derivative(cells, request.chosen)
    known = known_of(cells, surveyed.can, ask, settings, without=without, tries=tries, stop=stop, watch=watch)
    return Plan(verb=verb, cells=cells, settings=settings, known=known, left_out=dict(surveyed.left_out))


def survey(
    engines: Sequence[str],
    ask: Ask,
    settings: Settings,
    *,
    named: Sequence[str] | None = None,
    stop: Callable[[], None] = _nothing,
) -> Survey:
    """What engines can do: one worker for each, as many at once as there are cores.

    Those that are named must be usable, else `EngineError`; all of them, if nothing is said.
    """
    names = list(dict.fromkeys(engines))
    free = msgspec.structs.replace(settings, pin=False)  # else all would share one core
    jobs = [Job(kind="survey", cell=Cell(engine=name, workload="", suite=""), settings=free) for name in names]
    can: dict[str, Capabilities] = {}
    left_out: dict[str, str] = {}
    missing: dict[str, str] = {}
    for name, result in zip(names, _asked(jobs, ask, stop), strict=True):
        if result.capabilities is not None:
            can[name] = result.capabilities
        elif named is None or name in named:
            raise (MissingEngineError if result.missing else EngineError)(_broken(name, result))
        else:
            (missing if result.missing else left_out)[name] = _broken(name, result)
    return Survey(can, left_out, missing)


def known_of(
    cells: Sequence[Cell],
    can: Mapping[str, Capabilities],
    ask: Ask,
    settings: Settings,
    *,
    without: Mapping[str, str] | None = None,
    tries: bool = True,
    stop: Callable[[], None] = _nothing,
    watch: Callable[[str], None] = _silent,
) -> list[Measurement]:
    """What can be said of cells without running them: what the engine lacks, and functions that cannot be measured.

    A function is tried once for all engines, on plain numbers. A trial that comes to no end says nothing of engines.
    without: why a workload does not have the derivative of a cell, by the cell's id.
    """
    lacking = {cell.id: reason for cell in cells if (reason := can[cell.engine].lacking(cell))} | dict(without or {})
    free = msgspec.structs.replace(settings, pin=False)
    trials = {
        _task(cell): Job(kind="try", cell=_plain(cell), settings=free)
        for cell in (_untried([cell for cell in cells if cell.id not in lacking]) if tries else ())
    }

    def ask_aloud(job: Job) -> Result:
        watch(f"trying {job.cell.row}")
        return ask(job)

    tried = dict(zip(trials, _asked(list(trials.values()), ask_aloud, stop), strict=True))
    invalid = {task: result.message for task, result in tried.items() if result.status == "invalid"}
    known = []
    for cell in cells:
        if cell.id in lacking:
            known.append(Measurement(cell=cell, status="unsupported", message=lacking[cell.id]))
        elif _task(cell) in invalid:
            known.append(Measurement(cell=cell, status="invalid", message=invalid[_task(cell)]))
    return known


def cells_of(
    chosen: Chosen,
    engines: Sequence[str],
    *,
    full: bool,
    dtypes: Sequence[str] = (),
    devices: Sequence[str] = (),
    derivatives: Sequence[DerivativeName] = (),
    can: Mapping[str, Capabilities] | None = None,
) -> list[Cell]:
    """Every engine on every workload, size, dtype, derivative and device, with the engines that it wants beside them.

    Without dtypes: all that a workload has if full, else its first. Without derivatives: its usual ones. Without
    devices: the first of each engine, as it says itself in `can`; what was not asked is taken to compute on the CPU,
    and its worker will say if it does not.
    """
    cells: dict[str, Cell] = {}
    parts = [_asking(_selected(part), derivatives) for part in chosen]
    # what is offered by name is found by its name, also if it came from a file or was imported
    by_name = catalogue.names() if any(part.workload.file is not None for part in parts) else set()
    for part in parts:
        workload = part.workload
        together = [*engines, *(name for name in _beside(workload, engines) if can is None or name in can)]
        file = None if (workload.module, workload.name) in by_name else workload.file
        points = [
            (point, dtype, derivative)
            for point in part.points(full=full)
            for dtype in _dtypes(part, point, dtypes, full)
            for derivative in part.derivatives or workload.usual_derivatives
        ]
        for (params, dtype, derivative), engine in itertools.product(points, together):
            there = can[engine].devices if can is not None else (USUAL_DEVICE,)
            for device in _devices(part.devices or devices, there):
                cell = Cell(
                    engine=engine,
                    workload=workload.name,
                    suite=workload.suite,
                    params=params,
                    kind=workload.kind,
                    dtype=dtype,
                    device=device,
                    derivative=derivative,
                    file=file,
                )
                if part.keyword in cell.row:
                    cells[cell.id] = cell
    return list(cells.values())


def _selected(chosen: Outline | Selected) -> Selected:
    return chosen if isinstance(chosen, Selected) else Selected(chosen)


def _asking(part: Selected, derivatives: Sequence[DerivativeName]) -> Selected:
    """What was chosen, with the derivatives that were asked for, if its row does not name them."""
    return part if part.derivatives or not derivatives else dataclasses.replace(part, derivatives=derivatives)


def _beside(workload: Outline, engines: Sequence[str]) -> list[str]:
    """The engines that a workload is shown with, as far as there are any of these names."""
    names = [f"{engine}{also}" if also.startswith(":") else also for also in workload.also for engine in engines]
    return [name for name in dict.fromkeys(names) if discovery.exists(name)]


def _dtypes(part: Selected, point: Point, asked: Sequence[str], full: bool) -> list[str]:
    """The dtypes of a point. A keyword that only the row of an unusual one has asks for that one."""
    there = list(part.workload.dtypes)
    if part.dtypes:
        return list(part.dtypes)
    if asked:
        return [dtype for dtype in there if dtype in asked]
    usual = there if full else there[:1]
    derivatives = part.derivatives or part.workload.usual_derivatives
    rows = (part.row(point, dtype, derivative) for dtype in usual for derivative in derivatives)
    return usual if any(part.keyword in row for row in rows) else there


def without_derivative(cells: Sequence[Cell], chosen: Chosen) -> dict[str, str]:
    """Why workloads do not have the derivatives of some cells, by the cell's id."""
    results = {(w.name, w.suite): w.result for w in (_selected(part).workload for part in chosen)}
    return {
        cell.id: reason
        for cell in cells
        if (reason := why_not(cell.workload, results[cell.workload, cell.suite], cell.derivative))
    }


def _devices(asked: Sequence[str], there: Sequence[str]) -> list[str]:
    """The devices of a name or a glob; a name that the engine does not have is kept, for its row to say so."""
    if not asked:
        return list(there[:1])
    matching = [[d for d in there if fnmatch.fnmatchcase(d, name)] or [name] * ("*" not in name) for name in asked]
    return list(dict.fromkeys(itertools.chain.from_iterable(matching)))


# --- asking workers


def _asked(jobs: Sequence[Job], ask: Ask, stop: Callable[[], None]) -> list[Result]:
    """The results of jobs, as many at once as there are cores."""
    with ThreadPoolExecutor(environment.cores()) as pool:
        futures: list[Future[Result]] = [pool.submit(ask, job) for job in jobs]
        try:
            return [future.result() for future in futures]
        except BaseException:  # interrupted: the pool waits for its threads, and they for their workers
            pool.shutdown(wait=False, cancel_futures=True)
            stop()
            raise


Task = tuple[str, str | None, tuple[tuple[str, Param], ...]]


def _task(cell: Cell) -> Task:
    return cell.workload, cell.file, tuple(cell.params.items())


def _plain(cell: Cell) -> Cell:
    """The cell without what a function does not depend on, so that its row is the name of the function at a size."""
    return msgspec.structs.replace(
        cell, engine="", device=USUAL_DEVICE, dtype=USUAL_DTYPES[cell.kind], derivative=USUAL_DERIVATIVE, side=""
    )


def _untried(cells: Sequence[Cell]) -> list[Cell]:
    """Cells at whose size nobody has tried the function. Built-in ones are tested at their own sizes."""
    tested = {
        (workload.name, None, tuple(point.items()))
        for workload in catalogue.built_in()
        for full in (True, False)
        for point in workload.points(full=full)
    }
    return [cell for cell in cells if _task(cell) not in tested]


def _broken(name: str, result: Result) -> str:
    if result.status == "error":
        return result.message
    return f"engine {name!r} cannot be asked what it can do ({result.status}): {result.message}"


def _nothing_left(request: Request, surveyed: Survey) -> str:
    if not surveyed.can and surveyed.left_out:
        return f"no usable engine: {'; '.join(surveyed.left_out.values())}"
    asked = " or ".join([*request.dtypes, *request.devices, *request.derivatives]) or "what was asked for"
    return f"no selected workload has {asked}; functions of numbers have only float64"
