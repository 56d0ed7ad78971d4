"""tapegrad's functions as workloads call them, and the size of its tapes."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from types import ModuleType
from typing import Any

import tapegrad
from gradmark.engines.protocol import namespace
from gradmark.records import TapeSize
from gradmark.workloads.vocabulary import SCALAR_FUNCTIONS, TENSOR_FUNCTIONS
from tapegrad import tensor


def gradient_of(ops: ModuleType) -> Callable[..., list[Any]]:
    """The gradient of `f(ops, *xs)` by a transform, in the mode that is asked for."""

    def compute(f: Callable[..., Any], xs: Sequence[Any], mode: str) -> list[Any]:
        if mode == "reverse":
            return list(tapegrad.grad(partial(f, ops), tuple(range(len(xs))))(*xs))
        units = [[float(k == place) for k in range(len(xs))] for place in range(len(xs))]
        return [tapegrad.jvp(partial(f, ops), xs, unit)[1] for unit in units]

    return compute


ON_DEMAND = {"gradient_of": gradient_of}


def operations(constant: Callable[[float], Any]) -> ModuleType:
    """tapegrad's functions, with constants made this way."""
    return namespace({name: getattr(tapegrad, name, constant) for name in SCALAR_FUNCTIONS}, "tapegrad", ON_DEMAND)


@cache
def array_operations() -> ModuleType:
    """tapegrad's functions of tensors, and its loops, which stay loops inside `jit`."""
    functions = {name: getattr(tensor, name) for name in TENSOR_FUNCTIONS}
    return namespace({**functions, "scan": tapegrad.scan, "while_loop": tapegrad.while_loop}, "tapegrad")


def size_of(tape: tapegrad.Tape) -> TapeSize:
    """The tape's own exact counts."""
    stats = tape.stats()
    return TapeSize(
        instructions=stats.instrs, values=stats.values, adjoints=stats.grads, saved_bytes=stats.nbytes + 8 * stats.grads
    )
