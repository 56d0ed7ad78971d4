"""The workload: a function written once against a namespace, with its inputs, its sizes and what it stresses.

In: a decorated function of numbers or of arrays. Out: a `Workload`, which engines run and the laboratory measures.
"""

import functools
import inspect
import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from gradmark.errors import WorkloadError
from gradmark.records import Param

Inputs = Callable[..., Sequence[float]]
Sizes = Mapping[str, Sequence[Param]]
Point = dict[str, Param]
# Tensors are float32 where nothing else is said: it is what most of them are in practice, so it comes first.
DTYPES = ("float32", "float64")
# Parts of a row's name that are no sizes: `matmul/n=8/dtype=float64/device=cuda`.
RESERVED = ("dtype", "device")


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
    sizes: Sizes = field(default_factory=dict)
    quick: Sizes | Sequence[Point] = field(default_factory=dict)
    inputs: Inputs = _one_input
    arrays: Callable[..., Sequence[Any]] | None = None
    fixed: Sequence[str] = ()
    dtypes: Sequence[str] = ("float64",)
    operations: Callable[..., int] | None = None
    flops: Callable[..., float] | None = None
    bytes: Callable[..., float] | None = None
    gradient: Callable[..., Sequence[Any]] | None = None
    also: Sequence[str] = ()
    extra: bool = False
    file: str | None = None

    def __call__(self, ops: Any, *inputs: Any, **params: Param) -> Any:
        """The function itself."""
        return self.function(ops, *inputs, **params)

    @property
    def kind(self) -> Literal["scalar", "tensor"]:
        """Whether its inputs are numbers or arrays."""
        return "scalar" if self.arrays is None else "tensor"

    def points(self, *, full: bool = True) -> list[Point]:
        """Every combination of sizes, smallest first; with full off, the quick ones."""
        fewer = {} if full else self.quick
        if not isinstance(fewer, Mapping):
            return [dict(point) for point in fewer]
        sizes = {**self.sizes, **fewer}
        return [dict(zip(sizes, values, strict=True)) for values in itertools.product(*sizes.values())]

    def draw(self, seed: int, params: Mapping[str, Param], dtype: str = "float64") -> list[Any]:
        """The inputs: the same for the same seed, on every machine. Floats, or arrays of the dtype."""
        given = self.given(seed, params)
        if self.arrays is None:
            return [float(x) for x in given]
        import numpy as np

        # The same numbers in every dtype, rounded: what differs is then the dtype alone.
        return [np.asarray(x, dtype=dtype if np.asarray(x).dtype.kind == "f" else None) for x in given]

    def given(self, seed: int, params: Mapping[str, Param]) -> Any:
        """What `inputs` or `arrays` gives, as it is."""
        size = ",".join(f"{key}={value}" for key, value in params.items())
        source = random.Random(f"{seed}/{self.name}/{size}")
        if self.arrays is None:
            return self.inputs(source, **_wanted(self.inputs, params))
        import numpy as np

        return self.arrays(np.random.default_rng(source.getrandbits(64)), **_wanted(self.arrays, params))

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

    def count(self, params: Mapping[str, Param]) -> int | None:
        """Operations of one evaluation, where the workload declares them: of numbers, or calls on arrays."""
        return None if self.operations is None else int(self.operations(**_wanted(self.operations, params)))

    def work(self, params: Mapping[str, Param], dtype: str) -> tuple[float | None, float | None]:
        """Flops and bytes of one value and gradient, each where the workload declares it."""
        itemsize = {"float32": 4}.get(dtype, 8)
        return (
            None if self.flops is None else float(self.flops(**_wanted(self.flops, params))),
            None if self.bytes is None else float(itemsize * self.bytes(**_wanted(self.bytes, params))),
        )


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


def _plain(name: str, key: str, values: Sequence[Any]) -> list[Param]:
    """Sizes as plain numbers and words; NumPy's numbers become Python's."""
    sizes: list[Param] = []
    for value in values:
        plain = value.item() if hasattr(value, "item") else value
        if isinstance(plain, bool) or not isinstance(plain, int | float | str) or plain != plain:
            raise WorkloadError(f"workload {name}: size {key} must be numbers or words, got {value!r}")
        if isinstance(plain, str) and ("/" in plain or not plain):
            raise WorkloadError(
                f"workload {name}: size {key} has the value {plain!r}; row names are split at '/': use another word"
            )
        sizes.append(plain)
    return sizes


def _checked(
    name: str, function: Callable[..., Any], sizes: Sizes, quick: Sizes | Sequence[Point], more: dict[str, Any]
) -> None:
    """Raises for what contradicts itself."""
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
    strange = set(more.get("fixed", ())) - set(input_names(function))
    if strange:
        raise WorkloadError(f"workload {name}: fixed names inputs that the function does not have: {strange}")


def workload(
    *,
    suite: str,
    stresses: str,
    sizes: Sizes | None = None,
    quick: Sizes | Sequence[Point] | None = None,
    name: str | None = None,
    **more: Any,
) -> Callable[[Callable[..., Any]], Workload]:
    """Makes a function a workload: `f(ops, *inputs, **sizes)`, of numbers or of arrays; its result is one number.

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
            file=_source(function),
            **({"dtypes": DTYPES} if "arrays" in more else {}) | more,
        )

    return decorate
