"""Engines with faults on a device of known costs, and what must be said of each. `gradmark audit` plants them.

Workers load them by name, `gradmark.revisions.device_faults:DoneTwice`. None needs a GPU.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gradmark.engines.protocol import Session
from gradmark.engines.virtual import NAME, Kernel, Virtual, VirtualDevice
from gradmark.records import Cell, Code, Param, Status

POLY: Mapping[str, Param] = {"n": 100}


@dataclass(frozen=True)
class DeviceFault:
    """A fault, the row that shows it, and what must be said of that row; nothing of what is no fault."""

    engine: str
    what: str
    verdict: Code | Status | None
    workload: str = "poly"
    kind: str = "scalar"
    params: Mapping[str, Param] | None = None

    @property
    def cell(self) -> Cell:
        """The row."""
        module = "gradmark.engines.virtual" if self.engine == "Virtual" else __name__
        return Cell(
            engine=f"{module}:{self.engine}", workload=self.workload, suite=self.kind, params=dict(self.params or POLY),
            kind=self.kind, dtype="float32" if self.kind == "tensor" else "float64", device=NAME,  # type: ignore[arg-type]
        )  # fmt: skip


class NotWaitedFor(Virtual):
    """`synchronize` waits for nothing."""

    name = "not-waited-for"

    def changed(self, session: Session) -> Session:
        """The device works on."""
        return replace(session, synchronize=lambda: None)


class DoneTwice(Virtual):
    """An iteration does everything twice."""

    name = "done-twice"

    def changed(self, session: Session) -> Session:
        """As a harness does that runs forward before it times forward and backward."""

        def twice() -> Any:
            assert session.total is not None
            session.total()
            return session.total()

        return replace(session, total=twice)


class NeverUsed(Virtual):
    """Nobody uses the result of the timed calls, so it is computed when somebody reads it."""

    name = "never-used"

    def changed(self, session: Session) -> Session:
        """As a lazy engine does."""

        def late() -> Sequence[Any]:
            assert session.backward is not None
            assert session.gradients is not None
            session.backward()
            return session.gradients()

        return replace(session, backward=None, total=session.forward, gradients=late, replay=None)


class Unflushed(VirtualDevice):
    """Its flush leaves the caches as they are; a copy is slower than what its kernels then read."""

    copied_per_s = 1e9

    def flush(self, *, own: bool = False) -> None:
        """Writes elsewhere."""
        warm = set(self.warm)
        super().flush(own=own)
        self.warm = warm


class CacheHot(Virtual):
    """Its inputs are in the cache whenever it is timed."""

    name = "cache-hot"

    def made(self) -> VirtualDevice:
        """A device that is not flushed."""
        return Unflushed()


class CoolingDown(VirtualDevice):
    """Throttled for 6 ms of every 20: longer than the samples between two looks at its clock take."""

    period_ns, throttled_ns, factor = 20e6, 6e6, 1.5


class Throttled(Virtual):
    """On a device whose clock is lowered now and then."""

    name = "throttled"

    def made(self) -> VirtualDevice:
        """A hot one."""
        return CoolingDown()


class LaunchBound(Virtual):
    """Kernels so small that the host takes longer to launch them."""

    name = "launch-bound"
    forward_kernels = tuple(Kernel(f"forward {k}", 1_000.0, 1_000.0, 5_000.0) for k in range(10))
    backward_kernels = tuple(Kernel(f"backward {k}", 1_000.0, 1_000.0, 5_000.0) for k in range(20))


class Cached(Virtual):
    """Ten times as fast as soon as its numbers are in the cache."""

    name = "cached"
    forward_kernels = (Kernel("forward", 100_000.0, 10_000.0),)
    backward_kernels = (Kernel("backward", 200_000.0, 20_000.0),)


class Unseen(Virtual):
    """Queues its work where the marks do not wait for it."""

    name = "unseen"
    own_queue = True


DEVICE_FAULTS = [
    DeviceFault("Virtual", "nothing: a device as it is", None),
    DeviceFault("NotWaitedFor", "a `synchronize` that does not wait for the device", Code.NOT_WAITED),
    DeviceFault("DoneTwice", "work that is timed twice on a device", Code.DONE_TWICE),
    DeviceFault("NeverUsed", "a gradient that a device computes when it is read", "untimed-work"),
    DeviceFault(
        "CacheHot", "inputs that are in the device's cache", Code.BEYOND_MEMORY, "elementwise", "tensor",
        {"depth": 4, "n": 100_000},
    ),
    DeviceFault("Cached", "a loop that the device's cache makes fast", Code.CACHE_FLATTERED),
    DeviceFault("Throttled", "a device that is throttled now and then", Code.THROTTLED),
    DeviceFault("LaunchBound", "kernels of a device that take less than their launches", Code.LAUNCH_BOUND),
    DeviceFault("Unseen", "work in a queue of the device that nobody waits for", "untimed-work"),
]  # fmt: skip
