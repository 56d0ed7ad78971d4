"""tinygrad: lazy tensors, realised at the end of each phase. On a CPU it needs clang; without it there is no device."""

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from tinygrad import Device, Tensor

from gradmark.engines.protocol import Capabilities, Session, namespace
from gradmark.errors import UnsupportedError
from gradmark.records import Param
from gradmark.workloads.vocabulary import SCALAR_FUNCTIONS, TENSOR_FUNCTIONS
from gradmark.workloads.workload import Workload

# Its scheduler fuses a whole function into kernels; beyond so many operations on numbers that takes minutes.
MOST_FUSED = 50
# Its backends by what they run on, where that is not their own name; PYTHON is its interpreter.
DEVICES = {"CLANG": "cpu", "LLVM": "cpu", "PYTHON": "cpu", "NV": "cuda"}


def _over(name: str) -> Any:
    return lambda x, axis=None, keepdims=False: getattr(x, name)(axis=axis, keepdim=keepdims)


def _gelu(x: Any, approximate: str = "none") -> Any:
    if approximate != "tanh":
        raise UnsupportedError("tinygrad has no exact gelu, which this function needs; it has that by tanh")
    return x.gelu()


OTHERS: dict[str, Any] = {
    **{name: _over(name) for name in ("sum", "mean", "max", "min", "logsumexp")},
    "where": lambda condition, x, y: condition.where(x, y),
    "softmax_cross_entropy": lambda logits, labels, reduction="mean": logits.cross_entropy(labels, reduction=reduction),
    "layer_norm": lambda x, weight, bias, epsilon=1e-5: x.layernorm(eps=epsilon) * weight + bias,
    "transpose": lambda x: x.permute(*reversed(range(x.ndim))),
    "swapaxes": lambda x, a, b: x.transpose(a, b),
    "reshape": lambda x, shape: x.reshape(shape),
    "split": lambda x, sections, axis=0: x.chunk(sections, axis),
    "conv2d": lambda x, weight, bias=None, padding=0, stride=1: x.conv2d(weight, bias, padding=padding, stride=stride),
    "embedding": lambda table, indices: table[indices],
    "gelu": _gelu,
    "scaled_dot_product_attention": lambda q, k, v, causal=False: q.scaled_dot_product_attention(
        k, v, is_causal=causal
    ),
    "constant": Tensor,
}


def operations(kind: str) -> ModuleType:
    """Methods of its tensors."""
    names = SCALAR_FUNCTIONS if kind == "scalar" else TENSOR_FUNCTIONS
    functions = {name: OTHERS.get(name) or getattr(Tensor, name, None) for name in names}
    return namespace({name: function for name, function in functions.items() if function is not None}, "tinygrad")


def leaf(x: Any) -> Any:
    """A tensor on the device. From a list: from an array it would go through the CPU, which may not be there."""
    return Tensor(x.ravel().tolist(), dtype=x.dtype.name).reshape(x.shape).realize()


def device_name(name: str) -> str:
    """A device of tinygrad under the name that rows have: several of its backends drive the same hardware."""
    return DEVICES.get(name.partition(":")[0], name.partition(":")[0].lower())


class Tinygrad:
    """Value and gradient are realised together, so backward is derived."""

    name = "tinygrad"

    def capabilities(self) -> Capabilities:
        """Its sine and other functions are approximations for float32."""
        absent, name = "", "cpu"
        try:  # to name a default device fails too where there is none
            name = device_name(Device.DEFAULT)
            Device[Device.DEFAULT]
        except Exception as error:
            absent = f"tinygrad runs on no device here ({error}); on a CPU it needs clang"
        return Capabilities(
            kinds=("scalar", "tensor"),
            dtypes=("float32", "float64"),
            devices=(name,),
            compiled=True,
            tolerance=1e-6,
            absent=absent,
        )

    def prepare(self, workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param]) -> Session:
        """Leaves are made once."""
        device = Device[Device.DEFAULT]
        count = workload.count(params)
        if workload.kind == "scalar" and (count is None or count > MOST_FUSED):
            raise UnsupportedError(
                f"tinygrad would fuse {count or 'unknown many'} operations on numbers, which takes minutes; at most "
                f"{MOST_FUSED} are"
            )
        scalar = workload.kind == "scalar"
        active = workload.active(inputs)
        leaves = [leaf(np.asarray(x)) for x in inputs]
        wanted = [leaves[k] for k in active]
        ops = operations(workload.kind)
        y: Any = None
        gradients: list[Any] = []

        def move(new: Sequence[Any]) -> None:
            for k in active:
                leaves[k] = leaf(np.asarray(new[k]))
            wanted[:] = [leaves[k] for k in active]

        def forward() -> None:
            nonlocal y
            y = workload.function(ops, *leaves, **params).realize()

        def total() -> None:
            nonlocal y, gradients
            y = workload.function(ops, *leaves, **params)
            gradients = y.gradient(*wanted)
            Tensor.realize(y, *gradients)

        return Session(
            primal=forward,
            forward=forward,
            total=total,
            gradients=lambda: [g.item() for g in gradients] if scalar else [g.numpy() for g in gradients],
            value=lambda: y,
            move=move,
            synchronize=device.synchronize,
            device_name=device_name(wanted[0].device),
        )
