"""Baselines: the numbers that a repository promises to keep, in one small file, committed and reviewed as a diff.

In: measurements. Out: `gradmark-baseline.json`, sorted and the same on every writing, and the baseline again.
"""

import platform
from collections.abc import Sequence
from pathlib import Path

import msgspec

from gradmark.errors import StoreError
from gradmark.records import Cell, Environment, Measurement, Record
from gradmark.store.writing import replace

# History of the format of baseline files. A reader accepts every version up to its own.
#   1  first
VERSION = 1
FILE = Path("gradmark-baseline.json")
PACKAGES: list[str] = ["numpy", "memray"]
# Numbers that are not counts are kept to so many digits: what rounding and the length of names move is below.
DIGITS = {"gradient_error": 2, "peak_bytes": 3, "instructions": 4, "total_ns": 3}
# What is left of an exact gradient where the reference has more digits than a double.
LEAST_ERROR = 1e-17
# A number of these that moved by less than this share stays as it was, so that writing again changes nothing.
SAME = {"gradient_error": 1.0, "peak_bytes": 0.02, "instructions": 0.005}


class Kept(Record, frozen=True, kw_only=True):
    """One cell: how it ended, and its exact metrics; one that could not be obtained is not there."""

    status: str = "ok"
    metrics: dict[str, int | float] = {}


class Times(Record, frozen=True, kw_only=True):
    """For information only: floors of the whole iteration, and the machine that they come from."""

    machine: str
    total_ns: dict[str, int | float]


class Baseline(Record, frozen=True, kw_only=True):
    """The promised numbers and what they depend on."""

    environment: dict[str, str]
    cells: dict[str, Kept]
    times: Times | None = None
    format_version: int = 1  # always written: a reader must know before it reads on


class _Version(msgspec.Struct):
    format_version: int


def key(cell: Cell) -> str:
    """The cell's name in the file: its id, with a user's file relative to the current folder."""
    if cell.file is None:
        return cell.id
    path, here = Path(cell.file), Path.cwd()
    inside = path.relative_to(here) if path.is_relative_to(here) else Path(path.name)
    return msgspec.structs.replace(cell, file=inside.as_posix()).id


def described(environment: Environment) -> dict[str, str]:
    """What exact metrics may depend on. Patch levels are left out: they change no count.

    Instructions depend on the processor too, because libraries choose their kernels by it.
    """
    packages = {name: _minor(environment.packages[name]) for name in PACKAGES if name in environment.packages}
    libc = " ".join(part for part in platform.libc_ver() if part)
    python = environment.python.split()
    return {
        "system": environment.os.split()[0],
        "machine": environment.machine,
        "cpu": environment.cpu,
        "libc": libc or "unknown",
        "python": f"{python[0]} {_minor(python[-1])}",
        **packages,
    }


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def metrics(measurement: Measurement) -> dict[str, float]:
    """The exact metrics of a measurement, those that could be obtained."""
    memory, tape, accuracy = measurement.memory, measurement.tape, measurement.accuracy
    counted = measurement.instructions
    found: dict[str, float | None] = {
        "allocations": memory.allocations if memory else None,
        "leaked_bytes": memory.leaked_bytes if memory else None,
        "peak_bytes": memory.peak_bytes if memory else None,
        "tape_instructions": tape.instructions if tape else None,
        "gradient_error": accuracy.relative_error if accuracy else None,
        "instructions": counted.total if counted else None,
    }
    return {name: rounded(name, value) for name, value in found.items() if value is not None}


def rounded(metric: str, value: float) -> float:
    """The number as the file has it."""
    if metric == "gradient_error" and value < LEAST_ERROR:
        return 0
    short = float(f"{value:.{DIGITS.get(metric, 6)}g}")
    return int(short) if short == int(short) else short


def baseline(measurements: Sequence[Measurement], environment: Environment, before: Baseline | None = None) -> Baseline:
    """A baseline of these measurements. Times, and numbers that moved by nothing that counts, stay as they were."""
    old = before if before is not None and before.environment == described(environment) else None
    cells = {}
    for measurement in measurements:
        name = key(measurement.cell)
        known = old.cells[name].metrics if old is not None and name in old.cells else {}
        now = {metric: _settled(metric, known.get(metric), value) for metric, value in metrics(measurement).items()}
        cells[name] = Kept(status=measurement.status, metrics=now)
    timed = {key(m.cell): min(floors) for m in measurements if (floors := _floors(m))}
    times = before.times if before is not None else None
    if timed:
        machine = f"{environment.cpu}, {environment.cores} cores, {environment.os}, {environment.python}"
        times = Times(machine=machine, total_ns={name: rounded("total_ns", ns) for name, ns in timed.items()})
    return Baseline(environment=described(environment), cells=cells, times=times, format_version=VERSION)


def joined(before: Baseline, renewed: Baseline) -> Baseline:
    """The cells that were renewed in place of theirs, the others as they were: of one environment only."""
    if before.environment != renewed.environment:
        raise StoreError(
            f"the baseline was made with {before.environment}, this is {renewed.environment}; one file has one "
            "environment: renew all of it, without SELECT, -e and -k"
        )
    times = renewed.times
    if times is not None and before.times is not None and times.machine == before.times.machine:
        times = msgspec.structs.replace(times, total_ns=before.times.total_ns | times.total_ns)
    return msgspec.structs.replace(renewed, cells=before.cells | renewed.cells, times=times)


def _settled(metric: str, before: float | None, now: float) -> float:
    return before if before is not None and abs(now - before) <= SAME.get(metric, 0.0) * before else now


def _floors(measurement: Measurement) -> list[float]:
    return [s.phases["total"].floor_ns for s in measurement.samples if "total" in s.phases]


def save(found: Baseline, path: Path) -> None:
    """Writes it sorted, a cell on a line: a diff then shows which cells changed, before and after."""
    plain = {**msgspec.to_builtins(found), "format_version": VERSION}
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
        data = path.read_bytes()
    except FileNotFoundError:
        raise StoreError(f"there is no {path}; make one with `gradmark baseline update`, and commit it") from None
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from error
    try:
        version = msgspec.json.decode(data, type=_Version).format_version
        if version > VERSION:
            raise StoreError(
                f"{path} has format {version}, this gradmark reads up to {VERSION}; install a newer gradmark"
            )
        return msgspec.json.decode(data, type=Baseline)
    except msgspec.MsgspecError as error:
        raise StoreError(
            f"{path} is no baseline, or is damaged: {error}; take it from version control, or make it again with "
            "`gradmark baseline update`"
        ) from error
