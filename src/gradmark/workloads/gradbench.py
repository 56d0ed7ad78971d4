"""GradBench's evals: which of our workloads each is, and how its inputs and results are written in JSON.

Out: an `Eval` for each, used in both directions: to ask tools of others (engines/gradbench), and to be one
(gradmark/gradbench.py). Names and fields are those of evals/*/README.md in github.com/gradbench/gradbench (MIT licence).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gradmark.records import DerivativeName, Param

Inputs = Sequence[Any]
Params = Mapping[str, Param]


@dataclass(frozen=True)
class Eval:
    """One eval, as one workload of ours is it.

    module: its name. primal: its function that gives the value, and derivatives: those that give a derivative.
    written: inputs as its JSON has them; read: the inputs, and the sizes, that JSON has. value: of what primal gives,
    our result. parts: of what a derivative's function gives, our derivative; derived: the other way round. repeats:
    whether a message says how often the function is to be run.
    """

    module: str
    primal: str
    derivatives: Mapping[DerivativeName, str]
    written: Callable[[Inputs, Params], Any]
    read: Callable[[Any], tuple[list[Any], dict[str, Param]]]
    parts: Callable[[Any, Inputs], Any]
    derived: Callable[[Sequence[Any], Inputs], Any]
    value: Callable[[Any], Any] = field(default=lambda output: output)
    valued: Callable[[Any], Any] = field(default=float)
    repeats: bool = True


EVALS: dict[str, Eval] = {
    "hello": Eval(
        module="hello",
        primal="square",
        derivatives={"gradient": "double"},
        written=lambda inputs, _params: inputs[0],
        read=lambda given: ([float(given)], {}),
        parts=lambda output, _inputs: [float(output)],
        derived=lambda parts, _inputs: float(parts[0]),
        repeats=False,
    ),
}
