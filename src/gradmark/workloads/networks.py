"""The networks of the tensor suite: layers of neural networks, alone and put together. Left out of a short run.

Losses are mean squares: then no cotangent is constant, and none is a special case that an engine could be lucky with.
"""

from typing import Any

from gradmark.workloads.workload import workload

HEADS = 4
IN, OUT = 16, 32  # channels of the convolution


@workload(
    suite="tensor",
    stresses="convolution: arithmetic, copies of windows",
    sizes={"batch": [1, 8], "size": [8, 32]},
    quick={"batch": [8], "size": [16]},
    arrays=lambda draw, batch, size: [
        draw.normal(size=(batch, IN, size, size)),
        draw.normal(size=(OUT, IN, 3, 3)) / 12,
        draw.normal(size=OUT),
    ],
    operations=lambda: 3,
    flops=lambda batch, size: 6 * batch * OUT * IN * 9 * size**2,
    extra=True,
)
def convolution(ops: Any, x: Any, weight: Any, bias: Any, **_sizes: Any) -> Any:
    """3×3, 16 channels to 32, padded."""
    return ops.mean(ops.square(ops.conv2d(x, weight, bias, padding=1)))


@workload(
    suite="tensor",
    stresses="several reductions of one array, bandwidth",
    sizes={"batch": [8, 128, 2048], "width": [64, 512]},
    quick=[{"batch": 8, "width": 64}, {"batch": 512, "width": 512}],
    arrays=lambda draw, batch, width: [
        draw.normal(size=(batch, width)),
        draw.normal(size=width),
        draw.normal(size=width),
    ],
    operations=lambda: 3,
    bytes=lambda batch, width: 9 * batch * width,  # mean, variance, result; square, mean; derivatives of all
    extra=True,
)
def layer_norm(ops: Any, x: Any, weight: Any, bias: Any, **_sizes: Any) -> Any:
    """Normalisation over the last axis."""
    return ops.mean(ops.square(ops.layer_norm(x, weight, bias)))


@workload(
    suite="tensor",
    stresses="batched products and softmax",
    sizes={"causal": ["no", "yes"], "length": [16, 64, 256]},
    quick={"causal": ["yes"], "length": [16, 128]},
    arrays=lambda draw, length: [draw.normal(size=(2, HEADS, length, 64)) for _ in range(3)],
    operations=lambda: 3,
    flops=lambda length: 12 * 2 * HEADS * length**2 * 64,  # two products forward, four backward
    extra=True,
)
def attention(ops: Any, q: Any, k: Any, v: Any, *, causal: str, **_sizes: Any) -> Any:
    """Scaled dot-product attention: two sequences, four heads of width 64."""
    return ops.mean(ops.square(ops.scaled_dot_product_attention(q, k, v, causal=causal == "yes")))


@workload(
    suite="tensor",
    stresses="everything that a transformer is made of",
    sizes={"batch": [2], "length": [16, 128], "width": [64, 256]},
    quick=[{"batch": 2, "length": 16, "width": 64}, {"batch": 2, "length": 64, "width": 128}],
    arrays=lambda draw, batch, length, width: [
        draw.normal(size=(batch, length, width)),
        *[1 + 0.1 * draw.normal(size=width), 0.1 * draw.normal(size=width)],
        *[draw.normal(size=(width, 3 * width)) / width**0.5, draw.normal(size=(width, width)) / width**0.5],
        *[1 + 0.1 * draw.normal(size=width), 0.1 * draw.normal(size=width)],
        *[draw.normal(size=(width, 4 * width)) / width**0.5, draw.normal(size=(4 * width, width)) / (4 * width) ** 0.5],
    ],
    operations=lambda: 23,
    flops=lambda batch, length, width: 6 * batch * length * 12 * width**2 + 12 * batch * length**2 * width,
    extra=True,
)
def transformer_block(
    ops: Any,
    x: Any,
    scale1: Any,
    shift1: Any,
    qkv: Any,
    out: Any,
    scale2: Any,
    shift2: Any,
    up: Any,
    down: Any,
    *,
    batch: int,
    length: int,
    width: int,
) -> Any:
    """One block, normalised first: causal attention with four heads, then a network four times as wide."""
    shape = (batch, length, HEADS, width // HEADS)
    parts = ops.split(ops.layer_norm(x, scale1, shift1) @ qkv, 3, axis=-1)
    q, k, v = (ops.swapaxes(ops.reshape(part, shape), 1, 2) for part in parts)
    attended = ops.scaled_dot_product_attention(q, k, v, causal=True)
    x = x + ops.reshape(ops.swapaxes(attended, 1, 2), (batch, length, width)) @ out
    x = x + ops.gelu(ops.layer_norm(x, scale2, shift2) @ up, approximate="tanh") @ down
    return ops.mean(ops.square(x))


@workload(
    suite="tensor",
    stresses="many small operations on slices",
    sizes={"batch": [1, 32, 128], "width": [16, 128]},
    quick=[{"batch": 1, "width": 16}, {"batch": 32, "width": 128}],
    arrays=lambda draw, batch, width: [
        *[draw.normal(size=(batch, width)) for _ in range(3)],
        *[draw.normal(size=(width, 4 * width)) / width**0.5 for _ in range(2)],
        draw.normal(size=4 * width),
    ],
    fixed=["x"],
    operations=lambda: 19,
    flops=lambda batch, width: (4 + 6) * batch * 4 * width**2,  # x is data: one derivative less
    extra=True,
)
def lstm_step(
    ops: Any,
    x: Any,
    h: Any,
    c: Any,
    wx: Any,
    wh: Any,
    bias: Any,
    **_sizes: Any,
) -> Any:
    """One step of a long short-term memory: four gates of one product."""
    gates = ops.split(x @ wx + h @ wh + bias, 4, axis=-1)
    enter, forget, leave = (ops.sigmoid(gate) for gate in gates[:3])
    c = forget * c + enter * ops.tanh(gates[3])
    return ops.mean(ops.square(leave * ops.tanh(c)))


@workload(
    suite="tensor",
    stresses="scattered accumulation",
    sizes={"vocabulary": [1000, 50_000], "batch": [1, 64]},
    quick=[{"vocabulary": 1000, "batch": 1}, {"vocabulary": 1000, "batch": 64}],
    arrays=lambda draw, vocabulary, batch: [
        draw.normal(size=(vocabulary, 64)),
        draw.integers(vocabulary, size=(batch, 32)),
    ],
    operations=lambda: 3,
    # square and its derivative, on what was looked up; the gradient of the whole table is written
    bytes=lambda vocabulary, batch: 64 * (vocabulary + 8 * batch * 32),
    gradient=lambda table, indices: [_scattered(table, indices)],
    extra=True,
)
def embedding(ops: Any, table: Any, indices: Any, **_sizes: Any) -> Any:
    """Rows of a table looked up by number, some of them more than once."""
    return ops.mean(ops.square(ops.embedding(table, indices)))


def _scattered(table: Any, indices: Any) -> Any:
    import numpy as np

    times = np.bincount(indices.ravel(), minlength=len(table))
    return 2 * table * times[:, None] / (indices.size * table.shape[1])
