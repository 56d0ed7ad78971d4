"""tapegrad, the reference engine: tensors, a reused tape, a fresh one, a program, a tape to read, and a variant for
hypotheses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
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
# Programs are derived once. Their matrices are sparse, and as full ones no other.
MODES_OF_PROGRAMS: Mapping[DerivativeName, str] = {
    "gradient": "rev",
    "jvp": "fwd",
    "vjp": "rev",
    "hvp": "fwd-over-rev",
    "sparse-jacobian": "coloured",
    "sparse-hessian": "coloured",
}
GRADIENT = Derivative()


def operations(constant: Callable[[float], Any]) -> ModuleType:
    """tapegrad's functions, with constants made this way."""
    return namespace({name: getattr(tapegrad, name, constant) for name in SCALAR_FUNCTIONS}, "tapegrad")


def size_of(tape: tapegrad.Tape) -> TapeSize:
    """The tape's own exact counts."""
    stats = tape.stats()
    return TapeSize(
        instructions=stats.instrs, values=stats.values, adjoints=stats.grads, saved_bytes=stats.nbytes + 8 * stats.grads
    )


def functional_session(
    workload: Workload,
    inputs: Sequence[Any],
    params: Mapping[str, Param],
    derivative: Derivative,
    compiled: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda f: f,
) -> Session:
    """A derivative by tapegrad's transforms: of the list of numbers, or of the arrays that vary.

    compiled: what is done to the function that computes it.
    """
    scalar, active = workload.kind == "scalar", workload.active(inputs)
    points = (inputs,) if scalar else tuple(inputs[place] for place in active)
    tangents = (list(derivative.tangents),) if scalar else tuple(derivative.tangents)
    of_numbers, of_arrays = operations(float), namespace({n: getattr(tensor, n) for n in TENSOR_FUNCTIONS}, "tapegrad")

    def evaluate(given: Sequence[Any], *varying: Any) -> Any:
        if scalar:
            return workload.function(of_numbers, *varying[0], **params)
        every = list(given)
        for place, array in zip(active, varying, strict=True):
            every[place] = array
        return workload.function(of_arrays, *every, **params)

    def derive(given: Sequence[Any], points: Any, tangents: Any) -> Any:
        return transformed(partial(evaluate, given), derivative)(points, tangents)

    compute = partial(compiled(derive), list(inputs), points, tangents)
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
        primal=bound(workload, FLOATS, inputs, params) if scalar else partial(evaluate, inputs, *points),
        total=total,
        result=result,
    )


def transformed(f: Callable[..., Any], derivative: Derivative) -> Callable[[Any, Any], Any]:
    """The derivative of f, as a function of points and tangents."""
    match derivative.name:
        case "jvp":
            return lambda points, tangents: tapegrad.jvp(f, points, tangents)[1]
        case "vjp":
            return lambda points, tangents: tapegrad.vjp(f, *points)[1](derivative.cotangent)  # noqa: ARG005
        case "hvp":
            return lambda points, tangents: tapegrad.hvp(f, points, tangents)
        case "jacobian":
            return lambda points, tangents: [  # noqa: ARG005
                tapegrad.jacobian(f, place)(*points) for place in range(len(points))
            ]
    return lambda points, tangents: hessian_of(f, points)  # noqa: ARG005


def hessian_of(f: Callable[..., Any], points: tuple[Any, ...]) -> Any:
    """All second derivatives: of a list of numbers, or of arrays."""
    if len(points) == 1 and isinstance(points[0], list):
        return tapegrad.hessian(f)(*points)
    return tapegrad.hessian(lambda arrays: f(*arrays))(points)


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


class TapegradJit:
    """Functions of tensors, traced and compiled with their derivatives in the first call."""

    name = "tapegrad:jit"

    def capabilities(self) -> Capabilities:
        """Tensors only: programs are what functions of numbers compile to."""
        return Capabilities(kinds=("tensor",), dtypes=("float32", "float64"), compiled=True, derivatives=MODES)

    def prepare(
        self,
        workload: Workload,
        inputs: Sequence[Any],
        params: Mapping[str, Param],
        *,
        derivative: Derivative = GRADIENT,
    ) -> Session:
        """One compiled function for value and gradients, and one for the value; other arrays are arguments too."""
        ops = namespace({n: getattr(tensor, n) for n in TENSOR_FUNCTIONS}, "tapegrad")
        active = workload.active(inputs)

        def f(*arrays: Any) -> Any:
            return workload.function(ops, *arrays, **params)

        primal = tapegrad.jit(f)
        if derivative.name != USUAL_DERIVATIVE:
            eager = functional_session(workload, inputs, params, derivative, tapegrad.jit)
            return replace(eager, primal=lambda: primal(*inputs))
        both = tapegrad.jit(tapegrad.value_and_grad(f, tuple(active)))
        gradients: Any = None

        def total() -> Any:
            nonlocal gradients
            value, gradients = both(*inputs)
            return value

        def forward() -> Any:
            return primal(*inputs)

        return Session(primal=forward, forward=forward, total=total, gradients=lambda: list(gradients))


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


def derived_session(
    program: tapegrad.Program, primal: Callable[[], Any], inputs: Sequence[float], derivative: Derivative
) -> Session:
    """A derivative of a program: a program of its own, or a sparse matrix that was prepared."""
    compute: Callable[[Any], Any]
    along: Sequence[float] = derivative.tangents
    sparsity: Callable[[], Sparsity] | None = None
    if derivative.name in ("sparse-jacobian", "sparse-hessian"):
        matrix = program.jacobian() if derivative.name == "sparse-jacobian" else program.hessian()
        compute, sparsity = matrix, lambda: Sparsity(nonzeros=matrix.nnz, colours=matrix.colours)
    elif derivative.name == "jvp":
        compute = program.tangent()
    elif derivative.name == "hvp":
        compute = program.gradient().tangent()
    elif derivative.shape:
        compute, along = program.gradient(), [float(weight) for weight in derivative.cotangent]
    else:
        gradient, weight = program.gradient(), float(derivative.cotangent)
        compute = lambda point: weight * gradient(point)  # noqa: E731
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
        tape = tapegrad.Tape()
        xs = [tape.var(v) for v in inputs]
        y = workload.function(operations(tape.const), *xs, **params)
        program = tape.freeze(xs, y)
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
