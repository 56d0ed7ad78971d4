"""The rules: value and derivatives of every scalar operation, each once, with its formula.

`a` and `b` are the operands, `v` the value, `g` the cotangent (or, forward, the tangent) that is passed on. A share is
what an operand gets; what internal operations are for stands beside them. The forms matter: `g / b` is rounded once,
`g * (1 / b)` twice. Where a naive form would lose digits, the one that was rejected is named.
"""

from .language import (
    Expression,
    a,
    acos,
    asin,
    atan,
    atan2,
    b,
    c,
    cos,
    cosh,
    equal,
    erf,
    exp,
    expm1,
    function,
    g,
    hypot,
    log,
    log1p,
    nan,
    power,
    r,
    repaired,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    unequal,
    v,
    where,
)
from .rule import Rule

RULES: dict[str, Rule] = {}
# What rules call: helpers (awkward.py), internal operations (below), and an operation that is no C function.
ordinary, square_error, power_da, power_db, shrunk = (
    function(name) for name in ("ordinary", "square_error", "power_da", "power_db", "shrunk")
)
power_less_rarely, over_square_scaled = function("power_less"), function("over_square_scaled")
sigmoid, sigmoid_slope, tanh_slope, erf_slope, atan_slope, unit_root = (
    function(name) for name in ("sigmoid", "sigmoid_slope", "tanh_slope", "erf_slope", "atan_slope", "unit_root")
)
power_slope, power_before, power_log = (function(name) for name in ("power_slope", "power_before", "power_log"))
over_square, direction, both, live_mul, live_div = (
    function(name) for name in ("over_square", "direction", "both", "live_mul", "live_div")
)
abs_share, relu_share, larger_share = (function(name) for name in ("abs_share", "relu_share", "larger_share"))


def operation(
    name: str,
    formulas: str,
    value: Expression,
    *shares: Expression,
    doc: str,
    bounds: str,
    operands: tuple[str, ...] = (),
    note: str = "",
) -> None:
    """Enters an operation of tapes. formulas: of value and derivative, for people, with a colon between them."""
    formula, _, derivative = formulas.rpartition(": ")
    RULES[name] = Rule(
        name,
        value,
        shares,
        doc=doc,
        formula=formula,
        derivative=derivative,
        operands=operands or ("x", "y")[: len(shares)],
        note=note,
        bounds=tuple(float(bound) for bound in bounds.split()),
    )


def internal(name: str, value: Expression, *shares: Expression | None, note: str) -> None:
    """Enters an operation that only derivatives need."""
    RULES[name] = Rule(name, value, shares, internal=True, note=note)


# ---- one operand -------------------------------------------------------------------------------------------------

operation("neg", "-x: -1", -a, -g, doc="`-x`.", bounds="0 0 0 0 0 0")

operation("exp", "e^x: e^x", exp(a), g * v, doc="e to the power x.", bounds="1 1 4 4 1 4")

operation(
    *("expm1", "e^x - 1: e^x", expm1(a), g * exp(a)),
    doc="`exp(x) - 1`, exact near 0.",
    bounds="1 1 4 4 1 4",
    note="Not v + 1, which cancels where v is near -1.",
)

operation("log", "ln x: 1/x", log(a), g / a, doc="The natural logarithm.", bounds="1 1 4 1 2 2")

operation(
    *("log1p", "ln(1 + x): 1/(1 + x)", log1p(a), g / (1.0 + a)),
    doc="`log(1 + x)`, exact near 0.",
    bounds="1 2 4 2 4 4",
)

operation("sqrt", "√x: 1/(2√x)", sqrt(a), 0.5 * g / v, doc="The square root.", bounds="0.5 2 0.5 2 4 4")

