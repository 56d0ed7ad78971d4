"""Own vector maths: elementary functions as polynomials, for vectors of every width, where the C library has none.

In: a function's name, a dtype and a number of lanes. Out: a function of LLVM. Errors are below 4 units in the last
place, as in the C library's vector maths; nan, infinities, subnormal numbers and signs of zeros are exact. Where an
argument is of a rare kind (a sine of more than a thousand million, a power of a negative number), the lanes that have
such a one call the C library's function for one number.

Functions of single precision whose polynomials would be longer than their computation in double precision use that.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from tapegrad.compile import coefficients as fitted
from tapegrad.compile import llvm
from tapegrad.compile.values import Body, Value


@dataclass(frozen=True)
class Format:
    """What there is to know of a precision."""

    mantissa: int  # its bits
    bias: int  # of exponents
    magic: float  # a number that is added to round others to integers, which are then its last bits
    ln2: tuple[float, float]  # to twice the precision
    exp_range: tuple[float, float]  # beyond, e^x is 0 or infinite
    tiny: float  # the smallest number that is not subnormal
    tanh_range: float  # beyond, tanh is 1


FORMATS = {
    "double": Format(
        52,
        1023,
        1.5 * 2.0**52,
        (float.fromhex("0x1.62e42fefa39efp-1"), float.fromhex("0x1.abc9e3b39803fp-56")),
        (-750.0, 710.0),
        2.0**-1022,
        22.0,
    ),
    "float": Format(
        23,
        127,
        1.5 * 2.0**23,
        (float.fromhex("0x1.62e430p-1"), float.fromhex("-0x1.05c610p-29")),
        (-105.0, 89.0),
        2.0**-126,
        10.0,
    ),
}
# π/2 to three times the precision: its product with an integer below 2^30 is as exact as is needed near its multiples.
HALF_PI = tuple(
    float.fromhex(part) for part in ("0x1.921fb54442d18p+0", "0x1.1a62633145c07p-54", "-0x1.f1976b7ed8fbcp-110")
)
LARGEST_ANGLE = 2.0**30
TWO_THIRDS = (float.fromhex("0x1.5555555555555p-1"), float.fromhex("0x1.5555555555555p-55"))


def exponent_apart(x: Value, form: Format) -> tuple[Value, Value]:
    """n and r with x = n·ln 2 + r, |r| ≤ ln 2 / 2; n as an integer."""
    shifted = x.times(1 / math.log(2), form.magic)
    n = shifted - form.magic
    r = n.times(-form.ln2[1], n.times(-form.ln2[0], x))
    return shifted.bits() - shifted.like(form.magic).bits(), r


def power_of_two(n: Value, form: Format) -> Value:
    """2^n of an integer."""
    return (n + form.bias).shifted(form.mantissa).floating()


def scaled(x: Value, n: Value, form: Format) -> Value:
    """x·2^n in two steps, so that subnormal results are rounded once."""
    half = n.shifted(-1)
    return x * power_of_two(half, form) * power_of_two(n - half, form)


def short_exp(r: Value) -> Value:
    """e^r - 1 of |r| ≤ ln 2 / 2."""
    return (r * r).times(r.polynomial(fitted.EXP if r.element == "double" else fitted.EXP_SINGLE), r)


def exp(x: Value, low: Value | None = None) -> Value:
    """e^(x + low)."""
    form = FORMATS[x.element]
    n, r = exponent_apart(x.within(*form.exp_range), form)
    return scaled(short_exp(r if low is None else r + low) + 1, n, form)


def zero_kept(x: Value, result: Value) -> Value:
    """The result; of zeros, the zero with its sign."""
    return x.compared("oeq", 0.0).chosen(x, result)


def expm1(x: Value) -> Value:
    """e^x - 1 = 2^n·(e^r - 1) + (2^n - 1), by halves so that 2^n is finite."""
    form = FORMATS[x.element]
    n, r = exponent_apart(x.within(-50.0, form.exp_range[1]), form)
    scale, short = power_of_two(n - 1, form), short_exp(r)
    half = scale.times(short, scale - 0.5)
    # where n is 0 as it is: the half of a subnormal number may not be one
    return zero_kept(x, n.compared("eq", 0).chosen(short, half + half))


def exponent_of(x: Value, form: Format) -> tuple[Value, Value]:
    """n and m with x = m·2^n, √½ ≤ m < √2, of normal positive x; n as an integer."""
    start = x.like(math.sqrt(0.5)).bits()
    above = x.bits() - start
    n = above.shifted(-form.mantissa)
    return n, (x.bits() - n.shifted(form.mantissa)).floating()


def short_log(f: Value, n: Value, form: Format) -> Value:
    """ln(1 + f) + n·ln 2, √½ ≤ 1 + f < √2."""
    half = f * f * 0.5
    if f.element == "float":
        rest = (f * f * f) * f.polynomial(fitted.LOG_SINGLE)
        return n.times(form.ln2[0], f - (half - n.times(form.ln2[1], rest)))
    s = f / (f + 2)
    z = s * s
    rest = z * z.polynomial(fitted.LOG)
    # 2s + s·rest, and 2s = f - s·f: so the largest term is exact
    return n.times(form.ln2[0], f - (half - s.times(half + rest, n * form.ln2[1])))


def log_of_odd(x: Value, result: Value) -> Value:
    """A logarithm's result; at 0, infinity, nan and below 0 what belongs there."""
    result = x.compared("oeq", math.inf).chosen(x, result)
    result = x.compared("oeq", 0.0).chosen(-math.inf, result)
    return x.compared("uge", 0.0).chosen(x.compared("uno", x).chosen(x, result), math.nan)


