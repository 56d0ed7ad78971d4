"""The protocol: what the laboratory asks of an engine. An adapter is a class with a name and two methods.

In: a workload and its inputs. Out: a `Session` of functions, which the worker calls and times.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType, ModuleType
from typing import Annotated, Any, Protocol

from msgspec import Meta

from gradmark.engines.nested import while_loop
from gradmark.errors import UnsupportedError
from gradmark.records import Cell, DerivativeName, Param, Sparsity, TapeSize
from gradmark.records.derivative import FACTS, USUAL_DERIVATIVE
from gradmark.records.quantities import RoofKind
from gradmark.workloads.workload import Workload


def namespace(
    functions: Mapping[str, Any],
    engine: str = "this engine",
    on_demand: Mapping[str, Callable[[ModuleType], Any]] | None = None,
) -> ModuleType:
    """The `ops` of a workload. A module, because CPython looks attributes of modules up fastest and most steadily.

    on_demand: what is made of the module itself when a function first asks for it: few do, and an engine that makes a
    module for each tape has it among its memory. Loops are, unless the engine has its own. A function that it lacks
    makes the workload unsupported, and says which function.

    >>> ops = namespace({"sin": float.__neg__}, "my engine")
    >>> ops.softplus
    Traceback (most recent call last):
    gradmark.errors.UnsupportedError: my engine has no softplus, which this function needs
    """

    def missing(name: str) -> Any:
        if name.startswith("__"):  # Python itself asks modules for such names
            raise AttributeError(name)
        make = (on_demand or LOOPS).get(name, LOOPS.get(name))
        if make is None:
            raise no_operation(engine, name)
        function = make(ops)
        setattr(ops, name, function)
        return function

    ops = ModuleType("ops")
    vars(ops).update(functions, __getattr__=missing)
    return ops


def _scan(ops: Any, step: Callable[..., Any], carry: Any, xs: Any = None, length: int | None = None) -> Any:
    """JAX's loop for engines that record Python's: `step(carry, x)` gives the next carry and a result, or None.

    xs: an array whose rows the steps get, or a tuple of such. The results are stacked.
    """
    parts = xs if isinstance(xs, tuple) else (xs,)
    results = []
    for k in range(len(parts[0]) if length is None else length):
        rows = tuple(None if part is None else part[k] for part in parts)
        carry, result = step(carry, rows if isinstance(xs, tuple) else rows[0])
        results.append(result)
    return carry, None if results[0] is None else ops.stack(results)


# The loops of engines that record Python's.
LOOPS: Mapping[str, Callable[[ModuleType], Any]] = {
    "scan": lambda ops: partial(_scan, ops),
    "while_loop": lambda _: while_loop,
}


def no_operation(engine: str, name: str) -> UnsupportedError:
    """What a row says whose function needs an operation that the engine lacks; reports group by its name."""
    return UnsupportedError(f"{engine} has no {name}, which this function needs", lacks=[name])


def bound(workload: Workload, ops: Any, inputs: Sequence[Any], params: Mapping[str, Param]) -> partial[Any]:
    """The workload's function with everything filled in."""
    return partial(workload.function, ops, *inputs, **params)


def rebind(call: Any, inputs: Sequence[Any]) -> None:
    """Gives what `bound` made other inputs. In place: to look them up in each call would cost what is to be timed.

    >>> f = partial(max, 1.0, 2.0, 3.0)
    >>> rebind(f, [5.0, 7.0])
    >>> f()
    7.0
    """
    if type(call) is partial and len(call.args) == len(inputs) + 1:
        call.__setstate__((call.func, (call.args[0], *inputs), call.keywords, None))  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Derivative:
    """What `prepare` is asked for, and along what. Directions are arguments like the inputs: no constants.

    tangents: of a jvp or hvp, for each differentiated input a number, or an array like it. cotangent: of a vjp, like
    the function's result: a number, a list of numbers, or an array. shape: that of the result; of one number ().
    """

    name: DerivativeName = USUAL_DERIVATIVE
    tangents: Sequence[Any] = ()
    cotangent: Any = None
    shape: tuple[int, ...] = ()


def _gradient() -> dict[DerivativeName, str]:
    return {USUAL_DERIVATIVE: ""}


