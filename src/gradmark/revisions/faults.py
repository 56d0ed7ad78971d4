"""Fault engines: tapegrad with one fault each, and the metric that must catch it. What `gradmark audit` plants.

Workers load them by name, `gradmark.revisions.faults:Slower`.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from gradmark.engines.protocol import Session
from gradmark.engines.tapegrad import Tapegrad, TapegradRecordingConstants
from gradmark.records import Param
from gradmark.workloads.workload import Workload

Call = Callable[[], Any]
# Runs of a call, to know its floor before it is slowed down: enough to meet a calm moment.
CALIBRATION = 300
# Searched in vain to pass the time.
IDLE = bytes(1 << 18)
search = IDLE.count


@dataclass(frozen=True)
class Fault:
    """A fault, the workload that shows it, and the metrics of which one must catch it; none for what is no fault."""

    engine: str
    what: str
    workload: str
    size: Mapping[str, Param]
    caught_by: tuple[str, ...]
    timed: bool = False


def _floor_ns(call: Call) -> float:
    least = math.inf
    for _ in repeat(None, CALIBRATION):
        start = time.perf_counter_ns()
        call()
        least = min(least, time.perf_counter_ns() - start)
    return least


def slowed(call: Call, share: float, ready: Call | None = None) -> Call:
    """The call, and then a search through as many bytes as take that share of its floor: it allocates nothing."""
    if ready is not None:
        ready()
    end = int(share * _floor_ns(call) * len(IDLE) / _floor_ns(lambda: search(b"x")))

    def slow() -> None:
        call()
        search(b"x", 0, end)

    return slow


class Faulty(Tapegrad):
    """tapegrad with some calls of its session replaced."""

    def prepare(self, workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param]) -> Session:
        """The session, with the fault in it."""
        session = super().prepare(workload, inputs, params)
        assert session.forward is not None
        assert session.backward is not None
        return dataclasses.replace(session, **self.faults(session, session.forward, session.backward))

    def faults(self, session: Session, forward: Call, backward: Call) -> dict[str, Any]:  # noqa: ARG002
        """What is replaced."""
        return {}


class Slower(Faulty):
    """Forward and backward take 10 % longer."""

    name = "slower"

    def faults(self, session: Session, forward: Call, backward: Call) -> dict[str, Any]:  # noqa: ARG002
        """Both calls are slowed."""
        return {"forward": slowed(forward, 0.10), "backward": slowed(backward, 0.10, forward)}


class SlowerBackward(Faulty):
    """Backward takes 20 % longer, which is little of the whole."""

    name = "slower-backward"

    def faults(self, session: Session, forward: Call, backward: Call) -> dict[str, Any]:  # noqa: ARG002
        """Only backward is slowed."""
        return {"backward": slowed(backward, 0.20, forward)}


class Allocating(Faulty):
    """One allocation more for each operation."""

    name = "allocating"

    def faults(self, session: Session, forward: Call, backward: Call) -> dict[str, Any]:  # noqa: ARG002
        """Objects of 600 bytes, which no free list of Python holds."""
        forward()
        size = session.tape()
        count = (size.instructions or 0) if size is not None else 0

        def allocate() -> None:
            forward()
            for _ in repeat(None, count):
                bytes(600)

        return {"forward": allocate}


class Leaking(Faulty):
    """Keeps a kilobyte of each iteration."""

    name = "leaking"

    def faults(self, session: Session, forward: Call, backward: Call) -> dict[str, Any]:  # noqa: ARG002
        """A list that only grows."""
        kept: list[bytearray] = []

        def leak() -> None:
            kept.append(bytearray(1024))
            backward()

        return {"backward": leak}


class Inexact(Faulty):
    """Gradients are off by one part in a million."""

    name = "inexact"

    def faults(self, session: Session, forward: Call, backward: Call) -> dict[str, Any]:  # noqa: ARG002
        """Scaled when they are read."""
        gradients = session.gradients
        assert gradients is not None
        return {"gradients": lambda: [g * (1.0 + 1e-6) for g in gradients()]}


class RecordingConstants(TapegradRecordingConstants):
    """Constants are recorded as if they were variables."""

    name = "recording-constants"


class QuadraticClearing(Faulty):
    """Clears all adjoints once for each block of instructions, so that backward is quadratic."""

    name = "quadratic-clearing"

    def faults(self, session: Session, forward: Call, backward: Call) -> dict[str, Any]:
        """A buffer made once, cleared again and again."""
        forward()
        size = session.tape()
        count = (size.instructions or 0) if size is not None else 0
        adjoints, zeros = bytearray(8 * count), bytes(8 * count)

        def clear() -> None:
            for _ in repeat(None, count // 100):
                adjoints[:] = zeros
            backward()

        return {"backward": clear}


class Unsynchronised(Faulty):
    """Returns at once, and does the work when somebody looks at the result."""

    name = "unsynchronised"

    def faults(self, session: Session, forward: Call, backward: Call) -> dict[str, Any]:  # noqa: ARG002
        """As a device without a barrier does."""
        gradients = session.gradients
        assert gradients is not None
        pending = [False]

        def late() -> None:
            pending[0] = True

        def finished() -> Sequence[Any]:
            if pending[0]:
                time.sleep(0.002)
                backward()
                pending[0] = False
            return gradients()

        return {"backward": late, "gradients": finished}


POLY: dict[str, Param] = {"n": 1000}
FAULTS = [
    Fault("tapegrad", "nothing: the engine as it is", "poly", POLY, (), timed=True),
    Fault("Slower", "10 % slower", "poly", POLY, ("total",), timed=True),
    Fault("SlowerBackward", "backward alone 20 % slower", "poly", POLY, ("backward",), timed=True),
    Fault("Allocating", "an allocation more for each operation", "poly", POLY, ("allocations",)),
    Fault("Leaking", "a leak of 1 KiB in each iteration", "poly", POLY, ("leaked_bytes",)),
    Fault("Inexact", "gradients off by 1e-6", "poly", POLY, ("gradient_error",)),
    Fault("RecordingConstants", "constants are recorded", "constants", POLY, ("tape_instructions",)),
    Fault("QuadraticClearing", "quadratic clearing in backward", "poly", {"n": 10_000}, ("backward",), timed=True),
    Fault("Unsynchronised", "a result that is not finished", "poly", POLY, ("synchronisation",), timed=True),
]


def engine_of(fault: Fault) -> str:
    """The name by which a worker loads it."""
    return fault.engine if fault.engine.islower() else f"{__name__}:{fault.engine}"
