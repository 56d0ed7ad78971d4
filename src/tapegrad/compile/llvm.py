"""LLVM: from the text of a module to functions in memory. The only file that knows llvmlite.

In: IR as text, for the machine that is running. Out: `Code`, whose functions can be called by their addresses. Nothing
here allows LLVM to change a result: no fast-math flags, no contraction of a product and a sum.
"""

import hashlib
import os
import tempfile
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tapegrad.errors import InputError

# Compiled modules that are kept for the next request of the same text; a module of a thousand instructions has 20 KB.
MOST_KEPT = 256
MISSING = "llvmlite is not installed, so this runs interpreted; `pip install 'gradmark[compile]'` brings machine code"
_lock = threading.RLock()
_kept: "OrderedDict[str, Code]" = OrderedDict()
_told = False


@cache
def binding() -> Any:
    """llvmlite.binding, made ready for this machine; None where llvmlite is not installed."""
    try:
        import llvmlite.binding as llvm
    except ImportError:
        return None
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def available() -> bool:
    """Whether machine code can be made; says once what is missing where it cannot."""
    global _told
    if binding() is not None:
        return True
    if not _told:
        _told = True
        warnings.warn(MISSING, stacklevel=3)
    return False


@dataclass(frozen=True)
class Machine:
    """The machine that code is made for: the one that is running."""

    triple: str
    cpu: str
    features: str
    vector_bits: int  # of its widest vectors

    @property
    def fused(self) -> bool:
        """Whether it has an instruction for x·y + z."""
        return "+fma" in self.features.split(",") or not self.triple.startswith(("x86_64", "amd64", "i"))

    def lanes(self, dtype: str) -> int:
        """How many numbers of a dtype fit into a vector."""
        return self.vector_bits // {"float64": 64, "float32": 32}[dtype]


@cache
def machine() -> Machine:
    """This machine."""
    llvm = binding()
    features = llvm.get_host_cpu_features()
    # An override for tests, and for machines on which wide vectors lower the clock: 128, 256 or 512.
    asked = os.environ.get("TAPEGRAD_VECTOR_BITS", "512")
    if asked not in ("128", "256", "512"):
        raise InputError(f"expected TAPEGRAD_VECTOR_BITS to be 128, 256 or 512, got {asked!r}")
    most = int(asked)
    widths = [(512, "avx512f"), (256, "avx2"), (128, "sse2"), (128, "neon")]
    bits = next((bits for bits, feature in widths if bits <= most and features.get(feature)), 128)
    return Machine(llvm.get_default_triple(), llvm.get_host_cpu_name(), features.flatten(), bits)


def target_machine(optimise: int, wide: bool = True) -> Any:
    """LLVM's code generator for this machine. optimise: 0 to 3; wide: whether it may use AVX-512.

    A choice between two single numbers takes a mask register of AVX-512, which is slow to get at: a chain of live
    products took 1.9 times as long. So code for one point does without.
    """
    llvm, here = binding(), machine()
    target = llvm.Target.from_triple(here.triple)
    features = here.features if wide else ",".join(map(_narrow, here.features.split(",")))
    return target.create_target_machine(
        cpu=here.cpu, features=features, opt=optimise, reloc="pic", codemodel="jitdefault", jit=True
    )


def _narrow(feature: str) -> str:
    return f"-{feature[1:]}" if feature[1:].startswith(("avx512", "avx10", "evex512")) else feature


class Code:
    """A compiled module. Its functions stay as long as it does."""

    def __init__(self, machine_code: bytes, seconds: float, origin: str) -> None:
        self.machine_code = machine_code  # an object file of this machine
        self.nbytes = len(machine_code)
        self.seconds = seconds  # that it took to be made
        self.origin = origin  # "compiled" or "disk"
        llvm = binding()
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine(0))
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(machine_code))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where a function is."""
        place = int(self._engine.get_function_address(name))
        if not place:
            raise KeyError(name)
        return place


def add_symbols(addresses: dict[str, int]) -> None:
    """Functions from outside that modules may call by these names."""
    for name, address in addresses.items():
        binding().add_symbol(name, address)


def compiled(
    text: str,
    optimise: int = 2,
    passes: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    wide: bool = True,
) -> Code:
    """The code of a module. optimise: of instructions, 0 to 3; passes: of the IR before, as clang's -O, None for none;
    wide: whether AVX-512 may be used.

    The same text is compiled once in a process; with a folder, once on this machine.
    """
    here = machine()
    words = (binding().llvm_version_info, here, optimise, passes, wide, text)
    key = hashlib.sha256(repr(words).encode()).hexdigest()
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
        code = _stored(folder, key)
        if code is None:
            start = time.perf_counter()
            object_code = object_file(text, optimise, passes, wide)
            code = Code(object_code, 0.0, "compiled")
            code.seconds = time.perf_counter() - start
            _store(folder, key, object_code)
        _kept[key] = code
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
        return code


def forget() -> None:
    """Forgets what was compiled: the next request compiles anew. What is in use stays in use."""
    with _lock:
        _kept.clear()


def object_file(text: str, optimise: int, passes: int | None, wide: bool = True) -> bytes:
    """An object file of the module."""
    llvm = binding()
    module = llvm.parse_assembly(text)
    module.triple = machine().triple
    module.verify()
    generator = target_machine(optimise, wide)
    module.data_layout = str(generator.target_data)
    if passes is not None:
        options = llvm.create_pipeline_tuning_options(speed_level=passes)
        options.slp_vectorization = True  # single numbers that are computed alike become vectors
        builder = llvm.create_pass_builder(generator, options)
        builder.getModulePassManager().run(module, builder)
    return bytes(generator.emit_object(module))


def assembly(text: str, optimise: int = 2, other: tuple[str, str, str] | None = None) -> str:
    """The module in the machine's own words, for people; or in those of another: its triple, processor and features."""
    llvm = binding()
    module = llvm.parse_assembly(text)
    if other is None:
        return str(target_machine(optimise).emit_assembly(module))
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple, cpu, features = other
    module.triple = triple
    target = llvm.Target.from_triple(triple)
    generator = target.create_target_machine(cpu=cpu, features=features, opt=optimise, reloc="pic")
    return str(generator.emit_assembly(module))


# ---- on disk -----------------------------------------------------------------------------------------------------
#
# A file holds the digest of an object file and the object file; its name is the digest of all that it depends on. What
# is damaged is compiled again. The folder is the user's to choose: who can write to it can run code as who reads it.


def _stored(folder: str | os.PathLike[str] | None, key: str) -> Code | None:
    if folder is None:
        return None
    try:
        content = (Path(folder) / f"{key}.code").read_bytes()
    except OSError:
        return None
    digest, object_code = content[:32], content[32:]
    return Code(object_code, 0.0, "disk") if hashlib.sha256(object_code).digest() == digest else None


def _store(folder: str | os.PathLike[str] | None, key: str, object_code: bytes) -> None:
    if folder is None:
        return
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path, suffix=".part", delete=False) as part:
            part.write(hashlib.sha256(object_code).digest() + object_code)
        os.replace(part.name, path / f"{key}.code")
    except OSError as error:
        raise InputError(f"expected a folder that code can be kept in, got {str(path)!r}: {error}") from None


def declared(name: str, result: str, operands: Iterable[str]) -> str:
    """The declaration of a function without side effects."""
    return f"declare {result} @{name}({', '.join(operands)}) nounwind willreturn memory(none)\n"
