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

# The namespace of a tensor workload: NumPy's names where NumPy has one. Beside these, the operators and indexing.
ELEMENTWISE = ["exp", "log", "log1p", "expm1", "sqrt", "sin", "cos", "tanh", "sigmoid", "softplus", "relu", "abs"]
TENSOR_FUNCTIONS = [
    *["add", "sub", "mul", "div", "neg", "pow"],
    *[*ELEMENTWISE, "erf", "square", "gelu", "maximum", "minimum", "where", "clip"],
    *["sum", "mean", "max", "min", "var", "logsumexp", "cumsum"],
    *["reshape", "transpose", "swapaxes", "expand_dims", "squeeze", "broadcast_to"],
    *["concatenate", "stack", "split", "pad", "take_along_axis"],
    *["matmul", "einsum", "dot", "outer"],
    *["softmax", "log_softmax", "softmax_cross_entropy", "layer_norm", "conv2d", "max_pool2d", "avg_pool2d"],
    *["dropout", "embedding", "scaled_dot_product_attention", "constant"],
]
# Loops as JAX's: `scan(step, carry, xs=None, length=None)`, of arrays, and `while_loop(condition, step, carry)`. An
# engine without one of its own runs it as Python's.
LOOPS = ["scan", "while_loop"]
# A derivative inside a function: `gradient_of(f, xs, mode)`, the list of derivatives of the number `f(ops, *xs)` by
# each of the numbers xs. mode: "forward" or "reverse", how the engine is to compute it.
NESTED = ["gradient_of"]
