"""The campaign: a run on machines of one class, seen from where it was submitted.

In: a begun run, and a dispatcher that knows the machines. Out: events, each handed to `keep` once. It does what an
orchestrator does, and asks orchestrators on the machines for it; so whoever decides does not know where is measured.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from gradmark.errors import FleetError
from gradmark.fleet import shipping
from gradmark.fleet.board import Work
from gradmark.fleet.task import Against, Began, Happened, Message, Order, Task
from gradmark.measure.orchestrator import NOT_TRIED_LARGER, Step, is_smaller
from gradmark.records import Cell, Measurement, Run
from gradmark.records.event import (
    Calibrated,
    Counted,
    Done,
    Event,
    Finished,
    GrowingRun,
    Inspected,
    Joined,
    Sampled,
    Stopped,
)
from gradmark.records.identity import class_of

if TYPE_CHECKING:
    from gradmark.fleet.dispatch import Dispatch

Row = tuple[str, str | None]


def row_of(cell: Cell) -> Row:
    """What is measured together: all that is compared on one workload, size, dtype and derivative."""
    return cell.task, cell.file


class Campaign:
    """A run on a fleet.

    known: cells that need no worker (see `Plan.known`). against: the other build, if two are compared.
    """

    def __init__(
        self,
        begun: Run,
        keep: Callable[[Event], None],
        dispatch: "Dispatch",
        *,
        known: Sequence[Measurement] = (),
        against: Against | None = None,
    ) -> None:
        self.settings = begun.settings
        self.cells = begun.planned
        self.known = known
        self.against = against
        self.grown = GrowingRun(begun)
        self._keep = keep
        self.dispatch = dispatch
        self._begun = begun
        self._joined = {machine.instance for machine in begun.machines}
        # What is there, to tell what comes twice.
        self._samples = {(m.cell.id, sample.process) for m in begun.measurements for sample in m.samples}
        self._statuses = {m.cell.id: m.status for m in begun.measurements}
        self._counted = {m.cell.id for m in begun.measurements if m.instructions is not None}
        self._done = set(begun.done)
        self.machine_class = class_of(begun.environment)
        files = dict.fromkeys(cell.file for cell in begun.planned if cell.file is not None)
        sent = [file for file in files if against is None or against.path(file) is None]  # else it is there
        self._files = {file: shipping.packed([file]) for file in sent}

    @property
    def run(self) -> Run:
        """The run as it stands."""
        return self.grown.run

    def measurement(self, cell: Cell) -> Measurement:
        """What is known of a cell that was inspected."""
        measurement = self.grown.measurement(cell.id)
        assert measurement is not None, f"{cell.id} was not inspected"
        return measurement

    # --- what an orchestrator is asked for

    def errands(self, order: Order, cells: Sequence[Cell]) -> "list[Errand]":
        """One for each row of these cells."""
        rows: dict[Row, list[Cell]] = {}
        for cell in cells:
            rows.setdefault(row_of(cell), []).append(cell)
        return [Errand(self, members, order) for members in rows.values()]

    def begin(self) -> None:
        """Keeps what needs no machine."""
        for measurement in self.known:
            if measurement.cell.id not in self._statuses:
                self.take(Inspected(measurement=measurement))

    def whole(self) -> "list[Errand]":
        """All that is left of the run."""
        if self.grown.finished:
            return []
        self.begin()
        done_ids = self._done | {measurement.cell.id for measurement in self.known}
        return self.errands(Order(), [cell for cell in self.cells if cell.id not in done_ids])

    def count_exactly(self, cells: Sequence[Cell], *, again: bool = False) -> None:
        """Exact metrics of the cells, with instructions if the settings ask for them."""
        if self.grown.finished:
            return
        self.begin()
        new = [cell for cell in cells if again or cell.id not in self._statuses]
        self.dispatch.carry_out(self.errands(Order(kind="count", again=again), new))

    def sample(self, cells: Sequence[Cell], numbers: range) -> None:
        """A round for each process number, all rounds of a row on one machine."""
        if self.grown.finished:
            return
        working = [cell for cell in cells if self._statuses[cell.id] == "ok"]
        lacking = {row_of(cell) for cell in working if any((cell.id, n) not in self._samples for n in numbers)}
        order = Order(kind="sample", first=numbers.start, stop=numbers.stop)
        # both sides go along, also those that do not work: a turn is of both
        self.dispatch.carry_out(self.errands(order, [cell for cell in cells if row_of(cell) in lacking]))

    def finish(self) -> None:
        """Says that nothing more will come."""
        if not self.grown.finished:
            self.take(Finished())

    # --- what comes from machines

    def join(self, began: Began) -> None:
        """A machine takes part."""
        if began.environment.instance not in self._joined:
            self._joined.add(began.environment.instance)
            self.take(Joined(environment=began.environment, clock_ns=began.clock_ns))

    def take(self, event: Event) -> None:
        """Keeps an event, if it is one more thing: what is there already is there once."""
        if self._is_there(event):
            return
        self._keep(event)
        self.grown.add(event)
        match event:
            case Inspected(measurement=measurement):
                self._statuses[measurement.cell.id] = measurement.status
            case Sampled(cell=cell, sample=sample):
                self._samples.add((cell, sample.process))
            case Stopped(cell=cell, status=status):
                self._statuses[cell] = status
            case Counted(cell=cell):
                self._counted.add(cell)

    def _is_there(self, event: Event) -> bool:
        """Whether it came before. What is said of a cell that was never inspected is of no use either."""
        match event:
            case Sampled(cell=cell, sample=sample):
                return cell not in self._statuses or (cell, sample.process) in self._samples
            case Stopped(cell=cell, status=status):
                return self._statuses.get(cell, status) == status
            case Counted(cell=cell):
                return cell not in self._statuses or cell in self._counted
        return False

    def files_of(self, cells: Sequence[Cell]) -> dict[str, bytes]:
        """The user's files that these cells need."""
        files: dict[str, bytes] = {}
        for name in dict.fromkeys(cell.file for cell in cells if cell.file is not None):
            files |= self._files.get(name, {})
        return files

    def complete(self, cells: Sequence[Cell]) -> None:
        """Says that nothing is left of these cells: whoever resumes the run leaves them out."""
        self.take(Done(cells=[cell.id for cell in cells]))

    def part(self, cells: Sequence[Cell]) -> Run:
        """The run as a machine needs it: these cells, with what is known of them; and smaller ones that failed."""
        known = [m for cell in cells if (m := self.grown.measurement(cell.id)) is not None]
        mine = {cell.id for cell in cells}
        failures = [
            msgspec.structs.replace(m, samples=[])
            for cell in self.cells
            if cell.id not in mine
            and any(is_smaller(cell, other) for other in cells)
            and (m := self.grown.measurement(cell.id)) is not None
            and m.status in NOT_TRIED_LARGER
        ]
        return msgspec.structs.replace(
            self._begun, planned=list(cells), measurements=[*known, *failures], machines=[], finished=False
        )


