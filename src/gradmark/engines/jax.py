"""JAX: jitted (`jax`), and operation by operation (`jax:eager`).

On the CPU every call waits for its result, as a loop with `block_until_ready` does: else what is timed is the queueing
of work. On a GPU no call waits: the device's own clock says when it is done. XLA queues its work on streams that nobody
else can name; the one on which marks are put is told to wait for a result, as consumers of DLPack are.
"""

import importlib.util
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gradmark.engines.composed import composed, same_names
from gradmark.engines.cuda_presence import has_cuda
from gradmark.engines.functional import MODES, Asked, Library, asked_of, takes_transforms
from gradmark.engines.protocol import Capabilities, Derivative, DeviceMemory, OwnQueue, Session, namespace
from gradmark.errors import UnsupportedError
from gradmark.records import Param, TapeSize
from gradmark.records.cell import USUAL_DEVICE
from gradmark.records.derivative import USUAL_DERIVATIVE
from gradmark.workloads.vocabulary import SCALAR_FUNCTIONS, TENSOR_FUNCTIONS
from gradmark.workloads.workload import Workload

# Operations on numbers in one function. Jitted, a loop is unrolled, and XLA's time to compile grows faster than it:
# some thousands take minutes. Operation by operation, each takes about a millisecond with its derivative.
MOST_JITTED, MOST_EAGER = 2500, 50
# Beyond this many, forward is the value alone and backward is derived: a residual of each operation is a result of the
# compiled forward, and XLA takes seconds for a hundred results, minutes for a thousand.
MOST_SPLIT = 50
# Of CUDA, as consumers of DLPack name it.
LEGACY_STREAM = 1
# A write to flush the caches: 256 MiB, twice what the largest of them holds (126 MB, a B200). The host takes about as
# long to ask for a program as such a write takes, so one program writes up to four times as much: with more, the host
# would come ahead by more, and the memory would be missed.
FLUSHED_WORDS, MOST_TOGETHER = 64 << 20, 4
PLANES = ("NCHW", "OIHW", "NCHW")


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else tuple(value)


def _conv2d(x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, groups: int = 1) -> Any:
    y = jax.lax.conv_general_dilated(
        x, weight, _pair(stride), [(p, p) for p in _pair(padding)], dimension_numbers=PLANES, feature_group_count=groups
    )
    return y if bias is None else y + bias[:, None, None]


def _pool(x: Any, size: Any, stride: Any, padding: Any, start: float, combine: Any) -> Any:
    steps = _pair(size if stride is None else stride)
    around = [(0, 0), (0, 0), *((p, p) for p in _pair(padding))]
    return jax.lax.reduce_window(x, start, combine, (1, 1, *_pair(size)), (1, 1, *steps), around)


def _max_pool2d(x: Any, size: Any, stride: Any = None, padding: Any = 0) -> Any:
    return _pool(x, size, stride, padding, -math.inf, jax.lax.max)


def _avg_pool2d(x: Any, size: Any, stride: Any = None, padding: Any = 0) -> Any:
    return _pool(x, size, stride, padding, 0.0, jax.lax.add) / math.prod(_pair(size))


def _dropout(x: Any, rate: float, seed: int) -> Any:
    return jnp.where(jax.random.bernoulli(jax.random.key(seed), 1 - rate, x.shape), x / (1 - rate), 0)


def _while_loop(*_: Any) -> Any:
    raise UnsupportedError(
        "jax has no reverse mode through a loop that ends when a number says so, which this function needs",
        lacks=["while_loop"],
    )


OTHERS: dict[str, Any] = {
    **{name: getattr(jax.nn, name) for name in ("sigmoid", "softplus", "relu", "softmax", "log_softmax")},
    "erf": jax.scipy.special.erf,
    "logsumexp": jax.scipy.special.logsumexp,
    "gelu": lambda x, approximate="none": jax.nn.gelu(x, approximate=approximate == "tanh"),
    "conv2d": _conv2d,
    "max_pool2d": _max_pool2d,
    "avg_pool2d": _avg_pool2d,
    "dropout": _dropout,
    "constant": jnp.asarray,
    "scan": jax.lax.scan,
    "while_loop": _while_loop,
}


