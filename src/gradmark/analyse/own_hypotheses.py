"""Hypotheses of one's own: what a Python file claims, with the workloads that it brings along.

In: a file. Out: plain data; or an error that names the file, and says what happened to it. The file is loaded in
another process.
"""

from dataclasses import dataclass
from pathlib import Path

from gradmark.analyse.hypotheses import Hypothesis
from gradmark.errors import GradmarkError, SelectionError
from gradmark.isolation.calling import call
from gradmark.records import Settings
from gradmark.workloads.outline import Outline


@dataclass(frozen=True)
class OwnHypotheses:
    """What a file has."""

    hypotheses: list[Hypothesis]
    workloads: list[Outline]


def of_file(path: str, settings: Settings) -> OwnHypotheses:
    """The hypotheses of a file, at least one, and its workloads, if it has any."""
    if not Path(path).is_file():
        raise SelectionError(f"{path} cannot be loaded: there is no such file")
    try:
        own = call(f"{__name__}:_load", path, OwnHypotheses, settings)
    except GradmarkError as error:
        message = str(error)
        raise SelectionError(message if message.startswith(path) else f"{path} cannot be loaded: {message}") from error
    if not own.hypotheses:
        raise SelectionError(f"{path} has no Hypothesis; see examples/hypothesis.py")
    return own


def _load(path: str) -> OwnHypotheses:
    """Loads the file: called in the other process."""
    from gradmark.workloads.describing import outline_of
    from gradmark.workloads.lookup import module_of, of_module

    module = module_of(Path(path))
    return OwnHypotheses(
        hypotheses=[value for value in vars(module).values() if isinstance(value, Hypothesis)],
        workloads=[outline_of(workload) for workload in of_module(module)],
    )
