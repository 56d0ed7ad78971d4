"""PyTorch: eager (`torch`) and compiled (`torch:compile`), on the CPU and on a CUDA device.

`torch:cuda` is another name of eager PyTorch on a CUDA device, as `--device cuda` has it: baselines and histories have
it.

Leaves are made once, as the parameters of a model are. Backward is `autograd.grad`, with the graph kept where it is to
be repeated and without where forward and backward go together.
"""

import contextlib
import importlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from types import ModuleType
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  PyTorch's own habit
from torch.nn.attention import SDPBackend, sdpa_kernel

from gradmark.engines.cuda_presence import has_cuda
from gradmark.engines.functional import MODES, Library, asked_of, takes_transforms
from gradmark.engines.protocol import Capabilities, Derivative, DeviceMemory, Session, bound, namespace
from gradmark.errors import UnsupportedError
from gradmark.records import Param, TapeSize
from gradmark.records.cell import USUAL_DEVICE
from gradmark.records.derivative import USUAL_DERIVATIVE
from gradmark.workloads.vocabulary import SCALAR_FUNCTIONS, TENSOR_FUNCTIONS
from gradmark.workloads.workload import Workload

# Compiling unrolls a loop over numbers, and copies what several operations share: beyond this many operations it takes
# minutes, for a function of microseconds.
MOST_UNROLLED = 16
# Of one function, for its sizes, with a gradient and without. Beyond PyTorch's own 8 it would run uncompiled, and only
# a log would say so; beyond this it is an error.
MOST_COMPILED = 1000


