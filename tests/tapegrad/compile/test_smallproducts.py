"""Products in code of their own: against NumPy in double precision, for every way in which operands may lie."""

import numpy as np
import pytest

import tapegrad
from tapegrad.compile import llvm, smallproducts

pytest.importorskip("llvmlite", reason="needs llvmlite; `pip install 'gradmark[compile]'`")
SIZES = [(1, 1, 1), (5, 7, 9), (1, 6, 5), (8, 16, 32), (3, 1, 4), (9, 20, 2), (4, 3, 17), (33, 2, 70)]
LARGE = [(32, 64, 257), (9, 600, 40), (30, 40, 130)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [*SIZES, *LARGE])
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_products(size, turned, dtype):
    (m, k, n), draw = size, np.random.default_rng(0)
    x = draw.normal(size=(k, m) if turned[0] else (m, k)).astype(dtype)
    y = draw.normal(size=(n, k) if turned[1] else (k, n)).astype(dtype)
    compiled = tapegrad.jit(lambda x, y: (x.T if turned[0] else x) @ (y.T if turned[1] else y))
    left, right = (x.T if turned[0] else x).astype(float), (y.T if turned[1] else y).astype(float)
    bound = k * np.finfo(dtype).eps * (np.abs(left) @ np.abs(right))
    assert (np.abs(compiled(x, y) - left @ right) <= bound).all()
    assert compiled.report(x, y).interpreted == []


def test_stacks_and_vectors():
    draw = np.random.default_rng(0)
    x, y, v = draw.normal(size=(2, 3, 4, 5)), draw.normal(size=(3, 5, 6)), draw.normal(size=5)
    f = tapegrad.jit(lambda x, y, v: [x @ y, x @ v, v @ y])
    for got, expected in zip(f(x, y, v), (x @ y, x @ v, v @ y), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-15)


def test_nan_and_infinity_stay_in_their_rows_and_columns():
    x, y = np.ones((9, 11)), np.ones((11, 13))
    x[2, 3], y[4, 12] = np.inf, np.nan
    got = tapegrad.jit(lambda x, y: x @ y)(x, y)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(got, x @ y)


@pytest.mark.parametrize("bits", ["128", "256"])
def test_narrower_vectors(bits, monkeypatch):
    monkeypatch.setenv("TAPEGRAD_VECTOR_BITS", bits)
    llvm.machine.cache_clear()
    try:
        draw = np.random.default_rng(0)
        for m, k, n in SIZES:
            x, y = draw.normal(size=(m, k)), draw.normal(size=(k, n))
            np.testing.assert_allclose(tapegrad.jit(lambda x, y: x @ y)(x, y), x @ y, rtol=1e-12)
            z = np.ascontiguousarray(y.T)
            np.testing.assert_allclose(tapegrad.jit(lambda x, z: x @ z.T)(x, z), x @ y, rtol=1e-12)
    finally:
        monkeypatch.undo()
        llvm.machine.cache_clear()


def test_what_blas_is_quicker_at_is_left_to_it():
    large = smallproducts.Matrices(1024, 1024, 1024, (1024, 1), (1024, 1))
    assert smallproducts.function(large, "float") is None
    assert smallproducts.function(smallproducts.Matrices(64, 64, 64, (64, 1), (64, 1)), "float") is None
    both_turned = smallproducts.Matrices(8, 8, 8, (1, 8), (1, 8))
    assert smallproducts.function(both_turned, "float") is None
