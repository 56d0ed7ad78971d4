"""The catalogue: what workloads there are, for all who select and plan. What users wrote is loaded in another process.

In: a file, or nothing. Out: outlines; or an error that names the file or the package, and says what happened to it.
"""

from collections.abc import Sequence
from pathlib import Path

from gradmark.errors import WorkloadError
from gradmark.isolation.calling import LoadingError, call
from gradmark.records import Settings
from gradmark.workloads import lookup
from gradmark.workloads.outline import Outline

_MODULE = "gradmark.workloads.describing"
USUAL = Settings()


def built_in() -> Sequence[Outline]:
    """The suites that come with gradmark. They are ours, and loaded here."""
    return lookup.built_in()


def available(settings: Settings = USUAL) -> list[Outline]:
    """The built-in suites, and what installed packages offer."""
    return [*built_in(), *installed(settings)]


def names(settings: Settings = USUAL) -> set[tuple[str, str]]:
    """Module and name of all that a worker finds by its name."""
    return {(outline.module, outline.name) for outline in available(settings)}


def installed(settings: Settings = USUAL) -> list[Outline]:
    """What installed packages offer: all in one process; if it ends badly, one after another, to say which it was."""
    points = lookup.offers()
    if not points:
        return []
    try:
        return call(f"{_MODULE}:of_packages", [point.name for point in points], list[Outline], settings)
    except LoadingError:
        outlines = []
        for point in points:
            try:
                outlines += call(f"{_MODULE}:of_packages", [point.name], list[Outline], settings)
            except LoadingError as error:
                raise WorkloadError(f"{lookup.broken_package(point)}: {error}") from error
        return outlines


def of_file(path: Path, settings: Settings = USUAL) -> list[Outline]:
    """The workloads of a user's file."""
    try:
        return call(f"{_MODULE}:of_file", str(path), list[Outline], settings)
    except LoadingError as error:
        raise WorkloadError(f"{path} cannot be loaded: {error}") from error