@dataclass(frozen=True)
class Capabilities:
    """What an engine can do here. It decides what is planned; what it lacks is shown as missing, with the reason."""

    kinds: Sequence[str] = ("scalar",)  # and "tensor"
    dtypes: Sequence[str] = ("float64",)
    # Where it really computes, the usual one first: "cpu", "cuda". With several, `prepare` takes a keyword `device`.
    devices: Annotated[Sequence[str], Meta(min_length=1)] = ("cpu",)
    gradients: bool = True
    # Each with the mode in which it is computed, such as "fwd" or "fwd-over-rev". With others than gradients, `prepare`
    # takes a keyword `derivative`, a `Derivative`.
    derivatives: Mapping[DerivativeName, str] = field(default_factory=_gradient)
    compiled: bool = False
    caches: bool = False  # keeps what it compiled on disk, where the next process finds it
    # relative error above which a gradient is wrong: some thousand roundings of a double
    tolerance: float = 1e-9
    second_tolerance: float = 0.0  # of second derivatives, if it is wider
    reason: str = ""  # why it has no gradients
    absent: str = ""  # why it runs nothing at all here, such as a device that is not there

    def lacking(self, cell: Cell) -> str:
        """Why the engine cannot run a cell, as far as is known before it is tried; empty if it may."""
        if self.absent:
            return self.absent
        if cell.kind not in self.kinds:
            return f"{cell.engine} has no {cell.kind}s, and {cell.workload} is a function of {cell.kind}s"
        for what, wanted, offered in (("dtype", cell.dtype, self.dtypes), ("device", cell.device, self.devices)):
            if wanted not in offered:
                return f"{cell.engine} has no {what} {wanted}; it has {', '.join(offered)}"
        if cell.derivative == USUAL_DERIVATIVE and not self.gradients:
            return ""  # it evaluates, which is shown
        if cell.derivative not in self.derivatives or not self.gradients:
            return f"{cell.engine} has no {cell.derivative}: {self.lack()}"
        return ""

    def lack(self) -> str:
        """What it has instead of a derivative that it lacks."""
        if not self.gradients:
            return self.reason
        there = ", ".join(self.derivatives)
        return f"it has {there} only" if len(self.derivatives) == 1 else f"it has {there}"

    def tolerance_of(self, derivative: DerivativeName) -> float:
        """The relative error above which a derivative is wrong."""
        return max(self.tolerance, self.second_tolerance) if FACTS[derivative].order == 2 else self.tolerance


def _nothing() -> None:
    """Synchronous engines have nothing to wait for, and some have no tape."""


@dataclass(frozen=True)
class DeviceMemory:
    """The counters of a device's memory, for engines whose arrays are not on the host."""

    alive_bytes: Callable[[], int]
    reset_peak: Callable[[], None]
    peak_bytes: Callable[[], int]  # the most alive since the reset
    allocations: Callable[[], int]  # made so far


@dataclass(frozen=True)
class DeviceCounts:
    """What calls asked of a device, as a profiler saw it."""

    kernels: int
    kernels_ns: float  # of all kernels, one after another
    copies: int  # of memory; what fills it is none
    copied_bytes: int
    busy_ns: float  # in which at least one kernel, copy or filling ran


class DeviceTimer(Protocol):
    """A device's own clock, its caches and its queue, so that all engines on it are timed alike.

    The laboratory has one for `cuda`. An engine on another device gives its sessions one (`Session.timer`).
    """

    def host_ns(self) -> float:
        """The host's clock."""
        ...

    def mark(self) -> Any:
        """Queues a mark behind all work so far; the host does not wait."""
        ...

    def reached(self, mark: Any) -> bool:
        """Whether the device has come to a mark. The host does not wait."""
        ...

    def elapsed_ns(self, first: Any, second: Any) -> float:
        """What passed on the device between two marks. The host waits until it has come to both."""
        ...

    def flush(self) -> None:
        """Queues writes of more than the device's caches hold; the host does not wait."""
        ...

    def synchronize(self) -> None:
        """The host waits until nothing is left in any queue of the device."""
        ...

    def clock_ns(self) -> float | None:
        """What a fixed number of the device's cycles takes at the moment; None where nobody can tell."""
        ...

    def roofs(self, dtype: str) -> Mapping[RoofKind, float]:
        """What a copy and a product of this dtype reach here, per second: `bytes` and `flops`, as far as known."""
        ...

    def count(self, call: Callable[[], Any]) -> DeviceCounts | str:
        """What a call asks of the device; a string that says why nobody can tell."""
        ...


