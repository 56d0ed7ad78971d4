"""What moves numbers, as machine code and by NumPy: the same, number for number."""

import numpy as np
import pytest

import tapegrad
from tapegrad import tensor
from tapegrad.compile import llvm
from tapegrad.errors import InputError

pytestmark = pytest.mark.skipif(not llvm.available(), reason="without llvmlite NumPy moves them")


def drawn(*shape, dtype=np.float64):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(dtype)


def compiled(f, *args):
    made = tapegrad.jit(f)
    result = made(*args)
    assert made.report(*args).interpreted == []
    return result


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32, bool])
@pytest.mark.parametrize(
    ("shapes", "axis"), [([(3, 5), (3, 1), (3, 2)], 1), ([(1, 200), (4, 200)], 0), ([(7,), (3,)], 0)]
)
def test_concatenate(shapes, axis, dtype):
    parts = [drawn(*shape).astype(dtype) for shape in shapes]
    result = compiled(lambda *xs: tensor.concatenate(xs, axis), *parts)
    np.testing.assert_array_equal(result, np.concatenate(parts, axis))
    assert result.dtype == dtype


def test_concatenate_views_and_known_numbers():
    x = drawn(4, 6)
    got = compiled(lambda x: tensor.concatenate([x[:, ::2], np.ones((4, 2)), tensor.transpose(x)[:4, :4]], 1), x)
    np.testing.assert_array_equal(got, np.concatenate([x[:, ::2], np.ones((4, 2)), x.T[:4, :4]], 1))


INDICES = {
    "a row": (2,),
    "the last row": (-1,),
    "one number": (1, 3, 2),
    "every second": (slice(None), slice(0, None, 2)),
    "backwards": (slice(None, None, -1), 2),
    "the rest": (..., 1),
    "a new axis": (None, 2),
    "a long row": (slice(1, 3),),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES.keys())
def test_gradients_of_parts(index, dtype):
    """Added into zeros, twice at overlapping places."""
    x, w = drawn(4, 6, 150, dtype=dtype), drawn(4, 6, 150, dtype=dtype)

    def f(x):
        return (x[index] * x[index]).sum() + (x * w)[:2].sum() + (x[1:] * x[:-1]).sum()

    got = compiled(tapegrad.grad(f), x)
    np.testing.assert_allclose(got, tapegrad.grad(f)(x), rtol=1e-6 if dtype == np.float32 else 1e-13, atol=1e-6)


@pytest.mark.parametrize("place", [0, 3, -1, -4])
@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_a_row_at_a_place_that_is_an_argument(place, dtype):
    x, k = drawn(4, 70), np.array(place, dtype)
    np.testing.assert_array_equal(compiled(lambda x, k: x[k], x, k), x[place])
    gradient = compiled(tapegrad.grad(lambda x, k: (x[k] * x[k]).sum()), x, k)
    expected = np.zeros_like(x)
    expected[place] = 2 * x[place]
    np.testing.assert_array_equal(gradient, expected)


@pytest.mark.parametrize("rows", [4, 300])
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint8, np.uint16, np.uint32, np.uint64])
def test_a_row_at_a_place_of_any_integer_dtype(dtype, rows):
    x, place = drawn(rows, 3), 3 if np.dtype(dtype).kind == "u" else -3
    k = np.array(place, dtype)
    for f in (lambda x, k: x[k], tapegrad.grad(lambda x, k: (x[k] * x[k,]).sum())):
        np.testing.assert_array_equal(tapegrad.jit(f)(x, k), f(x, np.int64(place)))
    last = tapegrad.jit(lambda x, ks: tapegrad.scan(lambda c, k: (c + x[k], None), np.zeros(3), ks)[0])
    np.testing.assert_array_equal(last(x, k[None]), x[place])


@pytest.mark.parametrize("number", [4, 2**63, 2**64 - 1])
def test_an_unsigned_place_is_never_counted_from_the_end(number):
    with pytest.raises(InputError, match="expected an index of 4 rows"):
        tapegrad.jit(lambda x, k: x[k])(drawn(4, 3), np.array(number, np.uint64))


@pytest.mark.parametrize("place", [4, -5])
def test_a_row_in_a_tuple_that_is_not_there_is_an_error(place):
    x, k = drawn(4, 3), np.array(place)
    value = tapegrad.jit(lambda x, k: x[k,])
    gradient = tapegrad.jit(tapegrad.grad(lambda x, k: (x[k,] * x[k,]).sum()))
    scanned = tapegrad.jit(lambda x, k: tapegrad.scan(lambda c, k: (c + x[k,].sum(), None), 0.0, k[None])[0])
    for f in (value, gradient, scanned):
        f(x, np.array(0))
        with pytest.raises(InputError, match="expected an index of 4 rows"):
            f(x, k)


@pytest.mark.parametrize("place", [4, -5, 2**40, -(2**62)])
def test_a_row_that_is_not_there_is_an_error(place):
    f = tapegrad.jit(lambda x, k: x[k])
    f(drawn(4, 3), np.array(0))
    with pytest.raises(InputError, match="expected an index of 4 rows"):
        f(drawn(4, 3), np.array(place))
