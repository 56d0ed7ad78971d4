"""Where a jitted function is computed: where its arrays are.

In: the arguments of a call. Out: None for the CPU, or the CUDA device that CuPy's arrays are on; an error if they are
in several places, since nothing is copied from one to the other unasked.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy

from tapegrad.errors import InputError
from tapegrad.tensor.tensor import Tensor


def _cuda(array: Any) -> Any:
    from tapegrad.compile.cuda.device import device_of

    return device_of(array)


# By the library of an array's type, how its device is found.
LIBRARIES: dict[str, Callable[[Any], Any]] = {"cupy": _cuda}
_known: dict[type, Callable[[Any], Any] | None] = {numpy.ndarray: None, float: None}


def on_device(value: Any) -> bool:
    """Whether a value is an array on another device than the CPU."""
    kind = type(value)
    if kind not in _known:
        library = getattr(kind, "__module__", "").partition(".")[0]
        known = LIBRARIES.get(library) if hasattr(kind, "dtype") else None
        if known is None and kind.__module__ != "numpy":
            return False  # of classes that users make there may be many
        _known[kind] = known
    return _known[kind] is not None


def device_of(array: Any) -> Any:
    """The device of an array; None for the CPU."""
    find = _known[type(array)] if on_device(array) else None
    return None if find is None else find(array)


def common(arrays: Iterable[Any]) -> Any:
    """The device of all arrays; None for the CPU. NumPy's numbers go anywhere."""
    first: Any = None
    seen = False
    for array in arrays:
        if not on_device(array) and not getattr(array, "shape", ()):
            continue
        device = device_of(array)
        if seen and device is not first:
            names = [place(device), place(first)]
            raise InputError(
                f"expected all arrays of a call in one place, got some {names[1]} and some {names[0]}; move them: "
                "cupy.asarray(x) to the device, cupy.asnumpy(x) to the host"
            )
        first, seen = device, True
    return first


def place(device: Any) -> str:
    """A device for people."""
    return "on the CPU" if device is None else f"on {device.name}"


def array_of(value: Any) -> Any:
    """The array of an argument."""
    if type(value) is Tensor:
        from tapegrad.tensor.nesting.traced import plain

        return plain(value._array)
    return value if on_device(value) else numpy.asarray(value)
