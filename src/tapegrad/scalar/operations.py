# cython: cdivision=True, boundscheck=False, wraparound=False
# cython: binding=False, embedsignature=True, embedsignature.format=clinic, auto_pickle=False
# Made from the rules in src/tapegrad/rules by setup.py; do not edit.
"""The operations as methods of a tape: they check that their operands belong to it, and always give a Var."""

import cython
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
from cython.cimports.tapegrad.scalar.recording import Recording
from cython.cimports.tapegrad.scalar.variables import binary_here, unary_here


@cython.cclass
class Operations(Recording):
    """The operations of `Tape`."""

    def neg(self, x):
        """`-x`."""
        return unary_here(cython.address(self.store), NEG, x)

    def exp(self, x):
        """e to the power x."""
        return unary_here(cython.address(self.store), EXP, x)

    def expm1(self, x):
        """`exp(x) - 1`, exact near 0."""
        return unary_here(cython.address(self.store), EXPM1, x)

    def log(self, x):
        """The natural logarithm."""
        return unary_here(cython.address(self.store), LOG, x)

    def log1p(self, x):
        """`log(1 + x)`, exact near 0."""
        return unary_here(cython.address(self.store), LOG1P, x)

    def sqrt(self, x):
        """The square root."""
        return unary_here(cython.address(self.store), SQRT, x)

    def sigmoid(self, x):
        """`1 / (1 + exp(-x))`."""
        return unary_here(cython.address(self.store), SIGMOID, x)

    def softplus(self, x):
        """`log(1 + exp(x))`."""
        return unary_here(cython.address(self.store), SOFTPLUS, x)

    def sin(self, x):
        """The sine."""
        return unary_here(cython.address(self.store), SIN, x)

    def cos(self, x):
        """The cosine."""
        return unary_here(cython.address(self.store), COS, x)

    def tan(self, x):
        """The tangent."""
        return unary_here(cython.address(self.store), TAN, x)

    def asin(self, x):
        """The arc sine."""
        return unary_here(cython.address(self.store), ASIN, x)

    def acos(self, x):
        """The arc cosine."""
        return unary_here(cython.address(self.store), ACOS, x)

    def atan(self, x):
        """The arc tangent."""
        return unary_here(cython.address(self.store), ATAN, x)

    def sinh(self, x):
        """The hyperbolic sine."""
        return unary_here(cython.address(self.store), SINH, x)

    def cosh(self, x):
        """The hyperbolic cosine."""
        return unary_here(cython.address(self.store), COSH, x)

    def tanh(self, x):
        """The hyperbolic tangent."""
        return unary_here(cython.address(self.store), TANH, x)

    def erf(self, x):
        """The error function."""
        return unary_here(cython.address(self.store), ERF, x)

    def abs(self, x):
        """`|x|`; derivative 0 at 0."""
        return unary_here(cython.address(self.store), ABS, x)

    def relu(self, x):
        """`max(x, 0)`; derivative 0 at 0."""
        return unary_here(cython.address(self.store), RELU, x)

    def add(self, x, y):
        """`x + y`."""
        return binary_here(cython.address(self.store), ADD, x, y)

    def sub(self, x, y):
        """`x - y`."""
        return binary_here(cython.address(self.store), SUB, x, y)

    def mul(self, x, y):
        """`x * y`."""
        return binary_here(cython.address(self.store), MUL, x, y)

    def div(self, x, y):
        """`x / y`."""
        return binary_here(cython.address(self.store), DIV, x, y)

    def pow(self, x, y):
        """`x ** y`."""
        return binary_here(cython.address(self.store), POW, x, y)

    def atan2(self, y, x):
        """The angle of the point (x, y)."""
        return binary_here(cython.address(self.store), ATAN2, y, x)

    def hypot(self, x, y):
        """`sqrt(x*x + y*y)`."""
        return binary_here(cython.address(self.store), HYPOT, x, y)

    def maximum(self, x, y):
        """The larger of both; at a tie each gets half of the derivative."""
        return binary_here(cython.address(self.store), MAXIMUM, x, y)

    def minimum(self, x, y):
        """The smaller of both; at a tie each gets half of the derivative."""
        return binary_here(cython.address(self.store), MINIMUM, x, y)
