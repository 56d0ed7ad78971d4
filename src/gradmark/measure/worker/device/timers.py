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
    if session.timer is not None:
        return session.timer()
    kind, _, number = cell.device.partition(":")
    if kind != "cuda":
        return None
    from gradmark.measure.worker.device.cuda import NoDriverError

    try:
        return _of_cuda(int(number or 0))
    except NoDriverError:
        return None


@cache  # what is raised is not kept: a lack of the driver is asked for again
def _of_cuda(number: int) -> DeviceTimer:
    """One for all rows of this process: it holds memory to flush the caches with."""
    from gradmark.measure.worker.device.cuda import CudaTimer

    return CudaTimer(number)
