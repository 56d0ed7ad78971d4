"""A row as it is typed: a workload's name with sizes, dtype, derivative and device, each a value or a glob.

In: `matmul/n=8/dtype=float64/derivative=hvp/device=cuda`, as tables print it. Out: a `Selected`: a workload and the
points to measure, sizes among them that the workload does not list; or an error with what there is.
"""

import difflib
import fnmatch
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from gradmark.errors import SelectionError
from gradmark.records import Cell, DerivativeName, Param
from gradmark.records.derivative import DERIVATIVES, has
from gradmark.workloads.outline import Outline, Point
from gradmark.workloads.workload import RESERVED, is_size

GLOB = "*?["


@dataclass(frozen=True)
class Row:
    """What was typed, in its parts."""

    typed: str
    name: str
    values: Mapping[str, str]

    @classmethod
    def parsed(cls, typed: str) -> Self:
        """The parts of a row's name.

        >>> Row.parsed("matmul/n=8/dtype=float64").values
        {'n': '8', 'dtype': 'float64'}
        """
        _, at, engine = typed.partition("@")
        if at:  # lists name cells so, but an engine is chosen for all rows
            raise SelectionError(f"{typed!r} names an engine; leave out @{engine} and choose it with -e {engine}")
        name, *parts = typed.split("/")
        values = {}
        for part in parts:
            key, equals, value = part.partition("=")
            if not (key and equals and value):
                raise SelectionError(f"in {typed!r}, {part!r} is not of the form size=value, such as in poly/n=1000")
            if key in values:
                raise SelectionError(f"in {typed!r}, {key} is said twice; name each value as a row of its own")
            values[key] = value
        return cls(typed, name, values)


@dataclass(frozen=True)
class Selected:
    """A workload and what was asked for of it; what was not asked for is as usual."""

    workload: Outline
    sizes: Mapping[str, Sequence[Param]] = field(default_factory=dict)
    dtypes: Sequence[str] = ()
    devices: Sequence[str] = ()  # names or globs
    derivatives: Sequence[DerivativeName] = ()
    keyword: str = ""  # rows without it in their names are left out

    def points(self, *, full: bool) -> list[Point]:
        """The points: the sizes that were asked for, and of all others those of a full or a quick run.

        A keyword that no row of a quick run has may ask for a size of a full one.
        """
        others = [
            {key: value for key, value in point.items() if key not in self.sizes}
            for point in self.workload.points(full=full)
        ]
        asked = [dict(zip(self.sizes, values, strict=True)) for values in itertools.product(*self.sizes.values())]
        dtypes = self.dtypes or self.workload.dtypes
        derivatives = self.derivatives or self.workload.usual_derivatives
        points: list[Point] = []
        for rest, chosen in itertools.product(others, asked):
            point = {key: (rest | chosen)[key] for key in self.workload.sizes}
            rows = (self.row(point, dtype, derivative) for dtype in dtypes for derivative in derivatives)
            if point not in points and any(self.keyword in row for row in rows):
                points.append(point)
        return points if points or full or not self.keyword else self.points(full=True)

    def row(self, point: Point, dtype: str, derivative: DerivativeName) -> str:
        """The row's name, on the usual device."""
        workload = self.workload
        return Cell(
            engine="",
            workload=workload.name,
            suite=workload.suite,
            params=point,
            kind=workload.kind,
            dtype=dtype,
            derivative=derivative,
        ).row


def lists(workload: Outline, row: Row) -> bool:
    """Whether a workload has every size of a row, with a value of its own that fits."""
    return all(
        key in workload.sizes and any(fnmatch.fnmatchcase(str(value), typed) for value in listed(workload, key))
        for key, typed in row.values.items()
        if key not in RESERVED
    )


def fitted(workload: Outline, row: Row) -> Selected:
    """The workload with the values of a row, or an error that says what it has."""
    unknown = [key for key in row.values if key not in workload.sizes and key not in RESERVED]
    if unknown:
        there = f"its sizes are {', '.join(workload.sizes)}" if workload.sizes else "it has no sizes"
        near = difflib.get_close_matches(unknown[0], workload.sizes, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise SelectionError(f"in {row.typed!r}, {workload.name} has no size {unknown[0]!r}: {there}{hint}")
    dtypes: list[str] = []
    if "dtype" in row.values:
        dtypes = [dtype for dtype in workload.dtypes if fnmatch.fnmatchcase(dtype, row.values["dtype"])]
        if not dtypes:
            raise SelectionError(
                f"in {row.typed!r}, {workload.name} has no dtype {row.values['dtype']}; it has "
                f"{', '.join(workload.dtypes)}"
            )
    return Selected(
        workload,
        sizes={key: _values(workload, key, row) for key in workload.sizes if key in row.values},
        dtypes=dtypes,
        devices=[row.values["device"]] if "device" in row.values else [],
        derivatives=_derivatives(workload, row) if "derivative" in row.values else [],
    )


def _derivatives(workload: Outline, row: Row) -> list[DerivativeName]:
    """The derivatives of the workload that a glob matches; one that was named and that it lacks, for its row to say."""
    typed = row.values["derivative"]
    matching = [name for name in has(workload.result) if fnmatch.fnmatchcase(name, typed)]
    named = matching or [name for name in DERIVATIVES if name == typed]
    if not named:
        near = difflib.get_close_matches(typed, DERIVATIVES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"{workload.name} has {', '.join(has(workload.result))}"
        raise SelectionError(f"in {row.typed!r}, no derivative is called {typed!r}; {hint}")
    return named


def listed(workload: Outline, key: str) -> list[Param]:
    """The values of a size that full and quick runs have, smallest first; words in the order of the workload."""
    values = [*workload.sizes[key], *(point[key] for point in workload.points(full=False))]
    once = list(dict.fromkeys(values))
    numbers = [value for value in once if not isinstance(value, str)]
    return [*sorted(numbers), *(value for value in once if isinstance(value, str))]


def _values(workload: Outline, key: str, row: Row) -> list[Param]:
    """The values that a row asks for: those of the workload that a glob matches, or the one that was typed."""
    typed, there = row.values[key], listed(workload, key)
    same = [value for value in there if str(value) == typed]
    if same:
        return same
    if any(character in typed for character in GLOB):
        matching = [value for value in there if fnmatch.fnmatchcase(str(value), typed)]
        if matching:
            return matching
        raise SelectionError(f"in {row.typed!r}, {key}={typed} matches none of {_shown(there)}")
    return [_number(typed, key, there, row)]


def _number(typed: str, key: str, there: Sequence[Param], row: Row) -> Param:
    """A size that is not listed, as a number like those that are. Words are choices: one that is not listed is none."""
    numbers = [value for value in there if not isinstance(value, str)]
    if not numbers:
        near = difflib.get_close_matches(typed, [str(value) for value in there], n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"choose from: {_shown(there)}"
        raise SelectionError(f"in {row.typed!r}, {key} cannot be {typed!r}; {hint}")
    whole = all(isinstance(value, int) for value in numbers)
    kind = "a whole number" if whole else "a number"
    least = " above 0" if min(numbers) > 0 else ""
    try:
        number = int(typed) if whole else float(typed)
    except ValueError:
        number = math.nan
    if not is_size(number) or (least and number <= 0):
        raise SelectionError(f"in {row.typed!r}, {key} must be {kind}{least}, such as {_shown(there)}; got {typed!r}")
    return number


def _shown(values: Sequence[Param]) -> str:
    return ", ".join(map(str, values))
