"""pinn: the loss of a network that is to solve Burgers's equation, made of its derivatives by place and time.

    f = u_t + u·u_x - (0.01/π)·u_xx,  loss = mean f² + mean (u(x, 0) + sin πx)²

over n points inside, x from -1 to 1 and t from 0 to 1, and 100 points at t = 0. u is a network of tanh layers.
Derivatives by its inputs are written out, layer by layer: with z = W·a + b, and s = 1 - tanh² z,

    a_x ← s·(W·a_x),  a_t ← s·(W·a_t),  a_xx ← s·(W·a_xx) - 2·tanh z·s·(W·a_x)²

so an engine differentiates the derivatives by weights, in reverse. Source: Raissi, Perdikaris and Karniadakis,
Physics-informed neural networks (2019), https://doi.org/10.1016/j.jcp.2018.10.045, section 3.1.1, where there are 8
layers of 20 and 10,000 points. Weights are normal, as wide as Xavier's.
"""

import math
from typing import Any

from gradmark.workloads.literature.streams import SEED
from gradmark.workloads.workload import workload

WIDTH, AT_START, VISCOSITY = 20, 100, 0.01 / math.pi


def _inputs(layers: int, n: int) -> list[Any]:
    import numpy as np

    draw = np.random.RandomState(SEED)
    inside = np.stack([draw.uniform(-1.0, 1.0, n), draw.uniform(0.0, 1.0, n)], axis=1)
    start = np.stack([draw.uniform(-1.0, 1.0, AT_START), np.zeros(AT_START)], axis=1)

    def weights(*shape: int) -> Any:
        return draw.standard_normal(shape) * (2.0 / (shape[-1] + shape[-2])) ** 0.5

    biases = 0.1 * draw.standard_normal((layers, WIDTH))
    return [
        *[inside, start, weights(2, WIDTH), weights(layers - 1, WIDTH, WIDTH), biases],
        *[weights(WIDTH, 1), 0.1 * draw.standard_normal(1)],
    ]


@workload(
    suite="literature",
    stresses="derivatives by inputs inside the loss, then by weights: products and many elementwise operations",
    sizes={"layers": [2, 4, 8], "n": [100, 1000, 10_000]},
    quick=[{"layers": 2, "n": 500}],
    arrays=lambda draw, layers, n: _inputs(layers, n),  # noqa: ARG005
    dtypes=("float64",),
    fixed=["inside", "start"],
    operations=lambda layers: 22 * layers + 16,
    flops=lambda layers, n: 24 * n * (layers - 1) * WIDTH**2,  # four products forward, eight in reverse
)
def pinn_array(
    ops: Any,
    inside: Any,
    start: Any,
    first: Any,
    hidden: Any,
    biases: Any,
    last: Any,
    bias: Any,
    *,
    layers: int,
    **_sizes: Any,
) -> Any:
    """The loss of a network for Burgers's equation."""
    z, zx, zt, zxx = inside @ first + biases[0], first[:1], first[1:], None
    for k in range(layers):
        a = ops.tanh(z)
        slope = 1.0 - a * a
        ax, at = slope * zx, slope * zt
        axx = -2.0 * (a * ax) * zx if zxx is None else slope * zxx - 2.0 * (a * ax) * zx
        if k < layers - 1:
            w = hidden[k]
            z, zx, zt, zxx = a @ w + biases[k + 1], ax @ w, at @ w, axx @ w
    u, ux, ut, uxx = a @ last + bias, ax @ last, at @ last, axx @ last
    away = ut + u * ux - VISCOSITY * uxx
    a = ops.tanh(start @ first + biases[0])
    for k in range(layers - 1):
        a = ops.tanh(a @ hidden[k] + biases[k + 1])
    at_start = a @ last + bias + ops.sin(math.pi * start[:, :1])
    return ops.mean(ops.square(away)) + ops.mean(ops.square(at_start))
