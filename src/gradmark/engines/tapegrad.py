"""tapegrad, the reference engine: tensors, a reused tape, a fresh one, a program, a tape to read, and a variant for
hypotheses."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from types import ModuleType
from typing import Any

import numpy as np

import tapegrad
from gradmark.engines.floats import FLOATS
from gradmark.engines.protocol import Capabilities, Derivative, Session, bound, namespace
from gradmark.records import DerivativeName, Param, Sparsity, TapeSize
from gradmark.records.derivative import FACTS, USUAL_DERIVATIVE
from gradmark.workloads.vocabulary import SCALAR_FUNCTIONS, TENSOR_FUNCTIONS
from gradmark.workloads.workload import Workload
from tapegrad import plain, tensor

# A dense Jacobian is computed forward or in reverse, whichever has fewer passes.
MODES: Mapping[DerivativeName, str] = {
    "gradient": "rev",
    "jvp": "fwd",
    "vjp": "rev",
    "jacobian": "fwd or rev",
    "hvp": "fwd-over-rev",
    "hessian": "fwd-over-rev",
}
# Programs are derived once. Their full matrices are a sweep in reverse for each row.
MODES_OF_PROGRAMS: Mapping[DerivativeName, str] = {
    "gradient": "rev",
    "jvp": "fwd",
    "vjp": "rev",
    "jacobian": "rev",
    "hvp": "fwd-over-rev",
    "hessian": "rev-over-rev",
    "sparse-jacobian": "coloured",
    "sparse-hessian": "coloured",
}
GRADIENT = Derivative()


def operations(constant: Callable[[float], Any]) -> ModuleType:
    """tapegrad's functions, with constants made this way."""
    functions = {name: getattr(tapegrad, name, constant) for name in SCALAR_FUNCTIONS}
    ops = namespace(functions, "tapegrad")

    def gradient_of(f: Callable[..., Any], xs: Sequence[Any], mode: str) -> list[Any]:
        if mode == "reverse":
            return list(tapegrad.grad(partial(f, ops), tuple(range(len(xs))))(*xs))
        units = [[float(k == place) for k in range(len(xs))] for place in range(len(xs))]
        return [tapegrad.jvp(partial(f, ops), xs, unit)[1] for unit in units]

    ops.gradient_of = gradient_of  # type: ignore[attr-defined]
    return ops


def size_of(tape: tapegrad.Tape) -> TapeSize:
    """The tape's own exact counts."""
    stats = tape.stats()
    return TapeSize(
        instructions=stats.instrs, values=stats.values, adjoints=stats.grads, saved_bytes=stats.nbytes + 8 * stats.grads
    )


def functional_session(
    workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param], derivative: Derivative
) -> Session:
    """A derivative by tapegrad's transforms: of the list of numbers, or of the arrays that vary."""
    scalar, active = workload.kind == "scalar", workload.active(inputs)
    points = (inputs,) if scalar else tuple(inputs[place] for place in active)
    tangents = (list(derivative.tangents),) if scalar else tuple(derivative.tangents)
    of_numbers, of_arrays = operations(float), namespace({n: getattr(tensor, n) for n in TENSOR_FUNCTIONS}, "tapegrad")

    def f(*varying: Any) -> Any:
        if scalar:
            return workload.function(of_numbers, *varying[0], **params)
        every = list(inputs)
        for place, array in zip(active, varying, strict=True):
            every[place] = array
        return workload.function(of_arrays, *every, **params)

    compute = transformed(f, points, tangents, derivative)
    computed: Any = None

    def total() -> None:
        nonlocal computed
        computed = compute()

    def result() -> Any:
        form, rows = FACTS[derivative.name].form, prod(derivative.shape)
        if form == "result":
            return np.asarray(computed)
        if form == "inputs":
            return list(computed[0]) if scalar else [np.asarray(part) for part in computed]
        if derivative.name == "jacobian":
            return np.concatenate([np.asarray(part).reshape(rows, -1) for part in computed], axis=1)
        return np.asarray(computed) if scalar else joined(computed, points)

    return Session(
        primal=bound(workload, FLOATS, inputs, params) if scalar else partial(f, *points), total=total, result=result
    )


