"""The laboratory: measures automatic-differentiation engines through one protocol.

The verbs of the command line are functions here, and imported when they are used.

Where only the engine is installed, importing this does no harm (pytest does, for the plugin); using it says what to
install.
"""

from typing import TYPE_CHECKING, Any

from gradmark import requirements

LACKING = ""
try:
    from gradmark.engines.protocol import Capabilities, Derivative, DeviceMemory, Engine, Session
    from gradmark.errors import GradmarkError, UnsupportedError
    from gradmark.workloads.workload import Workload, workload
except ModuleNotFoundError as error:
    LACKING = requirements.lacking(error)
    if not LACKING:
        raise

if TYPE_CHECKING:
    from gradmark.api import check, compare, explain, load, ops, run, scale

__all__ = [
    "Capabilities",
    "Derivative",
    "DeviceMemory",
    "Engine",
    "GradmarkError",
    "Session",
    "UnsupportedError",
    "Workload",
    "check",
    "compare",
    "explain",
    "load",
    "ops",
    "run",
    "scale",
    "workload",
]
VERBS = ("check", "compare", "explain", "load", "ops", "run", "scale")


def __getattr__(name: str) -> Any:
    if LACKING and name in __all__:
        raise ModuleNotFoundError(requirements.advice(LACKING), name=LACKING)
    if name in VERBS:
        from gradmark import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *VERBS})
