"""A device of known costs, and an engine on it: what the laboratory says of a device is held against what was planted.

Its clock is virtual: a launch costs the host so much, a kernel the device so much, with cold caches or with warm ones,
and nothing else takes any time. Results are tapegrad's. Engines with faults are in `gradmark.revisions.device_faults`.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gradmark.engines.protocol import Capabilities, DeviceCounts, DeviceMemory, Session, rebind
from gradmark.engines.tapegrad import Tapegrad
from gradmark.records import Param
from gradmark.records.quantities import RoofKind
from gradmark.workloads.workload import Workload

NAME = "virtual"
# What so many cycles take as long as nothing lowers the clock.
CYCLES_NS = 10_000.0


# One of each kind of engine in a process, as there is one GPU.
_DEVICES: dict[type, "VirtualDevice"] = {}


@dataclass(frozen=True)
class Kernel:
    """What a kernel costs: the host to launch it, the device to run it with cold caches and with warm ones."""

    name: str
    cold_ns: float
    hot_ns: float
    launch_ns: float = 2_000.0


class VirtualDevice:
    """A device with a virtual clock, a queue in which marks are put, and another one; a `DeviceTimer`."""

    flush_ns = 60_000.0
    # At the end of each period it is throttled for so long, and everything takes so many times as long.
    period_ns, throttled_ns, factor = math.inf, 0.0, 1.0
    copied_per_s = 1e12

    def __init__(self) -> None:
        self.now_ns = self.free_ns = self.own_free_ns = 0.0
        self.warm: set[str] = set()  # kernels whose numbers are in the cache
        self.ran: list[tuple[float, float]] = []
        self.copied_bytes: list[int] = []
        self.alive_bytes = self.peak_bytes = self.allocations = 0

    # --- as engines use it

    def launch(self, kernel: Kernel, *, own: bool = False) -> None:
        """Queues a kernel, which runs when all before it in its queue have."""
        self.now_ns += kernel.launch_ns
        self._run(kernel.hot_ns if kernel.name in self.warm else kernel.cold_ns, own=own)
        self.warm.add(kernel.name)

    def join(self) -> None:
        """The queue of the marks waits for the other one."""
        self.free_ns = max(self.free_ns, self.own_free_ns)

    def replay(self, kernels: Sequence[Kernel], launch_ns: float) -> None:
        """Queues kernels that were captured, for the price of one launch."""
        self.now_ns += launch_ns
        for kernel in kernels:
            self.launch(dataclasses.replace(kernel, launch_ns=0.0))

    def copy(self, count: int, taken_ns: float) -> None:
        """Copies so many bytes to the host, which waits."""
        self.copied_bytes.append(count)
        self._run(taken_ns)
        self.synchronize()

    def take(self, count: int) -> None:
        """Takes memory; a negative number gives it back."""
        self.allocations += count > 0
        self.alive_bytes += count
        self.peak_bytes = max(self.peak_bytes, self.alive_bytes)

    def counters(self) -> DeviceMemory:
        """Of its memory."""

        def reset() -> None:
            self.peak_bytes = self.alive_bytes

        return DeviceMemory(lambda: self.alive_bytes, reset, lambda: self.peak_bytes, lambda: self.allocations)

    def _run(self, taken_ns: float, *, own: bool = False) -> None:
        begin = max(self.now_ns, self.own_free_ns if own else self.free_ns)
        end = begin + taken_ns * self._factor(begin)
        if own:
            self.own_free_ns = end
        else:
            self.free_ns = end
        self.ran.append((begin, end))

    def _factor(self, at_ns: float) -> float:
        return self.factor if math.fmod(at_ns, self.period_ns) >= self.period_ns - self.throttled_ns else 1.0

    # --- as the laboratory uses it

    def host_ns(self) -> float:
        """The virtual clock."""
        return self.now_ns

    def mark(self) -> float:
        """When the device will have done all so far."""
        return max(self.now_ns, self.free_ns)

    def reached(self, mark: float) -> bool:
        """Whether that time has come."""
        return self.now_ns >= mark

    def elapsed_ns(self, first: float, second: float) -> float:
        """Between two marks, waiting for them."""
        self.now_ns = max(self.now_ns, first, second)
        return second - first

    def flush(self, *, own: bool = False) -> None:
        """Nothing is warm any more."""
        self._run(self.flush_ns, own=own)
        self.warm.clear()

    def synchronize(self) -> None:
        """The host waits."""
        self.now_ns = max(self.now_ns, self.free_ns, self.own_free_ns)

    def clock_ns(self) -> float:
        """Of the device at this moment."""
        return CYCLES_NS * self._factor(self.now_ns)

    def roofs(self, dtype: str) -> Mapping[RoofKind, float]:  # noqa: ARG002
        """A round number, and another."""
        return {"bytes": self.copied_per_s, "flops": 1e13}

    def count(self, call: Callable[[], Any]) -> DeviceCounts | str:
        """What ran meanwhile."""
        self.synchronize()
        kernels, copies = len(self.ran), len(self.copied_bytes)
        call()
        self.synchronize()
        ran, copied = self.ran[kernels:], self.copied_bytes[copies:]
        busy_ns = sum(end - begin for begin, end in ran)  # one queue: nothing overlaps
        self.ran, self.copied_bytes = [], []
        return DeviceCounts(len(ran) - len(copied), busy_ns, len(copied), sum(copied), busy_ns)


class Virtual:
    """tapegrad's results at the costs of a virtual device: forward three kernels, backward six."""

    name = "virtual"
    forward_kernels: tuple[Kernel, ...] = tuple(Kernel(f"forward {k}", 20_000.0, 15_000.0) for k in range(3))
    backward_kernels: tuple[Kernel, ...] = tuple(Kernel(f"backward {k}", 30_000.0, 25_000.0) for k in range(6))
    graph_launch_ns = 5_000.0
    own_queue = False  # whether kernels are queued where marks are not
    retained_bytes, temporary_bytes, leaked_bytes = 1_000, 500, 0

    def __init__(self) -> None:
        self.device = _DEVICES.setdefault(type(self), self.made())
        self.own = Tapegrad()

    def made(self) -> VirtualDevice:
        """The device."""
        return VirtualDevice()

    def capabilities(self) -> Capabilities:
        """Gradients, on the virtual device only."""
        own = self.own.capabilities()
        return Capabilities(kinds=own.kinds, dtypes=own.dtypes, devices=(NAME,), tolerance=own.tolerance)

    def prepare(self, workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param]) -> Session:
        """tapegrad's session, each call of which asks the device for its kernels."""
        session = self.own.prepare(workload, inputs, params)
        device = self.device
        held = _Held(device)

        def ask(kernels: Sequence[Kernel], call: Callable[[], Any]) -> Any:
            for kernel in kernels:
                device.launch(kernel, own=self.own_queue)
            return call()

        def forward() -> Any:
            held.give()
            held.take(self.retained_bytes)
            device.take(self.leaked_bytes)
            return ask(self.forward_kernels, session.forward)  # type: ignore[arg-type]

        def backward() -> Any:
            device.take(self.temporary_bytes)
            device.take(-self.temporary_bytes)
            return ask(self.backward_kernels, session.backward)  # type: ignore[arg-type]

        def total() -> Any:
            returned = forward()
            backward()
            return returned

        def primal() -> Any:
            return ask(self.forward_kernels, session.primal)  # type: ignore[arg-type]

        def move(new: Sequence[Any]) -> None:
            for call in (session.primal, session.forward, session.backward):
                rebind(call, new)
            if session.move is not None:
                session.move(new)

        def replay() -> Callable[[], Any]:
            kernels = (*self.forward_kernels, *self.backward_kernels)
            return lambda: device.replay(kernels, self.graph_launch_ns)

        return self.changed(
            dataclasses.replace(
                session, primal=primal, forward=forward, backward=backward, total=total, replay=replay, move=move,
                synchronize=device.synchronize, device=device.counters(), device_name=NAME, timer=lambda: device,
            )
        )  # fmt: skip

    def changed(self, session: Session) -> Session:
        """The session; heirs put faults into it."""
        return session


class _Held:
    """Memory that is given back with what holds it."""

    def __init__(self, device: VirtualDevice) -> None:
        self.device, self.count = device, 0

    def take(self, count: int) -> None:
        self.count = count
        self.device.take(count)

    def give(self) -> None:
        if self.count:
            self.device.take(-self.count)
        self.count = 0

    __del__ = give
