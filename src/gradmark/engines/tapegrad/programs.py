"""The engines that record once: a program that is interpreted, and the machine code of one."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import tapegrad
from gradmark.engines.floats import FLOATS
from gradmark.engines.protocol import Capabilities, Derivative, Session, bound
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
# Machine code is made of the same programs; sparse matrices are put together by the interpreter.
MODES_OF_CODE: Mapping[DerivativeName, str] = {
    name: mode for name, mode in MODES_OF_PROGRAMS.items() if not name.startswith("sparse")
}
GRADIENT = Derivative()
# Compiling is a phase for programs of at most so many instructions: it is repeated as often as a call, and takes 30 to
# 160 µs for each of them. Of larger ones the first call tells.
MOST_COMPILED_ANEW = 2000


def recorded(workload: Workload, inputs: Sequence[float], params: Mapping[str, Param]) -> tapegrad.Program:
    """The workload as a program."""
    tape = tapegrad.Tape()
    xs = [tape.var(v) for v in inputs]
    return tape.freeze(xs, workload.function(operations(tape.const), *xs, **params))


def derived_program(
    program: tapegrad.Program, derivative: Derivative
) -> tuple[tapegrad.Program, Sequence[float], float | None]:
    """The program of a derivative, what it takes after the inputs, and a number to multiply with, if there is one."""
    if derivative.name == "jvp":
        return program.tangent(), derivative.tangents, None
    if derivative.name == "hvp":
        return program.gradient().tangent(), derivative.tangents, None
    if derivative.shape:
        return program.gradient(), [float(weight) for weight in derivative.cotangent], None
    return program.gradient(), (), float(derivative.cotangent)


def derived_session(
    program: tapegrad.Program, primal: Callable[[], Any], inputs: Sequence[float], derivative: Derivative
) -> Session:
    """A derivative of a program: a program of its own, or a sparse matrix that was prepared."""
    compute: Callable[[Any], Any]
    along: Sequence[float] = ()
    sparsity: Callable[[], Sparsity] | None = None
    if derivative.name in ("sparse-jacobian", "sparse-hessian"):
        matrix = program.jacobian() if derivative.name == "sparse-jacobian" else program.hessian()
        compute, sparsity = matrix, lambda: Sparsity(nonzeros=matrix.nnz, colours=matrix.colours)
    else:
        derived, along, weight = derived_program(program, derivative)
        compute = derived if weight is None else lambda point: weight * derived(point)
    form, point = FACTS[derivative.name].form, [*inputs, *along]
    computed: Any = None

    def move(new: Sequence[float]) -> None:
        point[: len(new)] = new

    def total() -> None:
        nonlocal computed
        computed = compute(point)

    def result() -> Any:
        if form == "sparse":
            return computed
        return np.asarray(computed) if form == "result" else [float(entry) for entry in computed]

    return Session(primal=primal, total=total, result=result, move=move, sparsity=sparsity)


class TapegradProgram:
    """Recorded and frozen once, then replayed. Value and gradient come from one call, so backward is derived."""

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
        """Records and freezes; of another derivative than the gradient, its program."""
        program = recorded(workload, inputs, params)
        primal = bound(workload, FLOATS, inputs, params)
        if derivative.name != USUAL_DERIVATIVE:
            return derived_session(program, primal, inputs, derivative)
        evaluate, value_and_grad = program.__call__, program.value_and_grad
        gradient: Any = None

        def total() -> Any:
            nonlocal gradient
            value, gradient = value_and_grad(inputs)
            return value

        stats = program.stats()
        size = TapeSize(
            instructions=stats.instrs,
            values=stats.inputs + stats.instrs,
            adjoints=stats.inputs + stats.instrs,
            saved_bytes=stats.nbytes + 16 * (stats.inputs + stats.instrs),
        )
        return Session(
            primal=primal,
            forward=lambda: evaluate(inputs),
            total=total,
            gradients=lambda: [float(g) for g in gradient],
            tape=lambda: size,
        )


class TapegradCompiled:
    """A program as machine code, called in bound arrays: as CasADi is, through its buffers."""

    name = "tapegrad:compiled"

    def capabilities(self) -> Capabilities:
        """Where llvmlite is not installed it would be the interpreter under another name."""
        absent = "" if compiling.available() else "llvmlite is not installed; pip install 'gradmark[compile]' brings it"
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
        program = recorded(workload, inputs, params)
        primal = bound(workload, FLOATS, inputs, params)
        if derivative.name != USUAL_DERIVATIVE:
            return derived_code(program, primal, inputs, derivative)
        compiled = program.compile("value", "value_and_grad")
        point, value, slopes = np.array(inputs), np.zeros(1), np.zeros(len(inputs))

        def move(new: Sequence[float]) -> None:
            point[:] = new

        return Session(
            primal=primal,
            forward=compiled.bind(point, value),
            total=compiled.bind(point, value, slopes),
            gradients=lambda: slopes.tolist(),
            value=lambda: value[0],
            move=move,
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


def derived_code(
    program: tapegrad.Program, primal: Callable[[], Any], inputs: Sequence[float], derivative: Derivative
) -> Session:
    """A derivative of a program as machine code."""
    source, along, weight = derived_program(program, derivative)
    point = np.array([*inputs, *along])
    results = np.zeros(source.stats().outputs)
    compiled = source.compile("value")
    compute = compiled.bind(point, results)

    factor = 1.0 if weight is None else weight

    def weighted() -> None:
        compute()
        np.multiply(results, factor, out=results)

    def move(new: Sequence[float]) -> None:
        point[: len(new)] = new

    def result() -> Any:
        if FACTS[derivative.name].form == "result":
            return results.reshape(derivative.shape)
        return results.tolist()

    return Session(
        primal=primal,
        total=compute if weight is None else weighted,
        result=result,
        move=move,
        tape=lambda: size_of_code(compiled, "value"),
        phases=compiling_of(source, "value"),
    )