# e^-|x| never overflows
e = exp(-abs(a))
operation(
    *("sigmoid", "1/(1 + e^-x): σ(1 - σ)", where(a >= 0.0, 1.0, e) / (1.0 + e), g * sigmoid_slope(a)),
    doc="`1 / (1 + exp(-x))`.",
    bounds="3 4 6 8 8 8",
)
internal(
    *("sigmoid_slope", e / ((1.0 + e) * (1.0 + e)), -(g * (v * tanh(0.5 * a)))),
    note="σ(1 - σ) is not used: it cancels where σ is near 1. Its own derivative -v·tanh(x/2) does not cancel near 0.",
)

operation(
    *("softplus", "ln(1 + e^x): 1/(1 + e^-x)", where(a > 0.0, a, 0.0) + log1p(e), g * sigmoid(a)),
    doc="`log(1 + exp(x))`.",
    bounds="2 3 6 6 4 4",
)

operation("sin", "sin x: cos x", sin(a), g * cos(a), doc="The sine.", bounds="1 1 4 4 1 4")
operation("cos", "cos x: -sin x", cos(a), -(g * sin(a)), doc="The cosine.", bounds="1 1 4 4 1 4")
operation("tan", "tan x: 1 + tan² x", tan(a), g * (1.0 + v * v), doc="The tangent.", bounds="1 2 4 8 5 12")

operation("asin", "asin x: 1/√(1 - x²)", asin(a), g / unit_root(a), doc="The arc sine.", bounds="1 3 4 3 9 9")
operation("acos", "acos x: -1/√(1 - x²)", acos(a), -(g / unit_root(a)), doc="The arc cosine.", bounds="1 3 4 3 9 9")
internal(
    *("unit_root", sqrt((1.0 - a) * (1.0 + a)), -(g * (a / v))),
    note="√(1 - x²), factored because 1 - x² cancels near 1.",
)

operation("atan", "atan x: 1/(1 + x²)", atan(a), g * atan_slope(a), doc="The arc tangent.", bounds="1 3 4 3 8 8")
internal(
    *("atan_slope", where(abs(a) > 1e8, 1.0 / a / a, 1.0 / (1.0 + a * a)), g * (-2.0 * (a * v * v))),
    note="Above 1e8, 1/(1 + x²) is 1/x² to the last bit, and x² may overflow.",
)

operation("sinh", "sinh x: cosh x", sinh(a), g * cosh(a), doc="The hyperbolic sine.", bounds="2 2 4 4 2 4")
operation("cosh", "cosh x: sinh x", cosh(a), g * sinh(a), doc="The hyperbolic cosine.", bounds="2 2 4 4 2 4")

operation("tanh", "tanh x: 1/cosh² x", tanh(a), g * tanh_slope(a), doc="The hyperbolic tangent.", bounds="3 4 4 8 8 10")
e2 = exp(-2.0 * abs(a))
internal(
    *("tanh_slope", 4.0 * e2 / ((1.0 + e2) * (1.0 + e2)), g * (-2.0 * v * tanh(a))),
    note="Not 1 - tanh² x, which cancels where tanh x is near 1.",
)

operation("erf", "erf x: 2/√π · e^(-x²)", erf(a), g * erf_slope(a), doc="The error function.", bounds="1 2 4 4 4 6")
near = where(abs(a) > 30.0, 30.0, a)
square = near * near
internal(
    *(
        "erf_slope",
        1.1283791670955126 * (exp(-square) - exp(-square) * square_error(near, square)),
        g * (-2.0 * (a * v)),
    ),
    note="exp would magnify the rounding of x² by x², so x² = s + t is kept in two parts: e^(-s-t) = e^-s (1 - t).\n"
    "Beyond 30 the result is 0 and the parts may overflow.",
)

operation(
    *("abs", "abs x: sign x", abs(a), abs_share(a, g)),
    doc="`|x|`; derivative 0 at 0.",
    bounds="0 0 0 0 0 6",
)
internal(
    *("abs_share", where(a > 0.0, b, where(a < 0.0, -b, where(unequal(b, 0.0), a, 0.0))), None, abs_share(a, g)),
    note="What abs hands on of b: b, -b, or 0 at 0.",
)

