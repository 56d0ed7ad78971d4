"""The laboratory: measures automatic-differentiation engines through one protocol."""

from gradmark.engines.protocol import Capabilities, Derivative, DeviceMemory, Engine, Session
from gradmark.errors import GradmarkError, UnsupportedError
from gradmark.workloads.workload import Workload, workload

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