def operations(kind: str) -> ModuleType:
    """JAX's own functions where it has them."""
    names = SCALAR_FUNCTIONS if kind == "scalar" else TENSOR_FUNCTIONS
    rest = {name: function for name, function in composed(jnp).items() if name in names}
    return namespace({**rest, **same_names(jnp, names), **OTHERS}, "jax")


LIBRARY = Library(
    jax.jvp,
    jax.vjp,
    jax.grad,
    jax.jacfwd,
    jax.jacrev,
    one=jnp.ones_like,
    unstack=jnp.unstack,
    stack=lambda results: jnp.stack(list(results)),
)
GRADIENT = Derivative()
Made = tuple[list[Any], tuple[Callable[..., Any], ...]]


def device_name(platform: str) -> str:
    """A platform of JAX under the name that rows have: `gpu` is CUDA or ROCm, as its runtime says."""
    if platform != "gpu":
        return platform
    version = str(jax.devices()[0].client.platform_version)
    return "rocm" if "rocm" in version.lower() else "cuda"


@cache  # asked for each row
def _has_plugin() -> bool:
    return any(importlib.util.find_spec(f"jax_cuda{version}_plugin") for version in (12, 13))


def devices() -> tuple[str, ...]:
    """Where JAX computes here. CUDA's plugin is not started for that: it would take each worker seconds."""
    allowed = jax.config.jax_platforms
    if _has_plugin() and has_cuda() and (not allowed or "cuda" in allowed or "gpu" in allowed):
        return (USUAL_DEVICE, "cuda")
    name = device_name(jax.default_backend())
    return (USUAL_DEVICE,) if name == USUAL_DEVICE else (USUAL_DEVICE, name)


def use(device: str) -> None:
    """From now on arrays are made there. A worker whose rows are on the CPU starts no other backend."""
    if device != USUAL_DEVICE:
        jax.config.update("jax_default_device", jax.devices(device)[0])
    elif devices() != (USUAL_DEVICE,):
        jax.config.update("jax_platforms", USUAL_DEVICE)


def configure() -> None:
    """What every session needs."""
    jax.config.update("jax_enable_x64", True)  # float32 stays float32, and float64 is float64
    # On a GPU its products round float32 to ten bits (TF32) unless told otherwise, and no gradient would pass.
    jax.config.update("jax_default_matmul_precision", "highest")