def transformed(
    f: Callable[..., Any], points: tuple[Any, ...], tangents: tuple[Any, ...], derivative: Derivative
) -> Callable[[], Any]:
    """The derivative of f at these points, as they are when it is called."""
    match derivative.name:
        case "jvp":
            return lambda: tapegrad.jvp(f, points, tangents)[1]
        case "vjp":
            return lambda: tapegrad.vjp(f, *points)[1](derivative.cotangent)
        case "hvp":
            return lambda: tapegrad.hvp(f, points, tangents)
        case "jacobian":
            parts = [tapegrad.jacobian(f, place) for place in range(len(points))]
            return lambda: [part(*points) for part in parts]
        case _ if len(points) == 1 and isinstance(points[0], list):
            return partial(tapegrad.hessian(f), *points)
        case _:
            return partial(tapegrad.hessian(lambda arrays: f(*arrays)), points)


def joined(blocks: Sequence[Sequence[Any]], points: Sequence[Any]) -> Any:
    """A Hessian as one matrix, from a block for each pair of arrays."""
    return np.block([[np.asarray(b).reshape(x.size, -1) for b in row] for row, x in zip(blocks, points, strict=True)])


def tensor_session(workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param]) -> Session:
    """Tensors are made once, as the parameters of a model are; each forward records anew.

    Backward alone keeps what was saved, so that it can be repeated. The whole does not: its peak is what a user sees.
    """
    ops = namespace({name: getattr(tensor, name) for name in TENSOR_FUNCTIONS}, "tapegrad")
    active = workload.active(inputs)
    leaves = [tensor.Tensor(x, requires_grad=k in active) if x.dtype.kind == "f" else x for k, x in enumerate(inputs)]
    wanted = [leaves[k] for k in active]
    f = bound(workload, ops, leaves, params)
    y: Any = None

    def move(new: Sequence[Any]) -> None:
        for k, leaf in zip(active, wanted, strict=True):
            leaf.data = new[k]

    def primal() -> Any:
        with tensor.no_grad():
            return f()

    def clear() -> None:
        for leaf in wanted:
            leaf.grad = None

    def forward() -> None:
        nonlocal y
        y = None  # before, not after: else two recordings are alive at once
        y = f()

    def backward() -> None:
        clear()
        y.backward(retain=True)

    def total() -> None:
        clear()
        forward()
        y.backward()

    def tape() -> TapeSize:
        forward()
        stats = y.stats()
        return TapeSize(instructions=stats.instructions, saved_bytes=stats.saved_bytes)

    return Session(
        primal=primal,
        forward=forward,
        backward=backward,
        total=total,
        # an input that the function does not use has no gradient, which is one of zeros
        gradients=lambda: [0 * leaf.data if leaf.grad is None else leaf.grad for leaf in wanted],
        value=lambda: y,
        move=move,
        tape=tape,
    )


class Tapegrad:
    """One tape, reset and recorded anew in each forward; tensors record by themselves."""

    name = "tapegrad"
    constants_are_variables = False

    def capabilities(self) -> Capabilities:
        """Scalars in double precision, tensors in both."""
        return Capabilities(kinds=("scalar", "tensor"), dtypes=("float32", "float64"), derivatives=MODES)

    def prepare(
        self,
        workload: Workload,
        inputs: Sequence[Any],
        params: Mapping[str, Param],
        *,
        derivative: Derivative = GRADIENT,
    ) -> Session:
        """Closures over bound methods: an attribute less to look up in each call."""
        if derivative.name != USUAL_DERIVATIVE:
            return functional_session(workload, inputs, params, derivative)
        if workload.kind == "tensor":
            return tensor_session(workload, inputs, params)
        tape = tapegrad.Tape()
        reset, var, zero_grad, propagate = tape.reset, tape.var, tape.zero_grad, tape.backward
        f = partial(workload.function, operations(var if self.constants_are_variables else tape.const), **params)
        xs: Any = None  # the variable, or a list of them
        y: Any = None

        def forward_one() -> None:
            nonlocal xs, y
            reset()
            xs = var(inputs[0])
            y = f(xs)

        def forward_many() -> None:
            nonlocal xs, y
            reset()
            xs = [var(v) for v in inputs]
            y = f(*xs)

        def backward() -> None:
            zero_grad()
            propagate(y)

        one = len(inputs) == 1
        return Session(
            primal=bound(workload, FLOATS, inputs, params),
            forward=forward_one if one else forward_many,
            backward=backward,
            gradients=lambda: [xs.grad] if one else [x.grad for x in xs],
            value=lambda: y.value,
            tape=lambda: size_of(tape),
        )


