"""The clock of a GPU, as a pilot: how long so many of its cycles take at the moment.

In: the name of a device. Out: a function that gives nanoseconds, or None where nobody can tell.
"""

from collections.abc import Callable

# As many as a pilot of the core has: 20 µs at 1 GHz.
CYCLES = 20_000


def device_clock(device: str) -> Callable[[], float] | None:
    """The clock of `cuda` or `cuda:1`, from NVML; None for a CPU, or where nvidia-ml-py or its driver is missing."""
    kind, _, number = device.partition(":")
    if kind != "cuda":
        return None
    try:
        import pynvml

        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(int(number or 0))
        clock = pynvml.NVML_CLOCK_SM
        pynvml.nvmlDeviceGetClockInfo(handle, clock)
    except Exception:  # no package, no driver, no such device: NVML has an error class for each
        return None

    def cycles_ns() -> float:
        megahertz = float(pynvml.nvmlDeviceGetClockInfo(handle, clock))
        return 1e3 * CYCLES / max(1.0, megahertz)

    return cycles_ns
