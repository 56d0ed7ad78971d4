"""Hand-written adjoints: what a person writes who differentiates on paper. The floor beside which engines are seen.

In: a workload of the scalar suite, on plain floats, or a memory-bound one of the tensor suite, on NumPy. Each adjoint
is a pair: forward keeps what backward needs, backward gives the derivatives.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import repeat
from types import CellType
from typing import Any

from gradmark.engines.floats import FLOATS, sigmoid, softplus
from gradmark.engines.manual_derivatives import MODES, WRITTEN, derived
from gradmark.engines.protocol import Capabilities, Derivative, Session, bound
from gradmark.errors import UnsupportedError
from gradmark.records import Param
from gradmark.workloads.scalar import CHAIN, COEFFICIENTS, STEPS, leaves, levels
from gradmark.workloads.workload import Workload

Pair = tuple[Callable[[], Any], Callable[[], list[Any]]]

# The derivative of each function of `chain`, beside the function itself.
CHAINS: dict[str, Callable[[float], float]] = {
    "exp": lambda y: -math.exp(-y),
    "expm1": lambda y: -math.exp(-y),
    "log": lambda y: 1.0 / y,
    "log1p": lambda y: 1.0 / (1.0 + y),
    "sqrt": lambda y: 0.5 / math.sqrt(y),
    "sin": math.cos,
    "cos": lambda y: -math.sin(y),
    "tan": lambda y: 0.3 * (1.0 + math.tan(0.3 * y) ** 2),
    "asin": lambda y: 0.25 / math.sqrt(1.0 - (0.25 * y) ** 2),
    "acos": lambda y: -0.25 / math.sqrt(1.0 - (0.25 * y) ** 2),
    "atan": lambda y: 1.0 / (1.0 + y * y),
    "sinh": lambda y: 0.3 * math.cosh(0.3 * y),
    "cosh": lambda y: 0.3 * math.sinh(0.3 * y),
    "tanh": lambda y: 1.0 - math.tanh(y) ** 2,
    "sigmoid": lambda y: sigmoid(y) * sigmoid(-y),
    "softplus": sigmoid,
    "erf": lambda y: 2.0 / math.sqrt(math.pi) * math.exp(-y * y),
    "pow": lambda y: 0.7 * y**-0.3,
    "hypot": lambda y: y / math.hypot(y, 1.0),
    "atan2": lambda y: 2.0 / (y * y + 4.0),
}
FUNCTIONS: dict[str, Callable[[float], float]] = {name: partial(step, FLOATS) for name, (step, _) in STEPS.items()}
FUNCTIONS.update(log=math.log, sqrt=math.sqrt, sin=math.sin, cos=math.cos, tanh=math.tanh, softplus=softplus)


def expression(x: float) -> Pair:
    """x² + sin x: 2x + cos x."""
    return lambda: x * x + math.sin(x), lambda: [x + x + math.cos(x)]


def poly(x: float, *, n: int) -> Pair:
    """t ← t·x + c: x̄ += t̄·t, t̄ ← t̄·x, from the last term to the first."""
    kept: list[float] = []

    def forward() -> float:
        kept.clear()
        total, keep = 0.0, kept.append
        for c in COEFFICIENTS[:n]:
            keep(total)
            total = total * x + c
        return total

    def backward() -> list[float]:
        slope, seed = 0.0, 1.0
        for total in reversed(kept):
            slope += seed * total
            seed *= x
        return [slope]

    return forward, backward


def add_chain(x: float, *, n: int) -> Pair:
    """(n + 1)·x."""

    def forward() -> float:
        y = x
        for _ in repeat(None, n):
            y = y + x
        return y

    return forward, lambda: [n + 1.0]


def mul_chain(x: float, *, n: int) -> Pair:
    """y ← y·x: as `poly`, without coefficients."""
    kept: list[float] = []

    def forward() -> float:
        kept.clear()
        y, keep = x, kept.append
        for _ in repeat(None, n):
            keep(y)
            y = y * x
        return y

    def backward() -> list[float]:
        slope, seed = 0.0, 1.0
        for y in reversed(kept):
            slope += seed * y
            seed *= x
        return [slope + seed]

    return forward, backward


def chain(x: float, *, f: str) -> Pair:
    """y ← y + f(y)/100: ȳ ← ȳ·(1 + f′(y)/100)."""
    function, derivative = FUNCTIONS[f], CHAINS[f]
    kept: list[float] = []

    def forward() -> float:
        kept.clear()
        y = x
        for _ in range(CHAIN):
            kept.append(y)
            y = y + 0.01 * function(y)
        return y

    def backward() -> list[float]:
        slope = 1.0
        for y in reversed(kept):
            slope *= 1.0 + 0.01 * derivative(y)
        return [slope]

    return forward, backward


def tree(*xs: float, depth: int) -> Pair:
    """Level by level, from the root back to the leaves."""
    kept: list[list[float]] = []

    def forward() -> float:
        kept.clear()
        values = [xs[leaf] for leaf in leaves(depth)]
        for kinds in levels(depth):
            kept.append(values)
            pairs = zip(kinds, values[::2], values[1::2], strict=True)
            values = [
                a + b if kind == 0 else a - b if kind == 1 else math.sin(a) * b if kind == 2 else math.tanh(a) + b
                for kind, a, b in pairs
            ]
        return values[0]

    def backward() -> list[float]:
        seeds = [1.0]
        for kinds, values in zip(reversed(levels(depth)), reversed(kept), strict=True):
            below: list[float] = []
            for kind, seed, a, b in zip(kinds, seeds, values[::2], values[1::2], strict=True):
                if kind == 2:
                    below += (seed * math.cos(a) * b, seed * math.sin(a))
                else:
                    below += (seed * (1.0 - math.tanh(a) ** 2) if kind == 3 else seed, -seed if kind == 1 else seed)
            seeds = below
        gradient = [0.0] * len(xs)
        for leaf, seed in zip(leaves(depth), seeds, strict=True):
            gradient[leaf] += seed
        return gradient

    return forward, backward


def reuse(x: float) -> Pair:
    """With y = exp(-x²), r = 1 + y, s = y + x, z = sin(s)/r and w = √(1 + xy)."""
    y = z = w = s = 0.0

    def forward() -> float:
        nonlocal y, z, w, s
        y = math.exp(-x * x)
        s = y + x
        z = math.sin(s) / (1.0 + y)
        w = math.sqrt(1.0 + x * y)
        return z * z + w - z * 0.5

    def backward() -> list[float]:
        dy = -2.0 * x * y
        dz = (math.cos(s) * (dy + 1.0) - z * dy) / (1.0 + y)
        return [(2.0 * z - 0.5) * dz + (y + x * dy) / (2.0 * w)]

    return forward, backward


def shared(x: float, *, k: int) -> Pair:
    """2^k·sin x."""

    def forward() -> float:
        y = math.sin(x)
        for _ in range(k):
            y = y + y
        return y

    return forward, lambda: [2.0**k * math.cos(x)]


def constants(x: float, *, n: int) -> Pair:
    """x times a product of constants: the product."""
    scale = 1.0

    def forward() -> float:
        nonlocal scale
        c = scale = 1.0
        for _ in range(n // 100):
            for _ in range(33):
                c = (c + 2.0) * 0.5 - 0.25
            scale = scale * c
        return x * scale

    return forward, lambda: [scale]


def difference_check(x: float, y: float, z: float) -> Pair:
    """With e = exp(x/2), t = tanh(y - z), p = x + yz and r = √z: e·t + log(p)/r + x^2.5."""
    e = t = p = r = 0.0

    def forward() -> float:
        nonlocal e, t, p, r
        e, t, p, r = math.exp(0.5 * x), math.tanh(y - z), x + y * z, math.sqrt(z)
        return e * t + math.log(p) / r + math.pow(x, 2.5)

    def backward() -> list[float]:
        q, bend = 1.0 / (p * r), e * (1.0 - t * t)
        return [0.5 * e * t + q + 2.5 * math.pow(x, 1.5), bend + z * q, -bend + y * q - 0.5 * math.log(p) / (r * z)]

    return forward, backward


SCALARS = {
    pair.__name__: pair
    for pair in (expression, poly, add_chain, mul_chain, chain, tree, reuse, shared, constants, difference_check)
}


GRADIENT = Derivative()


class Manual:
    """No engine: the adjoint of each workload, written by hand."""

    name = "manual"

    def capabilities(self) -> Capabilities:
        """What somebody has written."""
        return Capabilities(kinds=("scalar", "tensor"), dtypes=("float32", "float64"), derivatives=MODES)

    def prepare(
        self,
        workload: Workload,
        inputs: Sequence[Any],
        params: Mapping[str, Param],
        *,
        derivative: Derivative = GRADIENT,
    ) -> Session:
        """The pair of a workload that comes with gradmark; nobody has written those of a user's own."""
        if derivative.name != "gradient" or (workload.name, derivative.name) in WRITTEN:
            return derived(workload, inputs, params, derivative)
        ops, adjoints = FLOATS, dict[str, Callable[..., Pair]](SCALARS)
        if workload.kind == "tensor":
            from gradmark.engines.manual_arrays import ARRAYS as TENSORS
            from gradmark.engines.numpy_arrays import ARRAYS as OPERATIONS

            ops, adjoints = OPERATIONS, TENSORS
        ours = workload.function.__module__.startswith("gradmark.workloads.")  # a user's may have the same name
        pair = adjoints.get(workload.name) if ours else None
        if pair is None:
            raise UnsupportedError(f"there is no hand-written adjoint of {workload.name}")
        forward, propagate = pair(*inputs, **params)
        gradients: list[Any] = []

        def backward() -> None:
            nonlocal gradients
            gradients = propagate()

        def move(new: Sequence[Any]) -> None:
            """The variables of the pair as a new pair has them: a person would not look the inputs up in each call."""
            for old, fresh in zip((forward, propagate), pair(*new, **params), strict=True):
                for kept, other in zip(_variables(old), _variables(fresh), strict=True):
                    kept.cell_contents = other.cell_contents

        return Session(
            primal=bound(workload, ops, inputs, params),
            forward=forward,
            backward=backward,
            gradients=lambda: gradients,
            move=move,
        )


def _variables(function: Any) -> Sequence[CellType]:
    return function.__closure__ or ()
