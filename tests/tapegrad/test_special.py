"""Special functions: the C library's, to rounding, on whatever arrays NumPy has; SciPy is never imported for them."""

import math
import subprocess
import sys

import mpmath
import numpy as np
import pytest

from tapegrad import special

POINTS = [0.0, 1e-300, 1e-8, 0.1, 0.5, 0.84, 1.0, 1.3, 2.0, 3.3, 5.9, 6.1, 20.0, 88.0, 104.0, 700.0, 1e4]
EXACT = {"expit": lambda x: 1 / (1 + mpmath.exp(-x)), "erf": mpmath.erf}
# Units in the last place: of the C library's function, and of what is done with its result.
BOUNDS = {"expit": 3, "erf": 2}
DTYPES = [np.float32, np.float64, np.longdouble]


def exactly(number):
    """A number of NumPy's as one of mpmath's."""
    top, bottom = number.as_integer_ratio()
    return mpmath.mpf(top) / bottom


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("name", EXACT)
def test_right_to_rounding(name, dtype):
    rng = np.random.default_rng(0)
    x = np.concatenate([POINTS, rng.normal(size=60), 10 * rng.normal(size=60)])
    x = np.concatenate([x, -x]).astype(dtype)
    y = getattr(special, name)(x)
    assert y.dtype == dtype
    eps, least = exactly(np.finfo(dtype).eps), exactly(np.finfo(dtype).smallest_subnormal)
    with mpmath.workdps(60):
        for point, value in zip(x, y, strict=True):
            exact = EXACT[name](exactly(point))
            unit = max(eps * mpmath.mpf(2) ** (mpmath.frexp(exact)[1] - 1), least)
            assert abs(exactly(value) - exact) <= BOUNDS[name] * unit, point


@pytest.mark.parametrize("name", EXACT)
def test_special_points(name):
    ends = {"expit": [0.5, 0.5, 1.0, 0.0], "erf": [0.0, -0.0, 1.0, -1.0]}[name]
    for dtype in DTYPES:
        y = getattr(special, name)(np.array([0.0, -0.0, math.inf, -math.inf], dtype))
        assert list(map(str, y.astype(float))) == list(map(str, ends))
        assert np.isnan(getattr(special, name)(np.array([math.nan], dtype)))


@pytest.mark.parametrize("name", EXACT)
def test_any_array_of_real_numbers(name):
    f = getattr(special, name)
    x = np.linspace(-2, 2, 24).reshape(4, 6)
    expected = np.array([[float(EXACT[name](v)) for v in row] for row in x])

    def same(given, wanted, dtype=np.float64):
        y = f(given)
        np.testing.assert_allclose(np.asarray(y, float), wanted, rtol=4 * np.finfo(dtype).eps)
        assert (y.shape, y.dtype) == (np.shape(wanted), np.dtype(dtype))

    same(x, expected)
    same(x.T, expected.T)
    same(x[::2, ::-3], expected[::2, ::-3])
    same(x.astype(">f8"), expected)
    unaligned = np.frombuffer(b"-" + x.tobytes(), np.uint8)[1:].view(np.float64).reshape(x.shape)
    assert not unaligned.flags.aligned
    same(unaligned, expected)
    halves = x.astype(np.float16)
    same(halves, [[float(EXACT[name](v)) for v in row] for row in halves.tolist()], np.float16)
    same(np.arange(3), [float(EXACT[name](v)) for v in range(3)])
    same(np.array([False, True]), [float(EXACT[name](v)) for v in range(2)])
    same(np.empty((0, 3)), np.empty((0, 3)))
    frozen = x.copy()
    frozen.flags.writeable = False
    same(frozen, expected)
    for number in (0.5, np.float64(0.5), np.array(0.5)):
        assert type(f(number)) is np.float64
        same(number, float(EXACT[name](0.5)))


ALL_FUNCTIONS = """
import sys
import numpy as np
import tapegrad
from tapegrad import tensor
x = tensor.Tensor(np.ones((2, 2)), requires_grad=True)
for name in ("softplus", "sigmoid", "erf", "gelu", "logsumexp", "softmax", "log_softmax"):
    f = getattr(tensor, name)
    f(x).sum().backward()
    with tapegrad.no_grad():
        f(x)
tape = tapegrad.Tape()
v = tape.var(1.0)
tape.freeze(v, tapegrad.softplus(v) + tapegrad.erf(v)).batch([1.0])
print(*sorted(name for name in sys.modules if name.startswith("scipy")))
"""


@pytest.mark.slow
def test_no_function_imports_scipy():
    done = subprocess.run([sys.executable, "-c", ALL_FUNCTIONS], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""
