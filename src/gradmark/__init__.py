"""The laboratory: measures automatic-differentiation engines through one protocol.

Where only the engine is installed, importing this does no harm (pytest does, for the plugin); using it says what to
install.
"""

from typing import Any

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

__all__ = [
    "Capabilities",
    "Derivative",
    "DeviceMemory",
    "Engine",
    "GradmarkError",
    "Session",
    "UnsupportedError",
    "Workload",
    "workload",
]


def __getattr__(name: str) -> Any:
    if LACKING and name in __all__:
        raise ModuleNotFoundError(requirements.advice(LACKING), name=LACKING)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
