"""Namespaces: which library an array belongs to.

In: an array. Out: the module whose functions work on it. This is the only file of the tensor engine that names one.
"""

import importlib
from typing import Any

import numpy

import tapegrad.special

# An array of whatever library: rules use only what its namespace offers.
Array = Any

# Where a library keeps erf, expit and the like.
SPECIAL = {"numpy": "tapegrad.special", "cupy": "cupyx.scipy.special"}


# Libraries whose arrays are computed by a device, while Python goes on: to ask for a number would wait for it.
ON_DEVICES = {"cupy"}


class Tracing:
    """The base of namespaces whose functions record: they give the derivatives of derivatives. They have the special
    functions themselves."""

    def whole(self, primitive: Any, operands: tuple[Any, ...], settings: Any = None) -> Array:
        """A primitive as such, for rules that write into parts of arrays: of those they have no views."""
        raise NotImplementedError


class Staging(Tracing):
    """The base of namespaces whose arrays have no numbers yet: of a function that is being traced to be compiled."""

    asarray: Any  # NumPy's: an array, or a number, as one of them


# The namespace of each kind of array that was seen: asking an array takes longer than a small operation on it.
_known: dict[type, Any] = {numpy.ndarray: numpy}


def namespace(array: Array) -> Any:
    """The namespace of an array; numbers and lists are NumPy's."""
    xp = _known.get(type(array))
    if xp is None:
        if getattr(type(array), "differs", False):  # from one array of a class to another
            return array.__array_namespace__()
        library = type(array).__module__.partition(".")[0]
        if hasattr(array, "__array_namespace__") and not isinstance(array, numpy.generic):
            xp = array.__array_namespace__()
        else:  # CuPy's arrays do not say it
            xp = importlib.import_module(library) if library in SPECIAL else numpy
        _known[type(array)] = xp
    return xp


def staged(arrays: list[Any], xp: Any) -> Any:
    """The namespace for operands of which some may be symbols, and then all arrays among them are made symbols; the
    one that was given where there is none."""
    symbols = None
    for array in arrays:
        if hasattr(array, "dtype"):
            own = namespace(array)
            own = getattr(own, "library", own)
            if isinstance(own, Staging):
                symbols = own
    if symbols is None:
        return xp
    for k, array in enumerate(arrays):
        if hasattr(array, "dtype") and not isinstance(namespace(array), Tracing):
            arrays[k] = symbols.asarray(array)
    return symbols


def symbolic(xp: Any) -> bool:
    """Whether a namespace's arrays have no numbers yet, or record on such."""
    # a module is asked for no name that it lacks: that takes a microsecond
    return isinstance(xp, Tracing) and isinstance(getattr(xp, "library", xp), Staging)


def asynchronous(xp: Any) -> bool:
    """Whether a namespace's arrays are on a device: rules must not look at their numbers."""
    return xp is not numpy and getattr(xp, "__name__", "") in ON_DEVICES


def special(xp: Any) -> Any:
    """The special functions that belong to a namespace."""
    if xp is numpy:
        return tapegrad.special
    return xp if isinstance(xp, Tracing) else importlib.import_module(SPECIAL[xp.__name__])
