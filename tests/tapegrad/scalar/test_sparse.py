"""Sparse derivatives: exact patterns, valid colourings, and the entries of dense ones."""

import itertools
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import tapegrad
from tapegrad.scalar.sparse import hessian_colouring, jacobian_colouring


def frozen(f, values):
    tape = tapegrad.Tape()
    xs = [tape.var(v) for v in values]
    return tape.freeze(xs, f(xs))


def tridiagonal(xs):
    padded = [0.0, *xs, 0.0]
    return [(3.0 - 2.0 * b) * b - a - 2.0 * c for a, b, c in zip(padded, padded[1:], padded[2:], strict=False)]


def arrowhead(xs):
    return [xs[0] * x + x * x for x in xs]


def rosenbrock(xs):
    return sum(100.0 * (y - x * x) ** 2 + (1.0 - x) ** 2 for x, y in itertools.pairwise(xs))


POINT = np.linspace(0.5, 1.5, 30)


@pytest.mark.parametrize(
    ("f", "kind", "colours"),
    [
        (tridiagonal, "columns", 3),
        (arrowhead, "columns", 2),
        (lambda xs: [sum(x * x for x in xs), *(x * x for x in xs[1:])], "rows", 2),
        (lambda xs: [x * x for x in xs], "columns", 1),
        (lambda xs: [xs[0], xs[0] * xs[1]], "columns", 2),
        (lambda xs: [3.0 * xs[0] + 0.0 * xs[1] + 1.0], "rows", 1),
    ],
)
def test_jacobians(f, kind, colours):
    program = frozen(f, POINT)
    jacobian = program.jacobian()
    dense = program.value_and_grad(POINT)[1]
    made = jacobian(POINT)
    assert isinstance(made, sparse.csr_array)
    np.testing.assert_allclose(made.toarray(), dense, rtol=1e-14)
    assert (jacobian.colouring.kind, jacobian.colours) == (kind, colours)
    moved = POINT[::-1] * 2.0
    np.testing.assert_allclose(jacobian(moved).toarray(), program.value_and_grad(moved)[1], rtol=1e-14)
    np.testing.assert_allclose(made.toarray(), dense, rtol=1e-14)  # what was given before is not written over


@pytest.mark.parametrize(
    ("f", "colours"),
    [
        (rosenbrock, 3),
        (lambda xs: sum(x * xs[0] for x in xs), 2),
        (lambda xs: sum(x**3 for x in xs), 1),
        (lambda xs: tapegrad.exp(sum(xs)), 30),
        (lambda xs: sum(tapegrad.sin(x * y) for x, y in zip(xs, xs[2:], strict=False)), 3),
    ],
)
def test_hessians(f, colours):
    program = frozen(f, POINT)
    hessian = program.hessian()
    dense = program.gradient().value_and_grad(POINT)[1]
    np.testing.assert_allclose(hessian(POINT).toarray(), dense, rtol=1e-12, atol=1e-12)
    assert (hessian.colouring.kind, hessian.colours) == ("stars", colours)


def test_patterns_are_exact():
    tape = tapegrad.Tape()
    x = [tape.var(v) for v in (1.0, 2.0, 3.0, 4.0)]
    chosen = tapegrad.where(x[0] > x[3], x[1], x[2])
    program = tape.freeze(x, [x[0] * x[1], tape.const(2.0), x[2], chosen])
    assert program.sparsity().toarray().tolist() == [[1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [0, 1, 1, 0]]
    program = frozen(lambda x: x[0] * x[1] + tapegrad.relu(x[2]) + x[3] ** 2, [1.0, 2.0, 3.0, 4.0])
    expected = [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]
    assert program.sparsity("hessian").toarray().tolist() == expected
    assert program.colouring("hessian").count == 2


def symmetric(entries, size):
    made = np.zeros((size, size))
    for i, j in entries:
        made[i % size, j % size] = made[j % size, i % size] = 1.0
    return sparse.csr_array(made)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=40), st.integers(1, 12))
def test_colourings_are_valid(entries, size):
    pattern = symmetric(entries, size)
    columns = jacobian_colouring(pattern)
    lines = pattern.toarray() if columns.kind == "columns" else pattern.toarray().T
    for line in lines:
        seen = columns.colours[line != 0]
        assert len(set(seen.tolist())) == len(seen)
    stars = hessian_colouring(pattern).colours
    neighbours = [set(np.flatnonzero(row)) - {i} for i, row in enumerate(pattern.toarray())]
    for i in range(size):
        for j in neighbours[i]:
            assert stars[i] != stars[j]
            # one of the two tells the entry alone
            alone = [sum(stars[k] == stars[b] for k in neighbours[a]) == 1 for a, b in ((i, j), (j, i))]
            assert any(alone)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=1, max_size=20))
