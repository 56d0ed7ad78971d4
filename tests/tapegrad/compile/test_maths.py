"""The C library's functions in machine code: for one number and for vectors, in both precisions, of every width."""

import ctypes

import numpy as np
import pytest

import tapegrad
from tapegrad.compile import llvm, maths

pytest.importorskip("llvmlite", reason="needs llvmlite; `pip install 'gradmark[compile]'`")
SCALAR = {"exp": np.exp, "sin": np.sin, "log1p": np.log1p, "pow": np.power, "atan2": np.arctan2}


def results(function, dtype, lanes, numbers):
    """What the function gives, for each number with itself."""
    element = maths.TYPES[dtype]
    kind = f"<{lanes} x {element}>" if lanes > 1 else element
    symbol, texts = maths.call(function, dtype, lanes)
    operands = ", ".join([f"{kind} %a"] * (2 if function in maths.TWO else 1))
    code = llvm.compiled(
        f"{''.join(texts.values())}define void @f(ptr %x, ptr %y) {{\n%a = load {kind}, ptr %x, align 4\n"
        f"%r = call {kind} @{symbol}({operands})\nstore {kind} %r, ptr %y, align 4\nret void\n}}"
    )
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address("f"))
    x = np.array(numbers, dtype)
    y = np.empty_like(x)
    function(x.ctypes.data, y.ctypes.data)
    return y


@pytest.mark.parametrize("function", SCALAR)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("lanes", [1, 2, 8, 16])
@pytest.mark.parametrize("library", ["as it is", "none"])
def test_every_width(function, dtype, lanes, library, monkeypatch):
    if library == "none":
        monkeypatch.setattr(maths, "vector_symbol", lambda *_: None)
    numbers = np.linspace(0.1, 0.9, lanes)
    exact = SCALAR[function](*[numbers] * (2 if function in maths.TWO else 1))
    got = results(function, dtype, lanes, numbers)
    np.testing.assert_allclose(got, exact, rtol=1e-15 if dtype == "float64" else 5e-7)


def test_the_vector_library_is_named(monkeypatch):
    assert maths.vector_library() in (
        "libmvec, 512 bits",
        "libmvec, 256 bits",
        "libmvec, 128 bits",
        f"own, {llvm.machine().vector_bits} bits",
    )
    monkeypatch.setattr(maths, "vector_symbol", lambda *_: None)
    assert maths.vector_library() == f"own, {llvm.machine().vector_bits} bits"


def test_vectors_no_wider_than_asked(monkeypatch):
    llvm.machine.cache_clear()
    try:
        monkeypatch.setenv("TAPEGRAD_VECTOR_BITS", "128")
        assert (llvm.machine().vector_bits, llvm.machine().lanes("float32")) == (128, 4)
        llvm.machine.cache_clear()
        monkeypatch.setenv("TAPEGRAD_VECTOR_BITS", "1024")
        with pytest.raises(
            tapegrad.InputError, match="expected TAPEGRAD_VECTOR_BITS to be 128, 256 or 512, got '1024'"
        ):
            llvm.machine()
    finally:
        llvm.machine.cache_clear()
