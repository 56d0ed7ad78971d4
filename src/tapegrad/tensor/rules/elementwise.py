"""Elementwise primitives. Broadcasting is undone by the backward pass, so the rules here never look at shapes.
Forward mode uses the vjp: a slope is multiplied by whichever way it goes.

In the formulas g is the cotangent of the result, y the result.
"""

import math
from collections.abc import Callable
from typing import Any

from tapegrad.tensor.instruction import Instruction, Primitive, primitive
from tapegrad.tensor.namespaces import Array, asynchronous, special
from tapegrad.tensor.rules import tangents

Pair = tuple[Array | None, Array | None]


def into(ufunc: Any, x: Array, y: Array, out: Array | None) -> Array:
    """The result of a function of two arrays, written into a third where there is one.

    Keyword arguments take the compiled rules as long as an operation on a small array, hence none without need.
    """
    return ufunc(x, y) if out is None else ufunc(x, y, out=out)


def forward_add(i: Instruction, x: Array, y: Array) -> Array:
    """x + y."""
    return i.xp.add(x, y)


def vjp_add(i: Instruction, g: Array) -> Pair:  # noqa: ARG001  every rule has it
    """gx = g; gy = g."""
    return g, g


def forward_sub(i: Instruction, x: Array, y: Array) -> Array:
    """x - y."""
    return i.xp.subtract(x, y)


def vjp_sub(i: Instruction, g: Array) -> Pair:
    """gx = g; gy = -g."""
    return g, i.xp.negative(g) if i.needs[1] else None


def forward_mul(i: Instruction, x: Array, y: Array) -> Array:
    """x·y; each operand is saved for the other."""
    i.saved = (y if i.needs[0] else None, x if i.needs[1] else None)
    return i.xp.multiply(x, y)


def vjp_mul(i: Instruction, g: Array) -> Pair:
    """gx = g·y; gy = g·x."""
    y, x = i.saved  # type: ignore[misc]
    if x is None:
        return into(i.xp.multiply, g, y, i.scratch), None
    gx = None if y is None else i.xp.multiply(g, y)
    return gx, into(i.xp.multiply, g, x, i.scratch)


def forward_div(i: Instruction, x: Array, y: Array) -> Array:
    """x/y."""
    result = i.xp.divide(x, y)
    i.saved = (y, result if i.needs[1] else None)
    return result


def vjp_div(i: Instruction, g: Array) -> Pair:
    """gx = g/y; gy = -(g/y)·(x/y)."""
    y, quotient = i.saved  # type: ignore[misc]
    gx = into(i.xp.divide, g, y, i.scratch)
    if quotient is None:
        return gx, None
    gy = i.xp.multiply(gx, quotient)
    return gx, i.xp.negative(gy, out=gy if gy.shape else None)


def jvp_div(i: Instruction, xs: list[Any], ts: list[Any], y: Array) -> Array:  # noqa: ARG001  every rule has it
    """t = tx/y - (ty/y)·(x/y)."""
    divisor, quotient = i.saved  # type: ignore[misc]
    tx, ty = ts
    if ty is None:
        return i.xp.divide(tx, divisor)
    term = i.xp.multiply(i.xp.divide(ty, divisor), quotient)
    return i.xp.negative(term) if tx is None else i.xp.subtract(i.xp.divide(tx, divisor), term)


def forward_pow(i: Instruction, x: Array, y: Array) -> Array:
    """x to the power of y."""
    result = i.xp.square(x) if type(y) in (int, float) and y == 2 else i.xp.power(x, y)
    i.saved = (x, y, result if i.needs[1] else None)
    return result


