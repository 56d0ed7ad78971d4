# cython: binding=False, embedsignature=True, embedsignature.format=clinic
# Made from the rules in src/tapegrad/rules by setup.py; do not edit.
"""The operations as functions of the module: `tapegrad.sin(x)`. A Var in, a Var out; numbers in, a float out."""

from cython.cimports.tapegrad.scalar.opcodes import (
    ABS,
    ACOS,
    ADD,
    ASIN,
    ATAN,
    ATAN2,
    COS,
    COSH,
    DIV,
    ERF,
    EXP,
    EXPM1,
    HYPOT,
    LOG,
    LOG1P,
    MAXIMUM,
    MINIMUM,
    MUL,
    NEG,
    POW,
    RELU,
    SIGMOID,
    SIN,
    SINH,
    SOFTPLUS,
    SQRT,
    SUB,
    TAN,
    TANH,
)
from cython.cimports.tapegrad.scalar.variables import binary, unary

__all__ = [
    "abs",
    "acos",
    "add",
    "asin",
    "atan",
    "atan2",
    "cos",
    "cosh",
    "div",
    "erf",
    "exp",
    "expm1",
    "hypot",
    "log",
    "log1p",
    "maximum",
    "minimum",
    "mul",
    "neg",
    "pow",
    "relu",
    "sigmoid",
    "sin",
    "sinh",
    "softplus",
    "sqrt",
    "sub",
    "tan",
    "tanh",
]


def neg(x, /):
    """`-x`."""
    return unary(NEG, x)


def exp(x, /):
    """e to the power x."""
    return unary(EXP, x)


def expm1(x, /):
    """`exp(x) - 1`, exact near 0."""
    return unary(EXPM1, x)


def log(x, /):
    """The natural logarithm."""
    return unary(LOG, x)


def log1p(x, /):
    """`log(1 + x)`, exact near 0."""
    return unary(LOG1P, x)


def sqrt(x, /):
    """The square root."""
    return unary(SQRT, x)


def sigmoid(x, /):
    """`1 / (1 + exp(-x))`."""
    return unary(SIGMOID, x)


def softplus(x, /):
    """`log(1 + exp(x))`."""
    return unary(SOFTPLUS, x)


def sin(x, /):
    """The sine."""
    return unary(SIN, x)


def cos(x, /):
    """The cosine."""
    return unary(COS, x)


def tan(x, /):
    """The tangent."""
    return unary(TAN, x)


def asin(x, /):
    """The arc sine."""
    return unary(ASIN, x)


def acos(x, /):
    """The arc cosine."""
    return unary(ACOS, x)


def atan(x, /):
    """The arc tangent."""
    return unary(ATAN, x)


def sinh(x, /):
    """The hyperbolic sine."""
    return unary(SINH, x)


def cosh(x, /):
    """The hyperbolic cosine."""
    return unary(COSH, x)


def tanh(x, /):
    """The hyperbolic tangent."""
    return unary(TANH, x)


def erf(x, /):
    """The error function."""
    return unary(ERF, x)


def abs(x, /):
    """`|x|`; derivative 0 at 0."""
    return unary(ABS, x)


def relu(x, /):
    """`max(x, 0)`; derivative 0 at 0."""
    return unary(RELU, x)


def add(x, y, /):
    """`x + y`."""
    return binary(ADD, x, y)


def sub(x, y, /):
    """`x - y`."""
    return binary(SUB, x, y)


def mul(x, y, /):
    """`x * y`."""
    return binary(MUL, x, y)


def div(x, y, /):
    """`x / y`."""
    return binary(DIV, x, y)


def pow(x, y, /):
    """`x ** y`."""
    return binary(POW, x, y)


def atan2(y, x, /):
    """The angle of the point (x, y)."""
    return binary(ATAN2, y, x)


def hypot(x, y, /):
    """`sqrt(x*x + y*y)`."""
    return binary(HYPOT, x, y)


def maximum(x, y, /):
    """The larger of both; at a tie each gets half of the derivative."""
    return binary(MAXIMUM, x, y)


def minimum(x, y, /):
    """The smaller of both; at a tie each gets half of the derivative."""
    return binary(MINIMUM, x, y)
