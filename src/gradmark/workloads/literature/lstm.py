"""lstm: the loss of a long short-term memory that predicts the bits of the next character.

For each layer, with inputs x, weights and biases w and b of four gates, all of them vectors, and products entry by
entry:

    forget = σ(x·w_f + b_f),  enter = σ(h·w_i + b_i),  leave = σ(x·w_o + b_o),  change = tanh(h·w_c + b_c)
    cell ← cell·forget + enter·change,  h ← leave·tanh cell

The first layer gets the bits times in-weights, the last gives y = h·out-weights + out-bias, and the loss is the mean
of -gold·(y - log(2 + Σ exp y)) over all bits of all characters but the first. Source: ADBench
(src/cpp/shared/lstm.h), GradBench evals/lstm. l=2, c=1024 is ADBench's file; other sizes repeat its text, with
parameters uniform from 0 to 1, as GradBench's: those are drawn without a seed, so here in the order of sizes from the
usual one.
"""

import functools
import itertools
from collections.abc import Sequence
from typing import Any

from gradmark.workloads.literature import files
from gradmark.workloads.literature.streams import uniform
from gradmark.workloads.workload import workload

SIZES = {"l": [2, 4, 6], "c": [1024, 4096, 8192]}
BITS = 14  # of a character of the published text


def _shapes(layers: int) -> list[tuple[int, int]]:
    """Of the state, the weights and biases of all layers, and the extra parameters."""
    return [(2 * layers, BITS), (2 * layers, 4 * BITS), (3, BITS)]


def _count(layers: int) -> int:
    return sum(rows * columns for rows, columns in _shapes(layers))


def read(l: int, c: int) -> list[Any]:  # noqa: E741  as published
    """State, main and extra parameters, and the text as bits."""
    published = l in SIZES["l"] and c in SIZES["c"]
    path = files.find(f"lstm_l{l}_c{c}.txt") if published else None
    return generated(l, c) if path is None else parsed(path, l, c)


def generated(l: int, c: int) -> list[Any]:  # noqa: E741
    """Parameters drawn, and the published text as often as it takes."""
    import numpy as np

    pairs = sorted(((layers, length) for layers in SIZES["l"] for length in SIZES["c"]), key=lambda p: p[0] * p[1])
    numbers = uniform((l, c), _count(l), published=[(pair, _count(pair[0])) for pair in pairs])
    ends = np.cumsum([rows * columns for rows, columns in _shapes(l)])[:-1]
    parts = [part.reshape(shape) for part, shape in zip(np.split(numbers, ends), _shapes(l), strict=True)]
    text = parsed(files.OWN / "lstm" / "lstm_l2_c1024.txt", 2, 1024)[3]
    return [*parts, np.resize(text, (c, BITS))]


def parsed(path: Any, l: int, c: int) -> list[Any]:  # noqa: E741
    """What a file of ADBench says."""
    lines = files.Lines(path)
    lines.header(l=l, c=c, b=BITS)
    main = lines.block(2 * l, 4 * BITS, "weights or biases")
    extra = lines.block(3, BITS, "extra parameters")
    state = lines.block(2 * l, BITS, "a state")
    text = lines.block(c, BITS, "the bits of a character")
    lines.end()
    return [state, main, extra, text]


@functools.cache
def _data(l: int, c: int, data: Any) -> tuple[list[list[float]], list[list[float]]]:  # noqa: ARG001, E741
    state, _, _, text = read(l, c)
    return state.tolist(), text.tolist()


def _parameters(l: int, c: int) -> list[float]:  # noqa: E741
    _, main, extra, _ = read(l, c)
    return [*main.ravel().tolist(), *extra.ravel().tolist()]


