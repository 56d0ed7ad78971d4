"""The outline of a workload: all that can be said of it without its function. Plain data, which processes exchange."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gradmark.records import Param
from gradmark.records.cell import Kind
from gradmark.records.derivative import DerivativeName, ResultKind, has

Sizes = Mapping[str, Sequence[Param]]
Point = dict[str, Param]


@dataclass(frozen=True, kw_only=True)
class Outline:
    """What a workload is called, where it is found, and what it is measured at: enough to select it and to plan."""

    name: str
    suite: str
    stresses: str
    sizes: Sizes = field(default_factory=dict)
    quick: Sizes | Sequence[Point] = field(default_factory=dict)
    kind: Kind = "scalar"  # whether its inputs are numbers or arrays
    dtypes: Sequence[str] = ("float64",)
    result: ResultKind = "number"  # or "array": a list of numbers, or one array
    derivatives: Sequence[DerivativeName] = ()  # that a run measures which is not told; none: the first of its result
    also: Sequence[str] = ()
    extra: bool = False
    module: str = ""  # that its function was written in
    file: str | None = None  # where a worker finds it; None: by its name, among what is installed

    @property
    def usual_derivatives(self) -> Sequence[DerivativeName]:
        """What is measured if nobody says otherwise."""
        return self.derivatives or has(self.result)[:1]

    def points(self, *, full: bool = True) -> list[Point]:
        """Every combination of sizes, smallest first; with full off, the quick ones."""
        fewer = {} if full else self.quick
        if not isinstance(fewer, Mapping):
            return [dict(point) for point in fewer]
        sizes = {**self.sizes, **fewer}
        return [dict(zip(sizes, values, strict=True)) for values in itertools.product(*sizes.values())]
