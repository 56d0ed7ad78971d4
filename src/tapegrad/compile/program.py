"""Compiling a program: which kernels there are, and how each is made.

In: a program. Out: a `CompiledProgram`, whose kernels are compiled when they are first needed.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

from tapegrad.compile import llvm, maths
from tapegrad.compile.instructions import graph_of
from tapegrad.compile.kernels import CHUNK, kernel
from tapegrad.scalar.compiled import CompiledProgram
from tapegrad.scalar.native import Native

if TYPE_CHECKING:
    from tapegrad.scalar.program import Program

# Up to so many nodes LLVM takes some trouble over each instruction, 30 to 100 µs, most of it over the choices in live
# products; beyond, it spends 10, and the code takes 1.2 times as long.
MOST_OPTIMISED = 6000
# In batches the difference is not to be seen above some hundred.
MOST_OPTIMISED_IN_BATCHES = 500
# With so many inputs much is computed alike for each of them, which LLVM's passes put into vectors: a Hessian-vector
# product of Rosenbrock's function took 0.7 of the time. Where there is nothing to find they cost 30 µs an instruction.
FEWEST_ALIKE = 16
MOST_ALIKE = 50_000  # nodes
CHUNK_ALIKE = 300  # so that more of it is seen together
BLOCK = 32  # points of a block, as in kernels.h


@dataclass(frozen=True, slots=True)
class KernelStats:
    """One kernel: nodes of its graph, bytes of machine code and of what it keeps between its chunks, seconds to make
    it, and whether it was compiled in this process ("compiled") or found on disk ("disk")."""

    nodes: int
    nbytes: int
    kept_bytes: int
    seconds: float
    origin: str


@dataclass(frozen=True, slots=True)
class CompiledStats:
    """The kernels that have been compiled, by name, and the vector maths that batches use on this machine."""

    kernels: dict[str, KernelStats]
    vector_maths: str


class Compiler:
    """Makes the kernels of one program."""

    def __init__(self, program: "Program", cache: str | PathLike[str] | None) -> None:
        self.program = program
        self.cache = cache
        self.kernels: dict[str, KernelStats] = {}

    def make(self, name: str) -> Native | None:
        """The machine code of a kernel; None without llvmlite."""
        if not llvm.available():
            return None
        return self._compiled(name)

    def _compiled(self, name: str) -> Native:
        start = time.perf_counter()
        stats = self.program.stats()
        slopes = name in ("value_and_grad", "batch")
        source = self.program.gradient(with_values=True) if slopes else self.program
        weights = stats.outputs if slopes and not self.program.form()[1] else 0
        many = name.startswith("batch")
        lanes = 2 * llvm.machine().lanes("float64") if many else 1  # two vectors, so that one need not wait for itself
        points = BLOCK if many else 1
        graph = graph_of(source)
        alike = not many and len(graph.inputs) >= FEWEST_ALIKE
        most = MOST_OPTIMISED_IN_BATCHES if many else MOST_ALIKE if alike else MOST_OPTIMISED
        optimise = 1 if len(graph.nodes) <= most else 0
        module = kernel(graph, stats.outputs, lanes, points, CHUNK_ALIKE if alike else CHUNK)
        passes = 2 if alike and optimise else None
        code = llvm.compiled(module.text, optimise, passes, folder=self.cache, wide=many)
        self.kernels[name] = KernelStats(
            len(graph.nodes), code.nbytes, 8 * module.slots, time.perf_counter() - start, code.origin
        )
        return Native(
            code.address("run"),
            code,
            inputs=stats.inputs + weights,
            values=stats.outputs,
            slopes=stats.inputs if slopes else 0,
            weights=weights,
            slots=module.slots,
            lanes=lanes,
            points=points,
        )

    def stats(self) -> CompiledStats:
        """What was made."""
        return CompiledStats(dict(self.kernels), maths.vector_library())


def compiled(program: "Program", kernels: Sequence[str], cache: str | PathLike[str] | None) -> CompiledProgram:
    """A program with a compiler behind it."""
    compiler = Compiler(program, cache)
    make: Callable[[str], Native | None] = compiler.make
    answer = CompiledProgram(program, make, compiler.stats)
    answer.prepare(*kernels)  # type: ignore[arg-type]  # checked there
    return answer
