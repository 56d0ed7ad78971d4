"""The engines that record once: a program that is interpreted, and the machine code of one."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import tapegrad
from gradmark.engines.protocol import Capabilities, Derivative, Session
from gradmark.engines.tapegrad.operations import operations
from gradmark.records import DerivativeName, Param, Sparsity, TapeSize
from gradmark.records.derivative import FACTS, USUAL_DERIVATIVE
from gradmark.workloads.workload import Workload
from tapegrad import compile as compiling

# Programs are derived once. Their matrices are sparse, and as full ones no other.
MODES_OF_PROGRAMS: Mapping[DerivativeName, str] = {
    "gradient": "rev",
    "jvp": "fwd",
    "vjp": "rev",
    "hvp": "fwd-over-rev",
    "sparse-jacobian": "coloured",
    "sparse-hessian": "coloured",
}
# Machine code is made of the same programs; matrices are put together by the interpreter.
MODES_OF_CODE: Mapping[DerivativeName, str] = {
    name: MODES_OF_PROGRAMS[name] for name in ("gradient", "jvp", "vjp", "hvp")
}
GRADIENT = Derivative()
# Compiling is a phase for programs of at most so many instructions: it is repeated as often as a call, and takes 30 to
# 160 µs for each of them. Of larger ones the first call tells.
MOST_COMPILED_ANEW = 2000


def recorded(
    workload: Workload, inputs: Sequence[float], params: Mapping[str, Param], derivative: Derivative
) -> tapegrad.Program:
    """The workload as a program."""
    tape = tapegrad.Tape()
    xs = [tape.var(v) for v in inputs]
    y = workload.function(operations(tape.const), *xs, **params)
    one = derivative.name == "vjp" and not derivative.shape  # a list of one has a weight
    return tape.freeze(xs, [y] if one else y)


def derived_program(program: tapegrad.Program, derivative: Derivative) -> tapegrad.Program:
    """The program of a product with a direction, which it takes after the inputs."""
    if derivative.name == "jvp":
        return program.tangent()
    return program.gradient().tangent() if derivative.name == "hvp" else program.gradient()


def derived_session(program: tapegrad.Program, inputs: Sequence[float], derivative: Derivative) -> Session:
    """A derivative of a program, as a program of its own between two arrays; of sparse matrices, their entries."""
    form, along = (
        FACTS[derivative.name].form,
        np.array(derivative.tangents or derivative.cotangent or [], float).ravel(),
    )
    point = np.concatenate([inputs, along])
    stats = program.stats()
    primal = program.bind(point[: stats.inputs], np.zeros(stats.outputs))
    if form == "sparse":
        matrix = program.jacobian() if derivative.name == "sparse-jacobian" else program.hessian()
        result = matrix(point)
        return Session(
            primal=primal,
            total=matrix.bind(point, result.data),
            result=lambda: result,
            move=partial(np.copyto, point),
            sparsity=lambda: Sparsity(nonzeros=matrix.nnz, colours=matrix.colours),
        )
    derived = derived_program(program, derivative)
    computed = np.zeros(derived.stats().outputs)
    one = not derivative.shape

    def read() -> Any:
        return computed.tolist() if form == "inputs" else computed[0] if one else computed

    return Session(
        primal=primal,
        total=derived.bind(point, computed),
        result=read,
        move=partial(np.copyto, point[: stats.inputs]),
    )


class TapegradProgram:
    """Recorded and frozen once, then replayed. Value and gradient are one program, so backward is derived."""

    name = "tapegrad:program"

    def capabilities(self) -> Capabilities:
        """Freezing is its compilation."""
        return Capabilities(compiled=True, derivatives=MODES_OF_PROGRAMS)

    def prepare(
        self,
        workload: Workload,
        inputs: Sequence[float],
        params: Mapping[str, Param],
        *,
        derivative: Derivative = GRADIENT,
    ) -> Session:
        """Records and freezes, and binds the derivative's program to arrays: the numbers go in and out of these."""
        program = recorded(workload, inputs, params, derivative)
        if derivative.name != USUAL_DERIVATIVE:
            return derived_session(program, inputs, derivative)
        both = program.gradient(with_values=True)
        point, value, computed = np.array(inputs), np.zeros(1), np.zeros(1 + len(inputs))
        evaluate, stats = program.bind(point, value), both.stats()
        places = stats.inputs + stats.instrs
        size = TapeSize(instructions=stats.instrs, values=places, saved_bytes=stats.nbytes + 16 * places)
        return Session(
            primal=evaluate,
            forward=evaluate,
            total=both.bind(point, computed),
            gradients=lambda: computed[1:].tolist(),
            value=lambda: computed[0],
            move=partial(np.copyto, point),
            tape=lambda: size,
        )