@dataclass(frozen=True)
class OwnQueue:
    """Of an engine that queues its work where nobody else can put a mark.

    join: lets the queue in which marks are put (of CUDA: the legacy default stream) wait for what was asked for last.
    flush: queues so many writes, each of more than the device's caches hold, where the engine's work is queued. Neither
    lets the host wait.
    """

    join: Callable[[], None]
    flush: Callable[[int], None]


@dataclass(frozen=True)
class OwnClock:
    """How an engine is asked for times that it takes itself, in a process that nobody else can time.

    What it says is kept, and shown as self-timed. Only that it claims no more than what passed meanwhile can be seen.
    """

    phases: Mapping[str, Callable[[int], float]]  # by name: does so many runs, and gives the mean ns of one
    first_ns: Callable[[], float | None]  # of the first run of all, which may compile
    most_runs: int = 1000  # that it does when it is asked once


# Shared: a session is counted in the peak memory of a small workload.
_NO_PHASES: Mapping[str, Callable[[], Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Session:
    """One prepared workload. Each function but `move` takes no arguments and can be called again and again.

    primal: the function alone, nothing recorded. forward: evaluate and record. backward: propagate; repeatable on one
    recording; None if the engine cannot do it apart, then it is total minus forward. total: both, for engines that do
    them in one call. gradients: after backward or total; one number for each input, or, of a tensor workload, one array
    for each of `workload.active(inputs)`. value: after forward or total; not needed where these return the number
    themselves. move: takes new inputs over, and does nothing else; not needed where each call reads the `inputs` that
    `prepare` was given, into which the new numbers are written. synchronize: wait until all work is done. tape: what
    the recording holds. device: the counters of the device's memory, if it is not the host's. device_name: where the
    arrays are, if the session can tell; it must be the device that was planned. phases: further phases by name, each
    timed by itself after an iteration, and a metric like the others.

    Of other derivatives than the gradient: total computes it, result gives it after total. Of a vjp or hvp that is, as
    of a gradient, one number or array for each differentiated input; of a jvp what the function's result is like; of a
    Jacobian or Hessian a matrix with a column for each entry of the differentiated inputs, in their order, and a row
    for each entry of the result, or of the inputs; of a sparse one the same as a matrix of SciPy. mode: how it is
    computed, if that depends on the function. sparsity: nonzeros and colours of a sparse one. evaluations: of the
    function in one iteration, if a compiled engine can tell.

    timer: gives the clock of a device that the laboratory does not know. queue: of an engine whose work is queued where
    nobody else can put a mark. replay: captures an iteration as a graph of the device, and gives the call that replays
    it. On a device calls need not wait for it, and better do not: `synchronize` does.

    clock: of an engine that drives another process, which times itself: its phases are timed by that alone.

    Only forward, backward, total, primal and phases are timed, so the work must be done there, for the inputs as they
    are at that time. The laboratory changes the inputs, and looks.
    """

    forward: Callable[[], Any] | None = None
    gradients: Callable[[], Sequence[Any]] | None = None
    backward: Callable[[], Any] | None = None
    total: Callable[[], Any] | None = None
    primal: Callable[[], Any] | None = None
    value: Callable[[], Any] | None = None
    move: Callable[[Sequence[Any]], None] | None = None
    synchronize: Callable[[], None] = _nothing
    tape: Callable[[], TapeSize | None] = _nothing
    device: DeviceMemory | None = None
    device_name: str | None = None
    timer: Callable[[], DeviceTimer] | None = None
    queue: OwnQueue | None = None
    replay: Callable[[], Callable[[], Any]] | None = None
    phases: Mapping[str, Callable[[], Any]] = field(default_factory=lambda: _NO_PHASES)
    result: Callable[[], Any] | None = None
    mode: str = ""
    sparsity: Callable[[], Sparsity] | None = None
    evaluations: Callable[[], float] | None = None
    clock: OwnClock | None = None


class Engine(Protocol):
    """An automatic-differentiation engine, as the laboratory sees it."""

    name: str

    def capabilities(self) -> Capabilities:
        """What it can do."""
        ...

    def prepare(self, workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param]) -> Session:
        """Whatever is done once per function: build, trace, freeze. Raises `UnsupportedError` if it cannot.

        An engine with several devices takes one more keyword, `device`; one with other derivatives than gradients
        `derivative`, a `Derivative`.
        """
        ...
