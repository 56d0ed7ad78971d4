"""Products: how operands lie, one call for a stack that lies evenly, a copy for one that does not."""

import numpy as np
import pytest

import tapegrad
from tapegrad.compile.cuda.products import evenly, lies_evenly, product
from tapegrad.compile.cuda.whole import Operand
from tapegrad.compile.symbol import Node


def node(*shape, dtype="float32"):
    return Node("input", (), 0, shape, np.dtype(dtype))


def multiplied(x, y, shape):
    return Node("matmul", (x, y), None, shape, x.dtype)


def test_a_transposed_matrix_is_read_where_it_is():
    x = node(5, 3)
    transposed = Node("transpose", (x,), (1, 0), (3, 5), x.dtype)
    form = product(multiplied(transposed, node(5, 7), (3, 7)), tf32=True).calls[0].form
    assert (form.left, form.right, form.m, form.k, form.n) == ("T", "N", 3, 5, 7)
    assert (form.left_line, form.right_line, form.tf32) == (3, 7, True)


def test_a_stack_that_lies_evenly_is_one_call():
    calls = product(multiplied(node(2, 4, 5, 3), node(2, 4, 3, 7), (2, 4, 5, 7)), tf32=False).calls
    assert [(call.form.count, call.form.left_step, call.form.right_step) for call in calls] == [(8, 15, 21)]


def test_heads_lie_evenly_within_an_example_only():
    heads = Operand(node(2, 6, 8), 0, (2, 4, 6, 2), (48, 2, 8, 1))
    assert not lies_evenly(heads)
    assert lies_evenly(Operand(heads.base, 0, (4, 6, 2), (2, 8, 1)))
    assert evenly([(0, 0), (2, 5), (48, 10), (50, 15)], (2, 2)) == (2, 2, 5)


def test_integers_and_arrays_without_numbers_are_left_to_the_library():
    assert product(multiplied(node(2, 2, dtype="int64"), node(2, 2, dtype="int64"), (2, 2)), tf32=False) is None
    assert product(multiplied(node(0, 2), node(2, 2), (0, 2)), tf32=False) is None


CASES = {
    "heads": lambda x, y: x.reshape(2, 6, 4, 2).transpose(0, 2, 1, 3) @ y.reshape(2, 6, 4, 2).transpose(0, 2, 3, 1),
    "a stack and a matrix": lambda x, y: x.reshape(4, 6, 4) @ y.reshape(-1)[:20].reshape(4, 5),
    "a vector": lambda x, y: x.reshape(24, 4) @ y.reshape(-1)[:4],
    "a broadcast stack": lambda x, y: x.reshape(4, 6, 4) @ y.reshape(1, 4, 24),
    "a slice": lambda x, y: x.reshape(12, 8)[::2, :4] @ y.reshape(8, 12)[:4, 1:],
}


@pytest.mark.usefixtures("device")
def test_products_of_every_layout(there):
    x, y = (np.random.default_rng(k).normal(size=96) for k in range(2))
    f = tapegrad.jit(lambda x, y: [case(x, y) for case in CASES.values()])
    for got, case in zip(f(*there(x, y)), CASES.values(), strict=True):
        np.testing.assert_allclose(got.view(np.ndarray), case(x, y), rtol=1e-12, atol=1e-14)
    assert f.report(*there(x, y)).interpreted == []
