"""The errors of tapegrad. Each message says what was expected, what came, and what to do next."""


class TapegradError(Exception):
    """The base of every error that tapegrad raises on purpose."""


class StaleVarError(TapegradError):
    """A `Var` from before a `reset` was used: its recording is gone."""


class TapeMismatchError(TapegradError):
    """A `Var` of one tape was used with another tape."""


class ConstantError(TapegradError):
    """Something that needs a recorded value was asked of a constant."""


class ConversionError(TapegradError, TypeError):
    """A `Var` would have lost its derivative in a conversion to a plain number."""


class OperandError(TapegradError, TypeError):
    """An operand is neither a `Var` nor a real number."""


class InputError(TapegradError, ValueError):
    """The inputs or outputs of a program, or of a transformed function, do not fit."""


class GuardError(TapegradError):
    """A replayed point would have taken another branch than the recorded one."""


class GradientError(TapegradError, AssertionError):
    """`check_grads` found a derivative that the function's values contradict."""


class TapeFullError(TapegradError, MemoryError):
    """A tape holds as many values as its 32-bit indices can name."""


class ShapeError(TapegradError, ValueError):
    """The shapes of arrays do not fit the operation."""


class DtypeError(TapegradError, TypeError):
    """A gradient was asked of an array whose numbers have none."""


class ReleasedError(TapegradError):
    """A second backward pass came to values that the first one has released."""


class InPlaceWriteError(TapegradError):
    """An array that a rule saved for backward was written to in place."""


class TraceError(TapegradError, TypeError):
    """A function that `jit` traces asked for numbers that are not known yet."""


class UnsupportedError(TapegradError, NotImplementedError):
    """What was asked for cannot be computed on this device."""


class MissingPackageError(TapegradError, ImportError):
    """What was asked for needs an optional package that is not installed."""
