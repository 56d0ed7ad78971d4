"""The profiler: what calls ask of a CUDA device, through CUPTI, which sees every engine alike.

In: a call. Out: kernels, copies and their times, or the reason why nobody can tell. It slows down what it watches, so
that nothing is timed in the same process.
"""

from collections.abc import Callable, Iterable
from typing import Any

from gradmark.engines.protocol import DeviceCounts

# CUPTI hands records over in buffers of so many bytes: some ten thousand kernels.
BUFFER_BYTES = 8 << 20


class Profiler:
    """CUPTI through NVIDIA's own bindings, `cupti-python`."""

    def __init__(self) -> None:
        self._cupti: Any = None
        self._reason = ""
        self._records: list[tuple[str, float, float, int]] = []

    def count(self, call: Callable[[], Any], synchronize: Callable[[], None]) -> DeviceCounts | str:
        """What a call asks of the device."""
        if self._cupti is None and not self._reason:
            self._begin()
        if self._reason:
            return self._reason
        cupti = self._cupti
        kinds = (cupti.ActivityKind.CONCURRENT_KERNEL, cupti.ActivityKind.MEMCPY, cupti.ActivityKind.MEMSET)
        synchronize()
        self._records = []
        try:
            for kind in kinds:
                cupti.activity_enable(kind)
            call()
            synchronize()
            cupti.activity_flush_all(1)
            for kind in kinds:
                cupti.activity_disable(kind)
        except cupti.cuptiError as error:
            self._reason = f"CUPTI fails: {error}"
            return self._reason
        return counts_of(self._records)

    def _begin(self) -> None:
        try:
            from cupti import cupti
        except ImportError as error:
            self._reason = f"CUPTI's bindings are not installed ({error}): pip install cupti-python"
            return
        kernels, copies = cupti.ActivityKind.CONCURRENT_KERNEL, cupti.ActivityKind.MEMCPY

        def asked() -> tuple[int, int]:
            return BUFFER_BYTES, 0

        def given(activities: Iterable[Any]) -> None:
            for one in activities:
                what = "kernel" if one.kind == kernels else "copy" if one.kind == copies else "fill"
                count = one.bytes if what == "copy" else 0
                self._records.append((what, float(one.start), float(one.end), count))

        try:
            cupti.activity_register_callbacks(asked, given)
        except Exception as error:  # another profiler holds CUPTI, or the driver does not let users profile
            self._reason = f"CUPTI cannot be used: {error}"
            return
        self._cupti = cupti


def counts_of(records: Iterable[tuple[str, float, float, int]]) -> DeviceCounts:
    """What records add up to: each is what it is, its begin and end in nanoseconds, and the bytes of a copy.

    >>> counts_of([("kernel", 0.0, 10.0, 0), ("copy", 5.0, 15.0, 64), ("kernel", 20.0, 30.0, 0)])
    DeviceCounts(kernels=2, kernels_ns=20.0, copies=1, copied_bytes=64, busy_ns=25.0)
    """
    known = sorted(records, key=lambda record: record[1])
    busy_ns = reached = 0.0
    for _, begin, end, _ in known:
        busy_ns += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return DeviceCounts(
        kernels=sum(what == "kernel" for what, *_ in known),
        kernels_ns=sum(end - begin for what, begin, end, _ in known if what == "kernel"),
        copies=sum(what == "copy" for what, *_ in known),
        copied_bytes=sum(count for *_, count in known),
        busy_ns=busy_ns,
    )
