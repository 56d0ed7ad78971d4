"""Planning of memory: what is needed at the same time lies apart, and the rest shares; checked by running it too."""

import numpy as np
import pytest

import tapegrad
from tapegrad import tensor
from tapegrad.compile.fusion import Group
from tapegrad.compile.planning import Traffic, frugal, nbytes, planned, use
from tapegrad.compile.symbol import Node

F32 = np.dtype(np.float32)
KIB64 = 1 << 14  # numbers


def node(count=KIB64, dtype=F32):
    return Node("exp", (), None, (count,), dtype)


def test_lives_that_overlap_lie_apart_and_others_share():
    a, b, c = node(), node(), node()
    plan = planned([a, b, c], [], {id(a): (0, 1), id(b): (1, 2), id(c): (2, 3)}, [], 4)
    places = [plan.places[id(x)] for x in (a, b, c)]
    assert [host for host, _ in places] == [None] * 3
    assert places[0] == places[2] != places[1]
    assert plan.total == 2 * nbytes(a)


def test_a_result_hosts_what_is_gone_before_it_is_written():
    result, early, late = node(), node(), node()
    lives = {id(result): (2, 9), id(early): (0, 1), id(late): (1, 2)}
    plan = planned([early, late], [result], lives, [], 9)
    assert plan.places[id(early)] == (result, 0)
    assert plan.places[id(late)] == (None, 0)


def test_small_arrays_are_not_lent_a_place():
    result, early = node(), node(16)
    plan = planned([early], [result], {id(result): (2, 9), id(early): (0, 1)}, [], 9)
    assert plan.places[id(early)] == (None, 0)


def test_a_kernel_writes_over_what_it_reads_last():
    old, new, result = node(), node(), node()
    lives = {id(old): (0, 1), id(new): (1, 2), id(result): (2, 9)}
    plan = planned([old, new], [], lives, [(old, new)], 9)
    assert plan.places[id(old)] == plan.places[id(new)] == (None, 0)
    assert plan.total == nbytes(old)
    lent = planned([old, new], [result], lives, [(old, new), (new, result)], 9)
    assert lent.places == {id(old): (result, 0), id(new): (result, 0)}
    assert lent.total == 0


def test_nothing_is_written_over_what_is_read_again_or_has_another_size():
    old, new = node(), node()
    again = planned([old, new], [], {id(old): (0, 2), id(new): (1, 2)}, [(old, new)], 9)
    assert again.total == 2 * nbytes(old)
    wide = node(dtype=np.dtype(np.float64))
    other = planned([old, wide], [], {id(old): (0, 1), id(wide): (1, 2)}, [(old, wide)], 9)
    assert other.total == nbytes(old) + nbytes(wide)


def test_what_frees_memory_comes_first():
    """Four arrays, each reduced to a small one: in order of creation all four are there at the same time."""
    large, small = [node() for _ in range(4)], [node(1) for _ in range(4)]
    groups = [Group(k, None) for k in range(8)]
    for k in range(4):
        groups[4 + k].needs = {k}
    traffic = Traffic([[x] for x in (*large, *small)], [[]] * 4 + [[x] for x in large], set())
    order = frugal(groups, traffic)
    assert [group.number for group in order] == [0, 4, 1, 5, 2, 6, 3, 7]
    assert use([0, 4, 1, 5, 2, 6, 3, 7], traffic)[0] < 1.1 * nbytes(large[0]) < use(range(8), traffic)[0]


def network(parameters, x):
    for w in parameters:
        x = tensor.gelu(tensor.layer_norm(x, np.ones(x.shape[1], F32), np.zeros(x.shape[1], F32)) @ w) + x
    return (tensor.softmax(x) * x).sum()


@pytest.mark.parametrize("width", [128, 131])
def test_a_network_large_enough_for_all_of_it(width):
    """Arrays of more than 64 KiB lie in results; numbers are those of the interpreted engine, call after call."""
    draw = np.random.default_rng(0)
    parameters = [draw.normal(size=(width, width)).astype(F32) / 12 for _ in range(3)]
    f = tapegrad.value_and_grad(network)
    compiled = tapegrad.jit(f)
    for _ in range(3):
        x = draw.normal(size=(width, width)).astype(F32)
        value, gradients = f(parameters, x)
        got, arrays = compiled(parameters, x)
        assert got == pytest.approx(value, rel=1e-5)
        for mine, theirs in zip(arrays, gradients, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-5 * np.abs(theirs).max())
    executable = compiled._executable((parameters, x))[0]
    assert executable.guests
    arrays = executable([*parameters, x])  # the way in without the quick entry
    for mine, theirs in zip(arrays[1:], gradients, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-5 * np.abs(theirs).max())


def test_an_array_is_not_written_over_before_a_masked_vector_has_read_it():
    """A kernel's results that do not come from what they lie over: lengths that are no whole vectors."""
    x = np.random.default_rng(0).normal(size=(5, 7))

    def f(x):
        y = tensor.exp(x @ np.eye(7) * 0.1)
        z = tensor.sin(x) * y.sum(1, True)
        return [z @ np.eye(7), (y * z) @ np.eye(7), y * 2.0]

    for got, expected in zip(tapegrad.jit(f)(x), f(tensor.constant(x)), strict=True):
        np.testing.assert_allclose(got, expected.numpy(), rtol=1e-13)
