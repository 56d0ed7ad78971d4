"""The workload: a function written once against a namespace, with its inputs, its sizes and what it stresses.

In: a decorated function. Out: a `Workload`, which engines run and the laboratory measures.
"""

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gradmark.errors import WorkloadError
from gradmark.records import Param

Inputs = Callable[..., Sequence[float]]


def _one_input(draw: random.Random) -> list[float]:
    """One number between a half and one."""
    return [draw.uniform(0.5, 1.0)]


@dataclass(frozen=True)
class Workload:
    """What is differentiated. Call it with a namespace of operations and its inputs."""

    name: str
    suite: str
    stresses: str
    function: Callable[..., Any]
    sizes: Mapping[str, Sequence[Param]] = field(default_factory=dict)
    quick: Mapping[str, Sequence[Param]] = field(default_factory=dict)
    inputs: Inputs = _one_input
    operations: Callable[..., int] | None = None
    also: Sequence[str] = ()
    file: str | None = None

    def __call__(self, ops: Any, *inputs: Any, **params: Param) -> Any:
        """The function itself."""
        return self.function(ops, *inputs, **params)

    def points(self, *, full: bool = True) -> list[dict[str, Param]]:
        """Every combination of sizes, smallest first; with full off, the quick ones."""
        sizes = {**self.sizes, **({} if full else self.quick)}
        return [dict(zip(sizes, values, strict=True)) for values in itertools.product(*sizes.values())]

    def draw(self, seed: int, params: Mapping[str, Param]) -> list[float]:
        """The inputs: the same for the same seed, on every machine."""
        size = ",".join(f"{key}={value}" for key, value in params.items())
        return [float(x) for x in self.inputs(random.Random(f"{seed}/{self.name}/{size}"), **self._wanted(params))]

    def count(self, params: Mapping[str, Param]) -> int | None:
        """Elementary operations of one evaluation, where the workload declares them."""
        return None if self.operations is None else int(self.operations(**params))

    def _wanted(self, params: Mapping[str, Param]) -> dict[str, Param]:
        """The parameters that `inputs` takes: most inputs do not depend on the size."""
        code = getattr(self.inputs, "__code__", None)
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if code else ()
        return {key: value for key, value in params.items() if key in names}


def _plain(name: str, key: str, values: Sequence[Any]) -> list[Param]:
    """Sizes as plain numbers and words; NumPy's numbers become Python's."""
    found: list[Param] = []
    for value in values:
        plain = value.item() if hasattr(value, "item") else value
        if isinstance(plain, bool) or not isinstance(plain, int | float | str) or plain != plain:
            raise WorkloadError(f"workload {name}: size {key} must be numbers or words, got {value!r}")
        found.append(plain)
    return found


def workload(
    *,
    suite: str,
    stresses: str,
    sizes: Mapping[str, Sequence[Param]] | None = None,
    quick: Mapping[str, Sequence[Param]] | None = None,
    **more: Any,
) -> Callable[[Callable[..., Any]], Workload]:
    """Makes a function a workload: `f(ops, *inputs, **sizes)`.

    suite, stresses: where it is shown, and what it is hard on. sizes: the values of each keyword parameter, smallest
    first; quick: fewer of them for a quick run. more: `inputs(draw)` gives the inputs from a seeded `random.Random`
    (default: one number), `operations(**sizes)` counts elementary operations, `also` names further engines to show
    beside the chosen ones (`":fresh"` for a variant of each, or a full name).

    >>> @workload(suite="mine", stresses="multiplication", sizes={"n": [10, 100]}, operations=lambda n: n)
    ... def power(ops, x, *, n):
    ...     y = 1.0
    ...     for _ in range(n):
    ...         y = y * x
    ...     return y
    >>> power.points()
    [{'n': 10}, {'n': 100}]
    """

    def decorate(function: Callable[..., Any]) -> Workload:
        unknown = set(quick or {}) - set(sizes or {})
        if unknown:
            raise WorkloadError(f"workload {function.__name__}: quick names sizes that it does not have: {unknown}")
        code = function.__code__
        checked = {key: _plain(function.__name__, key, values) for key, values in (sizes or {}).items()}
        checked_quick = {key: _plain(function.__name__, key, values) for key, values in (quick or {}).items()}
        return Workload(
            name=function.__name__,
            suite=suite,
            stresses=stresses,
            function=function,
            sizes=checked,
            quick=checked_quick,
            file=code.co_filename,
            **more,
        )

    return decorate