class TapegradCompiled:
    """A program as machine code, called in bound arrays: as CasADi is, through its buffers."""

    name = "tapegrad:compiled"

    def capabilities(self) -> Capabilities:
        """Where llvmlite is not installed it would be the interpreter under another name."""
        absent = (
            ""
            if compiling.available()
            else "llvmlite is not installed; install it with: pip install 'gradmark[compile]'"
        )
        return Capabilities(compiled=True, derivatives=MODES_OF_CODE, absent=absent)

    def prepare(
        self,
        workload: Workload,
        inputs: Sequence[float],
        params: Mapping[str, Param],
        *,
        derivative: Derivative = GRADIENT,
    ) -> Session:
        """Records, freezes and compiles. How long compiling takes, with nothing kept, is a phase of its own."""
        program = recorded(workload, inputs, params, derivative)
        if derivative.name != USUAL_DERIVATIVE:
            return derived_code(program, inputs, derivative)
        compiled = program.compile("value", "value_and_grad")
        point, value, slopes = np.array(inputs), np.zeros(1), np.zeros(len(inputs))
        evaluate = compiled.bind(point, value)
        return Session(
            primal=evaluate,
            forward=evaluate,
            total=compiled.bind(point, value, slopes),
            gradients=slopes.tolist,
            value=lambda: value[0],
            move=partial(np.copyto, point),
            tape=lambda: size_of_code(compiled, "value_and_grad"),
            phases=compiling_of(program, "value_and_grad"),
        )


def compiling_of(program: tapegrad.Program, kernel: compiling.KernelName) -> Mapping[str, Callable[[], Any]]:
    """The phase in which a kernel is compiled as a new process would."""

    def compile_anew() -> None:
        compiling.forget()
        program.compile(kernel)

    return {"compile": compile_anew} if program.stats().instrs <= MOST_COMPILED_ANEW else {}


def size_of_code(compiled: tapegrad.CompiledProgram, kernel: str) -> TapeSize:
    """Operations, numbers that they give, and bytes of machine code with those it keeps between its chunks."""
    counts = compiled.stats().kernels[kernel]
    return TapeSize(instructions=counts.nodes, values=counts.nodes, saved_bytes=counts.nbytes + counts.kept_bytes)


def derived_code(program: tapegrad.Program, inputs: Sequence[float], derivative: Derivative) -> Session:
    """A product of a derivative and a direction as machine code."""
    along = np.array(derivative.tangents or derivative.cotangent or [], float).ravel()
    point, stats = np.concatenate([inputs, along]), program.stats()
    source = derived_program(program, derivative)
    computed = np.zeros(source.stats().outputs)
    compiled = source.compile("value")

    def read() -> Any:
        if FACTS[derivative.name].form == "inputs":
            return computed.tolist()
        return computed if derivative.shape else computed[0]

    return Session(
        primal=program.compile("value").bind(point[: stats.inputs], np.zeros(stats.outputs)),
        total=compiled.bind(point, computed),
        result=read,
        move=partial(np.copyto, point[: stats.inputs]),
        tape=lambda: size_of_code(compiled, "value"),
        phases=compiling_of(source, "value"),
    )
