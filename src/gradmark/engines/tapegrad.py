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
from gradmark.records import DerivativeName, Param, TapeSize
from gradmark.records.derivative import USUAL_DERIVATIVE
from gradmark.workloads.vocabulary import SCALAR_FUNCTIONS, TENSOR_FUNCTIONS
from gradmark.workloads.workload import Workload
from tapegrad import plain, tensor

# Rows of a Jacobian one after another, a sweep for each.
MODES: Mapping[DerivativeName, str] = {"gradient": "rev", "jacobian": "rev"}
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


def jacobian_session(
    workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param], derivative: Derivative
) -> Session:
    """`tapegrad.jacobian`, of the list of numbers, or by one array after another."""
    active, rows = workload.active(inputs), prod(derivative.shape)
    steps: list[Callable[[], Any]]
    if workload.kind == "scalar":
        ops = operations(float)
        jacobian = tapegrad.jacobian(lambda xs: workload.function(ops, *xs, **params))
        steps, primal = [lambda: jacobian(inputs)], bound(workload, FLOATS, inputs, params)
    else:
        ops = namespace({name: getattr(tensor, name) for name in TENSOR_FUNCTIONS}, "tapegrad")
        f = partial(workload.function, ops, **params)
        steps, primal = [partial(tapegrad.jacobian(f, place), *inputs) for place in active], partial(f, *inputs)
    computed: list[Any] = []

    def total() -> None:
        computed[:] = [step() for step in steps]

    return Session(
        primal=primal,
        total=total,
        result=lambda: np.concatenate([part.reshape(rows, -1) for part in computed], axis=1),
    )


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
            return jacobian_session(workload, inputs, params, derivative)
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


class TapegradProgram:
    """Recorded and frozen once, then replayed. Value and gradient come from one call, so backward is derived."""

    name = "tapegrad:program"

    def capabilities(self) -> Capabilities:
        """Freezing is its compilation."""
        return Capabilities(compiled=True)

    def prepare(self, workload: Workload, inputs: Sequence[float], params: Mapping[str, Param]) -> Session:
        """Records and freezes."""
        tape = tapegrad.Tape()
        xs = [tape.var(v) for v in inputs]
        y = workload.function(operations(tape.const), *xs, **params)
        program = tape.freeze(xs, y)
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
            primal=bound(workload, FLOATS, inputs, params),
            forward=lambda: evaluate(inputs),
            total=total,
            gradients=lambda: [float(g) for g in gradient],
            tape=lambda: size,
        )
