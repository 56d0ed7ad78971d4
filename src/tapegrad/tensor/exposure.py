"""Exposure: who outside the engine can write into an array, and whether they did.

A rule saves arrays, and a write into one between forward and backward would silently give a wrong gradient. Memory
that only the engine can reach needs no watching. Memory that was handed out (`Tensor.data`) or came in (an array as an
operand) is copied when a rule saves it, and compared before the rule uses it. Arrays on a device are not watched: to
compare them would wait for the device at every step.
"""

import weakref
from typing import Any

from tapegrad.errors import InPlaceWriteError
from tapegrad.tensor.instruction import Instruction
from tapegrad.tensor.namespaces import Array, asynchronous, namespace

# Memory that was handed out, by the identity of its owner: a weak reference to the owner, and a copy of what it held
# when it was first handed out. The entry goes when the memory does.
exposed: dict[int, tuple[Any, Array]] = {}


def owner(array: Array) -> Array:
    """The array whose memory this one shows."""
    base = getattr(array, "base", None)
    return array if base is None else base


def expose(array: Array) -> None:
    """Notes that somebody outside can write into this memory from now on."""
    memory = owner(array)
    key = id(memory)
    if key not in exposed and not asynchronous(namespace(array)):
        reference = weakref.ref(memory, lambda _: exposed.pop(key, None))
        exposed[key] = (reference, memory.copy())


def expose_views(result: Array, raw: list[Array]) -> None:
    """Notes that a result shows the memory of arrays that came from outside, if it does."""
    memory = owner(result)
    if any(memory is owner(array) for array in raw):
        expose(result)


def watch(instruction: Instruction, raw: list[Array]) -> None:
    """Keeps copies of what an instruction saved and somebody outside can write to."""
    if asynchronous(instruction.xp):
        return
    outside = {id(owner(array)) for array in raw}
    for array in instruction.saved or ():
        if getattr(array, "nbytes", 0) and (id(owner(array)) in outside or id(owner(array)) in exposed):
            if instruction.snapshots is None:
                instruction.snapshots = []
            instruction.snapshots.append((array, array.copy()))


def check(instruction: Instruction) -> None:
    """Raises `InPlaceWriteError` if what an instruction saved is no longer what it was."""
    watched = set()
    for array, before in instruction.snapshots or ():
        watched.add(id(array))
        _compare(instruction, array, before)
    for array in instruction.saved or ():
        entry = exposed.get(id(owner(array))) if id(array) not in watched else None
        if entry is not None:  # it was saved first and handed out later
            _compare(instruction, entry[0](), entry[1])


def _compare(instruction: Instruction, array: Array, before: Array) -> None:
    xp = instruction.xp
    same = (array == before) | ((array != array) & (before != before))
    if not xp.all(same):
        raise InPlaceWriteError(
            f"an array of shape {array.shape} that {instruction.primitive.name!r} saved for backward was written to in "
            "place after the forward pass, so its gradient would be wrong; write after backward(), or into a copy "
            "(x.data.copy())"
        )
