"""tapegrad, the reference engine: tensors, a reused tape, a fresh one, a program, machine code of both, a tape to read,
and a variant for hypotheses. The files of this folder are the only ones of the laboratory that import it."""

from gradmark.engines.tapegrad.jit import TapegradJit
from gradmark.engines.tapegrad.operations import operations
from gradmark.engines.tapegrad.programs import TapegradCompiled, TapegradProgram
from gradmark.engines.tapegrad.tapes import Tapegrad, TapegradFresh, TapegradPlain, TapegradRecordingConstants

__all__ = [
    "Tapegrad",
    "TapegradCompiled",
    "TapegradFresh",
    "TapegradJit",
    "TapegradPlain",
    "TapegradProgram",
    "TapegradRecordingConstants",
    "operations",
]
