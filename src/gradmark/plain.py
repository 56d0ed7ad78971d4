"""Operations on plain numbers, for adapters whose `primal` is the function itself, and for trying a workload by hand.

Out: `floats`, Python's own; `arrays`, NumPy's, which is imported when it is asked for.

>>> floats.softplus(0.0)
0.6931471805599453
"""

from types import ModuleType

from gradmark.engines.floats import FLOATS

__all__ = ["arrays", "floats"]
floats = FLOATS
arrays: ModuleType


def __getattr__(name: str) -> ModuleType:
    if name == "arrays":
        from gradmark.engines.numpy_arrays import ARRAYS

        return ARRAYS
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has floats and arrays")
