"""Stage 2: who differentiates. One adapter per file, one protocol.

Out: what an adapter is written with, `from gradmark.engines import Capabilities, Session, namespace`.
"""

from gradmark.engines.protocol import Capabilities, Derivative, DeviceMemory, Engine, Session, bound, namespace, rebind

__all__ = ["Capabilities", "Derivative", "DeviceMemory", "Engine", "Session", "bound", "namespace", "rebind"]
