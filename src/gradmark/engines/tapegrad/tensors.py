"""Gradients of functions of arrays, by tapegrad's tensors."""

from collections.abc import Mapping, Sequence
from typing import Any

from gradmark.engines.protocol import Session, bound
from gradmark.engines.tapegrad.operations import array_operations
from gradmark.records import Param, TapeSize
from gradmark.workloads.workload import Workload
from tapegrad import tensor


def tensor_session(workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param]) -> Session:
    """Tensors are made once, as the parameters of a model are; each forward records anew.

    Backward alone keeps what was saved, so that it can be repeated. The whole does not: its peak is what a user sees.
    """
    ops = array_operations()
    active = workload.active(inputs)
    leaves = [tensor.Tensor(x, requires_grad=k in active) if x.dtype.kind == "f" else x for k, x in enumerate(inputs)]
    wanted = [leaves[k] for k in active]
    f = bound(workload, ops, leaves, params)
    y: Any = None

    def move(new: Sequence[Any]) -> None:
        for k, leaf in zip(active, wanted, strict=True):
            leaf.data = new[k]

    def primal() -> Any:
        with tensor.no_grad():
            return f()

    def clear() -> None:
        for leaf in wanted:
            leaf.grad = None

    def forward() -> None:
        nonlocal y
        y = None  # before, not after: else two recordings are alive at once
        y = f()

    def backward() -> None:
        clear()
        y.backward(retain=True)

    def total() -> None:
        clear()
        forward()
        y.backward()

    def tape() -> TapeSize:
        forward()
        stats = y.stats()
        return TapeSize(instructions=stats.instructions, saved_bytes=stats.saved_bytes)

    return Session(
        primal=primal,
        forward=forward,
        backward=backward,
        total=total,
        # an input that the function does not use has no gradient, which is one of zeros
        gradients=lambda: [0 * leaf.data if leaf.grad is None else leaf.grad for leaf in wanted],
        value=lambda: y,
        move=move,
        tape=tape,
    )