operation(
    *("relu", "max(x, 0): 1 if x > 0 else 0", where(a > 0.0, a, where(a <= 0.0, 0.0, a)), relu_share(a, g)),
    doc="`max(x, 0)`; derivative 0 at 0.",
    bounds="0 0 0 0 0 6",
    note="A nan stays a nan.",
)
internal(
    *("relu_share", where(a > 0.0, b, where(a <= 0.0, 0.0, where(unequal(b, 0.0), a, 0.0))), None, relu_share(a, g)),
    note="What relu hands on of b: b above 0, else 0.",
)

# ---- two operands ------------------------------------------------------------------------------------------------

operation("add", "x + y: 1, 1", a + b, g, g, doc="`x + y`.", bounds="0.5 0 0.5 0 0 0")
operation("sub", "x - y: 1, -1", a - b, g, -g, doc="`x - y`.", bounds="0.5 0 0.5 0 0 0")
operation("mul", "x · y: y, x", a * b, g * b, g * a, doc="`x * y`.", bounds="0.5 0.5 0.5 0.5 0.5 0.5")

operation(
    *("div", "x / y: 1/y, -x/y²", a / b, g / b, -g * (v / b)),
    doc="`x / y`.",
    bounds="0.5 2 0.5 2 4 4",
    note="Not (g/b)*v: 1/b may overflow where v/b does not.",
)

operation(
    *("pow", "x^y: y·x^(y-1), x^y·ln x", power(a, b), g * power_slope(a, b, v), g * power_log(a, b, v)),
    doc="`x ** y`.",
    bounds="1 3 4 4 8 8",
    note="An exponent of 2 is recorded as x * x.",
)
internal(
    "power_slope",
    repaired(c / a * b, when=~(ordinary(c) & ordinary(c / a) & ordinary(r)), instead=power_da(a, b, c)),
    g * live_mul(b, power_slope(a, b - 1.0, power_before(a, b, c))),
    g * (power_before(a, b, c) + b * power_log(a, b - 1.0, power_before(a, b, c))),
    None,
    note="b·a^(b-1), where c is a^b: from c where that neither overflows nor underflows. Not b*a^(b-1): the rounding\n"
    "of b-1 would be magnified by log(a). c counts as known: all of the derivative is a's and b's.",
)
internal(
    "power_before",
    repaired(c / a, when=~(ordinary(c) & ordinary(r)), instead=power_less_rarely(a, b)),
    g * power_slope(a, b - 1.0, v),
    g * power_log(a, b - 1.0, v),
    None,
    note="a^(b-1), where c is a^b.",
)
internal(
    "power_log",
    repaired(log(a) * c, when=~((a > 0.0) & (c > 0.0)), instead=power_db(a, c)),
    g * (power_before(a, b, c) + b * power_log(a, b - 1.0, power_before(a, b, c))),
    g * (v * log(a)),
    None,
    note="a^b·log(a), where c is a^b.",
)

operation(
    "atan2",
    "angle of (y, x): atan2(x, y): y/(x² + y²), -x/(x² + y²)",
    atan2(a, b),
    g * over_square(b, a),
    -(g * over_square(a, b)),
    doc="The angle of the point (x, y).",
    operands=("y", "x"),
    bounds="1 4 4 6 9 12",
)
h = hypot(a, b)
across = (b - a) / h * ((b + a) / h) / h / h
internal(
    "over_square",
    repaired(a / h / h, when=shrunk(a, h), instead=over_square_scaled(a, b)),
    g * across,
    -(g * (2.0 * over_square(a, b) * over_square(b, a))),
    note="a/(a² + b²): divided twice by hypot(a, b), because its square may overflow.\n"
    "Its derivative by a is (b² - a²)/(a² + b²)², factored because the difference of squares cancels.",
)