class Jax:
    """Traced and compiled in the first call of each function."""

    name = "jax"
    jitted = True

    def __init__(self) -> None:
        self.cached: tuple[Workload, Sequence[Any], Mapping[str, Param], Made] | None = None
        self.compiled: tuple[Asked, Sequence[Any], Mapping[str, Param], tuple[Callable[..., Any], ...]] | None = None

    def capabilities(self) -> Capabilities:
        """Scalars are arrays without axes."""
        return Capabilities(
            kinds=("scalar", "tensor"),
            dtypes=("float32", "float64"),
            devices=devices(),
            derivatives=MODES,
            compiled=self.jitted,
            caches=self.jitted,
        )

    def refuse(self, count: int) -> None:
        """Raises for a function of so many operations on numbers that nobody waits for it."""
        if count > MOST_JITTED:
            raise UnsupportedError(
                f"jax would unroll {count} operations on numbers, which takes minutes to compile; at most "
                f"{MOST_JITTED} are"
            )

    def functions(self, workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param]) -> Made:
        """The inputs with a gradient, and value, forward, backward and both together as functions of them.

        Sessions on the same inputs share them, as calls of one jitted function do: it is compiled once.
        """
        if (
            self.cached is not None
            and self.cached[0] is workload
            and self.cached[1] is inputs
            and self.cached[2] == params
        ):
            return self.cached[3]
        configure()
        arrays = [jnp.array(x, copy=True) for x in inputs]
        active = workload.active(inputs)
        ops = operations(workload.kind)

        def f(*values: Any) -> Any:
            every: list[Any] = list(arrays)
            for k, value in zip(active, values, strict=True):
                every[k] = value
            return workload.function(ops, *every, **params)

        jit: Callable[..., Any] = jax.jit if self.jitted else _itself
        gradient = jax.value_and_grad(f, argnums=tuple(range(len(active))))
        steps = (f, partial(jax.vjp, f), lambda vjp, seed: vjp(seed), gradient)
        functions = [arrays[k] for k in active], tuple(jit(step) for step in steps)
        self.cached = (workload, inputs, params, functions)
        return functions

    def derived(
        self, workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param], derivative: Derivative
    ) -> tuple[Asked, tuple[Callable[..., Any], ...]]:
        """The function and its derivative as they are called; shared by sessions on the same inputs, as above."""
        known = self.compiled
        if (
            known is not None
            and known[0].workload is workload
            and known[0].derivative is derivative
            and known[1] is inputs
            and known[2] == params
        ):
            return known[0], known[3]
        configure()
        fixed = [jnp.array(x, copy=True) for x in inputs] if workload.kind == "tensor" else []
        asked = asked_of(LIBRARY, operations(workload.kind), workload, inputs, fixed, params, derivative)
        jit: Callable[..., Any] = jax.jit if self.jitted else _itself
        steps = (jit(asked.primal), jit(asked.compute))
        self.compiled = (asked, inputs, params, steps)
        return asked, steps

    def prepare(
        self,
        workload: Workload,
        inputs: Sequence[Any],
        params: Mapping[str, Param],
        *,
        device: str = USUAL_DEVICE,
        derivative: Derivative = GRADIENT,
    ) -> Session:
        """Forward gives the value and a function with the residuals, backward calls that; both are jitted."""
        scalar = workload.kind == "scalar"
        count = (workload.count(params) or 0) if scalar else 0
        self.refuse(count)
        use(device)
        latest = None if device == USUAL_DEVICE else Latest()
        wait = jax.block_until_ready if latest is None else latest.keep
        if takes_transforms(workload, derivative):
            session = session_of(*self.derived(workload, inputs, params, derivative), inputs, wait)
            return session if latest is None else on_device(session, latest)
        first, (evaluate, record, propagate, together) = self.functions(workload, inputs, params)
        wanted, active = list(first), workload.active(inputs)
        one = jnp.ones((), dtype=wanted[0].dtype)
        place = device_name(next(iter(wanted[0].devices())).platform)
        y: Any = None
        vjp: Any = None
        raw_gradients: Any = None

        def move(new: Sequence[Any]) -> None:
            # like the first ones in every respect, else it would be compiled again; copies, not views of what changes
            wanted[:] = wait([jnp.array(new[k], copy=True) for k in active])

        def forward() -> None:
            nonlocal y, vjp
            y = vjp = None
            y, vjp = wait(record(*wanted))

        def backward() -> None:
            nonlocal raw_gradients
            raw_gradients = wait(propagate(vjp, one))

        def total() -> None:
            nonlocal y, raw_gradients
            y, raw_gradients = wait(together(*wanted))

        def gradients() -> list[Any]:
            return [float(g) for g in raw_gradients] if scalar else [np.asarray(g) for g in raw_gradients]

        def tape() -> TapeSize:
            forward()
            return TapeSize(saved_bytes=sum(residual.nbytes for residual in jax.tree.leaves(vjp)))

        def primal() -> Any:
            return wait(evaluate(*wanted))

        def value() -> Any:
            return y

        if self.jitted and count > MOST_SPLIT:
            session = Session(
                primal=primal,
                forward=primal,
                total=total,
                gradients=gradients,
                value=value,
                move=move,
                device_name=place,
            )
            return session if latest is None else on_device(session, latest)
        session = Session(
            primal=primal,
            forward=forward,
            backward=backward,
            total=total,
            gradients=gradients,
            value=value,
            move=move,
            tape=tape,
            device_name=place,
        )
        if latest is None:
            return session
        jitted = together if self.jitted else None
        return on_device(session, latest, lambda: temporary_bytes(jitted, wanted))


