"""Builds the compiled modules of tapegrad, and the pilots of gradmark; everything else is in pyproject.toml.

Whatever does something is called from `main`: Cython compiles in several processes, and where they are not forked each
of them imports this file.
"""

import importlib.util
import multiprocessing
import os
import sys
import sysconfig
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

SCALAR = "src/tapegrad/scalar"
TENSOR = "src/tapegrad/tensor"


def refuse_free_threading() -> None:
    """A build without the lock would run, and give wrong derivatives when two threads meet."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        sys.exit(
            "gradmark cannot be built for free-threaded Python: tapes take their variables from a free list that the "
            "interpreter's lock protects. Use the usual build of Python, without the t in its name."
        )


def write_what_rules_make() -> None:
    """Makes the C of the scalar engine, and more, of its rules: plain Python, which imports nothing else."""
    folder = Path("src/tapegrad/rules").absolute()
    spec = importlib.util.spec_from_file_location(
        "rules", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    sys.modules["rules"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["rules"])
    importlib.import_module("rules.generate").write(Path(SCALAR), Path("docs/reference/operations.md"))


# -O3 vectorises the batch kernels. The rest keeps IEEE results the same on every machine: no fused multiply-add, and
# only those liberties (errno, floating-point traps) that no one can see from Python.
FLAGS = (
    []
    if sys.platform == "win32"
    else ["-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fno-tree-loop-distribute-patterns"]
)
# Functions marked inline in the Cython sources rely on it: a known opcode turns a switch into one instruction.
INLINE = [] if sys.platform == "win32" else [("CYTHON_INLINE", "__inline__ __attribute__((always_inline))")]
LIBRARIES = [] if sys.platform == "win32" else ["m"]
HEADERS = [
    f"{SCALAR}/{name}.h"
    for name in (
        *("opcodes", "helpers", "rules", "slopes"),  # made of the rules
        *("places", "sweeps", "kernels", "pool", "counter"),
    )
]


# For the sweeps over one point, in which every case jumps to the next instruction's by itself (sweeps.h): without the
# first three, GCC makes one jump of them all. With labels at multiples of 16 bytes a case costs the same wherever it
# comes to lie. (A batch of Horner's rule takes 1.5 times as long with that.)
JUMPS = (
    [] if sys.platform == "win32" else ["-fno-gcse", "-fno-crossjumping", "-fno-tree-tail-merge", "-falign-labels=16"]
)


def extension(name: str, *sources: str, flags: list[str] = FLAGS, slopes: bool = False) -> Extension:
    """A compiled module of the scalar engine, with the C files that belong to it.

    slopes: whether its sweeps know the operations of derivative programs; a tape has none of them.
    """
    return Extension(
        f"tapegrad.scalar.{name}",
        [f"{SCALAR}/{name}.py", *(f"{SCALAR}/{source}" for source in sources)],
        depends=[*HEADERS, *(f"{SCALAR}/{header}.h" for header in ("shares", "hashing") if name == "graph")],
        include_dirs=[SCALAR],
        libraries=LIBRARIES,
        extra_compile_args=flags,
        define_macros=INLINE + [("TAPEGRAD_SLOPES", "1")] * slopes,
    )


def tensor_extensions(*names: str) -> list[Extension]:
    """Compiled modules of the tensor engine."""
    flags = [] if sys.platform == "win32" else ["-O2", "-g0"]
    return [
        Extension(f"tapegrad.tensor.{name}", [f"{TENSOR}/{name.replace('.', '/')}.py"], extra_compile_args=flags)
        for name in names
    ]


# The tensor engine is plain Python; compiled, an operation on a small array costs half. The .pxd files beside its
# modules give the C layout. Only in the rules are annotations types to the compiler: there `i` is an Instruction.
CORE = tensor_extensions(
    "namespaces",
    "instruction",
    "nesting.levels",
    "nesting.traced",
    "broadcasting",
    "backward",
    "tensor",
    "trees",
    "arguments",
    "gradients",
    "functions",
    "nesting.namespace",
    "nesting.execution",
)
RULES = tensor_extensions(*(f"rules.{name}" for name in ("elementwise", "reductions", "shapes", "products", "neural")))
# erf and the like over arrays, for the tensor engine.
SPECIAL = Extension(
    "tapegrad.special",
    ["src/tapegrad/special.pyx"],
    depends=["src/tapegrad/special.h", *HEADERS],
    include_dirs=["src/tapegrad", SCALAR],
    libraries=LIBRARIES,
    extra_compile_args=FLAGS,
)
# The way into compiled functions of tensors.
CALLING = Extension("tapegrad.compile.calling", ["src/tapegrad/compile/calling.pyx"], extra_compile_args=FLAGS)
# The threads that share its kernels.
CREW = Extension(
    "tapegrad.compile.crew",
    ["src/tapegrad/compile/crew.pyx"],
    depends=["src/tapegrad/compile/crew.h"],
    include_dirs=["src/tapegrad/compile"],
    extra_compile_args=FLAGS,
)
COMMON = {
    "include_path": ["src"],
    "build_dir": "build/cython",
    "language_level": 3,
    # Starting processes afresh takes longer than what they would compile.
    "nthreads": (os.cpu_count() or 0) if multiprocessing.get_start_method() == "fork" else 0,
}

# The pilots are the same work wherever they are built: no vectors, which a compiler may or may not choose.
PILOT = Extension(
    "gradmark.measure.worker.pilot",
    ["src/gradmark/measure/worker/pilot.pyx"],
    depends=["src/gradmark/measure/worker/pilot.h"],
    include_dirs=["src/gradmark/measure/worker"],
    extra_compile_args=[] if sys.platform == "win32" else ["-O2", "-fno-tree-vectorize", "-falign-functions=64"],
)

SCALARS = [
    extension("recording"),
    extension("conditions"),
    extension("variables"),
    extension("operations"),
    extension("functions"),
    extension("where"),
    extension("tape", flags=FLAGS + JUMPS),
    extension("freezing"),
    extension("graph", slopes=True),
    extension("emitting"),
    extension("deriving"),
    extension("pattern"),
    extension("replaying"),
    extension("native"),
    extension("inlining", flags=FLAGS + JUMPS, slopes=True),
    extension("binding", flags=FLAGS + JUMPS, slopes=True),
    extension("batching", "blocks.c"),
    extension("compiled"),
    extension("program", flags=FLAGS + JUMPS, slopes=True),
]


def compiled() -> list[Extension]:
    """All modules, as C."""
    return (
        cythonize([PILOT, SPECIAL, CALLING, CREW], **COMMON)
        + cythonize(CORE, compiler_directives={"annotation_typing": False}, **COMMON)
        + cythonize(RULES, compiler_directives={"binding": False}, **COMMON)
        + cythonize(SCALARS, **COMMON)
    )


def remove_leftovers(modules: list[Extension]) -> None:
    """Removes what an older checkout compiled and this one does not: it would be imported before the Python file."""
    names = {module.name for module in modules}
    for path in Path("src").rglob("*"):
        module = ".".join(path.relative_to("src").with_name(path.name.partition(".")[0]).parts)
        if path.suffix in (".so", ".pyd") and module not in names:
            path.unlink()


def main() -> None:
    """Builds."""
    refuse_free_threading()
    write_what_rules_make()
    modules = compiled()
    remove_leftovers(modules)
    setup(ext_modules=modules, options={"build_ext": {"parallel": os.cpu_count() or 1}})


if __name__ == "__main__":
    main()