def test_sparse_hessians_of_random_sums_are_the_dense_ones(pairs):
    def f(xs):
        return sum(tapegrad.sin(xs[i]) * tapegrad.exp(xs[j]) for i, j in pairs)

    point = np.linspace(-1.0, 1.0, 8)
    program = frozen(f, point)
    dense = program.gradient().value_and_grad(point)[1]
    np.testing.assert_allclose(program.hessian()(point).toarray(), dense, rtol=1e-12, atol=1e-14)
    pattern = program.sparsity("hessian").toarray() != 0
    assert np.all(pattern | (np.abs(dense) < 1e-14))


def test_many_variables_take_three_colours_and_little_memory():
    count = 3000
    program = frozen(tridiagonal, np.linspace(0.5, 1.5, count))
    jacobian = program.jacobian()
    assert (jacobian.colours, jacobian.nnz) == (3, 3 * count - 2)


def test_wrong_use():
    program = frozen(tridiagonal, POINT)
    with pytest.raises(tapegrad.InputError, match="a Hessian is of one output, and this program has 30"):
        program.hessian()
    with pytest.raises(tapegrad.InputError, match=r"expected 30 inputs.*got 2"):
        program.jacobian()([1.0, 2.0])
    with pytest.raises(tapegrad.InputError, match="'jacobian' or 'hessian', got 'gradient'"):
        program.sparsity("gradient")
    assert repr(program.jacobian()) == "SparseDerivative(30 x 30, 88 entries, 3 colours by columns)"


def test_guards_hold_in_sparse_derivatives():
    program = frozen(lambda xs: [x * x if x > 0.25 else x for x in xs], POINT)
    jacobian = program.jacobian()
    assert jacobian(POINT).diagonal().tolist() == (2 * POINT).tolist()
    with pytest.raises(tapegrad.GuardError):
        jacobian(-POINT)


def full(xs):
    """Every output depends on every input."""
    total = sum(tapegrad.sin(x) * x for x in xs)
    return [tapegrad.tanh(total * (k + 1.0) * 0.01) for k in range(12)]


@pytest.mark.parametrize(
    ("f", "of", "batched"),
    [(tridiagonal, "jacobian", False), (rosenbrock, "hessian", False), (full, "jacobian", True)],
)
def test_entries_between_two_arrays(f, of, batched):
    program = frozen(f, POINT[:12])
    derivative = getattr(program, of)()
    assert ("Batched" in repr(vars(derivative))) == batched
    point, entries = POINT[:12].copy(), np.full(derivative.nnz, np.nan)
    compute = derivative.bind(point, entries)
    assert compute() is entries
    assert entries.tolist() == derivative(POINT[:12]).data.tolist()
    point[:] = POINT[11::-1]
    compute()
    assert entries.tolist() == derivative(POINT[11::-1]).data.tolist()
    exact = program.value_and_grad(point)[1] if of == "jacobian" else program.gradient().value_and_grad(point)[1]
    np.testing.assert_allclose(derivative(point).toarray(), exact, rtol=1e-13, atol=1e-13)


def test_what_no_entry_needs_is_not_computed():
    """Three colours of a tridiagonal map: three tangents have 15 instructions a row, its entries two and constants."""
    program = frozen(tridiagonal, POINT)
    assert vars(program.jacobian())["_entries"].stats().instrs == 2 * len(POINT)


def test_a_hessian_that_is_zero():
    """Seen: the rooms of a program without outputs were made for an output that was not there."""
    for _ in range(50):
        hessian = frozen(lambda xs: 2.0 * xs[0] + xs[1], [1.0, 2.0]).hessian()
        assert (hessian.nnz, hessian([3.0, 4.0]).toarray().tolist()) == (0, [[0.0, 0.0], [0.0, 0.0]])


def test_guards_hold_for_entries_too():
    tape = tapegrad.Tape()
    xs = [tape.var(2.0), tape.var(3.0)]
    jacobian = tape.freeze(xs, [xs[0] * xs[1] if xs[0] > 1.0 else xs[1], xs[1]]).jacobian()
    assert jacobian([4.0, 5.0]).toarray().tolist() == [[5.0, 4.0], [0.0, 1.0]]
    with pytest.raises(tapegrad.GuardError):
        jacobian([0.5, 5.0])


def test_without_scipy_a_sparse_matrix_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    tape = tapegrad.Tape()
    x, y = tape.var(1.0), tape.var(2.0)
    program = tape.freeze([x, y], [x * x, y])
    with pytest.raises(tapegrad.MissingPackageError, match=r"python -m pip install 'gradmark\[sparse\]'$"):
        program.sparsity()