operation(
    *("hypot", "√(x² + y²): x/v, y/v", hypot(a, b), g * direction(a, b, v), g * direction(b, a, v)),
    doc="`sqrt(x*x + y*y)`.",
    bounds="1 2 4 4 8 12",
)
internal(
    "direction",
    a / c,
    g * (direction(b, a, c) * (direction(b, a, c) / c)),
    -(g * (direction(a, b, c) * (direction(b, a, c) / c))),
    None,
    note="a/hypot(a, b), where c is that length. Its derivative is not (1 - (a/c)²)/c, which cancels where b is small.",
)

operation(
    "maximum",
    "max(x, y): 1 for the larger, ½ each at a tie",
    where((a > b) | unequal(a, a), a, b),
    larger_share(a, b, g),
    larger_share(b, a, g),
    doc="The larger of both; at a tie each gets half of the derivative.",
    bounds="0 0 0 0 0 0",
    note="A nan stays a nan.",
)
operation(
    "minimum",
    "min(x, y): 1 for the smaller, ½ each at a tie",
    where((a < b) | unequal(a, a), a, b),
    larger_share(b, a, g),
    larger_share(a, b, g),
    doc="The smaller of both; at a tie each gets half of the derivative.",
    bounds="0 0 0 0 0 0",
    note="A nan stays a nan.",
)
internal(
    "larger_share",
    where(a > b, c, where(a < b, 0.0, where(equal(a, b), 0.5 * c, where(unequal(c, 0.0), nan, 0.0)))),
    None,
    None,
    larger_share(a, b, g),
    note="What the larger of a and b hands on of c to a.",
)

# ---- comparisons and choices -------------------------------------------------------------------------------------

# 1.0 or 0.0, without a derivative: for where and guards.
internal("lt", a < b, None, None, note="a < b")
internal("le", a <= b, None, None, note="a <= b")
internal("eq", equal(a, b), None, None, note="a == b")
internal("ne", unequal(a, b), None, None, note="a != b")

chosen = unequal(c, 0.0)
internal(
    "select",
    where(chosen, a, b),
    where(chosen, g, 0.0),
    where(chosen, 0.0, g),
    None,
    note="where in derivatives: the condition may be any value. On a tape it is the value recorded just before.",
)

# ---- live products -----------------------------------------------------------------------------------------------
#
# In a derivative program a cotangent is a value like the others, and g * b of a rule becomes live_mul(g, b): 0 where g
# is 0, even if b is infinite, as the backward pass of a tape skips what has the cotangent 0.

internal(
    "live_mul",
    where(unequal(a, 0.0), a * b, 0.0),
    g * b,
    both(g, a),
    note="a * b, and 0 where a is 0, even if b is not finite.",
)
internal(
    "live_div",
    where(unequal(a, 0.0), a / b, 0.0),
    g / b,
    -both(g, live_div(v, b)),
    note="a / b, and 0 where a is 0, even if b is 0 too.",
)
either = unequal(a, 0.0) & unequal(b, 0.0)
internal("both", where(either, a * b, 0.0), both(g, b), both(g, a), note="a * b, and 0 where a or b is 0.")

# A sum and the product that it adds, in one instruction: a third less of them in most derivative programs.
internal("mul_add", c + a * b, g * b, g * a, g, note="c + a * b, rounded twice as the two of them would be.")
internal("mul_sub", c - a * b, -g * b, -g * a, g, note="c - a * b, likewise.")
internal("live_add", c + where(unequal(a, 0.0), a * b, 0.0), g * b, both(g, a), g, note="c + live_mul(a, b).")
internal("live_sub", c - where(unequal(a, 0.0), a * b, 0.0), -g * b, -both(g, a), g, note="c - live_mul(a, b).")
internal("both_add", c + where(either, a * b, 0.0), both(g, b), both(g, a), g, note="c + both(a, b).")
internal("both_sub", c - where(either, a * b, 0.0), -both(g, b), -both(g, a), g, note="c - both(a, b).")
