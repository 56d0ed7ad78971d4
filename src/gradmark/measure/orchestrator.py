"""The orchestrator: decides what is asked of the workers, and hands on everything that they measured, once.

In: a begun run. Out: events, each handed to `keep` as it happens, and the run that they add up to. A run that was
interrupted goes on where it stopped: what it has is not measured again.
"""

import contextlib
import datetime
import math
import random
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Protocol, Self

import msgspec

from gradmark.measure import calibrating, environment, usual_clock
from gradmark.measure.job import Expected, Job, Result, Usual
from gradmark.measure.plan import Plan
from gradmark.measure.pool import Pool
from gradmark.measure.process import Place
from gradmark.records import FORMAT_VERSION, Cell, Code, Instructions, Measurement, Run, Settings, Status
from gradmark.records.agreement import agreed, phase_of_row
from gradmark.records.cell import USUAL_DEVICE
from gradmark.records.event import Calibrated, Counted, Event, Finished, GrowingRun, Inspected, Sampled, Stopped

# Larger sizes of what failed like this are not tried.
NOT_TRIED_LARGER: tuple[Status, ...] = ("crash", "timeout", "out-of-memory", "error")
# Rounds in which every phase is timed: the fewest processes of which an interval has a coverage of 95 %.
WHOLE_ROUNDS = 6
# The share of a run's time that processes may wait for a calm machine, and the longest that one waits: slow states last
# up to a second and a half, and other rows must have their turn.
WAITING_SHARE = 0.5
LONGEST_WAIT_S = 0.5
# callgrind slows a worker down by about 50 times.
CALLGRIND_SLOWDOWN = 100
# Instructions that the difference of two callgrind runs should hold, so that start-up noise is below 0.1 %.
CALLGRIND_WORK_NS = 4e6


@dataclass(frozen=True)
class Step:
    """Where the work stands, for a progress display: `done` of `total` inspections, samples, counts, cells of rows."""

    kind: Literal["inspection", "sample", "count", "row"]
    done: int
    total: int
    cell: str = ""  # what comes next, or was just inspected
    round: int = 0  # of samples, from 1
    rounds: int = 0


class Measuring(Protocol):
    """What those who decide need of whoever measures: an orchestrator here, or one that asks many machines."""

    @property
    def run(self) -> Run:
        """The run as it stands."""

    def measurement(self, cell: Cell) -> Measurement:
        """What is known of a cell that was inspected."""

    def count_exactly(self, cells: Sequence[Cell], *, again: bool = False) -> None:
        """Exact metrics of the cells."""

    def sample(self, cells: Sequence[Cell], numbers: range) -> None:
        """A round for each process number."""


def begin(plan: Plan) -> Run:
    """A run of a plan, of which nothing is measured yet."""
    now = datetime.datetime.now(datetime.UTC)
    planned = {cell.id: cell for cell in [*plan.cells, *(m.cell for m in plan.known)]}
    here = environment.collect()
    return Run(
        id=f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(3)}",
        started=now.isoformat(timespec="seconds"),
        environment=here,
        settings=plan.settings,
        measurements=[],
        verb=plan.verb,
        arguments=list(plan.arguments),
        planned=list(planned.values()),
        clock_ns=usual_clock.known(here),
        format_version=FORMAT_VERSION,
    )


def _silent(_step: Step) -> None:
    """Nobody watches."""