class Errand:
    """A row of a campaign on its way: what is sent of it, and what came back."""

    def __init__(self, campaign: Campaign, cells: Sequence[Cell], order: Order) -> None:
        self.campaign = campaign
        self.cells = cells
        self.order = order
        self.id = f"{campaign._begun.id}/{cells[0].task}" + (f" of {cells[0].file}" if cells[0].file else "")
        self.attempt = 0
        self.events = 0  # of the attempt
        self._token = ""
        self._inspected: set[str] = set()

    @property
    def row(self) -> str:
        """Its name."""
        return self.cells[0].task

    def work(self) -> Work:
        """As the board sees it: more engines take longer, and larger sizes do."""
        size = max((float(v) for v in self.cells[0].params.values() if not isinstance(v, str)), default=0.0)
        machine_class = self.campaign.machine_class.digest
        return Work(key=self.id, machine_class=machine_class, weight=len(self.cells) + 1e-12 * min(size, 1e9))

    def task(self, queue: str) -> Task:
        """What is left of it, for the machine that gets it now."""
        self.attempt += 1
        self.events, self._token = 0, ""
        cells = [cell for cell in self.cells if cell.id not in self._inspected] if self.order.again else self.cells
        mine = {cell.id for cell in cells}
        return Task(
            id=self.id,
            attempt=self.attempt,
            queue=queue,
            begun=self.campaign.part(cells),
            order=self.order,
            known=[m for m in self.campaign.known if m.cell.id in mine],
            files=self.campaign.files_of(cells),
            against=self.campaign.against,
        )

    def took(self, message: Message) -> bool:
        """Whether a message is of what is done now, and the next of it. What comes late changes nothing."""
        if message.attempt != self.attempt:
            return False
        match message:
            case Began(token=token):
                if self._token:  # Dask began it once more
                    return False
                self._token = token
                self.campaign.join(message)
                return True
            case Happened(token=token, number=number, event=event):
                if token != self._token or number != self.events or not self._is_mine(event):
                    return False
                self.events += 1
                if isinstance(event, Inspected):
                    self._inspected.add(event.measurement.cell.id)
                self.campaign.take(event)
                return True

    def complete(self, token: str, events: int) -> bool:
        """Whether all that a machine says it sent has come."""
        return bool(token) and token == self._token and events == self.events

    def _is_mine(self, event: Event) -> bool:
        """A machine speaks of the cells that it was asked for, and of nothing else."""
        names = {cell.id for cell in self.cells}
        match event:
            case Inspected(measurement=measurement):
                return measurement.cell in self.cells
            case Sampled(cell=cell) | Stopped(cell=cell) | Counted(cell=cell):
                return cell in names
        return isinstance(event, Calibrated)


def step(errands: Sequence[Errand], open_errands: Sequence[Errand], row: str) -> Step:
    """Where the work stands."""
    total = sum(len(errand.cells) for errand in errands)
    return Step("row", total - sum(len(errand.cells) for errand in open_errands), total, row)


def refuse_lost(given_up: Sequence[Work], advice: str) -> None:
    """Raises if tasks were given up: what was measured is kept, and the run goes on when somebody says so."""
    if not given_up:
        return
    work = given_up[0]
    why = (
        f"was lost with {len(work.lost_with)} machines ({', '.join(work.lost_with)})"
        if work.lost_with
        else f"failed on {len(work.failures)} machines: {work.failures[-1]}"
    )
    more = f", and {len(given_up) - 1} more rows like it" if len(given_up) > 1 else ""
    raise FleetError(f"{work.key.partition('/')[2]} {why}{more}. What was measured is kept; {advice}")