def vjp_pow(i: Instruction, g: Array) -> Pair:
    """gx = g·y·x^(y-1), which is 0 for y = 0; gy = g·x^y·log x, which is 0 at x = 0 as its limit is for y > 0."""
    xp = i.xp
    x, y, result = i.saved  # type: ignore[misc]
    gx = gy = None
    if i.needs[0]:
        if type(y) in (int, float):
            slope = 2.0 * x if y == 2 else y * xp.power(x, y - 1) if y != 0 else xp.zeros_like(x)
        else:
            slope = xp.where(y == 0, 0.0, y * xp.power(x, xp.where(y == 0, 1, y - 1))).astype(g.dtype, copy=False)
        gx = xp.multiply(g, slope)
    if i.needs[1]:
        gy = g * result * xp.log(xp.where(xp.equal(x, 0) & (y >= 0), 1.0, x)).astype(g.dtype, copy=False)
    return gx, gy


def forward_extreme(choose: str) -> Callable[..., Array]:
    """The larger or the smaller; which side won is saved, not the operands."""

    def forward(i: Instruction, x: Array, y: Array) -> Array:
        result = getattr(i.xp, choose)(x, y)
        if True in i.needs:
            i.saved = (i.xp.equal(x, result), i.xp.equal(y, result))
        return result

    return forward


def vjp_extreme(i: Instruction, g: Array) -> Pair:
    """g to the side that won; equal ones share it."""
    xp = i.xp
    x_won, y_won = i.saved  # type: ignore[misc]
    shared = xp.where(x_won & y_won, g * 0.5, g)
    return (
        xp.where(x_won, shared, 0).astype(g.dtype, copy=False) if i.needs[0] else None,
        xp.where(y_won, shared, 0).astype(g.dtype, copy=False) if i.needs[1] else None,
    )


def forward_where(i: Instruction, condition: Array, x: Array, y: Array) -> Array:
    """x where the condition holds, y elsewhere."""
    i.saved = (condition,)
    return i.xp.where(condition, x, y)


def vjp_where(i: Instruction, g: Array) -> tuple[None, Array | None, Array | None]:
    """gx = g where the condition holds; gy = g where it does not."""
    (condition,) = i.saved  # type: ignore[misc]
    zero = g.dtype.type(0)
    return (
        None,
        i.xp.where(condition, g, zero) if i.needs[1] else None,
        i.xp.where(condition, zero, g) if i.needs[2] else None,
    )


def forward_clip(i: Instruction, x: Array) -> Array:
    """x, but no less than the lower bound and no more than the upper one."""
    low, high = i.settings
    result = i.xp.clip(x, low, high)
    if i.needs[0]:
        i.saved = (i.xp.equal(result, x),)
    return result


def vjp_clip(i: Instruction, g: Array) -> tuple[Array]:
    """gx = g where x was left alone, bounds included."""
    (inside,) = i.saved  # type: ignore[misc]
    return (into(i.xp.multiply, g, inside, i.scratch),)


def forward_tanh(i: Instruction, x: Array) -> Array:
    """The result is saved."""
    result = i.xp.tanh(x)
    i.saved = (result,)
    return result


def vjp_tanh(i: Instruction, g: Array) -> tuple[Array]:
    """gx = g·(1 - y²), without a number of Python's: converting one takes as long as a small operation."""
    (y,) = i.saved  # type: ignore[misc]
    return (into(i.xp.subtract, g, g * y * y, i.scratch),)


def forward_relu(i: Instruction, x: Array) -> Array:
    """max(x, 0), saved. While it is recorded it must not become `maximum`, whose slope where both are 0 is another."""
    result = i.xp.relu(x) if i.tracing else i.xp.maximum(x, 0)
    i.saved = (result,)
    return result


def vjp_relu(i: Instruction, g: Array) -> tuple[Array]:
    """gx = g where y > 0."""
    (y,) = i.saved  # type: ignore[misc]
    return (into(i.xp.multiply, g, y > 0, i.scratch),)


