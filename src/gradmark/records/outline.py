"""The outline of a run: its numbers without the samples that they come from, which is what a history needs.

In: a run. Out: the numbers of every metric, one for each cell, as they are shown everywhere. A store keeps outlines
beside the runs, so that ten thousand runs need not be read again for one question.
"""

from collections.abc import Callable, Collection, Mapping
from functools import cached_property

import msgspec

from gradmark.records.calibration import levels_of
from gradmark.records.cell import Cell
from gradmark.records.decoding import UndecodableError, decoded
from gradmark.records.identity import MachineClass, class_of
from gradmark.records.metric import numbers
from gradmark.records.number import Number
from gradmark.records.quantities import Moment
from gradmark.records.record import Record
from gradmark.records.run import Environment, Run, Settings

# History of how numbers come from samples. An outline of another version is made again from its run.
#   1  first
OUTLINE_VERSION = 1


class Short(msgspec.Struct, frozen=True, array_like=True):
    """A number in few bytes."""

    value: float
    derived: bool
    calm: bool
    processes: int
    spread: float | None
    median: float | None
    low: float | None
    high: float | None
    coverage: float | None

    @property
    def number(self) -> Number:
        """The number itself."""
        return Number(
            value=self.value,
            how="derived" if self.derived else "measured",
            calm=self.calm,
            processes=self.processes,
            spread=self.spread,
            median=self.median,
            low=self.low,
            high=self.high,
            coverage=self.coverage,
        )


Entry = float | Short | None  # a bare one is a count, of which nothing else is known
_COLUMN = msgspec.json.Decoder(list[Entry])


class Heading(Record, frozen=True, kw_only=True):
    """What an outline says of its run, beside the numbers."""

    id: str
    started: Moment
    verb: str
    environment: Environment
    settings: Settings
    cells: list[Cell]  # those that have numbers
    levels: dict[str, float] = {}  # of its calibrations


class Outline:
    """A run without its samples. Columns stay packed until somebody asks for them.

    more: where to ask for a column that is not there yet.
    """

    def __init__(
        self, heading: Heading, columns: Mapping[str, bytes], more: Callable[[str], bytes | None] | None = None
    ) -> None:
        self.heading = heading
        self.columns = columns
        self.more = more
        self._read: dict[str, list[Entry]] = {}

    @property
    def id(self) -> str:
        """Of the run."""
        return self.heading.id

    @cached_property
    def machine_class(self) -> MachineClass:
        """Of the machine that it was made on."""
        return class_of(self.heading.environment)

    def column(self, metric: str) -> list[Entry]:
        """The entries of a metric, one for each cell; none where no cell has any."""
        if metric not in self._read:
            packed, cells = self.columns.get(metric), self.heading.cells
            if packed is None and self.more is not None:
                packed = self.more(metric)
            column: list[Entry] = decoded(_COLUMN, packed) if packed else [None] * len(cells)
            if len(column) != len(cells):
                raise UndecodableError(f"Expected {len(cells)} numbers of {metric}, one a cell, got {len(column)}")
            self._read[metric] = column
        return self._read[metric]


def number_of(entry: Entry) -> Number | None:
    """The number that an entry stands for."""
    return entry.number if isinstance(entry, Short) else None if entry is None else Number(value=entry)


def value_of(entry: Entry) -> float | None:
    """Its value alone."""
    return entry.value if isinstance(entry, Short) else entry


def _entry(number: Number | None) -> Entry:
    if number is None or number == Number(value=number.value):
        return None if number is None else float(number.value)
    return Short(
        number.value,
        number.how == "derived",
        number.calm,
        number.processes,
        number.spread,
        number.median,
        number.low,
        number.high,
        number.coverage,
    )


def outline(run: Run, metrics: Collection[str] | None = None) -> Outline:
    """The outline of a run: of these metrics, or of all that it has.

    What failed has no numbers. Two builds that were compared side by side are no points of a series.
    """
    measured = [m for m in run.measurements if m.status == "ok" and not m.cell.side]
    heading = Heading(
        id=run.id,
        started=run.started,
        verb=run.verb,
        environment=run.environment,
        settings=run.settings,
        cells=[m.cell for m in measured],
        levels=levels_of(run.calibrations),
    )
    known = [numbers(m) for m in measured]
    names = dict.fromkeys(name for row in known for name in row) if metrics is None else metrics
    columns = {name: msgspec.json.encode([_entry(row.get(name)) for row in known]) for name in names}
    return Outline(heading, columns)


class _Packed(msgspec.Struct):
    """A heading whose larger parts are not read yet: runs of one machine and plan have the same."""

    id: str
    started: Moment
    verb: str
    environment: msgspec.Raw
    settings: msgspec.Raw
    levels: dict[str, float] = {}


_PACKED = msgspec.json.Decoder(_Packed)
_ENVIRONMENT, _SETTINGS = msgspec.json.Decoder(Environment), msgspec.json.Decoder(Settings)
_CELLS = msgspec.json.Decoder(list[Cell])


def packed(heading: Heading) -> tuple[bytes, bytes]:
    """A heading as a store keeps it: without its cells, and the cells, which many runs have in common."""
    plain = _Packed(
        id=heading.id,
        started=heading.started,
        verb=heading.verb,
        environment=msgspec.Raw(msgspec.json.encode(heading.environment)),
        settings=msgspec.Raw(msgspec.json.encode(heading.settings)),
        levels=heading.levels,
    )
    return msgspec.json.encode(plain), msgspec.json.encode(heading.cells)


class Unpacker:
    """Reads outlines that a store kept. What many runs have in common is read once."""

    def __init__(self) -> None:
        self._environments: dict[bytes, Environment] = {}
        self._settings: dict[bytes, Settings] = {}
        self._cells: dict[bytes, list[Cell]] = {}

    def outline(
        self,
        heading: bytes,
        cells: bytes,
        columns: Mapping[str, bytes],
        more: Callable[[str], bytes | None] | None = None,
    ) -> Outline:
        """The outline of one run; raises `UndecodableError` if it is none."""
        plain = decoded(_PACKED, heading)
        environment, settings = bytes(plain.environment), bytes(plain.settings)
        if environment not in self._environments:
            self._environments[environment] = decoded(_ENVIRONMENT, environment)
        if settings not in self._settings:
            self._settings[settings] = decoded(_SETTINGS, settings)
        if cells not in self._cells:
            self._cells[cells] = decoded(_CELLS, cells)
        read = Heading(
            id=plain.id,
            started=plain.started,
            verb=plain.verb,
            environment=self._environments[environment],
            settings=self._settings[settings],
            cells=self._cells[cells],
            levels=plain.levels,
        )
        return Outline(read, columns, more)
