"""Baselines: the numbers that a repository promises to keep, in one small file, committed and reviewed as a diff.

In: measurements. Out: `gradmark-baseline.json`, sorted and the same on every writing, and the baseline again.
"""

import platform
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated, TypeVar

import msgspec

from gradmark.errors import StoreError
from gradmark.records import Cell, Environment, Measurement, Record
from gradmark.records.decoding import UndecodableError, decoded, encoded
from gradmark.records.derivative import USUAL_DERIVATIVE
from gradmark.records.metric import Metric, gated, metric, numbers
from gradmark.records.quantities import Nanoseconds, Version
from gradmark.store import reading
from gradmark.store.writing import replace

# History of the format of baseline files. A reader accepts every version up to its own.
#   1  first
VERSION = 1
FILE = Path("gradmark-baseline.json")
Entry = TypeVar("Entry")
# Whole numbers are written as such. Errors of a gradient reach 1e300, counts and bytes do not.
Promised = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | Annotated[float, msgspec.Meta(ge=-1e300, le=1e300)]
# Of errors: what is left of an exact gradient where the reference has more digits than a double.
LEAST_ERROR = 1e-17


class Kept(Record, frozen=True, kw_only=True):
    """One cell: how it ended, and its exact metrics; one that could not be obtained is not there."""

    status: str = "ok"
    metrics: dict[str, Promised] = {}
    scatter: dict[str, Promised] = {}  # by how much the same code differed from process to process, where it did


class Times(Record, frozen=True, kw_only=True):
    """For information only: times of the whole iteration, and the machine that they come from."""

    machine: str
    total_ns: dict[str, Annotated[int, msgspec.Meta(ge=-(10**18), le=10**18)] | Nanoseconds]


class Baseline(Record, frozen=True, kw_only=True):
    """The promised numbers and what they depend on."""

    environment: dict[str, str]
    cells: dict[str, Kept]
    times: Times | None = None
    format_version: Version = 1  # always written: a reader must know before it reads on


class _Version(msgspec.Struct):
    format_version: Version


_VERSION, _BASELINE = msgspec.json.Decoder(_Version), msgspec.json.Decoder(Baseline)


def key(cell: Cell) -> str:
    """The cell's name in the file: its id, with a user's file relative to the current folder. It has no side."""
    return msgspec.structs.replace(cell, file=_relative(cell.file), side="").id


def old_key(cell: Cell) -> str:
    """The cell's name in files from before rows had one spelling: `poly/n=1000/float64/cpu@tapegrad`."""
    row = "/".join([cell.workload, *(f"{name}={value}" for name, value in cell.params.items())])
    source = f" of {_relative(cell.file)}" if cell.file else ""
    return f"{row}/{cell.dtype}/{cell.device}@{cell.engine}{source}"


def _relative(file: str | None) -> str | None:
    if file is None:
        return None
    path, here = Path(file), Path.cwd()
    return (path.relative_to(here) if path.is_relative_to(here) else Path(path.name)).as_posix()


def renamed(before: Baseline, cells: Iterable[Cell]) -> Baseline:
    """The baseline with these cells under their names of today. Others stay: a name alone does not tell their kind."""
    names = {old_key(cell): key(cell) for cell in cells if cell.derivative == USUAL_DERIVATIVE}  # there was no other
    times = before.times
    if times is not None:
        times = msgspec.structs.replace(times, total_ns=_renamed(times.total_ns, names))
    return msgspec.structs.replace(before, cells=_renamed(before.cells, names), times=times)


def _renamed(entries: Mapping[str, Entry], names: Mapping[str, str]) -> dict[str, Entry]:
    """An entry that is there under its new name too is kept once: the new one is newer."""
    return {names.get(old, old): entry for old, entry in entries.items() if names.get(old) not in entries}


def only(before: Baseline, cells: Collection[Cell]) -> Baseline:
    """What the baseline has of these cells, under their names of today."""
    asked = {key(cell) for cell in cells}
    before = renamed(before, cells)
    return msgspec.structs.replace(before, cells={name: before.cells[name] for name in before.cells if name in asked})


def described(environment: Environment) -> dict[str, str]:
    """What exact metrics may depend on. Patch levels are left out: they change no count.

    Instructions depend on the processor too, because libraries choose their kernels by it.
    """
    parts = dict.fromkeys(part for entry in gated() for part in entry.depends)
    packages = {name: _minor(environment.packages[name]) for name in parts if name in environment.packages}
    libc = " ".join(part for part in platform.libc_ver() if part)
    system, python = (text.split() or ["unknown"] for text in (environment.os, environment.python))
    return {
        "system": system[0],
        "machine": environment.machine,
        "cpu": environment.cpu,
        "libc": libc or "unknown",
        "python": f"{python[0]} {_minor(python[-1])}",
        **packages,
    }


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def counts(measurement: Measurement) -> dict[str, list[float]]:
    """The gated metrics of a measurement that could be obtained, as each process counted them."""
    once = {name: [number.value] for name, number in numbers(measurement).items()}
    known = once | (measurement.counts if measurement.status == "ok" else {})
    return {entry.name: [rounded(entry, n) for n in known[entry.name]] for entry in gated() if entry.name in known}


