"""The operators of tensors: every function of the vocabulary alone, on small arrays, beside the sum without it."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from gradmark.workloads.operators import BASELINE
from gradmark.workloads.vocabulary import ELEMENTWISE
from gradmark.workloads.workload import workload

# Arrays of SIDE×SIDE numbers: enough for arithmetic to show, few enough for overhead to show beside it.
SIDE = 64
SQUARE = (SIDE, SIDE)
PLANES = (4, 16, 8, 8)  # as many, as N, C, H, W
LABELS = "labels"  # SIDE whole numbers below SIDE

ONE, TWO = (SQUARE,), (SQUARE, SQUARE)
Operation = tuple[Sequence[Any], Callable[..., Any]]


def _named(shapes: Sequence[Any], name: str, **more: Any) -> Operation:
    return shapes, lambda ops, *xs: getattr(ops, name)(*xs, **more)


# The shapes of the operands, and the operation. Dropout is left out: which numbers it keeps is an engine's own choice,
# so no reference can say what its gradient is.
OPERATIONS: dict[str, Operation] = {
    BASELINE: (ONE, lambda _, x: x),
    **{name: _named(TWO, name) for name in ("add", "sub", "mul", "div", "pow", "maximum", "minimum")},
    **{name: _named(ONE, name) for name in ("neg", *ELEMENTWISE, "erf", "square", "gelu")},
    "gelu, tanh": _named(ONE, "gelu", approximate="tanh"),
    "where": (TWO, lambda ops, x, y: ops.where(x < y, x, y)),
    "clip": (ONE, lambda ops, x: ops.clip(x, 0.3, 0.7)),
    **{name: _named(ONE, name, axis=-1) for name in ("sum", "mean", "max", "min", "var", "logsumexp", "cumsum")},
    "reshape": (ONE, lambda ops, x: ops.reshape(x, (-1,))),
    "transpose": _named(ONE, "transpose"),
    "swapaxes": (ONE, lambda ops, x: ops.swapaxes(x, 0, 1)),
    "expand_dims": (ONE, lambda ops, x: ops.expand_dims(x, 0)),
    "squeeze": (((1, *SQUARE),), lambda ops, x: ops.squeeze(x, 0)),
    "broadcast_to": (((1, SIDE),), lambda ops, x: ops.broadcast_to(x, SQUARE)),
    "concatenate": (TWO, lambda ops, x, y: ops.concatenate([x, y])),
    "stack": (TWO, lambda ops, x, y: ops.stack([x, y])),
    "split": (ONE, lambda ops, x: ops.split(x, 2)[0]),
    "slice": (ONE, lambda _, x: x[1:, ::2]),
    "index": ((SQUARE, LABELS), lambda _, x, labels: x[labels]),
    "pad": (ONE, lambda ops, x: ops.pad(x, ((1, 1), (1, 1)))),
    "take_along_axis": ((SQUARE, LABELS), lambda ops, x, labels: ops.take_along_axis(x, labels[:, None], 1)),
    **{name: _named(TWO, name) for name in ("matmul", "dot")},
    "einsum": (TWO, lambda ops, x, y: ops.einsum("ij,kj->ik", x, y)),
    "outer": _named(((SIDE,), (SIDE,)), "outer"),
    # with a product: the sum of a softmax is constant
    "softmax, mul": (TWO, lambda ops, x, y: ops.softmax(x) * y),
    "log_softmax": _named(ONE, "log_softmax"),
    "softmax_cross_entropy": _named((SQUARE, LABELS), "softmax_cross_entropy"),
    "layer_norm": _named((SQUARE, (SIDE,), (SIDE,)), "layer_norm"),
    "conv2d": _named((PLANES, (16, 16, 3, 3)), "conv2d", padding=1),
    "max_pool2d": _named((PLANES,), "max_pool2d", size=2),
    "avg_pool2d": _named((PLANES,), "avg_pool2d", size=2),
    "embedding": _named((SQUARE, LABELS), "embedding"),
    "scaled_dot_product_attention": _named((SQUARE, SQUARE, SQUARE), "scaled_dot_product_attention"),
}


# Numbers in the result, where it has not as many as the first operand.
RESULTS = {
    **dict.fromkeys(("sum", "mean", "max", "min", "var", "logsumexp", "take_along_axis"), SIDE),
    **dict.fromkeys(("concatenate", "stack"), 2 * SIDE * SIDE),
    **dict.fromkeys(("broadcast_to", "outer"), SIDE * SIDE),
    "split": SIDE * SIDE // 2,
    "slice": (SIDE - 1) * (SIDE // 2),
    "pad": (SIDE + 2) ** 2,
    "softmax_cross_entropy": 1,
    **dict.fromkeys(("max_pool2d", "avg_pool2d"), math.prod(PLANES) // 4),
}


def moved(operation: str) -> int:
    """Numbers that a value with its gradient moves if nothing is fused.

    The operation reads its operands and writes its result, its derivative the other way round; the sum over the result
    reads it, and its derivative writes as many.
    """
    shapes, _ = OPERATIONS[operation]
    operands = sum(math.prod(shape) for shape in shapes if shape != LABELS)
    result = RESULTS.get(operation, math.prod(shapes[0]))
    return 2 * result if operation == BASELINE else 2 * (operands + result) + 2 * result


def _operands(draw: Any, operation: str) -> list[Any]:
    """Numbers from 0.1 to 0.9, no two alike and none a bound of `clip`: then no kink is near."""
    shapes, _ = OPERATIONS[operation]
    operands = []
    for place, shape in enumerate(shapes):
        if shape == LABELS:
            operands.append(draw.integers(SIDE, size=SIDE))
            continue
        count = math.prod(shape)
        shift = (place + 0.5) / len(shapes)
        operands.append((0.1 + 0.8 * (draw.permutation(count) + shift) / count).reshape(shape))
    return operands


@workload(
    suite="operators",
    stresses="one operation on arrays",
    sizes={"operation": list(OPERATIONS)},
    arrays=_operands,
    bytes=moved,
)
def tensor_operator(ops: Any, *xs: Any, operation: str) -> Any:
    """The sum of an operation's result: each derivative is that of one operation."""
    return ops.sum(OPERATIONS[operation][1](ops, *xs))
