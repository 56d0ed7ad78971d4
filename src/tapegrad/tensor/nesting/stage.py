"""The stage: the level of a loop's body while `jit` traces it, where primitives are noted down to be repeated."""

from typing import Any


class Stage:
    """The mark of a tensor in a loop's body: who notes down what is computed with it."""

    __slots__ = ("level", "recorder")

    def __init__(self, level: int, recorder: Any):
        self.level = level
        self.recorder = recorder

    def record(self, primitive: Any, values: list[Any], settings: Any) -> Any:
        """The result of a primitive, noted down."""
        return self.recorder.record(primitive, values, settings)