def log(x: Value) -> Value:
    """ln x."""
    form = FORMATS[x.element]
    small = x.compared("olt", form.tiny)
    n, m = exponent_of(small.chosen(x * 2.0 ** (form.mantissa + 2), x), form)
    count = n.number() - small.chosen(float(form.mantissa + 2), x.like(0.0))
    return log_of_odd(x, short_log(m - 1, count, form))


def log1p(x: Value) -> Value:
    """ln(1 + x), with what is lost in 1 + x put back."""
    form = FORMATS[x.element]
    u = x + 1
    lost = x.compared("olt", 1.0).chosen(x - (u - 1), 1 - (u - x))
    n, m = exponent_of(u, form)
    # beyond, what was lost is less than a rounding, and the power of two would be none
    fewer = n.compared("slt", form.bias - 1).chosen(n, n.like(form.bias - 1))
    f = lost.times(power_of_two(0 - fewer, form), m - 1)
    result = log_of_odd(u, short_log(f, n.number(), form))
    return zero_kept(x, result)


def tanh(x: Value) -> Value:
    """t/(t + 2), t = e^(2|x|) - 1."""
    size = x.magnitude()
    most = FORMATS[x.element].tanh_range
    size = size.compared("ogt", most).chosen(most, size)
    t = expm1(size + size)
    return (t / (t + 2)).signed_as(x)


def sinh(x: Value) -> Value:
    """(t + t/(t + 1))/2, t = e^|x| - 1; of large x (e^(|x|/2))²/2, which is infinite later."""
    size = x.magnitude()
    t = expm1(size)
    root = exp(size * 0.5)
    usual = 0.5 * (t + t / (t + 1))
    return size.compared("ogt", 40.0).chosen(0.5 * root * root, usual).signed_as(x)


def cosh(x: Value) -> Value:
    """(e^|x| + e^-|x|)/2, e^|x| as a square, which is infinite later."""
    root = exp(x.magnitude() * 0.5)
    half = 0.5 * root
    return half.times(root, 0.5 / (root * root))


def quarter_turns(x: Value) -> tuple[Value, Value]:
    """n and r with x = n·π/2 + r, |r| ≤ π/4 and a little, |x| ≤ 2^30; n as an integer."""
    form = FORMATS["double"]
    shifted = x.times(2 / math.pi, form.magic)
    n = shifted - form.magic
    r = x
    for part in HALF_PI:
        r = n.times(-part, r)
    return shifted.bits(), r


