"""One eval of GradBench: its functions, and how inputs and results of ours are written in its JSON.

Names and fields are those of evals/*/README.md in github.com/gradbench/gradbench (MIT licence). What JSON holds is
checked here: a `ValueError` says what was expected and what came.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gradmark.records import DerivativeName, Param
from gradmark.workloads.workload import Workload

# Inputs by the names that the workload with arrays has for them: arrays, or lists of floats.
Named = Mapping[str, Any]
Sizes = Mapping[str, Any]
# A derivative, and of a jvp or hvp a tangent for each differentiated input.
Along = tuple[DerivativeName, Sequence[Any]]
_GRADIENT: Sequence[Along] = [("gradient", ())]


@dataclass(frozen=True, kw_only=True)
class Eval:
    """One eval: two functions of the same inputs.

    module, primal, derivative: the names of the eval and of its functions. size: as GradBench writes it, in
    descriptions and in its statistics. repeats: whether a message says how often a function is run. in_statistics:
    whether ratios of it are published; remark: what they are of, where that is not just the same.

    Of tools that are asked: asks is our derivative that can be had of `derivative`; None: none, and unlike says what it
    is. written: the inputs as JSON. named: those of a workload that is written number by number, as the one with arrays
    names them. flat: of an output, the numbers of our derivative in one vector, or a matrix. value: of the output of
    primal, our result.

    Of being a tool: workload is the one that answers, and variant makes of it what one of the functions is of. read:
    the sizes and inputs of such JSON. along: the derivatives to be computed, each with its tangents. form: of these,
    each a vector or matrix, the output. shown: of our result, the output of primal.
    """

    module: str
    primal: str
    derivative: str
    size: Callable[[Sizes], str]
    repeats: bool = True
    in_statistics: bool = True
    remark: str = ""
    asks: DerivativeName | None = "gradient"
    unlike: str = ""
    written: Callable[[Named, Sizes], Any] | None = None
    named: Callable[[Sequence[float], Sizes], Named] | None = None
    flat: Callable[[Any, Named], Any] = field(default=lambda output, _inputs: array(output, None))
    value: Callable[[Any], Any] = field(default=lambda output: number(output))
    workload: str
    variant: Callable[[Workload, str], Workload] = field(default=lambda workload, _function: workload)
    read: Callable[[Any], tuple[dict[str, Param], dict[str, Any]]]
    along: Callable[[Named], Sequence[Along]] = field(default=lambda _inputs: _GRADIENT)
    form: Callable[[Sequence[Any], Named], Any] = field(default=lambda results, _inputs: listed(results[0]))
    shown: Callable[[Any], Any] = float


# --- numbers in JSON


def listed(x: Any) -> Any:
    """An array as lists of lists; lists as they are."""
    return x.tolist() if hasattr(x, "tolist") else list(x)


def array(given: Any, *shape: int | None) -> Any:
    """Numbers of a shape, of which None may be any. Raises `ValueError` that says what came."""
    import numpy as np

    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"expected numbers of shape {_words(shape)}, got {short(given)}") from None
    fits = numbers.ndim == len(shape) and all(w is None or w == n for w, n in zip(shape, numbers.shape, strict=True))
    if not fits:
        raise ValueError(f"expected numbers of shape {_words(shape)}, got {_words(numbers.shape)}")
    return numbers


def _words(shape: Sequence[int | None]) -> str:
    return f"({', '.join('any' if n is None else str(n) for n in shape)})"


def short(given: Any) -> str:
    """What was given, cut off if it is long."""
    text = repr(given)
    return text if len(text) <= 60 else f"{text[:60]}…"


def whole(given: Mapping[str, Any], name: str) -> int:
    """A field that is a whole number."""
    number = given.get(name)
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ValueError(f"expected a whole number as {name}, got {short(number)}")
    return number


def number(given: Any) -> float:
    """One number. Raises `ValueError` that says what came."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise ValueError(f"expected a number, got {short(given)}")
    return float(given)
