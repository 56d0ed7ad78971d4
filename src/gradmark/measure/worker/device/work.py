"""What an iteration asks of a device, and whether it asks for it where it is timed.

In: a prepared row and its timer, in a process in which nothing is timed. Out: a `DeviceWork` record, and status
`untimed-work` for what is computed when inputs are taken or results are read, or only for new inputs.
"""

import math
from collections.abc import Callable
from typing import Any

from gradmark import units
from gradmark.engines.protocol import DeviceCounts, DeviceTimer
from gradmark.measure.job import Result
from gradmark.measure.reference.elsewhere import STEPS, others
from gradmark.measure.worker.outside import VARIES, small_session
from gradmark.measure.worker.prepared import Prepared
from gradmark.records import DeviceWork

# Kernels outside of the timed calls that take this part of those inside: more than a fill or a cast needs.
ELSEWHERE = 0.5
# While others inspect their rows on the same device kernels take longer: the least of so many iterations counts.
COUNTED = 5
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
    again = [timer.count(_all(prepared.calls(session))) for _ in range(COUNTED - 1)]
    apart = None
    if session.forward is not None and session.backward is not None:
        both = timer.count(_all((session.forward, session.backward)))
        apart = float(both.kernels) if isinstance(both, DeviceCounts) else None
    return DeviceWork(
        kernels=counted.kernels,
        copies=counted.copies,
        copied_bytes=counted.copied_bytes,
        busy_ns=min([counted.busy_ns, *(other.busy_ns for other in again if isinstance(other, DeviceCounts))]),
        apart_kernels=apart,
        read_bytes=read_bytes,
        moved_bytes=read_bytes + written_bytes,
    )


def computed_elsewhere(prepared: Prepared, timer: DeviceTimer) -> Result | None:
    """A result if kernels run that are not timed; None too where nobody can count them."""
    first, kernels_ns = prepared.copy_of_inputs(), {}
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
            ("again", lambda: _read(prepared)),
            ("same", _all(prepared.calls(session))),
        ):
            counted = timer.count(call)
            if isinstance(counted, str):
                return None
            kernels_ns[name] = counted.kernels_ns
    finally:
        prepared.move(first)
    inside = max(kernels_ns["new"], kernels_ns["same"])
    shown = {name: units.time(ns) for name, ns in kernels_ns.items()} | {"inside": units.time(inside)}
    # A gradient may be a view, which every reading makes an array of: so what only the first one takes is suspicious,
    # and reading that takes more than all of the work.
    if kernels_ns["read"] - kernels_ns["again"] > ELSEWHERE * inside or kernels_ns["read"] > inside:
        return _untimed(
            f"kernels take {shown['read']} while the result is read, {shown['inside']} in the calls that are timed"
        )
    if kernels_ns["move"] > ELSEWHERE * inside + VARIES * _usual_move_ns(prepared, timer):
        return _untimed(
            f"kernels take {shown['move']} while new inputs are taken over, {shown['inside']} in the calls that are "
            "timed"
        )
    if kernels_ns["same"] < KEPT * kernels_ns["new"]:
        return _untimed(
            f"kernels take {shown['new']} for new inputs, {shown['same']} for the same ones: a result is kept"
        )
    return None


def _usual_move_ns(prepared: Prepared, timer: DeviceTimer) -> float:
    """What taking these inputs over takes whatever the function is: arrays are copied where they are."""
    small = small_session(prepared)
    if small is None:
        return math.inf
    if small.move is None:
        return 0.0
    move = small.move
    counted = timer.count(lambda: move(prepared.inputs))
    return counted.kernels_ns if isinstance(counted, DeviceCounts) else math.inf


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