class Orchestrator:
    """Carries a run to its end, or does parts of it when asked. Used with `with`: at the end no worker runs any more.

    known: cells that need no worker (see `Plan.known`). places: where the cells of a side are measured, if not here.
    """

    def __init__(
        self,
        begun: Run,
        keep: Callable[[Event], None],
        *,
        known: Sequence[Measurement] = (),
        places: Mapping[str, Place] | None = None,
        watch: Callable[[Step], None] = _silent,
    ) -> None:
        self.settings = begun.settings
        self.cells = begun.planned
        self.keep = keep
        self.watch = watch
        self.known = known
        self.pool = Pool(begun.settings, places)
        self.grown = GrowingRun(begun)
        # What inspections said beyond the record: the references of each cell, its first call, and roughly its times.
        self.references: dict[str, list[tuple[float, float]]] = {}
        self.expected: dict[str, Expected] = {}
        self.usual: dict[str, Usual] = {}
        self.first_calls: dict[str, float] = {}
        self.iterations_ns: dict[str, float] = {}
        self.calibrated = False  # since this orchestrator began
        self.until_s = math.inf  # when the time of the cells is spent, on the clock of `time.monotonic`

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.pool.close()

    @property
    def run(self) -> Run:
        """The run as it stands."""
        return self.grown.run

    def measurement(self, cell: Cell) -> Measurement:
        """What is known of a cell that was inspected."""
        measurement = self.grown.measurement(cell.id)
        assert measurement is not None, f"{cell.id} was not inspected"
        return measurement

    def carry_out(self, unsettled: Callable[[Run], Sequence[Cell]] | None = None) -> Run:
        """Does all that the settings ask for: rounds of all cells, then of those not settled while time is left.

        Where there may be further rounds, all but the first few time only what stands for a row, so that more fit in.
        Not settled are, if nobody says otherwise, the cells whose interval is wide. What settled cells did not need of
        their time is left to the others.
        """
        self._import_ahead()
        self.inspect()
        self.until_s = self._until_s()
        further = self.settings.most_processes > self.settings.processes
        on_cpu = [cell for cell in self.cells if _is_on_cpu(cell)]
        on_devices = [cell for cell in self.cells if not _is_on_cpu(cell)]
        self.sample(on_cpu, range(self.settings.processes), whole=WHOLE_ROUNDS if further else None)
        for number in range(self.settings.processes, self.settings.most_processes):
            open_cells = [cell for cell in (unsettled or _disagreeing)(self.run) if _is_on_cpu(cell)]
            if not open_cells or self.grown.finished or time.monotonic() >= self.until_s:
                break
            self.sample(open_cells, range(number, number + 1), whole=0)
        # A device repeats itself: what differs between processes is small, and a process takes seconds to begin.
        self.sample(on_devices, range(self.settings.device_processes))
        if self.settings.instructions:
            self.count()
        self.finish()
        run = self.run
        usual_clock.learn(run)
        return run

    def _import_ahead(self) -> None:
        """Beside inspections, of which nothing is timed, engines are imported that will be timed on a device."""
        engines = {cell.engine: cell for cell in self.cells if not _is_on_cpu(cell)}
        for number in range(self.settings.device_processes):
            for cell in engines.values():
                self.pool.import_ahead(cell, number)

    def _until_s(self) -> float:
        """When the time of all cells that work is spent; never, if there is no limit."""
        if not self.settings.cell_s:
            return math.inf
        working = sum(self.measurement(cell).status == "ok" for cell in self.cells if _is_on_cpu(cell))
        return time.monotonic() + self.settings.cell_s * working

    def finish(self) -> None:
        """Says that nothing more will come."""
        if not self.grown.finished:
            self._add(Finished())

    # --- inspections: nothing is timed, so several processes work at once

    def inspect(self, cells: Sequence[Cell] | None = None, *, again: bool = False) -> None:
        """Is each cell right, and what does it hold? Larger sizes of what failed are not tried."""
        if self.grown.finished:
            return
        for measurement in self.known:
            if self.grown.measurement(measurement.cell.id) is None:
                self._add(Inspected(measurement=measurement))
        asked = self.cells if cells is None else cells
        new = [cell for cell in asked if again or self.grown.measurement(cell.id) is None]
        ids = {cell.id for cell in new}
        failures = [m for m in self.run.measurements if m.status in NOT_TRIED_LARGER and m.cell.id not in ids]
        groups: dict[tuple[str, ...], list[Cell]] = {}
        # Sizes one after another; all of an engine, if there are engines enough to keep the cores busy with one each.
        one_by_one = self.settings.forked and len({cell.engine for cell in new}) >= environment.cores()
        shares = _shares(new)
        for cell in new:  # on a device the rows of an engine share a process, or a few
            part = ("" if one_by_one else cell.workload) if _is_on_cpu(cell) else str(shares[cell.workload])
            groups.setdefault((cell.engine, cell.side, cell.device, part), []).append(cell)
        self.watch(Step("inspection", 0, len(new)))
        number = max((m.inspections for cell in new if (m := self.grown.measurement(cell.id)) is not None), default=0)
        streams = [self._one_after_another(group, failures, number) for group in groups.values()]
        with contextlib.closing(self.pool.parallel(streams)) as inspected:
            for done, (cell, result) in enumerate(inspected, 1):
                self._remember(cell, result)
                self._add(Inspected(measurement=measured(cell, result)))
                self.watch(Step("inspection", done, len(new), f"{cell.row}@{cell.engine}"))

    def _one_after_another(
        self, cells: Sequence[Cell], failures: Sequence[Measurement], number: int
    ) -> Iterator[tuple[Cell, Result]]:
        free = msgspec.structs.replace(self.settings, pin=False)  # else all would share one core
        failed: list[tuple[Cell, Status]] = [(m.cell, m.status) for m in failures]
        for cell in cells:
            smaller, status = next(((other, status) for other, status in failed if is_smaller(other, cell)), (None, ""))
            if smaller is not None:
                result = Result(status="skipped", message=f"{smaller.row} failed: {status}")
            else:
                # each time a process number of its own, and with it, of forked workers, an import of its own
                result = self.pool.run(Job(kind="inspect", cell=cell, settings=free, process=number))
            if result.status in NOT_TRIED_LARGER:
                failed.append((cell, result.status))
            yield cell, result

    # --- samples: what is timed is timed alone

    def sample(self, cells: Sequence[Cell], numbers: range, *, whole: int | None = None) -> None:
        """A round for each process number: the cells in random order, the two sides of a row one after the other.

        whole: in how many rounds every phase is timed, if not in all; in the others only what stands for a row is.
        Cells that do not work are left out, and samples that are there already.
        """
        if self.grown.finished:
            return
        rounds = numbers.stop if numbers.start == 0 or len(numbers) > 1 else 0  # one more, and nobody knows how many
        turns = [(number, turn) for number in numbers for turn in self._round(cells, number)]
        total = sum(len(turn) for _, turn in turns)
        lacking = [(number, cells) for number, turn in turns if (cells := self._lacking(turn, number))]
        done = total - sum(len(turn) for _, turn in lacking)
        if lacking:
            self._calibrate()
        for number, turn in lacking:
            self.watch(Step("sample", done, total, f"{turn[0].row}@{turn[0].engine}", number + 1, rounds))
            patience_s = self._patience_s(total - done)
            self._take_turn(turn, number, alone=whole is not None and number >= whole, patience_s=patience_s)
            done += len(turn)
        if lacking:
            self.watch(Step("sample", total, total, "", numbers.stop, rounds))

    def _calibrate(self) -> None:
        """Once before anything is timed: a run that goes on another day has two calibrations."""
        if not self.calibrated:
            self.calibrated = True
            if (calibration := calibrating.calibrate(self.settings)) is not None:
                self._add(Calibrated(calibration=calibration))

    def _patience_s(self, samples: int) -> float:
        """How long the next of so many samples may wait for a calm machine.

        To give up early wins nothing: to start a process and to prepare it takes longer than to time it, and the next
        one waits too. What the machine's calm moments leave of the time is for waiting, the same for each sample.
        """
        if self.until_s == math.inf:
            return 0.0
        spare_s = WAITING_SHARE * (self.until_s - time.monotonic()) / samples
        return min(LONGEST_WAIT_S, max(0.0, spare_s))

    def _round(self, cells: Sequence[Cell], number: int) -> list[list[Cell]]:
        """The turns of a round in their order: the cells of a turn follow each other at once."""
        turns: dict[str, list[Cell]] = {}
        for cell in cells:
            turns.setdefault(msgspec.structs.replace(cell, side="").id, []).append(cell)
        order = list(turns.values())
        draw = random.Random(f"{self.settings.seed}/{number}")
        draw.shuffle(order)
        order = _engine_by_engine(order)
        shuffled = [draw.sample(turn, len(turn)) if len(turn) > 1 else turn for turn in order]
        return [turn for turn in shuffled if all(self.measurement(cell).status == "ok" for cell in turn)]

    def _lacking(self, turn: Sequence[Cell], number: int) -> list[Cell]:
        """The cells that do not have this sample yet."""
        return [cell for cell in turn if all(s.process != number for s in self.measurement(cell).samples)]

    def _take_turn(self, turn: Sequence[Cell], number: int, *, alone: bool, patience_s: float) -> None:
        """One sample of each cell. They are kept together: half a pair is of no use to anybody."""
        if any(self.measurement(cell).status != "ok" for cell in turn):  # stopped in an earlier round
            return
        if not all(self._has_reference(cell) for cell in turn):
            return
        events: list[Event] = []
        for cell in turn:
            accuracy = self.measurement(cell).accuracy
            job = Job(
                kind="time",
                cell=cell,
                settings=self.settings if _is_on_cpu(cell) else self._of_device,
                process=number,
                reference=self.references.get(cell.id),
                reference_name="" if accuracy is None else accuracy.reference,
                expected=self.expected.get(cell.id),
                usual=self.usual.get(cell.id),
                pilots=self.grown.calm_pilots(cell.id),
                patience_s=patience_s,
                alone=(phase_of_row(self.measurement(cell)) or "") if alone else "",
            )
            result = self.pool.run(job)
            if result.sample is None:
                events.append(_stopped(cell, result))
                break
            cold = {"first_call": self.first_calls[cell.id]} if cell.id in self.first_calls else {}
            once_ns = {**result.sample.once_ns, **cold}
            sample = msgspec.structs.replace(result.sample, process=number, once_ns=once_ns)
            events.append(Sampled(cell=cell.id, sample=sample))
        for event in events:
            self._add(event)

    @property
    def _of_device(self) -> Settings:
        """On one core the threads with which engines feed a device would wait for each other."""
        return msgspec.structs.replace(self.settings, pin=False)

    def _has_reference(self, cell: Cell) -> bool:
        """References are not kept in run files: a resumed run asks for them again. False if the cell does not work."""
        if cell.id in self.references or self.measurement(cell).accuracy is None:
            return True
        return self._inspected_again(cell)

    def _inspected_again(self, cell: Cell) -> bool:
        brief = msgspec.structs.replace(self.settings, memory=False, pin=self.settings.pin and _is_on_cpu(cell))
        result = self.pool.run(Job(kind="inspect", cell=cell, settings=brief))
        if result.status != "ok":
            self._add(_stopped(cell, result))
            return False
        self._remember(cell, result)
        return True

    # --- machine instructions

    def count(self, cells: Sequence[Cell] | None = None) -> None:
        """Instructions per iteration: callgrind over 2N and over N iterations, the difference divided by N."""
        if self.grown.finished:
            return
        asked = [self.measurement(cell) for cell in (self.cells if cells is None else cells)]
        new = [m for m in asked if m.status == "ok" and m.instructions is None]
        for done, measurement in enumerate(new):
            self.watch(Step("count", done, len(new), f"{measurement.cell.row}@{measurement.cell.engine}"))
            if (counted := self._instructions(measurement)) is not None:
                self._add(Counted(cell=measurement.cell.id, instructions=counted))

    def _instructions(self, measurement: Measurement) -> Instructions | None:
        """None if the cell does not work any more."""
        cell = measurement.cell
        if not _differentiates(measurement):
            return Instructions(reason="the engine only evaluates")
        phases = [s.phases["total"] for s in measurement.samples if "total" in s.phases]
        if any(phase.how == "self-timed" for phase in phases):
            return Instructions(reason="the work is done in a process that the engine drives")
        times = [phase.time_ns for phase in phases]
        if not times and cell.id not in self.iterations_ns and not self._inspected_again(cell):
            return None
        iteration_ns = min(times) if times else self.iterations_ns.get(cell.id, CALLGRIND_WORK_NS)
        iterations = max(5, int(CALLGRIND_WORK_NS / max(iteration_ns, 1.0)))
        slow = msgspec.structs.replace(self.settings, timeout_s=self.settings.timeout_s * CALLGRIND_SLOWDOWN)
        once, twice = (
            self.pool.instructions(Job(kind="repeat", cell=cell, settings=slow, iterations=times * iterations))
            for times in (1, 2)
        )
        if isinstance(once, str) or isinstance(twice, str):
            return Instructions(reason=once if isinstance(once, str) else str(twice), lacks_tool=True)
        return Instructions(total=(twice - once) / iterations)

    def count_exactly(self, cells: Sequence[Cell], *, again: bool = False) -> None:
        """Exact metrics of the cells, with instructions if the settings ask for them."""
        self.inspect(cells, again=again)
        if self.settings.instructions:
            self.count(cells)

    # --- what happened

    def _remember(self, cell: Cell, result: Result) -> None:
        if result.reference is not None:
            self.references[cell.id] = result.reference
        if result.expected is not None:
            self.expected[cell.id] = result.expected
        if result.usual is not None:
            self.usual[cell.id] = result.usual
        if result.iteration_ns is not None:
            self.iterations_ns[cell.id] = result.iteration_ns
        if (
            self.settings.shared_cache or not _is_on_cpu(cell)
        ) and result.first_call_ns is not None:  # what is timed will find it on disk
            self.first_calls[cell.id] = result.first_call_ns

    def _add(self, event: Event) -> None:
        self.keep(event)
        self.grown.add(event)


