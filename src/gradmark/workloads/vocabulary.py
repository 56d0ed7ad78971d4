"""The vocabulary: what the namespace `ops` of a scalar workload offers, beside the operators of Python."""

UNARY = [
    "exp",
    "expm1",
    "log",
    "log1p",
    "sqrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "sigmoid",
    "softplus",
    "relu",
    "erf",
    "abs",
]
BINARY = ["atan2", "hypot", "maximum", "minimum"]
# `where(condition, x, y)`, and `constant(number)`, which makes a number that needs no gradient
SCALAR_FUNCTIONS = [*UNARY, *BINARY, "where", "constant"]