class TapegradRecordingConstants(Tapegrad):
    """As `tapegrad`, but constants are variables: what an engine without activity analysis records."""

    name = "tapegrad:recording-constants"
    constants_are_variables = True

    def capabilities(self) -> Capabilities:
        """Only scalars have this variant."""
        return Capabilities()


class TapegradFresh:
    """A new tape for each forward."""

    name = "tapegrad:fresh"

    def capabilities(self) -> Capabilities:
        """As tapegrad."""
        return Capabilities()

    def prepare(self, workload: Workload, inputs: Sequence[float], params: Mapping[str, Param]) -> Session:
        """The tape is made inside forward."""
        tape = tapegrad.Tape()
        xs: list[tapegrad.Var] = []
        y: Any = None

        def forward() -> None:
            nonlocal tape, xs, y
            tape = tapegrad.Tape()
            xs = [tape.var(v) for v in inputs]
            y = f(*xs)

        def backward() -> None:
            tape.zero_grad()
            tape.backward(y)

        # One namespace for all tapes: to make one for each costs as much as a small workload.
        f = partial(workload.function, operations(lambda value: tape.const(value)), **params)
        primal = bound(workload, FLOATS, inputs, params)
        return Session(
            primal=primal,
            forward=forward,
            backward=backward,
            gradients=lambda: [x.grad for x in xs],
            value=lambda: y.value,
            tape=lambda: size_of(tape),
        )


class TapegradPlain:
    """The tape that is there to be read, in plain Python; a new one for each forward."""

    name = "tapegrad:plain"

    def capabilities(self) -> Capabilities:
        """As tapegrad's scalars."""
        return Capabilities()

    def prepare(self, workload: Workload, inputs: Sequence[float], params: Mapping[str, Param]) -> Session:
        """Constants are plain numbers."""
        tape = plain.Tape()
        xs: list[plain.Variable] = []
        y: Any = None
        functions = {name: getattr(plain, name) for name in SCALAR_FUNCTIONS if name != "constant"}
        f = partial(workload.function, namespace(functions | {"constant": float}, "tapegrad:plain"), **params)

        def forward() -> None:
            nonlocal tape, xs, y
            tape = plain.Tape()
            xs = [tape.var(v) for v in inputs]
            y = f(*xs)

        return Session(
            primal=bound(workload, FLOATS, inputs, params),
            forward=forward,
            backward=lambda: tape.backward(y),
            gradients=lambda: [x.grad for x in xs],
            value=lambda: y.value,
        )


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
    if form == "matrix":
        rows = program if derivative.name == "jacobian" else program.gradient()
        values: Any = None

        def sweep() -> None:
            nonlocal values
            values = rows.value_and_grad(point)

        return Session(primal=primal, total=sweep, result=lambda: values[1], move=partial(np.copyto, point))
    if derivative.name == "jvp":
        derived = program.tangent()
    elif derivative.name == "hvp":
        derived = program.gradient().tangent()
    else:
        derived = program.gradient()
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
        tape = tapegrad.Tape()
        xs = [tape.var(v) for v in inputs]
        y = workload.function(operations(tape.const), *xs, **params)
        one = derivative.name == "vjp" and not derivative.shape  # a list of one has a weight
        program = tape.freeze(xs, [y] if one else y)
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