def metrics(measurement: Measurement) -> dict[str, float]:
    """The gated metrics of a measurement, of its typical process."""
    return {name: rounded(metric(name), median(numbers)) for name, numbers in counts(measurement).items()}


def scatter(measurement: Measurement) -> dict[str, float]:
    """By how much its processes differ in each metric, where that is more than nothing."""
    ranges = {name: (min(numbers), max(numbers)) for name, numbers in counts(measurement).items()}
    return {
        name: rounded(metric(name), highest - lowest)
        for name, (lowest, highest) in ranges.items()
        if highest - lowest > _nothing(metric(name), lowest)
    }


def rounded(entry: Metric, value: float) -> float:
    """The number as the file has it: digits that rounding and the length of names move are left out."""
    if entry.unit == "relative" and value < LEAST_ERROR:
        return 0
    short = float(f"{value:.{entry.digits}g}")
    return int(short) if short == int(short) else short


def baseline(measurements: Sequence[Measurement], environment: Environment, before: Baseline | None = None) -> Baseline:
    """A baseline of these measurements. Times, and numbers that moved by nothing that counts, stay as they were."""
    before = renamed(before, [m.cell for m in measurements]) if before is not None else None
    old = before if before is not None and before.environment == described(environment) else None
    cells = {}
    for measurement in measurements:
        name = key(measurement.cell)
        now = Kept(status=measurement.status, metrics=metrics(measurement), scatter=scatter(measurement))
        cells[name] = _settled(old.cells[name], now) if old is not None and name in old.cells else now
    times = before.times if before is not None else None
    total = metric("total")
    if timed := {key(m.cell): rounded(total, ns) for m in measurements if (ns := total.number(m)) is not None}:
        machine = f"{environment.cpu}, {environment.cores} cores, {environment.os}, {environment.python}"
        times = Times(machine=machine, total_ns=timed)
    return Baseline(environment=described(environment), cells=cells, times=times, format_version=VERSION)


def joined(before: Baseline, renewed: Baseline, cells: Iterable[Cell]) -> Baseline:
    """These cells, which were renewed, in place of theirs, the others as they were: of one environment only."""
    if before.environment != renewed.environment:
        raise StoreError(
            f"the baseline was made with {before.environment}, this is {renewed.environment}; one file has one "
            "environment: renew all of it, without SELECT, -e and -k"
        )
    before, times = renamed(before, cells), renewed.times
    if times is not None and before.times is not None and times.machine == before.times.machine:
        times = msgspec.structs.replace(times, total_ns=before.times.total_ns | times.total_ns)
    return msgspec.structs.replace(renewed, cells=before.cells | renewed.cells, times=times)


def _settled(before: Kept, now: Kept) -> Kept:
    """A number that moved by nothing that counts stays as it was, so that writing again changes nothing.

    So does its scatter: a few processes do not show that there is less of it.
    """
    settled, scatters = dict(now.metrics), dict(now.scatter)
    for name, number in before.metrics.items():
        scattered = before.scatter.get(name, 0.0)
        if name in settled and abs(settled[name] - number) <= max(_nothing(metric(name), number), scattered):
            settled[name] = number
            if scattered > scatters.get(name, 0.0):
                scatters[name] = scattered
    return msgspec.structs.replace(now, metrics=settled, scatter=scatters)


def _nothing(entry: Metric, number: float) -> float:
    """By how much a number may move without any reason."""
    return max(entry.settled * number, entry.resolution if number else 0.0)


def save(kept: Baseline, path: Path) -> None:
    """Writes it sorted, a cell on a line: a diff then shows which cells changed, before and after."""
    try:
        plain = msgspec.json.decode(encoded(kept, _BASELINE)) | {"format_version": VERSION}
    except UndecodableError as error:
        raise StoreError(f"{path} was not written, because it could not be read back: {error}") from error
    parts = []
    for name in sorted(plain):
        whole = _line(plain[name])
        if name == "cells":
            whole = (
                "{\n" + ",\n".join(f"  {_line(key)}: {_line(plain[name][key])}" for key in sorted(plain[name])) + "\n }"
            )
        parts.append(f" {_line(name)}: {whole}")
    replace(path, ("{\n" + ",\n".join(parts) + "\n}\n").encode())


def _line(plain: object) -> str:
    packed = msgspec.json.encode(plain, order="deterministic")
    return msgspec.json.format(packed, indent=0).decode()


def load(path: Path) -> Baseline:
    """Reads a baseline file."""
    try:
        data = reading.contents(path)
    except FileNotFoundError:
        raise StoreError(f"there is no {path}; make one with `gradmark baseline update`, and commit it") from None
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from error
    try:
        version = decoded(_VERSION, data).format_version
        if version > VERSION:
            raise StoreError(
                f"{path} has format {version}, this gradmark reads up to {VERSION}; install a newer gradmark"
            )
        return decoded(_BASELINE, data)
    except UndecodableError as error:
        raise StoreError(
            f"{path} is not a baseline, or is damaged: {error}; take it from version control, or make it again with "
            "`gradmark baseline update`"
        ) from error
