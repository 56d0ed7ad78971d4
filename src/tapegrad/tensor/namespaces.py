"""Namespaces: which library an array belongs to.

In: an array. Out: the module whose functions work on it. This is the only file of the tensor engine that names one.
"""

import importlib
from types import ModuleType
from typing import Any

import numpy

# An array of whatever library: rules use only what its namespace offers.
Array = Any

# Where a library keeps erf, expit and the like.
SPECIAL = {"numpy": "scipy.special", "cupy": "cupyx.scipy.special"}


def namespace(array: Array) -> Any:
    """The namespace of an array; numbers and lists are NumPy's."""
    if type(array) is numpy.ndarray or isinstance(array, numpy.generic) or not hasattr(array, "__array_namespace__"):
        return numpy
    return array.__array_namespace__()


def special(xp: Any) -> ModuleType:
    """The special functions that belong to a namespace."""
    return importlib.import_module(SPECIAL[xp.__name__])
