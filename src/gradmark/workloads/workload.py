"""The workload: a function written once against a namespace, with its inputs, its sizes and what it stresses.

In: a decorated function of numbers or of arrays. Out: a `Workload`, which engines run and the laboratory measures.
"""

import functools
import inspect
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gradmark.errors import WorkloadError
from gradmark.records import DerivativeName, Param
from gradmark.records.derivative import DERIVATIVES, why_not
from gradmark.workloads.outline import Outline, Point, Sizes

Inputs = Callable[..., Sequence[float]]
# Tensors are float32 where nothing else is said: it is what most of them are in practice, so it comes first.
DTYPES = ("float32", "float64")
# Parts of a row's name that are no sizes: `matmul/n=8/dtype=float64/derivative=hvp/device=cuda`.
RESERVED = ("dtype", "device", "derivative")
# Of a size, and of what a workload counts: run files keep no larger whole numbers.
LARGEST_SIZE, LARGEST_COUNT, LARGEST_WORK = 2**63 - 1, 2**53, 1e30


def _one_input(draw: random.Random) -> list[float]:
    """One number between a half and one."""
    return [draw.uniform(0.5, 1.0)]


@dataclass(frozen=True, kw_only=True)
class Workload(Outline):
    """What is differentiated. Call it with a namespace of operations and its inputs."""

    function: Callable[..., Any]
    inputs: Inputs = _one_input
    arrays: Callable[..., Sequence[Any]] | None = None
    fixed: Sequence[str] = ()
    operations: Callable[..., int] | None = None
    flops: Callable[..., float] | None = None
    bytes: Callable[..., float] | None = None
    gradient: Callable[..., Sequence[Any]] | None = None
    known: Mapping[DerivativeName, Callable[..., Any]] = field(default_factory=dict)

    def __call__(self, ops: Any, *inputs: Any, **params: Param) -> Any:
        """The function itself."""
        return self.function(ops, *inputs, **params)

    def draw(self, seed: int, params: Mapping[str, Param], dtype: str = "float64") -> list[Any]:
        """The inputs: the same for the same seed, on every machine. Floats, or arrays of the dtype."""
        drawn = self.given(seed, params)
        if self.arrays is None:
            return [float(x) for x in drawn]
        import numpy as np

        # The same numbers in every dtype, rounded: what differs is then the dtype alone.
        return [np.asarray(x, dtype=dtype if np.asarray(x).dtype.kind == "f" else None) for x in drawn]

    def given(self, seed: int, params: Mapping[str, Param]) -> Any:
        """What `inputs` or `arrays` gives, as it is."""
        source = self.source(seed, params)
        if self.arrays is None:
            return self.inputs(source, **_wanted(self.inputs, params))
        import numpy as np

        return self.arrays(np.random.default_rng(source.getrandbits(64)), **_wanted(self.arrays, params))

    def source(self, seed: int, params: Mapping[str, Param], *purpose: str) -> random.Random:
        """A generator that depends on the workload, its size, the seed, and what the numbers are for."""
        size = ",".join(f"{key}={value}" for key, value in params.items())
        return random.Random("/".join([str(seed), self.name, size, *purpose]))

    def names(self, count: int) -> list[str]:
        """The names of so many inputs, as the function calls them."""
        named = input_names(self.function)
        return (named + [f"input {k}" for k in range(len(named), count)])[:count]

    def active(self, inputs: Sequence[Any]) -> list[int]:
        """The places of the inputs that are differentiated: neither fixed data nor integers."""
        if self.arrays is None:
            return list(range(len(inputs)))
        names = self.names(len(inputs))
        return [k for k, x in enumerate(inputs) if x.dtype.kind == "f" and names[k] not in self.fixed]

    def exact(self, inputs: Sequence[Any], params: Mapping[str, Param]) -> Sequence[Any] | None:
        """The exact gradient, one array for each active input, where the workload has one."""
        return None if self.gradient is None else self.gradient(*inputs, **_wanted(self.gradient, params))

    def exactly(
        self, derivative: DerivativeName, inputs: Sequence[Any], along: Sequence[Any], params: Mapping[str, Param]
    ) -> Any:
        """An exact derivative along directions, in NumPy, where the workload has it, else None."""
        function = self.known.get(derivative)
        return None if function is None else function(*inputs, *along, **_wanted(function, params))

    def count(self, params: Mapping[str, Param]) -> int | None:
        """Operations of one evaluation, where the workload declares them: of numbers, or calls on arrays."""
        if self.operations is None:
            return None
        return int(self._counted("operations", self.operations(**_wanted(self.operations, params)), LARGEST_COUNT))

    def work(self, params: Mapping[str, Param], dtype: str) -> tuple[float | None, float | None]:
        """Flops and bytes of one value and gradient, each where the workload declares it."""
        itemsize = {"float32": 4}.get(dtype, 8)
        flops = None if self.flops is None else self.flops(**_wanted(self.flops, params))
        moved = None if self.bytes is None else itemsize * self.bytes(**_wanted(self.bytes, params))
        return (
            None if flops is None else float(self._counted("flops", flops, LARGEST_WORK)),
            None if moved is None else float(self._counted("bytes", moved, LARGEST_WORK)),
        )

    def _counted(self, what: str, count: Any, most: float) -> Any:
        """A count that the workload declares; an error if it cannot be one."""
        if isinstance(count, str | bool) or not 0 <= count <= most:
            raise WorkloadError(
                f"workload {self.name}: {what} must be a number from 0 to {most:.0e}, got {count!r}; correct the "
                f"function that {what}= was given"
            )
        return count


def parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """The parameters of a function, a partial or an object that can be called; none where Python cannot tell."""
    try:
        return _signature(function)
    except TypeError:  # an object that cannot be hashed cannot be remembered
        return _signature.__wrapped__(function)


@functools.cache  # asked for in every session, and slow
def _signature(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # a builtin such as `list`
        return {}


def input_names(function: Callable[..., Any]) -> list[str]:
    """The names of the inputs that a workload's function lists: its positional parameters after `ops`."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, parameter in parameters(function).items() if parameter.kind in positional][1:]


def _wanted(function: Callable[..., Any], params: Mapping[str, Param]) -> Point:
    """The parameters that a function takes: most inputs and counts depend on a few of them only."""
    known = parameters(function)
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in known.values()):
        return dict(params)
    return {key: value for key, value in params.items() if key in known}


def _innermost(function: Any) -> Any:
    """The function that was written: behind decorators and partials, or the class of an object that can be called."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    return function if hasattr(function, "__name__") else type(function)


def _source(function: Callable[..., Any]) -> str | None:
    """The file that a function was written in."""
    try:
        return inspect.getfile(_innermost(function))
    except (TypeError, OSError):  # a builtin, or made without a file
        return None


def is_size(number: float) -> bool:
    """Whether a number can be a size: run files keep neither infinity nor longer whole numbers.

    >>> is_size(1000), is_size(2.5e20), is_size(float("inf")), is_size(10**20)
    (True, True, False, False)
    """
    return -LARGEST_SIZE <= number <= LARGEST_SIZE if isinstance(number, int) else math.isfinite(number)


def _plain(name: str, key: str, values: Sequence[Any]) -> list[Param]:
    """Sizes as plain numbers and words; NumPy's numbers become Python's."""
    sizes: list[Param] = []
    for value in values:
        plain = value.item() if hasattr(value, "item") else value
        is_number = isinstance(plain, int | float) and not isinstance(plain, bool) and is_size(plain)
        if not is_number and not isinstance(plain, str):
            raise WorkloadError(
                f"workload {name}: size {key} must be numbers or words, numbers finite and of at most 64 bits, got "
                f"{value!r}"
            )
        if isinstance(plain, str):
            _refuse_words(**{f"size {key}": plain})
        if isinstance(plain, str) and ("/" in plain or not plain):
            raise WorkloadError(
                f"workload {name}: size {key} has the value {plain!r}; row names are split at '/': use another word"
            )
        sizes.append(plain)
    return sizes


def _refuse_words(**given: Any) -> None:
    """Raises for names that are no text, or that no file can keep."""
    for what, word in given.items():
        if not isinstance(word, str):
            raise WorkloadError(f"a workload's {what} must be a word, such as {what}='mine'; got {word!r}")
        try:
            word.encode()
        except UnicodeEncodeError:
            raise WorkloadError(
                f"a workload's {what} must be text that UTF-8 has, got {word!r}; write it without surrogates"
            ) from None


def _checked(
    name: str, function: Callable[..., Any], sizes: Sizes, quick: Sizes | Sequence[Point], more: dict[str, Any]
) -> None:
    """Raises for what contradicts itself."""
    for key in sizes:
        _refuse_words(size=key)
    taken = [key for key in sizes if key in RESERVED]
    if taken:
        raise WorkloadError(f"workload {name}: a size cannot be called {taken[0]}: row names use that word; rename it")
    wrong = [quick] if isinstance(quick, Mapping) else quick
    unknown = {key for point in wrong for key in point if key not in sizes}
    if unknown:
        raise WorkloadError(f"workload {name}: quick names sizes that it does not have: {unknown}")
    if "arrays" not in more:
        only = {"fixed", "dtypes", "gradient", "flops", "bytes"} & more.keys()
        if only:
            raise WorkloadError(f"workload {name}: {', '.join(sorted(only))} need arrays; give arrays=, not inputs=")
    elif "inputs" in more:
        raise WorkloadError(f"workload {name} has both inputs and arrays; give one of them")
    _refuse_derivatives(name, more)
    for derivative in more.get("known", {}):
        if derivative not in DERIVATIVES or why_not(name, more.get("result", "number"), derivative):
            raise WorkloadError(f"workload {name}: known has {derivative!r}, which it does not have")
    strange = set(more.get("fixed", ())) - set(input_names(function))
    if strange:
        raise WorkloadError(f"workload {name}: fixed names inputs that the function does not have: {strange}")


def _refuse_derivatives(name: str, more: dict[str, Any]) -> None:
    """Raises for a kind of result that there is not, and for derivatives that it does not have."""
    result = more.get("result", "number")
    if result not in ("number", "array"):
        raise WorkloadError(f"workload {name}: result must be 'number' or 'array', got {result!r}")
    if isinstance(more.get("derivatives", ()), str):
        raise WorkloadError(f"workload {name}: derivatives must be a list of names, such as ['hvp']")
    for derivative in more.get("derivatives", ()):
        if derivative not in DERIVATIVES:
            raise WorkloadError(
                f"workload {name}: no derivative is called {derivative!r}; choose from: {', '.join(DERIVATIVES)}"
            )
        if reason := why_not(name, result, derivative):
            raise WorkloadError(f"workload {name}: derivatives names {derivative}, but {reason}")
    if result == "array" and more.get("gradient") is not None:
        raise WorkloadError(f"workload {name}: its result is an array, which has no gradient; leave gradient= out")


def workload(
    _function: None = None,  # of `@workload` without brackets: Python then names the arguments that are missing
    /,
    *,
    suite: str,
    stresses: str,
    sizes: Sizes | None = None,
    quick: Sizes | Sequence[Point] | None = None,
    name: str | None = None,
    **more: Any,
) -> Callable[[Callable[..., Any]], Workload]:
    """Makes a function a workload: `f(ops, *inputs, **sizes)`, of numbers or of arrays; its result is one number.

    Or several, with `result="array"`: then it returns a list of numbers, or one array. `derivatives` are those that a
    run measures if nobody says which; by default the gradient of a number, the jvp of several.

    suite, stresses: where it is shown, and what it is hard on. sizes: the values of each keyword parameter, smallest
    first; quick: fewer of them for a quick run, or a list of points. name: its name, if not the function's.
    `operations(**sizes)` counts elementary operations or calls on arrays, `also` names further engines to show beside
    the chosen ones (`":fresh"` for a variant of each, or a full name), `extra` leaves it out of a run without a
    selection. Functions of sizes take those that they need.

    Of numbers: `inputs(draw, **sizes)` gives them from a seeded `random.Random` (default: one number).

    Of arrays: `arrays(draw, **sizes)` gives them from a seeded NumPy generator; floating ones become each of `dtypes`
    (float32, float64) and are differentiated, unless `fixed` names them; integers never are. `flops(**sizes)` and
    `bytes(**sizes)` (in numbers of the dtype) are what a value with its gradient takes if no operation is fused with
    another; `gradient(*inputs, **sizes)` is the exact one, in NumPy, where there is one.

    `known` has other derivatives that are known exactly, by name: `hvp(*inputs, *tangents, **sizes)` gives what an
    engine's session gives; a jvp likewise, a vjp with the cotangent, matrices without directions.

    >>> @workload(suite="mine", stresses="multiplication", sizes={"n": [10, 100]}, operations=lambda n: n)
    ... def power(ops, x, *, n):
    ...     y = 1.0
    ...     for _ in range(n):
    ...         y = y * x
    ...     return y
    >>> power.points()
    [{'n': 10}, {'n': 100}]

    >>> @workload(
    ...     suite="mine", stresses="a product", sizes={"n": [10]}, arrays=lambda draw, n: [draw.normal(size=(n, n))]
    ... )
    ... def squared(ops, x, *, n):
    ...     return ops.sum(x @ x)
    >>> squared.kind, squared.dtypes
    ('tensor', ('float32', 'float64'))
    """

    def decorate(function: Callable[..., Any]) -> Workload:
        title = name or str(_innermost(function).__name__)
        _refuse_words(name=title, suite=suite, stresses=stresses)
        _checked(title, function, sizes or {}, quick or {}, more)

        def plain(values: Sizes) -> dict[str, list[Param]]:
            return {key: _plain(title, key, numbers) for key, numbers in values.items()}

        return Workload(
            name=title,
            suite=suite,
            stresses=stresses,
            function=function,
            sizes=plain(sizes or {}),
            quick=plain(quick or {})
            if quick is None or isinstance(quick, Mapping)
            else [{key: _plain(title, key, [value])[0] for key, value in point.items()} for point in quick],
            kind="scalar" if more.get("arrays") is None else "tensor",
            module=str(getattr(function, "__module__", "")),
            file=_source(function),
            **({"dtypes": DTYPES} if "arrays" in more else {}) | more,
        )

    return decorate
