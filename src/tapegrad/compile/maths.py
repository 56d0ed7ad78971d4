"""Maths: the C library's functions, for one number and for vectors of them, as machine code calls them.

In: a function's name, a dtype and a number of lanes. Out: what to call, and the text that a module needs for it.
Vectors come from libmvec where the machine has it (glibc) and where it is quicker than our own (vectormaths.py); what
neither has calls the function for one number in each lane.
"""

import ctypes
import ctypes.util
import os
import sys
from collections.abc import Iterable
from functools import cache

from tapegrad.compile import llvm, vectormaths
from tapegrad.errors import InputError

ONE = (
    *("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "erf"),
)
TWO = ("pow", "atan2", "hypot")
# Of single precision these are quicker as our own code, which is put between what surrounds it, while a call of the
# library puts all vectors into memory and gets them back: logsumexp takes 0.8 of the time (benchmarks/tensor.py).
OWN_FIRST = ("exp", "expm1", "log", "log1p", "tanh")
# For the repairs at awkward points, one number at a time.
ALSO = ("frexp", "ldexp")
TYPES = {"float64": "double", "float32": "float"}
# The letter of the vector function ABI and how many bits its vectors have, widest first.
X86 = (("e", 512), ("d", 256), ("b", 128))
ARM = (("n", 128),)


@cache
def libraries() -> tuple[ctypes.CDLL, ctypes.CDLL | None]:
    """The C library's maths, and its vector maths where there is one."""
    if sys.platform == "win32":
        return ctypes.CDLL("ucrtbase"), None
    scalar = ctypes.CDLL(ctypes.util.find_library("m") or None)
    try:
        return scalar, ctypes.CDLL("libmvec.so.1") if sys.platform == "linux" else None
    except OSError:
        return scalar, None


def _address(library: ctypes.CDLL | None, name: str) -> int | None:
    try:
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    except AttributeError:
        return None


@cache
def scalar_symbol(function: str, dtype: str = "float64") -> str:
    """The function for one number, made known to LLVM."""
    name = function if dtype == "float64" else f"{function}f"
    address = _address(libraries()[0], name)
    assert address, f"the C library has no {name}"
    llvm.add_symbols({name: address})
    return name


@cache
def vector_symbol(function: str, dtype: str, lanes: int) -> tuple[str, int] | None:
    """The widest vector function for at most so many lanes, and its lanes; None where there is none."""
    here = llvm.machine()
    size, suffix = (64, "") if dtype == "float64" else (32, "f")
    kinds = X86 if here.triple.startswith(("x86_64", "amd64")) else ARM
    operands = "vv" if function in TWO else "v"
    for letter, bits in kinds:
        wide = bits // size
        name = f"_ZGV{letter}N{wide}{operands}_{function}{suffix}"
        address = _address(libraries()[1], name) if bits <= here.vector_bits and wide <= lanes else None
        if address:
            llvm.add_symbols({name: address})
            return name, wide
    return None


@cache
def asked() -> str:
    """Which vector maths the environment asks for: "library", "own" or "lanes"; "" for what suits the machine."""
    word = os.environ.get("TAPEGRAD_VECTOR_MATHS", "")
    if word not in ("", "library", "own", "lanes"):
        raise InputError(f"expected TAPEGRAD_VECTOR_MATHS to be library, own or lanes, got {word!r}")
    return word


def source(function: str, dtype: str, lanes: int) -> str:
    """Where a function of vectors comes from: "library", "own", or "lanes", which are computed one at a time."""
    if asked():
        return asked()
    quicker = dtype == "float32" and function in OWN_FIRST
    if not quicker and vector_symbol(function, dtype, lanes):
        return "library"
    return "own" if function in vectormaths.FUNCTIONS else "lanes"


def sources_of(definitions: Iterable[str]) -> str:
    """Where the functions of a module come from, of which these are defined or declared."""
    names = list(definitions)
    library, own = any(name.startswith("_ZGV") for name in names), any(name.startswith("own.") for name in names)
    known = [word for word, there in (("libmvec", library), ("own", own)) if there]
    if any(name.startswith("lanes.") for name in names):
        known.append("one lane at a time")
    return ", ".join(known)


def vector_library() -> str:
    """Which vector maths machine code uses on this machine; "interpreted" where there is no machine code."""
    if llvm.binding() is None:
        return "interpreted"
    bits = llvm.machine().vector_bits
    match source("exp", "float64", 64):
        case "library" if symbol := vector_symbol("exp", "float64", 64):
            return f"libmvec, {symbol[1] * 64} bits"
        case "own":
            return f"own, {bits} bits"
    return "one lane at a time"


def call(function: str, dtype: str, lanes: int) -> tuple[str, dict[str, str]]:
    """What to call for vectors of so many lanes (1: for numbers), and the texts, by name, that define or declare it.

    A module may hold each text once, so whoever writes one merges these dictionaries.
    """
    element, count = TYPES[dtype], 2 if function in TWO else 1
    if lanes == 1:
        name = scalar_symbol(function, dtype)
        return name, {name: llvm.declared(name, element, [element] * count)}
    if function in vectormaths.FUNCTIONS and source(function, dtype, lanes) == "own":
        return vectormaths.call(function, element, lanes, scalar_symbol(function, dtype))
    wide = None if asked() in ("own", "lanes") else vector_symbol(function, dtype, lanes)
    whole = f"<{lanes} x {element}>"
    if wide and wide[1] == lanes:
        return wide[0], {wide[0]: llvm.declared(wide[0], whole, [whole] * count)}
    name = f"{'parts' if wide else 'lanes'}.{function}.v{lanes}{element}"
    symbol, width = wide or (scalar_symbol(function, dtype), 1)
    part = f"<{width} x {element}>" if width > 1 else element
    declaration = llvm.declared(symbol, part, [part] * count)
    return name, {symbol: declaration, name: _in_parts(name, function, dtype, lanes, symbol, width)}


def _in_parts(name: str, function: str, dtype: str, lanes: int, symbol: str, width: int) -> str:
    """A function of a vector, a part of it at a time."""
    element, count = TYPES[dtype], 2 if function in TWO else 1
    part = f"<{width} x {element}>" if width > 1 else element
    whole = f"<{lanes} x {element}>"
    symbols = [f"%{letter}" for letter in "ab"[:count]]
    lines = [f"define internal {whole} @{name}({', '.join(f'{whole} {x}' for x in symbols)}) nounwind memory(none) {{"]
    results = []
    for start in range(0, lanes, width):
        operands = []
        for x in symbols:
            operands.append(f"{part} {x}{start}")
            if width == 1:
                lines.append(f"{x}{start} = extractelement {whole} {x}, i32 {start}")
            else:
                mask = ", ".join(f"i32 {start + k}" for k in range(width))
                lines.append(f"{x}{start} = shufflevector {whole} {x}, {whole} poison, <{width} x i32> <{mask}>")
        lines.append(f"%r{start} = call {part} @{symbol}({', '.join(operands)})")
        results.append(f"%r{start}")
    while len(results) > 1 and width > 1:
        width *= 2
        mask, kind = ", ".join(f"i32 {k}" for k in range(width)), f"<{width // 2} x {element}>"
        for k in range(0, len(results), 2):
            first, second = f"{kind} {results[k]}", f"{kind} {results[k + 1]}"
            lines.append(f"{results[k]}w{width} = shufflevector {first}, {second}, <{width} x i32> <{mask}>")
        results = [f"{results[k]}w{width}" for k in range(0, len(results), 2)]
    if width == 1:
        last = "poison"
        for k, result in enumerate(results):
            lines.append(f"%v{k} = insertelement {whole} {last}, {element} {result}, i32 {k}")
            last = f"%v{k}"
        results = [last]
    return "\n".join([*lines, f"ret {whole} {results[0]}", "}", ""])