def short_sin(r: Value) -> Value:
    """sin r."""
    z = r * r
    return (z * r).times(z.polynomial(fitted.SIN), r)


def short_cos(r: Value) -> Value:
    """cos r; 1 - z/2 with what is lost in it."""
    z = r * r
    half = z * 0.5
    near = 1 - half
    return near + (z * z).times(z.polynomial(fitted.COS), (1 - near) - half)


def turned(x: Value, ahead: int) -> Value:
    """sin(x + ahead·π/2)."""
    n, r = quarter_turns(x)
    n = n + ahead
    result = (n & 1).compared("eq", 0).chosen(short_sin(r), short_cos(r))
    negative = (n & 2).shifted(62)
    return (result.bits() + negative).floating()


def sin(x: Value) -> Value:
    """sin x."""
    return zero_kept(x, turned(x, 0))


def cos(x: Value) -> Value:
    """cos x."""
    return turned(x, 1)


def tan(x: Value) -> Value:
    """sin x / cos x."""
    n, r = quarter_turns(x)
    s, c = short_sin(r), short_cos(r)
    even = (n & 1).compared("eq", 0)
    return zero_kept(x, even.chosen(s, -c) / even.chosen(c, s))


def erf(x: Value) -> Value:
    """x + x·P(x²) near 0, else 1 - e^(-x²)·R: there erfc is small, and so is its error."""
    size = x.magnitude()
    z = x * x
    near = x.times(z.polynomial(fitted.ERF), x)
    bounded = size.compared("ogt", 6.0).chosen(6.0, size)
    rest = exp(-(bounded * bounded)) * ((bounded - 3) / (bounded + 3)).polynomial(fitted.ERFC)
    far = (1 - rest).signed_as(x)
    return zero_kept(x, size.compared("ogt", 1.0).chosen(far, near))


def exact_sum(x: Value, y: Value) -> tuple[Value, Value]:
    """x + y and what it was rounded by, |x| ≥ |y|."""
    total = x + y
    return total, y - (total - x)


def exact_product(x: Value, y: Value) -> tuple[Value, Value]:
    """x·y and what it was rounded by."""
    product = x * y
    return product, x.times(y, -product)


def exact_log(x: Value) -> tuple[Value, Value]:
    """ln x of normal positive x as a sum of two numbers, to 64 bits: 2s + 2/3·s³ + s⁵·P, the first two as such."""
    form = FORMATS["double"]
    n, m = exponent_of(x, form)
    count = n.number()
    f = m - 1
    below = f + 2
    s = f / below
    below_low = f - (below - 2)
    s_low = (-s).times(below_low, (-s).times(below, f)) / below
    z, z_low = exact_product(s, s)
    z_low = (s + s).times(s_low, z_low)
    third, third_low = exact_product(z, z.like(TWO_THIRDS[0]))
    third_low = z.times(TWO_THIRDS[1], z_low.times(TWO_THIRDS[0], third_low))
    factor, factor_low = exact_sum(third.like(2.0), third)
    factor_low = factor_low + (z * z).times(z.polynomial(fitted.POWER_LOG), third_low)
    high, low = exact_product(s, factor)
    low = low + s.times(factor_low, s_low * factor)
    whole, whole_low = exact_product(count, count.like(form.ln2[0]))
    whole_low = count.times(form.ln2[1], whole_low)
    # of the two sums only one has a term before it that may be smaller: then n is 0, and so is the term
    total, total_low = exact_sum(whole, high)
    swapped, swapped_low = exact_sum(high, whole)
    none = count.compared("oeq", 0.0)
    total, total_low = none.chosen(swapped, total), none.chosen(swapped_low, total_low)
    return total, total_low + (whole_low + low)


def power(x: Value, y: Value) -> Value:
    """e^(y·ln x) of normal positive x and finite y."""
    log_high, log_low = exact_log(x)
    high, low = exact_product(y, log_high)
    low = y.times(log_low, low)
    # beyond the range the low part may be nan: of an infinite product
    low = high.magnitude().compared("olt", 1000.0).chosen(low, high.like(0.0))
    return exp(high, low)


