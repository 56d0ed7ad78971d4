"""Own vector maths: against mpmath, at awkward points, in both precisions, of every width, for every machine."""

import ctypes
import math

import mpmath
import numpy as np
import pytest

import tapegrad
from tapegrad import tensor
from tapegrad.compile import coefficients, llvm, maths, vectormaths

pytest.importorskip("llvmlite", reason="needs llvmlite; `pip install 'gradmark[compile]'`")
MOST_ULPS = 2.5  # the bound of batches is 4; the largest found at 100,000 points each was 2.3
EXACT = {name: getattr(mpmath, {"pow": "power"}.get(name, name)) for name in vectormaths.FUNCTIONS}
AWKWARD = [
    *(0.0, 5e-324, 1e-310, 1e-45, 1e-40, 1.5e-38, 1e-20, 0.5, 0.9999999999, 1.0, 1.0000001, 2.0, 3.0, 6.0, 7.0, 30.0),
    *(45.0, 87.0, 88.7, 89.2, 103.9, 104.5, 709.7, 709.9, 710.3, 711.0, 745.0, 745.5, 1e10, 1e16, 1e22, 3e38, 1e308),
    math.inf,
]
NEON = ("aarch64-unknown-linux-gnu", "generic", "+neon")
AVX2 = ("x86_64-unknown-linux-gnu", "haswell", "")
AVX512 = ("x86_64-unknown-linux-gnu", "skylake-avx512", "")


def module(function, dtype, lanes):
    """A loop that applies a function to arrays."""
    element = maths.TYPES[dtype]
    kind = f"<{lanes} x {element}>"
    symbol, texts = vectormaths.call(function, element, lanes, maths.scalar_symbol(function, dtype))
    operands = f"{kind} %a, {kind} %b" if function == "pow" else f"{kind} %a"
    places = "".join(f"%p{name} = getelementptr {element}, ptr %{name}, i64 %i\n" for name in "xyz")
    return (
        f"{''.join(texts.values())}define void @f(ptr %x, ptr %y, ptr %z, i64 %n) {{\nentry:\nbr label %loop\nloop:\n"
        f"%i = phi i64 [ 0, %entry ], [ %j, %loop ]\n{places}%a = load {kind}, ptr %px, align 4\n"
        f"%b = load {kind}, ptr %py, align 4\n%r = call {kind} @{symbol}({operands})\n"
        f"store {kind} %r, ptr %pz, align 4\n%j = add i64 %i, {lanes}\n%more = icmp ult i64 %j, %n\n"
        "br i1 %more, label %loop, label %done\ndone:\nret void\n}"
    )


