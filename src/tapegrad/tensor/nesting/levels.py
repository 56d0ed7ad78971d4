"""Levels: which transforms are open, and from which level on a derivative is wanted.

Every transform opens a level. A level that was opened later has a larger number, so that what belongs to an inner
transform is never taken for what belongs to an outer one, in whatever order and thread they run. What `backward` of a
tensor works on is level 0.
"""

import threading
from types import TracebackType

_mode = threading.local()


class Switches:
    """What is open in all threads: as long as it is 0 no thread needs to be asked."""

    __slots__ = ("bodies", "off", "open", "opened", "staging")

    def __init__(self) -> None:
        self.off = 0  # contexts of no_grad
        self.open = 0  # levels
        self.opened = 0  # levels so far; also the number of the latest
        self.staging = 0  # functions that are being traced to be compiled
        self.bodies = 0  # bodies of loops among them


switches = Switches()
_switches = switches  # the same to the compiler, which knows its type


class no_grad:  # noqa: N801  used like a function
    """A context in which nothing is recorded: what is computed is a constant to every transform that is open.

    A transform that is called inside it differentiates as usual.

    >>> import numpy as np, tapegrad
    >>> x = tapegrad.Tensor(np.ones(2), requires_grad=True)
    >>> with tapegrad.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    def __enter__(self) -> None:
        floors: list[int] = _mode.__dict__.setdefault("floors", [])
        floors.append(_switches.opened)
        _switches.off += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _mode.floors.pop()
        _switches.off -= 1


def floor() -> int:
    """The last level to which everything is a constant now; -1 if derivatives of all levels are wanted."""
    floors = getattr(_mode, "floors", None)
    return floors[-1] if floors else -1


class Level:
    """A context in which a transform is open; gives its number."""

    __slots__ = ()

    def __enter__(self) -> int:
        return opened()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        closed()


def opened() -> int:
    """Opens a level; gives its number."""
    _mode.depth = getattr(_mode, "depth", 0) + 1
    _switches.open += 1
    _switches.opened += 1
    return _switches.opened


def closed() -> None:
    """Closes the level that this thread opened last."""
    _mode.depth -= 1
    _switches.open -= 1


def depth() -> int:
    """How many transforms are open in this thread."""
    return getattr(_mode, "depth", 0)
