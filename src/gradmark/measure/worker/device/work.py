"""What an iteration asks of a device, and whether it asks for it where it is timed.

In: a prepared row and its timer, in a process in which nothing is timed. Out: a `DeviceWork` record, and status
`untimed-work` for what is computed when inputs are taken or results are read, or only for new inputs.
"""

from collections.abc import Callable
from typing import Any

from gradmark import units
from gradmark.engines.protocol import DeviceCounts, DeviceTimer
from gradmark.measure.job import Result
from gradmark.measure.reference.elsewhere import STEPS, others
from gradmark.measure.worker.prepared import Prepared
from gradmark.records import DeviceWork

# Kernels outside of the timed calls that take this part of those inside: more than a fill or a cast needs.
ELSEWHERE = 0.5
# A result is kept if the same inputs cost less than this part of new ones.
KEPT = 0.3


def device_work(prepared: Prepared, timer: DeviceTimer) -> DeviceWork:
    """What one iteration asks for."""
    session = prepared.session
    sizes = [getattr(x, "nbytes", 8) for x in prepared.inputs]
    read_bytes = float(sum(sizes))
    written_bytes = float(sum(sizes[place] for place in prepared.active)) if prepared.differentiates else 0.0
    prepared.iterate()
    counted = timer.count(_all(prepared.calls(session)))
    if isinstance(counted, str):
        return DeviceWork(
            read_bytes=read_bytes, moved_bytes=read_bytes + written_bytes, reason=counted, lacks_tool=True
        )
    apart = None
    if session.forward is not None and session.backward is not None:
        both = timer.count(_all((session.forward, session.backward)))
        apart = float(both.kernels) if isinstance(both, DeviceCounts) else None
    return DeviceWork(
        kernels=counted.kernels,
        copies=counted.copies,
        copied_bytes=counted.copied_bytes,
        busy_ns=counted.busy_ns,
        apart_kernels=apart,
        read_bytes=read_bytes,
        moved_bytes=read_bytes + written_bytes,
    )


def computed_elsewhere(prepared: Prepared, timer: DeviceTimer) -> Result | None:
    """A result if kernels run that are not timed; None too where nobody can count them."""
    first, seen = prepared.copy_of_inputs(), {}
    session = prepared.session

    def move() -> None:
        if session.move is not None:
            session.move(prepared.inputs)

    try:
        prepared.write(others(prepared.workload, first, STEPS[-1]))
        for name, call in (
            ("move", move),
            ("new", _all(prepared.calls(session))),
            ("read", lambda: _read(prepared)),
            ("same", _all(prepared.calls(session))),
        ):
            counted = timer.count(call)
            if isinstance(counted, str):
                return None
            seen[name] = counted.kernels_ns
    finally:
        prepared.move(first)
    inside = max(seen["new"], seen["same"])
    taken = {name: units.time(ns) for name, ns in seen.items()}
    if seen["read"] > ELSEWHERE * inside:
        where = "reading the result"
    elif seen["move"] > ELSEWHERE * inside:
        where = "taking new inputs over"
    elif seen["same"] < KEPT * seen["new"]:
        return _untimed(
            f"kernels take {taken['new']} for new inputs, {taken['same']} for the same ones: a result is kept"
        )
    else:
        return None
    name = "read" if where.startswith("reading") else "move"
    return _untimed(f"kernels take {taken[name]} while {where}, {units.time(inside)} in the calls that are timed")


def _read(prepared: Prepared) -> None:
    prepared.value(None)
    prepared.result()


def _all(calls: tuple[Callable[[], Any], ...]) -> Callable[[], Any]:
    def ask() -> None:
        for call in calls:
            call()

    return ask


def _untimed(message: str) -> Result:
    return Result(status="untimed-work", message=message)
