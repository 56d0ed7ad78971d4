"""The errors of gradmark. Each message says what was expected, what came, where, and what to do next."""

from typing import Literal


class GradmarkError(Exception):
    """The base of every error that gradmark raises on purpose; shown to users without a traceback."""


class InstallationError(GradmarkError):
    """A package that gradmark itself needs is not installed, here or where a worker runs."""


class SelectionError(GradmarkError):
    """No workload or engine has that name."""


class OptionError(GradmarkError):
    """An option has a value that it cannot have."""


class WorkloadError(GradmarkError):
    """A workload, or the file it is in, is broken."""


class InvalidWorkloadError(WorkloadError):
    """The function itself cannot be measured, whatever the engine: it is random, not finite, not one number."""


class EngineError(GradmarkError):
    """An engine cannot be loaded or breaks the protocol."""


class MissingEngineError(EngineError):
    """The package that an engine is, or adapts, is not installed."""


class ToolError(EngineError):
    """A program that an engine drives ended, hung, or did not answer as it should.

    `status` is that of the row; `transcript` the end of what was said to it, and what it answered.
    """

    def __init__(
        self,
        message: str,
        *,
        status: Literal["error", "crash", "timeout", "out-of-memory"] = "error",
        transcript: list[str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status: Literal["error", "crash", "timeout", "out-of-memory"] = status
        self.transcript = transcript or []


class NoSuchError(GradmarkError):
    """There is no workload or engine of that name where it was looked for, as against one that is broken."""


class NoSuchWorkloadError(WorkloadError, NoSuchError):
    """A file has no such workload, or is not there itself."""


class NoSuchEngineError(EngineError, NoSuchError):
    """A module has no such engine."""


class NoSuchModuleError(MissingEngineError, NoSuchError):
    """The module that an engine was to come from is not there."""


class UnsupportedError(GradmarkError):
    """An engine says that it cannot run a workload; the row says so too. `lacks` names the operations it misses."""

    def __init__(self, message: str = "", *, lacks: list[str] | None = None) -> None:
        super().__init__(message)
        self.lacks = lacks or []


class AbsentError(UnsupportedError):
    """An engine says that it can run nothing here."""


class StoreError(GradmarkError):
    """A run file or a baseline cannot be read or written."""


class OutputError(GradmarkError):
    """What is to be printed cannot be: standard output leads to a disk that is full, or the like."""


class UnlikeRunsError(GradmarkError):
    """Runs of different machines or settings were to be compared."""


class ConfigurationError(GradmarkError):
    """`[tool.gradmark]` in pyproject.toml says something that is not understood."""


class FleetError(GradmarkError):
    """A fleet cannot be reached, has no machine for what was asked, or its machines differ."""


class RevisionError(GradmarkError):
    """The revision to compare with cannot be found or built; that is no regression."""
