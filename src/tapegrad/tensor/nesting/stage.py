"""The stage: the level of a loop's body while `jit` traces it, where primitives are noted down to be repeated."""

from typing import Any

# Who notes down the bodies that are open, innermost last; one thread traces at a time.
recorders: list[Any] = []


def reading(values: Any, settings: Any, level: int) -> Any:
    """Who notes down the body whose arrays without derivative, such as conditions, are used with tensors from outside
    it, of this level at most; None if nobody does."""
    for recorder in reversed(recorders):
        if recorder.level <= level or not recorder.here():
            return None
        if recorder.reads(values, settings):
            return recorder
    return None


class Stage:
    """The mark of a tensor in a loop's body: who notes down what is computed with it."""

    __slots__ = ("level", "recorder")

    def __init__(self, level: int, recorder: Any):
        self.level = level
        self.recorder = recorder

    def record(self, primitive: Any, values: list[Any], settings: Any) -> Any:
        """The result of a primitive, noted down."""
        return self.recorder.record(primitive, values, settings)