class Latest:
    """The result of the last call: who waits for it waits for all before."""

    def __init__(self) -> None:
        self.result: Any = None
        self.one = jnp.zeros((), dtype=jnp.float32)
        self._write = jax.jit(lambda times, one: jnp.full((times, FLUSHED_WORDS), one), static_argnums=0)

    def keep(self, result: Any) -> Any:
        """In place of waiting."""
        self.result = result
        return result

    def wait(self) -> None:
        """The host waits."""
        jax.block_until_ready(self.result)

    def join(self) -> None:
        """CUDA's legacy default stream waits, and the host does not."""
        leaves = jax.tree.leaves(self.result)
        first: Any = next((leaf for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.floating)), None)
        try:
            first.__dlpack__(stream=LEGACY_STREAM)
        except Exception:  # nothing to hand over, or a runtime that cannot: the host waits, for an empty program too
            self.wait()

    def flush(self, times: int) -> None:
        """Writes on XLA's own stream, on which all that is asked for later waits for them."""
        while times > 0:
            together = min(times, MOST_TOGETHER)
            self.result = None  # else its memory is not free for the next
            self.result = self._write(together, self.one)
            times -= together


def on_device(session: Session, latest: Latest, temporary: Callable[[], int] | None = None) -> Session:
    """The session of a GPU: nothing waits but `synchronize`.

    temporary: what XLA needs meanwhile, as it planned. Its allocator's own peak cannot be reset.
    """
    device = next(iter(latest.one.devices()))
    if device.memory_stats() is None:
        counters = None
    else:

        def alive() -> int:
            latest.wait()
            return int(device.memory_stats()["bytes_in_use"])

        def peak() -> int:
            return alive() + (temporary() if temporary is not None else 0)

        counters = DeviceMemory(alive, lambda: None, peak, lambda: int(device.memory_stats()["num_allocs"]))
    return replace(
        session,
        synchronize=latest.wait,
        queue=OwnQueue(latest.join, latest.flush) if session.device_name == "cuda" else None,
        device=counters,
    )


def temporary_bytes(jitted: Any, arguments: Sequence[Any]) -> int:
    """What a compiled function takes beside its arguments and results."""
    if jitted is None:
        return 0
    return int(jitted.lower(*arguments).compile().memory_analysis().temp_size_in_bytes)


def session_of(
    asked: Asked,
    steps: tuple[Callable[..., Any], ...],
    inputs: Sequence[Any],
    wait: Callable[[Any], Any] = jax.block_until_ready,
) -> Session:
    """A derivative that is no gradient: one call, with the directions among its arguments."""
    evaluate, compute = steps
    xs = tuple(jnp.array(x, copy=True) for x in asked.points(inputs))
    along = jax.tree.map(jnp.array, asked.along)
    computed: Any = None

    def move(new: Sequence[Any]) -> None:
        nonlocal xs
        xs = wait(tuple(jnp.array(x, copy=True) for x in asked.points(new)))

    def total() -> None:
        nonlocal computed
        computed = wait(compute(xs, along))

    is_gradient = asked.derivative.name == USUAL_DERIVATIVE
    return Session(
        primal=lambda: wait(evaluate(*xs)),
        total=total,
        result=lambda: asked.read(computed),
        gradients=(lambda: asked.read(computed)) if is_gradient else None,
        value=(lambda: computed[0]) if is_gradient else None,
        move=move,
        mode=asked.mode,
        device_name=device_name(next(iter(xs[0].devices())).platform),
    )


def _itself(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


class JaxEager(Jax):
    """Each operation is dispatched by itself."""

    name = "jax:eager"
    jitted = False

    def refuse(self, count: int) -> None:
        """Raises for a function that takes seconds."""
        if count > MOST_EAGER:
            raise UnsupportedError(
                f"jax:eager dispatches each operation by itself, about a millisecond with its derivative, and this "
                f"function of numbers has {count}; at most {MOST_EAGER} are measured: measure jax instead"
            )