def results(function, dtype, lanes, x, y=None):
    """What the function gives for arrays of numbers."""
    count = -(-len(x) // lanes) * lanes
    x, y = (np.resize(numbers, count).astype(dtype) for numbers in (x, x if y is None else y))
    z = np.empty_like(x)
    code = llvm.compiled(module(function, dtype, lanes), optimise=2, passes=1)
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(code.address("f"))
    run(x.ctypes.data, y.ctypes.data, z.ctypes.data, count)
    return z


def points(function, dtype):
    draw = np.random.default_rng(0)
    double = dtype == "float64"
    largest, count = (700, 60) if double else (85, 60)
    if function == "pow":
        x = np.exp(draw.uniform(-largest, largest, 2 * count))
        y = draw.uniform(-1, 1, 2 * count) * largest / np.maximum(np.abs(np.log(x)), 1e-3)
        x[:count] = draw.uniform(0.5, 2, count)  # whose logarithm is small, and where the powers are large
        y[:count] = draw.uniform(-largest, largest, count)
        return x.astype(dtype), y.astype(dtype)
    signs = draw.choice([-1, 1], count)
    parts = [draw.uniform(-1, 1, count), draw.uniform(0.4, 1.6, count), draw.uniform(-largest, largest, count)]
    parts += [np.exp(draw.uniform(-30, 8, count)) * signs]
    if function in ("sin", "cos", "tan"):  # near their zeros, and where angles are left to the C library
        turns = draw.integers(-(10**6), 10**6, count) * (math.pi / 2)
        parts += [turns, draw.uniform(-1e9, 1e9, count), np.exp(draw.uniform(0, 80, count))]
    if function in ("log", "log1p"):
        parts += [np.exp(draw.uniform(-largest, largest, count)), np.exp(-draw.uniform(0, 15, count)) - 1]
    x = np.concatenate(parts).astype(dtype)
    return (np.abs(x) if function == "log" else x[x > -1] if function == "log1p" else x), None


def ulps(got, exact, dtype):
    """The error in units in the last place of the exact result."""
    kind = np.finfo(dtype)
    exponent = max(mpmath.frexp(exact)[1] - 1, kind.minexp)
    return float(abs(mpmath.mpf(float(got)) - exact) / mpmath.mpf(2) ** (exponent - kind.nmant))


@pytest.mark.parametrize("function", vectormaths.FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_errors_are_small(function, dtype):
    x, y = points(function, dtype)
    got = results(function, dtype, 8, x, y)
    largest = float(np.finfo(dtype).max)
    with mpmath.workprec(300):
        for k in range(len(x)):
            operands = [mpmath.mpf(float(numbers[k])) for numbers in ((x,) if y is None else (x, y))]
            exact = EXACT[function](*operands)
            if abs(exact) > largest:
                assert math.isinf(got[k])
            else:
                assert ulps(got[k], exact, dtype) <= MOST_ULPS, (operands, got[k])


@pytest.mark.parametrize("function", vectormaths.FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("lanes", [2, 16])
def test_awkward_numbers(function, dtype, lanes):
    numbers = np.array([*AWKWARD, *[-x for x in AWKWARD], math.nan])
    with np.errstate(all="ignore"):
        x, y = numbers.astype(dtype), None
        if function == "pow":
            x, y = (a.ravel() for a in np.meshgrid(x, x))
            expected = np.power(x, y)
        elif function == "erf":
            expected = np.array([math.erf(number) for number in x]).astype(dtype)
        else:
            expected = getattr(np, function)(x)
    got = results(function, dtype, lanes, x, y)[: len(x)]
    bound = {"float64": 1e-15, "float32": 5e-7}[dtype]
    # e^x and powers may be rounded to a subnormal number's neighbour
    slack = 1.01 * float(np.finfo(dtype).smallest_subnormal) if function in ("exp", "pow") else 0
    np.testing.assert_allclose(got, expected, rtol=bound, atol=slack)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(expected[known]))


@pytest.mark.parametrize("target", [NEON, AVX2, AVX512], ids=["NEON", "AVX2", "AVX-512"])
def test_one_description_serves_every_machine(target):
    lanes = {NEON: 4, AVX2: 8, AVX512: 16}[target]
    products = {NEON: "fmla", AVX2: "vfmadd", AVX512: "vfmadd"}[target]
    register = {NEON: "v0", AVX2: "%ymm", AVX512: "%zmm"}[target]
    for function in vectormaths.FUNCTIONS:
        for dtype in ("float32", "float64"):
            count = lanes if dtype == "float32" else lanes // 2
            text = llvm.assembly(module(function, dtype, count), other=target)
            assert products in text
            assert register in text


def loss(x, w):
    return (tensor.softplus(tensor.conv2d(x, w, padding=1)) + tensor.sin(x[:, :1])).sum()


@pytest.mark.parametrize(("target", "bits"), [(NEON, "128"), (AVX2, "256")], ids=["NEON", "AVX2"])
def test_kernels_compile_for_other_machines(target, bits, asking):
    asking("own", bits)
    x, w = np.ones((1, 2, 8, 8), np.float32), np.ones((2, 2, 3, 3), np.float32)
    compiled = tapegrad.jit(tapegrad.grad(lambda w: loss(x, w)))
    assert compiled.report(w).interpreted == []
    code = llvm.assembly(compiled._executable((w,))[0].text, other=target)
    assert {NEON: "fmla", AVX2: "vfmadd"}[target] in code
    assert "zmm" not in code


@pytest.fixture
def asking(monkeypatch):
    """Asks for a kind of vector maths, and for a width."""

    def ask(maths_word, bits="512"):
        monkeypatch.setenv("TAPEGRAD_VECTOR_MATHS", maths_word)
        monkeypatch.setenv("TAPEGRAD_VECTOR_BITS", bits)
        maths.asked.cache_clear()
        llvm.machine.cache_clear()

    yield ask
    monkeypatch.undo()
    maths.asked.cache_clear()
    llvm.machine.cache_clear()


@pytest.mark.parametrize("word", ["own", "library", "lanes"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_kind_can_be_asked_for_and_is_shown(word, dtype, asking):
    asking(word)
    x = np.linspace(-3, 3, 37).astype(dtype)

    def f(x):
        return [tensor.exp(x), tensor.erf(x), tensor.sin(x) * tensor.tanh(x), tensor.abs(x) ** x]

    compiled = tapegrad.jit(f)
    for got, expected in zip(compiled(x), f(x), strict=True):
        np.testing.assert_allclose(got, expected, rtol={np.float32: 1e-6, np.float64: 2e-15}[dtype])
    library = "libmvec" if maths.vector_symbol("exp", "float64", 8) else "one lane at a time"
    shown = {"own": "own", "library": library, "lanes": "one lane at a time"}[word]
    assert compiled.report(x).vector_maths == shown


@pytest.mark.parametrize("word", ["own", "lanes"])
def test_batches_of_programs_use_what_is_asked_for(word, asking):
    asking(word)
    tape = tapegrad.Tape()
    x = tape.var(0.5)
    program = tape.freeze([x], tapegrad.sin(x) * tapegrad.tanh(x) + x**1.5)
    compiled = program.compile()
    points = np.linspace(0.1, 30, 100)[:, None]
    for got, expected in zip(compiled.batch(points), program.batch(points), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-14)
    bits = llvm.machine().vector_bits
    assert compiled.stats().vector_maths == {"own": f"own, {bits} bits", "lanes": "one lane at a time"}[word]


def test_an_unknown_kind_is_refused(asking):
    asking("fast")
    with pytest.raises(
        tapegrad.InputError, match="expected TAPEGRAD_VECTOR_MATHS to be library, own or lanes, got 'fast'"
    ):
        maths.asked()


# What each polynomial of coefficients.py is fitted to: function, value at 0, interval.
FITTED = {
    "EXP_SINGLE": (lambda r: (mpmath.exp(r) - 1 - r) / r**2, 1 / 2, (-0.3475, 0.3475)),
    "EXP": (lambda r: (mpmath.exp(r) - 1 - r) / r**2, 1 / 2, (-0.3475, 0.3475)),
    "LOG_SINGLE": (lambda f: (mpmath.log(1 + f) - f + f * f / 2) / f**3, 1 / 3, (-0.2929, 0.4143)),
    "LOG": (lambda z: (2 * mpmath.atanh(mpmath.sqrt(z)) / mpmath.sqrt(z) - 2) / z, 2 / 3, (0, 0.0295)),
    "POWER_LOG": (
        lambda z: ((2 * mpmath.atanh(mpmath.sqrt(z)) / mpmath.sqrt(z) - 2) / z - mpmath.mpf(2) / 3) / z,
        2 / 5,
        (0, 0.0295),
    ),
    "SIN": (lambda z: (mpmath.sin(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z, -1 / 6, (0, 0.625)),
    "COS": (lambda z: (mpmath.cos(mpmath.sqrt(z)) - 1 + z / 2) / z**2, 1 / 24, (0, 0.625)),
    "ERF": (lambda z: mpmath.erf(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1, 2 / math.sqrt(math.pi) - 1, (0, 1)),
    "ERFC": (lambda t: _scaled_erfc(3 * (1 + t) / (1 - t)), None, (-0.5, 1 / 3)),
}


def _scaled_erfc(x):
    return mpmath.erfc(x) * mpmath.exp(x * x)


@pytest.mark.parametrize("name", FITTED)
def test_coefficients_are_those_of_their_functions(name):
    function, at_zero, interval = FITTED[name]
    known = getattr(coefficients, name)
    with mpmath.workdps(60):
        again = mpmath.chebyfit(
            lambda t: function(mpmath.mpf(t)) if abs(t) > mpmath.mpf(10) ** -25 else mpmath.mpf(at_zero),
            [mpmath.mpf(bound) for bound in interval],
            len(known),
        )[::-1]
        samples = mpmath.linspace(*interval, 9)
        differences = [mpmath.polyval(list(known)[::-1], t) - mpmath.polyval(again[::-1], t) for t in samples]
    assert max(abs(difference) for difference in differences) < 2e-16
