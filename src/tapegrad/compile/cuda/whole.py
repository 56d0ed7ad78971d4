"""A small function as one kernel of one block: its steps one after the other, with a barrier between.

A launch costs the host some microseconds and the device one or two, however little is computed; ten of them would be
the whole time of a small function. In: the kernels and products of a function. Out: one kernel, or None if one block
would be slower than many.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tapegrad.compile.cuda.kernel import Argument, Kernel, text_of_block
from tapegrad.compile.cuda.language import type_of
from tapegrad.compile.products import strided
from tapegrad.compile.symbol import Node

# Threads of the block: half of what a processor holds, with as many registers as a kernel may want.
THREADS = 512
# A block computes about a hundredth of what the device does: up to so many numbers and multiplications it is done
# before as many launches would be.
MOST_NUMBERS, MOST_MULTIPLICATIONS, LONGEST_SUM = 1 << 16, 1 << 18, 1 << 10
MOST_STEPS = 64  # beyond, compiling takes longer than it gains
MOST_PARAMETERS = 400  # of 512 that a kernel can have


@dataclass(frozen=True)
class Operand:
    """A matrix in memory: the node that holds it, where it starts there, its shape and strides."""

    base: Node
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def small_product(name: str, node: Node, left: Operand, right: Operand) -> Kernel | None:
    """A product of two small matrices by one block; None if it is not small."""
    if len(left.shape) != 2 or len(right.shape) != 2:
        return None
    (m, k), n = left.shape, right.shape[1]
    if m * k * n > MOST_MULTIPLICATIONS or k > LONGEST_SUM or m * n == 0:
        return None
    kind = type_of(node)
    (a_row, a_column), (b_row, b_column) = strided(left.shape, left.strides), strided(right.shape, right.strides)
    lines = [
        "  (void)block;",
        f"  for (int k = THREAD; k < {m * n}; k += {THREADS}) {{",
        f"    const {kind}* a = p1 + {left.offset} + k / {n} * {a_row};",
        f"    const {kind}* b = p2 + {right.offset} + k % {n} * {b_column};",
        f"    {kind} sum = 0;",
        f"    for (int j = 0; j < {k}; ++j) sum += a[j * {a_column}] * b[j * {b_row}];",
        "    p0[k] = sum;",
        "  }",
    ]
    parameters = [f"{kind}*", f"const {kind}*", f"const {kind}*"]
    arguments = [Argument("array", node), Argument("array", left.base), Argument("array", right.base)]
    return Kernel(name, text_of_block(name, parameters, lines), 1, THREADS, 1, arguments, parameters)


def is_small(groups: Sequence[Sequence[Node]]) -> bool:
    """Whether one block may do all of it, as far as steps and the numbers that they go over tell."""
    if len(groups) > MOST_STEPS:
        return False
    most = [max(math.prod(x.shape) for node in nodes for x in (node, *node.operands)) for nodes in groups]
    return sum(most) <= MOST_NUMBERS


def whole(name: str, parts: Sequence[Kernel]) -> Kernel | None:
    """All kernels as one."""
    arguments: list[Argument] = []
    kinds: list[str] = []
    lines, texts = [], []
    for kernel in parts:
        given = []
        for argument, kind in zip(kernel.arguments, kernel.parameters, strict=True):
            if argument not in arguments:
                arguments.append(argument)
                kinds.append(kind)
            place = arguments.index(argument)
            if not kind.startswith("const "):
                kinds[place] = kind  # who writes it decides
            given.append(f"p{place}")
        texts.append(kernel.text)
        call = f"{kernel.name}_block(k, {', '.join(given)})"
        lines.append(f"  for (int k = 0; k < {kernel.blocks}; ++k) {{ {call}; wait_for_block(); }}")
    if len(arguments) > MOST_PARAMETERS:
        return None
    text = "".join(texts) + text_of_block(name, kinds, ["  (void)block;", *lines])
    spare = max(kernel.spare_bytes for kernel in parts)
    return Kernel(name, text, 1, THREADS, 1, arguments, kinds, spare)
