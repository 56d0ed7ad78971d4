"""Functions of tensors, compiled by tapegrad's jit."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import tapegrad
from gradmark.engines.protocol import Capabilities, Derivative, Session
from gradmark.engines.tapegrad import cuda
from gradmark.engines.tapegrad.operations import array_operations
from gradmark.engines.tapegrad.transforms import MODES, functional_session
from gradmark.errors import UnsupportedError
from gradmark.records import Param, TapeSize
from gradmark.records.cell import USUAL_DEVICE
from gradmark.records.derivative import USUAL_DERIVATIVE
from gradmark.workloads.workload import Workload
from tapegrad import compile as compiling

GRADIENT = Derivative()


def jitted(f: Callable[..., Any]) -> Any:
    """f, compiled; its kernels have the threads that BLAS has."""
    return tapegrad.jit(f, threads=int(os.environ.get("OMP_NUM_THREADS", "1")))


class TapegradJit:
    """Functions of tensors, traced and compiled with their derivatives in the first call."""

    name = "tapegrad:jit"

    def capabilities(self) -> Capabilities:
        """Tensors only: programs are what functions of numbers compile to."""
        return Capabilities(
            kinds=("tensor",), dtypes=("float32", "float64"), devices=cuda.devices(), compiled=True, derivatives=MODES
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
        """One compiled function for value and gradients, and one for the value; other arrays are arguments too."""
        if device == USUAL_DEVICE:
            return compiled_session(workload, inputs, params, derivative)
        if derivative.name != USUAL_DERIVATIVE:
            raise UnsupportedError(f"tapegrad:jit has gradients on {device}, and no {derivative.name}")
        import cupy

        arrays = [cupy.asarray(x) for x in inputs]
        session = compiled_session(workload, arrays, params, derivative)

        def move(new: Sequence[Any]) -> None:
            for array, numbers in zip(arrays, new, strict=True):
                array[...] = cupy.asarray(numbers)  # in place: the arrays of a training loop stay where they are

        # compiling anew is no phase there: NVRTC's code stays in the process, and on CuPy's disk
        return cuda.on_cuda(replace(session, move=move, phases={}), arrays)


def compiled_session(
    workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param], derivative: Derivative
) -> Session:
    """A session on the device where the inputs are."""
    ops = array_operations()
    active = workload.active(inputs)

    def f(*arrays: Any) -> Any:
        return workload.function(ops, *arrays, **params)

    primal = jitted(f)
    if derivative.name != USUAL_DERIVATIVE:
        eager = functional_session(workload, inputs, params, derivative, jitted)
        return replace(eager, primal=lambda: primal(*inputs))
    derive = tapegrad.value_and_grad(f, tuple(active))
    both = jitted(derive)
    computed: Any = None
    gradients: Any = None

    def total() -> Any:
        nonlocal computed, gradients
        computed, gradients = both(*inputs)
        return computed

    def forward() -> Any:
        return primal(*inputs)

    def compile_anew() -> None:
        compiling.forget()
        jitted(derive).report(*inputs)

    def size() -> TapeSize:
        report = both.report(*inputs)
        return TapeSize(
            instructions=report.operations,
            saved_bytes=report.temporary_bytes,
            moved_bytes=report.read_bytes + report.written_bytes,
        )

    return Session(
        primal=forward,
        forward=forward,
        total=total,
        gradients=lambda: list(gradients),
        value=lambda: float(computed),
        tape=size,
        phases={"compile": compile_anew},  # tracing and compiling, as a new process would
    )
