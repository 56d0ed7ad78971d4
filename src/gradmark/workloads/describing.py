"""Describing workloads: loads what users wrote and gives outlines. Runs in a process of its own; see the catalogue.

In: a file, or names of entry points. Out: outlines, whose fields are what they should be.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import msgspec

from gradmark.errors import WorkloadError
from gradmark.workloads.lookup import from_file, offered_as, offers
from gradmark.workloads.outline import Outline
from gradmark.workloads.workload import Workload


def of_file(path: str) -> list[Outline]:
    """The workloads of a user's file."""
    return [outline_of(workload) for workload in from_file(Path(path))]


def of_packages(names: Sequence[str]) -> list[Outline]:
    """The workloads of these entry points."""
    points = [point for point in offers() if point.name in names]
    unseen = set(names) - {point.name for point in points}
    if unseen:
        raise WorkloadError(
            f"workers do not find the package that offers workloads as {', '.join(sorted(unseen))}; install it, or put "
            "its folder on PYTHONPATH"
        )
    return [outline_of(workload) for point in points for workload in offered_as(point)]


def outline_of(workload: Workload) -> Outline:
    """What can be said of a workload; a field that is not what it should be is an error that names it."""
    fields = {field.name: getattr(workload, field.name) for field in dataclasses.fields(Outline)}
    try:
        plain = msgspec.json.decode(msgspec.json.encode(fields))
        return msgspec.convert(plain, Outline)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        where = f" of {workload.file}" if workload.file else ""
        raise WorkloadError(f"workload {workload.name!r}{where} cannot be described: {error}") from error