ADD = primitive("add", forward_add, vjp_add, tangents.elementwise)
SUB = primitive("sub", forward_sub, vjp_sub, tangents.elementwise)
MUL = primitive("mul", forward_mul, vjp_mul, tangents.multilinear, fresh=True)
DIV = primitive("div", forward_div, vjp_div, jvp_div, fresh=True)
POW = primitive("pow", forward_pow, vjp_pow, tangents.elementwise, fresh=True)
MAXIMUM = primitive("maximum", forward_extreme("maximum"), vjp_extreme, tangents.elementwise, fresh=True)
MINIMUM = primitive("minimum", forward_extreme("minimum"), vjp_extreme, tangents.elementwise, fresh=True)
WHERE = primitive("where", forward_where, vjp_where, tangents.elementwise, fresh=True)
CLIP = primitive("clip", forward_clip, vjp_clip, tangents.elementwise, fresh=True)

Value = Callable[[Any, Array], Array]
Rule = Callable[[Any, Array, Array, Array | None], Array]


def of_result(name: str, value: Value, rule: Rule) -> Primitive:
    """A function whose derivative is best written with its result: rule(xp, g, y, out)."""

    def forward(i: Instruction, x: Array) -> Array:
        y = value(i.xp, x)
        i.saved = (y,)
        return y

    def vjp(i: Instruction, g: Array) -> tuple[Array]:
        return (rule(i.xp, g, i.saved[0], i.scratch),)  # type: ignore[index]

    return primitive(name, forward, vjp, tangents.symmetric, fresh=True)


def of_operand(name: str, value: Value, rule: Rule) -> Primitive:
    """A function whose derivative is best written with its operand: rule(xp, g, x, out)."""

    def forward(i: Instruction, x: Array) -> Array:
        i.saved = (x,)
        return value(i.xp, x)

    def vjp(i: Instruction, g: Array) -> tuple[Array]:
        return (rule(i.xp, g, i.saved[0], i.scratch),)  # type: ignore[index]

    return primitive(name, forward, vjp, tangents.symmetric, fresh=True)


# A formula of a dozen operations reads and writes that many arrays: in blocks of this size they stay in a core's cache.
BLOCK = 1 << 13


def in_blocks(xp: Any, both: Callable[[Any, Array], tuple[Array, Array]], x: Array) -> tuple[Array, Array]:
    """Value and slope of a function, computed block by block, on a device at once; temporary arrays are that small."""
    if asynchronous(xp) or x.size <= BLOCK or x.dtype.kind != "f" or not x.flags.c_contiguous:
        return both(xp, x)
    values, slopes, flat = xp.empty(x.size, x.dtype), xp.empty(x.size, x.dtype), x.reshape(-1)
    for start in range(0, x.size, BLOCK):
        part = slice(start, start + BLOCK)
        values[part], slopes[part] = both(xp, flat[part])
    return values.reshape(x.shape), slopes.reshape(x.shape)


def with_slope(name: str, value: Value, both: Callable[[Any, Array], tuple[Array, Array]]) -> Primitive:
    """A function that is dear to evaluate twice: forward saves its slope instead of its operand. gx = g·slope."""

    def forward(i: Instruction, x: Array) -> Array:
        if not i.needs[0]:
            return value(i.xp, x)
        y, slope = in_blocks(i.xp, both, x)
        i.saved = (slope,)
        return y

    def vjp(i: Instruction, g: Array) -> tuple[Array]:
        return (into(i.xp.multiply, g, i.saved[0], i.scratch),)  # type: ignore[index]

    return primitive(name, forward, vjp, tangents.symmetric, fresh=True)


def _softplus(xp: Any, x: Array) -> Array:
    """log(1 + e^x) = max(x, 0) + log1p(e^-|x|): nothing overflows."""
    y = xp.log1p(xp.exp(-xp.abs(x)))
    return into(xp.add, y, xp.maximum(x, 0), y if y.shape else None)


def _softplus_and_slope(xp: Any, x: Array) -> tuple[Array, Array]:
    """The slope is sigmoid(x)."""
    return _softplus(xp, x), special(xp).expit(x)


