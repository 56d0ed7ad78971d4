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
from gradmark.revisions import liars
from gradmark.revisions.liars import POLY
from gradmark.workloads.workload import Workload

Call = Callable[[], Any]
# The verbs that could show a fault.
VERBS = RUN, CHECK, AGAINST, COMPARE, PYTEST = "run", "check", "check --against", "compare", "pytest"
# Runs of a call, to know its floor before it is slowed down: enough to meet a calm moment.
CALIBRATION = 300
# Searched in vain to pass the time.
IDLE = bytes(1 << 18)
search = IDLE.count
SLOW_START_S = 0.2


@dataclass(frozen=True)
class Fault:
    """A fault, the workload that shows it, and the metrics of which one must catch it; none for what is no fault."""

    engine: str
    what: str
    workload: str
    size: Mapping[str, Param]
    caught_by: tuple[str, ...]
    timed: bool = False
    status: str = ""  # how the row must end, if it is caught by that
    verbs: tuple[str, ...] = (CHECK, AGAINST, COMPARE)  # those that can show it


def _floor_ns(call: Call) -> float:
    least = math.inf
    for _ in repeat(None, CALIBRATION):
        start = time.perf_counter_ns()
        call()
        least = min(least, time.perf_counter_ns() - start)
    return least


class Faulty(Tapegrad):
    """tapegrad with some calls of its session replaced."""

    share = 0.0  # of a call's own time, by which it is slowed

    def __init__(self) -> None:
        self.idle: dict[str, int] = {}

    def slowed(self, name: str, call: Call, ready: Call | None = None) -> Call:
        """The call, and then a search through as many bytes as take that share of its floor: it allocates nothing.

        How many is found out once: what that takes is not the session's.
        """
        if name not in self.idle:
            if ready is not None:
                ready()
            self.idle[name] = int(self.share * _floor_ns(call) * len(IDLE) / _floor_ns(lambda: search(b"x")))
        end = self.idle[name]

        def slow() -> None:
            call()
            search(b"x", 0, end)

        return slow

    def prepare(  # type: ignore[override]  # of gradients only, see `worker/session.py`
        self, workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param]
    ) -> Session:
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
    share = 0.10

    def faults(self, session: Session, forward: Call, backward: Call) -> dict[str, Any]:  # noqa: ARG002
        """Both calls are slowed."""
        return {"forward": self.slowed("forward", forward), "backward": self.slowed("backward", backward, forward)}


class SlowerBackward(Faulty):
    """Backward takes 20 % longer, which is little of the whole."""

    name = "slower-backward"
    share = 0.20

    def faults(self, session: Session, forward: Call, backward: Call) -> dict[str, Any]:  # noqa: ARG002
        """Only backward is slowed."""
        return {"backward": self.slowed("backward", backward, forward)}


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


class SlowImport(Faulty):
    """Importing and making the engine takes 200 ms more, as if it computed tables."""

    name = "slow-import"

    def __init__(self) -> None:
        time.sleep(SLOW_START_S)


class SlowPrepare(Faulty):
    """Preparing a function takes 200 ms more."""

    name = "slow-prepare"

    def prepare(  # type: ignore[override]  # of gradients only, see `worker/session.py`
        self, workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param]
    ) -> Session:
        """The session, late."""
        time.sleep(SLOW_START_S)
        return super().prepare(workload, inputs, params)


# Only a clock finds a compiled engine that works elsewhere. Single calls are told apart by 3 µs, and a fast machine
# does poly/n=1000 in 5: a lie of that size is sometimes believed.
LONG_POLY: Mapping[str, Param] = {"n": 10_000}


def lie(engine: str, what: str, status: str, *, timed: bool = False, size: Mapping[str, Param] = POLY) -> Fault:
    """A lying engine, and how its row must end; only if it is timed, if it must be."""
    verbs = tuple(verb for verb in VERBS if verb != CHECK) if timed else VERBS
    return Fault(engine, what, "poly", size, ("status",), timed=timed, status=status, verbs=verbs)


FAULTS = [
    Fault("tapegrad", "nothing: the engine as it is", "poly", POLY, (), timed=True, verbs=()),
    Fault("Slower", "10 % slower", "poly", POLY, ("total",), timed=True, verbs=(AGAINST, COMPARE)),
    # of which too little is left in the whole for two runs of different times to tell
    Fault("SlowerBackward", "backward alone 20 % slower", "poly", POLY, ("backward",), timed=True, verbs=(AGAINST,)),
    Fault("Allocating", "an allocation more for each operation", "poly", POLY, ("allocations",)),
    Fault("Leaking", "a leak of 1 KiB in each iteration", "poly", POLY, ("leaked_bytes",)),
    Fault("Inexact", "gradients off by 1e-6", "poly", POLY, ("gradient_error",), status="wrong-gradient", verbs=VERBS),
    Fault("RecordingConstants", "constants are recorded", "constants", POLY, ("tape_instructions",)),
    # its buffer shows among the exact metrics, too
    Fault("QuadraticClearing", "quadratic clearing in backward", "poly", LONG_POLY, ("backward",), timed=True),
    Fault("SlowImport", "200 ms more to import", "poly", POLY, ("import",), timed=True, verbs=(AGAINST,)),
    Fault("SlowPrepare", "200 ms more to prepare", "poly", POLY, ("prepare",), timed=True, verbs=(AGAINST,)),
    lie("Unsynchronised", "a result that is not finished", "untimed-work"),
    lie("WrongValue", "a wrong value", "wrong-value"),
    lie("NeverComputing", "a wrong value, and a gradient computed when it is read", "wrong-value"),
    lie("WhenRead", "a result computed whenever it is read", "untimed-work"),
    lie("Lazy", "a result computed when it is first read", "untimed-work", size=LONG_POLY),
    lie("Kept", "a result kept from the last call", "untimed-work"),
    lie("Remembered", "results remembered by their inputs", "untimed-work", size=LONG_POLY),
    lie("KeptLater", "a result kept after a hundred calls", "untimed-work", timed=True),
    lie("FirstInputs", "a result of the first inputs only", "wrong-value"),
    lie("InPrepare", "a result computed in prepare", "wrong-value"),
    lie("AtImport", "a result computed at import", "wrong-value"),
    lie("InMove", "a result computed when inputs are taken over", "untimed-work"),
    lie("InSynchronize", "a result computed once for many calls", "untimed-work"),
    lie("InThread", "a result computed by a thread, after the call", "untimed-work"),
]  # fmt: skip


def engine_of(fault: Fault) -> str:
    """The name by which a worker loads it."""
    if fault.engine.islower():
        return fault.engine
    return f"{liars.__name__ if hasattr(liars, fault.engine) else __name__}:{fault.engine}"