def odd_angle(x: Value) -> Value:
    """Whether a sine is left to the C library."""
    return x.magnitude().compared("ogt", LARGEST_ANGLE)


def odd_power(x: Value, y: Value) -> Value:
    """Whether a power is left to the C library."""
    usual = x.compared("oge", FORMATS[x.element].tiny) & x.compared("olt", math.inf)
    usual = usual & y.magnitude().compared("olt", math.inf)
    return usual.chosen(x.like(0.0), x.like(1.0)).compared("ogt", 0.0)


@dataclass(frozen=True)
class Function:
    """How a function is computed. wide: in double precision always; odd: which arguments are left to the C library."""

    compute: Callable[..., Value]
    wide: bool = False
    odd: Callable[..., Value] | None = None


FUNCTIONS = {
    "exp": Function(exp),
    "expm1": Function(expm1),
    "log": Function(log),
    "log1p": Function(log1p),
    "tanh": Function(tanh),
    "sinh": Function(sinh),
    "cosh": Function(cosh),
    "sin": Function(sin, True, odd_angle),
    "cos": Function(cos, True, odd_angle),
    "tan": Function(tan, True, odd_angle),
    "erf": Function(erf, True),
    "pow": Function(power, True, odd_power),
}


def call(function: str, element: str, lanes: int, symbol: str) -> tuple[str, dict[str, str]]:
    """What to call for vectors of so many lanes, and the texts that define it. symbol: the C library's function."""
    how = FUNCTIONS[function]
    name = f"own.{function}.v{lanes}{element}"
    body = Body(f"{name}.usual" if how.odd else name, element, lanes, "xy" if function == "pow" else "x")
    operands = [value.to("double" if how.wide else element) for value in body.operands]
    result = how.compute(*operands).to(element)
    texts = {body.name: body.text(result)}
    if how.odd is not None:
        outer = Body(name, element, lanes, "xy" if function == "pow" else "x")
        outer.writer.definitions[symbol] = llvm.declared(symbol, element, [element] * len(outer.operands))
        texts[name] = _with_odd(outer, how.odd(*outer.operands), f"{name}.usual", symbol)
        texts = outer.writer.definitions | texts
    return name, body.writer.definitions | texts


def _with_odd(body: Body, odd: Value, usual: str, symbol: str) -> str:
    """The function that computes all lanes, then those with odd arguments again, one by one."""
    lanes, operands = body.lanes, body.operands
    kind, element, flags = operands[0].kind, operands[0].element, f"<{lanes} x i1>"
    given = ", ".join(f"{kind} {value.name}" for value in operands)
    reduction = f"llvm.vector.reduce.or.v{lanes}i1"
    body.writer.definitions[reduction] = f"declare i1 @{reduction}({flags})\n"
    ones = ", ".join(f"{element} {value.name}.k" for value in operands)
    lines = [
        f"define internal {kind} @{body.name}({given}) nounwind {{",
        "entry:",
        *body.writer.lines,
        f"%some = call i1 @{reduction}({flags} {odd.name})",
        f"%most = call {kind} @{usual}({given})",
        "br i1 %some, label %lane, label %done",
        "lane:",
        "%k = phi i32 [ 0, %entry ], [ %next, %after ]",
        f"%kept = phi {kind} [ %most, %entry ], [ %result, %after ]",
        f"%chosen = extractelement {flags} {odd.name}, i32 %k",
        "br i1 %chosen, label %odd, label %after",
        "odd:",
        *(f"{value.name}.k = extractelement {kind} {value.name}, i32 %k" for value in operands),
        f"%value = call {element} @{symbol}({ones})",
        f"%changed = insertelement {kind} %kept, {element} %value, i32 %k",
        "br label %after",
        "after:",
        f"%result = phi {kind} [ %kept, %lane ], [ %changed, %odd ]",
        "%next = add i32 %k, 1",
        f"%more = icmp ult i32 %next, {lanes}",
        "br i1 %more, label %lane, label %done",
        "done:",
        f"%answer = phi {kind} [ %most, %entry ], [ %result, %after ]",
        f"ret {kind} %answer",
        "}\n",
    ]
    return "\n".join(lines)