NEG = primitive(
    "neg",
    lambda i, x: i.xp.negative(x),
    lambda i, g: (i.xp.negative(g, out=i.scratch),),
    tangents.linear,
    fresh=True,
)
EXP = of_result("exp", lambda xp, x: xp.exp(x), lambda xp, g, y, out: into(xp.multiply, g, y, out))
EXPM1 = of_result("expm1", lambda xp, x: xp.expm1(x), lambda xp, g, y, out: into(xp.multiply, g, y + 1, out))
LOG = of_operand("log", lambda xp, x: xp.log(x), lambda xp, g, x, out: into(xp.divide, g, x, out))
LOG1P = of_operand("log1p", lambda xp, x: xp.log1p(x), lambda xp, g, x, out: into(xp.divide, g, x + 1, out))
SQRT = of_result("sqrt", lambda xp, x: xp.sqrt(x), lambda xp, g, y, out: into(xp.divide, g, y + y, out))
SIN = of_operand("sin", lambda xp, x: xp.sin(x), lambda xp, g, x, out: into(xp.multiply, g, xp.cos(x), out))
COS = of_operand("cos", lambda xp, x: xp.cos(x), lambda xp, g, x, out: into(xp.multiply, g, -xp.sin(x), out))
RELU = primitive("relu", forward_relu, vjp_relu, tangents.symmetric, fresh=True)
TANH = primitive("tanh", forward_tanh, vjp_tanh, tangents.symmetric, fresh=True)
SIGMOID = of_result(
    "sigmoid", lambda xp, x: special(xp).expit(x), lambda xp, g, y, out: into(xp.multiply, g, y * (1 - y), out)
)
SOFTPLUS = with_slope("softplus", _softplus, _softplus_and_slope)
ABS = of_operand("abs", lambda xp, x: xp.abs(x), lambda xp, g, x, out: into(xp.multiply, g, xp.sign(x), out))
SQUARE = of_operand("square", lambda xp, x: xp.square(x), lambda xp, g, x, out: into(xp.multiply, g, x + x, out))
# erf' = 2/√π·exp(-x²)
ERF = of_operand(
    "erf",
    lambda xp, x: special(xp).erf(x),
    lambda xp, g, x, out: into(xp.multiply, g, 2.0 / math.sqrt(math.pi) * xp.exp(-xp.square(x)), out),
)


def _gelu(xp: Any, x: Array) -> Array:
    """x·Φ(x), Φ the distribution function of the normal distribution."""
    return x * (0.5 + 0.5 * special(xp).erf(x * math.sqrt(0.5)))


def _gelu_and_slope(xp: Any, x: Array) -> tuple[Array, Array]:
    """The slope is Φ(x) + x·φ(x), φ its density."""
    phi = 0.5 + 0.5 * special(xp).erf(x * math.sqrt(0.5))
    return x * phi, phi + x * xp.exp(-0.5 * xp.square(x)) * (1.0 / math.sqrt(2.0 * math.pi))


# The tanh form: x/2·(1 + tanh(c·(x + k·x³)))
GELU_C = math.sqrt(2.0 / math.pi)
GELU_K = 0.044715


def _gelu_tanh(xp: Any, x: Array) -> Array:
    """x/2·(1 + t), t = tanh(u), u = c·(x + k·x³)."""
    t = xp.square(x)
    t = t * (GELU_C * GELU_K) + GELU_C
    t = xp.tanh(t * x)
    return x * (0.5 + 0.5 * t)


def _gelu_tanh_and_slope(xp: Any, x: Array) -> tuple[Array, Array]:
    """With h = (1 + t)/2 the value is x·h and the slope h + 2·x·h·(1 - h)·u', u' = c·(1 + 3k·x²)."""
    squares = xp.square(x)
    h = squares * (GELU_C * GELU_K)
    h += GELU_C
    h *= x
    h = xp.tanh(h)
    h *= 0.5
    h += 0.5
    y = x * h
    squares *= 6 * GELU_C * GELU_K
    squares += 2 * GELU_C
    squares *= y
    squares *= 1 - h
    squares += h
    return y, squares


GELU = with_slope("gelu", _gelu, _gelu_and_slope)
GELU_TANH = with_slope("gelu_tanh", _gelu_tanh, _gelu_tanh_and_slope)
