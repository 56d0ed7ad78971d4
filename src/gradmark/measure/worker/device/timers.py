"""Which timer a row has: that of its session, or the laboratory's own of the device's kind.

In: a prepared row. Out: a `DeviceTimer`, or None: then the host's clock and the session's `synchronize` must do.
"""

from functools import cache

from gradmark.engines.protocol import DeviceTimer
from gradmark.errors import EngineError
from gradmark.measure.worker.prepared import Prepared
from gradmark.records.cell import USUAL_DEVICE


def timer_of(prepared: Prepared) -> DeviceTimer | None:
    """The timer of a row on a device. Where its arrays are, the session must say: a name proves nothing."""
    session, cell = prepared.session, prepared.cell
    if cell.device == USUAL_DEVICE:
        return None
    if session.device_name is None:
        raise EngineError(
            f"engine {cell.engine!r}: its session does not say where its arrays are, and {cell.device} was planned; "
            f"give it device_name, as the arrays say it themselves"
        )
    return session.timer() if session.timer is not None else _of_kind(cell.device)


@cache
def _of_kind(device: str) -> DeviceTimer | None:
    """One for all rows of this process: it holds memory to flush the caches with. None without the driver."""
    kind, _, number = device.partition(":")
    if kind != "cuda":
        return None
    from gradmark.measure.worker.device.cuda import CudaTimer, NoDriverError

    try:
        return CudaTimer(int(number or 0))
    except NoDriverError:
        return None
