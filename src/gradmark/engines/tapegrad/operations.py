"""tapegrad's functions as workloads call them, and the size of its tapes."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import tapegrad
from gradmark.engines.protocol import namespace
from gradmark.records import TapeSize
from gradmark.workloads.vocabulary import SCALAR_FUNCTIONS


def operations(constant: Callable[[float], Any]) -> ModuleType:
    """tapegrad's functions, with constants made this way."""
    return namespace({name: getattr(tapegrad, name, constant) for name in SCALAR_FUNCTIONS}, "tapegrad")


def size_of(tape: tapegrad.Tape) -> TapeSize:
    """The tape's own exact counts."""
    stats = tape.stats()
    return TapeSize(
        instructions=stats.instrs, values=stats.values, adjoints=stats.grads, saved_bytes=stats.nbytes + 8 * stats.grads
    )