def _tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """Of a function that takes tensors only, one that takes numbers too."""

    def call(x: Any, y: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            x = torch.as_tensor(x, dtype=y.dtype, device=y.device)
        if not isinstance(y, torch.Tensor):
            y = torch.as_tensor(y, dtype=x.dtype, device=x.device)
        return function(x, y)

    return call


def _over(function: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction that has no default for all axes."""
    return lambda x, axis=None, keepdims=False: function(x, tuple(range(x.ndim)) if axis is None else axis, keepdims)


def _cross_entropy(logits: Any, labels: Any, reduction: str = "mean") -> Any:
    if logits.ndim == 2:  # as most write it: reshaping would be recorded too
        return F.cross_entropy(logits, labels, reduction=reduction)
    losses = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1), reduction=reduction)
    return losses.reshape(labels.shape) if reduction == "none" else losses


def _pad(x: Any, widths: Any) -> Any:
    return F.pad(x, [width for pair in reversed(list(widths)) for width in pair])


OTHERS: dict[str, Any] = {
    **{name: _tensors(getattr(torch, name)) for name in ("atan2", "hypot", "maximum", "minimum")},
    "softplus": F.softplus,
    "gelu": F.gelu,
    "max": _over(torch.amax),
    "min": _over(torch.amin),
    "var": lambda x, axis=None, keepdims=False: torch.var(x, axis, correction=0, keepdim=keepdims),
    "logsumexp": _over(torch.logsumexp),
    "cumsum": lambda x, axis: torch.cumsum(x, axis),
    "transpose": lambda x, axes=None: x.permute(tuple(reversed(range(x.ndim))) if axes is None else axes),
    "expand_dims": torch.unsqueeze,
    "squeeze": lambda x, axis=None: torch.squeeze(x) if axis is None else torch.squeeze(x, axis),
    "concatenate": lambda xs, axis=0: torch.cat(xs, axis),
    "stack": lambda xs, axis=0: torch.stack(xs, axis),
    "split": lambda x, sections, axis=0: torch.tensor_split(x, sections, axis),
    "pad": _pad,
    "take_along_axis": torch.take_along_dim,
    "dot": torch.matmul,
    "softmax": lambda x, axis=-1: torch.softmax(x, axis),
    "log_softmax": lambda x, axis=-1: torch.log_softmax(x, axis),
    "softmax_cross_entropy": _cross_entropy,
    "layer_norm": lambda x, weight=None, bias=None, epsilon=1e-5: F.layer_norm(x, x.shape[-1:], weight, bias, epsilon),
    "conv2d": F.conv2d,
    "max_pool2d": lambda x, size, stride=None, padding=0: F.max_pool2d(x, size, stride, padding),
    "avg_pool2d": lambda x, size, stride=None, padding=0: F.avg_pool2d(x, size, stride, padding),
    "dropout": lambda x, rate, seed: F.dropout(x, rate),  # noqa: ARG005  PyTorch's generator is its own
    "embedding": lambda table, indices: F.embedding(indices, table),
    "scaled_dot_product_attention": lambda q, k, v, causal=False: F.scaled_dot_product_attention(
        q, k, v, is_causal=causal
    ),
}


@cache  # what is compiled is compiled for this very module
def operations(kind: str, device: str) -> ModuleType:
    """The vocabulary. What a workload calls a constant is a tensor without a gradient."""
    names = SCALAR_FUNCTIONS if kind == "scalar" else TENSOR_FUNCTIONS
    functions = {name: OTHERS.get(name) or getattr(torch, name, None) for name in names}

    def constant(value: Any) -> Any:
        return torch.as_tensor(value, dtype=torch.float64 if isinstance(value, float) else None, device=device)

    def gradient_of(f: Any, xs: Any, mode: str) -> list[Any]:
        point = tuple(constant(x) for x in xs)
        if mode == "reverse":
            return list(torch.func.grad(partial(f, ops), argnums=tuple(range(len(point))))(*point))
        zeros = tuple(torch.zeros_like(x) for x in point)
        units = [(*zeros[:k], torch.ones_like(x), *zeros[k + 1 :]) for k, x in enumerate(point)]
        return [torch.func.jvp(partial(f, ops), point, unit)[1] for unit in units]

    available = {name: function for name, function in functions.items() if function is not None}
    ops = namespace({**available, "constant": constant, "gradient_of": gradient_of}, "torch")
    return ops


LIBRARY = Library(
    torch.func.jvp,
    torch.func.vjp,
    torch.func.grad,
    torch.func.jacfwd,
    torch.func.jacrev,
    one=torch.ones_like,
    unstack=lambda x: x.unbind(0),
    stack=lambda results: torch.stack(list(results)),
)
GRADIENT = Derivative()


class Torch:
    """Define-by-run; derivatives beyond gradients are those of `torch.func`."""

    name = "torch"

    def capabilities(self) -> Capabilities:
        """Scalars are tensors without axes."""
        return Capabilities(
            kinds=("scalar", "tensor"), dtypes=("float32", "float64"), devices=devices(), derivatives=MODES
        )

    def made(self, f: partial[Any], workload: Workload, params: Mapping[str, Param]) -> Callable[..., Any]:  # noqa: ARG002
        """The function that is called."""
        return f

    def prepare(
        self,
        workload: Workload,
        inputs: Sequence[Any],
        params: Mapping[str, Param],
        *,
        device: str = USUAL_DEVICE,
        derivative: Derivative = GRADIENT,
    ) -> Session:
        """Leaves and closures."""
        synchronize, counters = (_nothing, None) if device == USUAL_DEVICE else on_cuda()
        if takes_transforms(workload, derivative):
            session = self.derived(workload, inputs, params, derivative, device)
            return replace(session, synchronize=synchronize, device=counters)
        active = workload.active(inputs)
        dtype = torch.float64 if workload.kind == "scalar" else None
        leaves = [torch.tensor(x, dtype=dtype, device=device, requires_grad=k in active)
                  for k, x in enumerate(inputs)]  # fmt: skip
        wanted = [leaves[k] for k in active]
        ops = operations(workload.kind, device)
        f = self.made(bound(workload, ops, leaves, params), workload, params)
        propagate = torch.autograd.grad
        y: Any = None
        raw_gradients: Any = None

        def move(new: Sequence[Any]) -> None:
            with torch.no_grad():
                for k, leaf in zip(active, wanted, strict=True):
                    leaf.copy_(torch.as_tensor(new[k], dtype=leaf.dtype))

        def primal() -> Any:
            with torch.no_grad():
                return f()

        def forward() -> None:
            nonlocal y
            y = None  # before, not after: else two graphs are alive at once
            y = f()

        def backward() -> None:
            nonlocal raw_gradients
            raw_gradients = propagate(y, wanted, retain_graph=True, allow_unused=True)

        def total() -> None:
            nonlocal y, raw_gradients
            y = raw_gradients = None
            y = f()
            raw_gradients = propagate(y, wanted, allow_unused=True)

        def gradients() -> list[Any]:
            """An input that the function does not use has none, which is one of zeros."""
            filled = [0 * leaf.detach() if g is None else g for g, leaf in zip(raw_gradients, wanted, strict=True)]
            return [g.item() for g in filled] if workload.kind == "scalar" else [on_host(g).numpy() for g in filled]

        def tape() -> TapeSize:
            with saved() as kept:
                result = f()
            return TapeSize(instructions=nodes(result), saved_bytes=sum(kept.values()))

        return Session(
            primal=primal, forward=forward, backward=backward, total=total, gradients=gradients,
            value=lambda: y.detach(), move=move,
            synchronize=synchronize, tape=tape, device=counters, device_name=leaves[0].device.type,
            replay=partial(captured, total) if device != USUAL_DEVICE else None,
        )  # fmt: skip

    def refuse(self, workload: Workload, params: Mapping[str, Param]) -> None:
        """Nothing is too long."""

    def transformed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function of a transform that is called."""
        return function

    def derived(
        self,
        workload: Workload,
        inputs: Sequence[Any],
        params: Mapping[str, Param],
        derivative: Derivative,
        device: str,
    ) -> Session:
        """A derivative that is no gradient: one call, with the directions among its arguments."""
        self.refuse(workload, params)
        fixed = [torch.tensor(x, device=device) for x in inputs] if workload.kind == "tensor" else []
        asked = asked_of(LIBRARY, operations(workload.kind, device), workload, inputs, fixed, params, derivative)
        xs = tuple(torch.tensor(x, device=device) for x in asked.points(inputs))
        along = _on_device(asked.along, device)
        compute, evaluate = self.transformed(asked.compute), self.transformed(asked.primal)
        computed: Any = None

        def move(new: Sequence[Any]) -> None:
            for leaf, x in zip(xs, asked.points(new), strict=True):
                leaf.copy_(torch.as_tensor(x))

        def primal() -> Any:
            with torch.no_grad():
                return evaluate(*xs)

        def total() -> None:
            nonlocal computed
            computed = None
            with sdpa_kernel(SDPBackend.MATH):  # the fused kernel has neither tangents nor second derivatives
                computed = compute(xs, along)

        is_gradient = derivative.name == USUAL_DERIVATIVE
        return Session(
            primal=primal, total=total, result=lambda: asked.read(_on_host(computed)), move=move, mode=asked.mode,
            gradients=(lambda: asked.read(_on_host(computed))) if is_gradient else None,
            value=(lambda: computed[0]) if is_gradient else None,
            device_name=xs[0].device.type,
        )  # fmt: skip


def _on_device(along: Any, device: str) -> Any:
    return (
        [torch.tensor(part, device=device) for part in along]
        if isinstance(along, list)
        else (None if along is None else torch.tensor(along, device=device))
    )


def _on_host(computed: Any) -> Any:
    if isinstance(computed, list | tuple):
        return [_on_host(part) for part in computed]
    return on_host(computed.detach())


def on_host(tensor: Any) -> Any:
    """The tensor on the CPU. A view is a view there too: the device makes no array of it, which would be work.

    The gradient of a sum is one number, seen as often as there are entries.
    """
    if tensor.is_contiguous():
        return tensor.cpu()
    held = tensor.untyped_storage().cpu()
    return torch.empty(0, dtype=tensor.dtype).set_(held, tensor.storage_offset(), tensor.size(), tensor.stride())


@contextlib.contextmanager
def saved() -> Iterator[dict[int, int]]:
    """What is saved for backward meanwhile: bytes by storage, so that views of one array count once."""
    kept: dict[int, int] = {}
    held = []  # else the memory of a freed one is taken for another

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        held.append(storage)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield kept


def nodes(y: Any) -> int:
    """The nodes of the graph behind a result, without those that only collect the gradients of leaves."""
    visited = set()
    ahead = [y.grad_fn]
    while ahead:  # not by recursion: a chain is as deep as it is long
        node = ahead.pop()
        if node is not None and node not in visited:
            visited.add(node)
            ahead += [other for other, _ in node.next_functions]
    return sum(type(node).__name__ != "AccumulateGrad" for node in visited)


class TorchCompile(Torch):
    """Traced and compiled in the first call; forward and backward are a kernel or a few each."""

    name = "torch:compile"

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # PyTorch's, of itself
            for module in ("torch._dynamo", "torch._inductor.compile_fx"):  # part of the import, not of the first call
                importlib.import_module(module)
        settings = importlib.import_module("torch._functorch.config")
        settings.donated_buffer = False  # type: ignore[attr-defined]  # else a recording can be propagated only once
        tracing: Any = importlib.import_module("torch._dynamo.config")
        tracing.recompile_limit = tracing.accumulated_recompile_limit = MOST_COMPILED
        tracing.fail_on_recompile_limit_hit = True

    def capabilities(self) -> Capabilities:
        """As eager."""
        return replace(super().capabilities(), compiled=True, caches=True)

    def transformed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The compiled function of a transform."""
        return torch.compile(function, dynamic=False)  # type: ignore[no-any-return]

    def made(self, f: partial[Any], workload: Workload, params: Mapping[str, Param]) -> Callable[..., Any]:
        """The compiled function."""
        self.refuse(workload, params)
        compiled = torch.compile(f.func, dynamic=False)
        return bound_again(f, compiled)

    def refuse(self, workload: Workload, params: Mapping[str, Param]) -> None:
        """Raises for a function of so many operations on numbers that nobody waits for it."""
        count = workload.count(params)
        if workload.kind == "scalar" and (count is None or count > MOST_UNROLLED):
            raise UnsupportedError(
                f"torch:compile would unroll {'all' if count is None else f'{count:,}'} operations on numbers, which "
                f"takes minutes to compile; it is measured up to {MOST_UNROLLED} of them: choose torch instead"
            )


def bound_again(f: Any, compiled: Callable[..., Any]) -> Callable[[], Any]:
    """The compiled function with the same arguments."""
    arguments, params = f.args, f.keywords
    return lambda: compiled(*arguments, **params)


class TorchCuda(Torch):
    """Eager, on the first CUDA device."""

    name = "torch:cuda"

    def capabilities(self) -> Capabilities:
        """As on the CPU, where there is such a device."""
        there = "cuda" in devices()
        absent = "" if there else "torch:cuda found no CUDA device, or this PyTorch is built without CUDA"
        return replace(super().capabilities(), devices=("cuda",), absent=absent)


def devices() -> tuple[str, ...]:
    """Where PyTorch computes here. CUDA is not started for that."""
    return (USUAL_DEVICE, "cuda") if torch.version.cuda and has_cuda() else (USUAL_DEVICE,)


def _nothing() -> None:
    """The CPU has nothing to wait for."""


def on_cuda() -> tuple[Callable[[], None], DeviceMemory]:
    """What waits for the device, and the counters of PyTorch's allocator."""
    torch.backends.cudnn.allow_tf32 = False  # else convolutions round float32 to ten bits
    counters = DeviceMemory(
        alive_bytes=torch.cuda.memory_allocated,
        reset_peak=torch.cuda.reset_peak_memory_stats,
        peak_bytes=torch.cuda.max_memory_allocated,
        allocations=lambda: torch.cuda.memory_stats()["allocation.all.allocated"],
    )
    return torch.cuda.synchronize, counters


def captured(total: Callable[[], Any]) -> Callable[[], Any]:
    """An iteration as a CUDA graph. What it launches is recorded on a stream of its own, after a rehearsal there."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        total()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        total()
    replay: Callable[[], Any] = graph.replay
    return replay
