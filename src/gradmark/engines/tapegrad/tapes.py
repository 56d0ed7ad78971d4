"""The engines that record anew in each forward: on a reused tape, on a fresh one, and on the tape to read."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import tapegrad
from gradmark.engines.floats import FLOATS
from gradmark.engines.protocol import Capabilities, Derivative, Session, bound, namespace
from gradmark.engines.tapegrad import cuda
from gradmark.engines.tapegrad.operations import operations, size_of
from gradmark.engines.tapegrad.tensors import tensor_session
from gradmark.engines.tapegrad.transforms import MODES, functional_session
from gradmark.errors import UnsupportedError
from gradmark.records import Param
from gradmark.records.cell import USUAL_DEVICE
from gradmark.records.derivative import USUAL_DERIVATIVE
from gradmark.workloads.vocabulary import SCALAR_FUNCTIONS
from gradmark.workloads.workload import Workload
from tapegrad import plain

GRADIENT = Derivative()


class Tapegrad:
    """One tape, reset and recorded anew in each forward; tensors record by themselves."""

    name = "tapegrad"
    constants_are_variables = False

    def capabilities(self) -> Capabilities:
        """Scalars in double precision, tensors in both."""
        return Capabilities(
            kinds=("scalar", "tensor"), dtypes=("float32", "float64"), devices=cuda.devices(), derivatives=MODES
        )

    def prepare(
        self,
        workload: Workload,
        inputs: Sequence[Any],
        params: Mapping[str, Param],
        *,
        device: str = USUAL_DEVICE,
        derivative: Derivative = GRADIENT,
    ) -> Session:
        """Closures over bound methods: an attribute less to look up in each call."""
        if device != USUAL_DEVICE:
            if derivative.name != USUAL_DERIVATIVE:
                raise UnsupportedError(f"tapegrad has gradients on {device}, and no {derivative.name}")
            return cuda.session_on_cuda(workload, inputs, params)
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