@workload(
    suite="literature",
    stresses="a long loop number by number: length of the recording, memory",
    sizes=SIZES,
    quick=[{"l": 2, "c": 4}, {"l": 2, "c": 16}],
    inputs=lambda draw, l, c: _parameters(l, c),  # noqa: ARG005, E741
    operations=lambda l, c: (c - 1) * (BITS * (17 * l + 8) + 1),  # noqa: E741
)
def lstm(ops: Any, *numbers: Any, l: int, c: int) -> Any:  # noqa: E741
    """A long short-term memory, number by number."""
    state, text = _data(l, c, files.given())
    layers = [_gates(numbers[8 * BITS * k : 8 * BITS * (k + 1)]) for k in range(l)]
    extra = numbers[8 * BITS * l :]
    enter, leave, bias = extra[:BITS], extra[BITS : 2 * BITS], extra[2 * BITS :]
    hidden: list[list[Any]] = [list(row) for row in state[0::2]]
    cells: list[list[Any]] = [list(row) for row in state[1::2]]
    total: Any = None
    for bits, gold in itertools.pairwise(text):
        xs = [bit * weight for bit, weight in zip(bits, enter, strict=True)]
        for k, gates in enumerate(layers):
            xs = _layer(ops, gates, xs, hidden[k], cells[k])
        ys = [x * weight + shift for x, weight, shift in zip(xs, leave, bias, strict=True)]
        exponentials = ops.exp(ys[0])
        for y in ys[1:]:
            exponentials = exponentials + ops.exp(y)
        normal = ops.log(exponentials + 2.0)
        for bit, y in zip(gold, ys, strict=True):
            term = bit * (y - normal)
            total = term if total is None else total + term
    return total * (-1.0 / (BITS * (c - 1)))


def _gates(numbers: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Of every bit the weights and biases of its four gates."""
    return list(zip(*(numbers[BITS * k : BITS * (k + 1)] for k in range(8)), strict=True))


def _layer(ops: Any, gates: Sequence[Any], xs: Sequence[Any], hidden: list[Any], cells: list[Any]) -> list[Any]:
    """One layer: its state is replaced, its output is the new hidden state."""
    for i, (wf, wi, wo, wc, bf, bi, bo, bc) in enumerate(gates):
        forget, enter = ops.sigmoid(xs[i] * wf + bf), ops.sigmoid(hidden[i] * wi + bi)
        leave, change = ops.sigmoid(xs[i] * wo + bo), ops.tanh(hidden[i] * wc + bc)
        cells[i] = cells[i] * forget + enter * change
        hidden[i] = leave * ops.tanh(cells[i])
    return list(hidden)


@workload(
    suite="literature",
    stresses="a long loop over small arrays: the overhead of a primitive",
    sizes=SIZES,
    quick=[{"l": 2, "c": 4}, {"l": 2, "c": 16}],
    arrays=lambda draw, l, c: read(l, c),  # noqa: ARG005, E741
    dtypes=("float64",),
    fixed=["state", "text"],
    operations=lambda l, c: (c - 1) * (3 + 18 * l) + 11,  # noqa: E741
)
def lstm_array(ops: Any, state: Any, main: Any, extra: Any, text: Any, *, l: int, c: int) -> Any:  # noqa: E741
    """A long short-term memory, with arrays of all bits of a character."""
    # rows of gates: forget and leave, which see the layer's input, and enter and change, which see its hidden state
    gates = ops.reshape(main, (2 * l, 4, BITS))
    layers = [
        (gates[2 * k, 0::2], gates[2 * k + 1, 0::2], gates[2 * k, 1::2], gates[2 * k + 1, 1::2]) for k in range(l)
    ]

    def step(carry: Any, bits: Any) -> Any:
        x, states = bits * extra[0], []
        for (hidden, cell), (of_x, shift_x, of_hidden, shift_hidden) in zip(carry, layers, strict=True):
            seen, kept = ops.sigmoid(x * of_x + shift_x), hidden * of_hidden + shift_hidden
            cell = cell * seen[0] + ops.sigmoid(kept[0]) * ops.tanh(kept[1])
            x = seen[1] * ops.tanh(cell)
            states.append((x, cell))
        return tuple(states), x

    start = tuple((state[2 * k], state[2 * k + 1]) for k in range(l))
    _, hidden = ops.scan(step, start, text[:-1])
    y = hidden * extra[1] + extra[2]
    normal = ops.log(ops.sum(ops.exp(y), axis=1, keepdims=True) + 2.0)
    return ops.sum(text[1:] * (y - normal)) * (-1.0 / (BITS * (c - 1)))
