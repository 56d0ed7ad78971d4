"""MyGrad: NumPy's functions on tensors that record what is done with them."""

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import mygrad
import mygrad.nnet
import numpy as np

from gradmark.engines.composed import composed, same_names
from gradmark.engines.protocol import Capabilities, Session, bound, namespace, rebind
from gradmark.records import Param
from gradmark.workloads.vocabulary import SCALAR_FUNCTIONS, TENSOR_FUNCTIONS
from gradmark.workloads.workload import Workload


def _conv2d(x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0) -> Any:
    y = mygrad.nnet.conv_nd(x, weight, stride=stride, padding=padding)
    return y if bias is None else y + mygrad.reshape(bias, (-1, 1, 1))


def _cross_entropy(logits: Any, labels: Any) -> Any:
    return mygrad.nnet.softmax_crossentropy(logits, labels)


OTHERS: dict[str, Any] = {
    **{name: getattr(mygrad.nnet, name) for name in ("sigmoid", "relu", "softmax")},
    "log_softmax": mygrad.nnet.logsoftmax,
    "softmax_cross_entropy": _cross_entropy,
    "conv2d": _conv2d,
    "constant": lambda value: mygrad.tensor(value, constant=True),
}


def operations(kind: str) -> ModuleType:
    """MyGrad's own functions where it has them."""
    names = SCALAR_FUNCTIONS if kind == "scalar" else TENSOR_FUNCTIONS
    return namespace({**composed(mygrad), **same_names(mygrad, names), **OTHERS}, "mygrad")


class MyGrad:
    """Backward clears the graph that it went through, so it cannot be repeated: it goes with forward."""

    name = "mygrad"

    def capabilities(self) -> Capabilities:
        """As NumPy."""
        return Capabilities(kinds=("scalar", "tensor"), dtypes=("float32", "float64"))

    def prepare(self, workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param]) -> Session:
        """Leaves are made once."""
        ops = operations(workload.kind)
        active = workload.active(inputs)
        leaves = [mygrad.tensor(x) if k in active else x for k, x in enumerate(inputs)]
        wanted = [leaves[k] for k in active]
        f = bound(workload, ops, leaves, params)
        scalar = workload.kind == "scalar"
        y: Any = None

        def move(new: Sequence[Any]) -> None:
            """New leaves: those of a recording cannot be written to."""
            for k in active:
                leaves[k] = mygrad.tensor(new[k])
            wanted[:] = [leaves[k] for k in active]
            rebind(f, leaves)

        def primal() -> Any:
            with mygrad.no_autodiff:
                return f()

        def forward() -> None:
            nonlocal y
            y = None
            y = f()

        def total() -> None:
            forward()
            y.backward()

        def gradients() -> list[Any]:
            filled = [0 * leaf.data if leaf.grad is None else leaf.grad for leaf in wanted]
            return [float(g) for g in filled] if scalar else [np.asarray(g) for g in filled]

        return Session(primal=primal, forward=forward, total=total, gradients=gradients, value=lambda: y, move=move)
