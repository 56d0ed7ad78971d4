"""tapegrad: a small, fast reverse-mode automatic-differentiation engine."""

from tapegrad import scalar as _scalar  # noqa: F401  first: it says what to do where nothing was built
from tapegrad.compile.jit import jit
from tapegrad.errors import (
    ConstantError,
    ConversionError,
    DtypeError,
    GradientError,
    GuardError,
    InPlaceWriteError,
    InputError,
    OperandError,
    ReleasedError,
    ShapeError,
    StaleVarError,
    TapeFullError,
    TapegradError,
    TapeMismatchError,
    TraceError,
)
from tapegrad.scalar.compiled import CompiledProgram
from tapegrad.scalar.conditions import Condition
from tapegrad.scalar.functions import *  # noqa: F403  every operation that has a rule
from tapegrad.scalar.functions import __all__ as _operations
from tapegrad.scalar.program import Program
from tapegrad.scalar.stats import ProgramStats, Stats
from tapegrad.scalar.tape import Tape
from tapegrad.scalar.variables import Var
from tapegrad.scalar.where import where
from tapegrad.tensor.instruction import TensorStats
from tapegrad.tensor.nesting.levels import no_grad
from tapegrad.tensor.tensor import Tensor
from tapegrad.transforms import grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp

__all__ = [
    "CompiledProgram",
    "Condition",
    "ConstantError",
    "ConversionError",
    "DtypeError",
    "GradientError",
    "GuardError",
    "InPlaceWriteError",
    "InputError",
    "OperandError",
    "Program",
    "ProgramStats",
    "ReleasedError",
    "ShapeError",
    "StaleVarError",
    "Stats",
    "Tape",
    "TapeFullError",
    "TapeMismatchError",
    "TapegradError",
    "Tensor",
    "TensorStats",
    "TraceError",
    "Var",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jit",
    "jvp",
    "no_grad",
    "value_and_grad",
    "vjp",
    "where",
]
__all__ += _operations
