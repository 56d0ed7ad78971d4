"""Calls: how often a function of numbers uses each operation.

In: a workload and its inputs. Out: counts by the names that `gradmark ops` measures, one evaluation's. What needs no
derivative, because it does not depend on the inputs, is not counted: engines do not record it either.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gradmark.engines.floats import FLOATS
from gradmark.engines.protocol import namespace
from gradmark.records import Param
from gradmark.workloads.vocabulary import BINARY, UNARY
from gradmark.workloads.workload import Workload

# Counting takes about a microsecond for each: nobody waits for so many.
MOST = 200_000


class _TooManyError(Exception):
    """The function goes on for longer than anybody would count."""


class _Number:
    """A number that depends on the inputs; every operation on it is counted."""

    __slots__ = ("counts", "value")

    def __init__(self, value: float, counts: dict[str, int]) -> None:
        self.value, self.counts = value, counts

    def made(self, name: str, value: Any) -> "_Number":
        self.counts[name] = self.counts.get(name, 0) + 1
        self.counts[""] -= 1
        if self.counts[""] < 0:
            raise _TooManyError
        return _Number(value, self.counts)

    def __neg__(self) -> "_Number":
        return self.made("neg", -self.value)

    def __pos__(self) -> "_Number":
        return self

    def __abs__(self) -> "_Number":
        return self.made("abs", abs(self.value))

    def __bool__(self) -> bool:
        return bool(self.value)

    __hash__ = None  # type: ignore[assignment]  # as the numbers of engines


def _plain(x: Any) -> Any:
    return x.value if isinstance(x, _Number) else x


def _operator(name: str, method: str) -> None:
    apply: Callable[[Any, Any], Any] = getattr(float, method)

    def forward(self: _Number, other: Any) -> Any:
        return self.made(name, apply(float(self.value), float(_plain(other))))

    def reflected(self: _Number, other: Any) -> Any:
        return self.made(name, apply(float(_plain(other)), float(self.value)))

    setattr(_Number, method, forward)
    setattr(_Number, f"__r{method[2:]}", reflected)


def _comparison(method: str) -> None:
    apply: Callable[[Any, Any], Any] = getattr(float, method)
    setattr(_Number, method, lambda self, other: apply(float(self.value), float(_plain(other))))


for _name, _method in {
    "add": "__add__",
    "sub": "__sub__",
    "mul": "__mul__",
    "div": "__truediv__",
    "pow": "__pow__",
}.items():
    _operator(_name, _method)
for _method in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
    _comparison(_method)


def _function(name: str) -> Callable[..., Any]:
    plain = getattr(FLOATS, name)

    def apply(*xs: Any) -> Any:
        counted = next((x for x in xs if isinstance(x, _Number)), None)
        value = plain(*map(_plain, xs))
        return value if counted is None else counted.made(name, value)

    return apply


def calls(workload: Workload, inputs: Sequence[float], params: Mapping[str, Param]) -> dict[str, int]:
    """How often each operation is used, most often first; empty if nobody can count them."""
    counts = {"": MOST}
    ops = namespace({**{name: _function(name) for name in (*UNARY, *BINARY, "where")}, "constant": float}, "counting")
    try:
        workload.function(ops, *(_Number(x, counts) for x in inputs), **params)
    except Exception:  # functions may do with numbers what only those of engines can do
        return {}
    del counts[""]
    return dict(sorted(counts.items(), key=lambda pair: -pair[1]))
