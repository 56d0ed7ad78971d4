"""What kernels compute again instead of reading it: which results, and that nothing else changes."""

import numpy as np
import pytest

import tapegrad
from tapegrad import tensor
from tapegrad.compile.fusion import Group
from tapegrad.compile.recomputing import MOST_AGAIN, recompute
from tapegrad.compile.symbol import Node

F32 = np.dtype(np.float32)
SHAPE = (64, 256)
NBYTES = 64 * 256 * 4


def drawn(*shapes):
    draw = np.random.default_rng(0)
    return [draw.normal(size=shape).astype(F32) for shape in shapes]


def apart(f):
    """A function of x whose result f(x) is read before and after a product that depends on all of it."""

    def whole(x, w):
        y = f(x)
        return y * (y.sum(0) @ w)

    return whole


def report(whole, *args):
    compiled = tapegrad.jit(whole)
    got, expected = compiled(*args), whole(*map(tensor.constant, args)).numpy()
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    return compiled.report(*args)


def test_a_cheap_result_is_computed_again_from_an_argument():
    x, w = drawn(SHAPE, (256, 256))
    cheap = report(apart(lambda x: x * 2.0 + 1.0), x, w)
    assert cheap.written_bytes == NBYTES + 2 * 256 * 4
    assert cheap.temporary_bytes < NBYTES


def test_a_dear_result_is_kept():
    x, w = drawn(SHAPE, (256, 256))
    dear = report(apart(lambda x: tensor.tanh(x)), x, w)
    assert dear.written_bytes == 2 * NBYTES + 2 * 256 * 4


def test_a_long_way_to_a_result_is_not_gone_twice():
    x, w = drawn(SHAPE, (256, 256))

    def steps(count):
        def f(x):
            for _ in range(count):
                x = x * 0.5 + x  # one more operation reads x: they do not become one
            return x

        return report(apart(f), x, w).written_bytes

    assert steps(MOST_AGAIN // 2) == NBYTES + 2 * 256 * 4
    assert steps(MOST_AGAIN // 2 + 1) == 2 * NBYTES + 2 * 256 * 4


def test_numbers_of_rows_are_kept_in_place_of_what_follows_from_them():
    x, w = drawn(SHAPE, (256, 256))
    normal = report(apart(lambda x: (x - x.mean(1, keepdims=True)) / (1.0 + x.max(1, keepdims=True) ** 2)), x, w)
    assert normal.written_bytes == 2 * NBYTES + 2 * 256 * 4  # the quotient is dear
    scaled = report(apart(lambda x: (x - x.mean(1, keepdims=True)) * x.max(1, keepdims=True)), x, w)
    assert scaled.written_bytes == NBYTES + 2 * 256 * 4 + 2 * 64 * 4


def test_what_a_product_reads_is_kept():
    x, w = drawn(SHAPE, (256, 256))

    def f(x, w):
        y = x * 2.0
        return tensor.tanh(y @ w) * y

    assert report(f, x, w).written_bytes == 3 * NBYTES


def test_what_is_given_back_is_kept():
    x, w = drawn(SHAPE, (256, 256))

    def f(x, w):
        y = x * 2.0
        return [y, y * (y.sum(0) @ w)]

    compiled = tapegrad.jit(f)
    np.testing.assert_array_equal(compiled(x, w)[0], x * 2)
    assert compiled.report(x, w).written_bytes == 2 * NBYTES + 2 * 256 * 4


@pytest.mark.parametrize("kept", [True, False])
def test_a_result_that_follows_from_another_one_comes_after_it(kept):
    """The second is chosen when the first is in the group already: operands stay first."""
    x = Node("input", (), 0, SHAPE, F32)
    y = Node("negative", (x,), None, SHAPE, F32)
    z = Node("square", (y,), None, SHAPE, F32)
    barrier = Node("matmul", (y, y) if kept else (x, x), None, (64, 64), F32)
    last = Node("subtract", (y, z), None, SHAPE, F32)
    groups = []
    for nodes, space in (([y, z], SHAPE), ([barrier], None), ([last], SHAPE)):
        group = Group(len(groups), space)
        for node in nodes:
            group.add(node)
        groups.append(group)
    recompute(groups, [last])
    assert groups[0].nodes == [y, z]
    assert groups[2].nodes == ([z, last] if kept else [y, z, last])
    assert {id(node) for node in groups[2].nodes} == groups[2].members


@pytest.mark.parametrize("width", [64, 67])
def test_a_network_with_layer_norms(width):
    """Values and gradients, where centred rows are computed again in the backward pass."""
    x, w, gain = drawn((96, width), (width, width), (width,))

    def loss(w, gain, x):
        normal = tensor.layer_norm(x, gain, gain)
        other = tensor.layer_norm(x + normal @ w, gain, gain)
        return (other * tensor.tanh(other @ w)).sum()

    both = tapegrad.value_and_grad(loss, (0, 1, 2))
    value, gradients = both(w, gain, x)
    compiled = tapegrad.jit(both)
    got, arrays = compiled(w, gain, x)
    assert got == pytest.approx(value, rel=1e-5)
    for mine, theirs in zip(arrays, gradients, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=2e-5 * np.abs(theirs).max())
    executable = compiled._executable((w, gain, x))[0]
    counts = [id(node) for group in executable.groups for node in group.nodes]
    assert len(counts) > len(set(counts))  # some are in two groups