def _shares(cells: Sequence[Cell]) -> dict[str, int]:
    """Which of an engine's processes inspects a workload on a device: two cores for each process, which import engines
    and compile."""
    engines = {cell.engine for cell in cells if not _is_on_cpu(cell)}
    processes = max(1, environment.cores() // (2 * max(1, len(engines))))
    return {name: place % processes for place, name in enumerate(dict.fromkeys(cell.workload for cell in cells))}


def _is_on_cpu(cell: Cell) -> bool:
    return cell.device == USUAL_DEVICE


def _engine_by_engine(turns: Sequence[list[Cell]]) -> list[list[Cell]]:
    """The same turns, those on a device last: of one engine after another, as they share its process."""
    on_cpu = [turn for turn in turns if _is_on_cpu(turn[0])]
    on_devices = [turn for turn in turns if not _is_on_cpu(turn[0])]
    engines = list(dict.fromkeys(turn[0].engine for turn in on_devices))
    return on_cpu + sorted(on_devices, key=lambda turn: engines.index(turn[0].engine))


def measured(cell: Cell, result: Result) -> Measurement:
    """What an inspection says, as a measurement."""
    return Measurement(
        cell=cell,
        status=result.status,
        message=result.message,
        lacks=result.lacks,
        tape=result.tape,
        memory=result.memory,
        accuracy=result.accuracy,
        device_work=result.device_work,
        operations=result.operations,
        flops=result.flops,
        bytes=result.bytes,
        shapes=result.shapes,
        calls=result.calls,
        mode=result.mode,
        sparsity=result.sparsity,
        evaluations=result.evaluations,
        warnings=result.warnings,
        transcript=result.transcript,
        new=result.new,
        shared=result.shared,
    )


def _disagreeing(run: Run) -> list[Cell]:
    return [measurement.cell for measurement in run.measurements if not agreed(measurement)]


def _stopped(cell: Cell, result: Result) -> Stopped:
    """Why there is no sample. A worker that says `ok` and has none is not to be believed."""
    if result.status == "ok":
        return Stopped(cell=cell.id, status="crash", message="the worker reported success but no sample")
    return Stopped(
        cell=cell.id,
        status=result.status,
        message=result.message,
        accuracy=result.accuracy,
        transcript=result.transcript,
    )


def _differentiates(measurement: Measurement) -> bool:
    """Whether there is a gradient: it was checked, could not be checked, or was timed."""
    unchecked = any(warning.code is Code.UNCHECKED for warning in measurement.warnings)
    return measurement.accuracy is not None or unchecked or any("total" in s.phases for s in measurement.samples)


def is_smaller(one: Cell, other: Cell) -> bool:
    """Whether all numbers among the parameters are at most as large, one is smaller, and all else is equal."""
    if msgspec.structs.replace(one, params=other.params) != other or one.params.keys() != other.params.keys():
        return False
    less = False
    for key, value in one.params.items():
        against = other.params[key]
        if isinstance(value, str) or isinstance(against, str):
            if value != against:
                return False
        elif value > against:
            return False
        else:
            less = less or value < against
    return less
