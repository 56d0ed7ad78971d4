"""The array that records: what a rule computes with while it is itself being differentiated.

In: a tensor of an outer transform. Out: something that behaves as the array of an inner one. A rule cannot tell it
from an array; every operation on it applies a primitive to the tensor inside. Writes replace that tensor, so that rules
may write in place. There are no views: a write into a part of an array goes through the array itself.
"""

# ruff: noqa: D102, ARG002  the methods are NumPy's, and so are their parameters

import math
from typing import Any, NamedTuple

from tapegrad.tensor.instruction import Batch
from tapegrad.tensor.namespaces import Array, Staging, Tracing, namespace


class Flags(NamedTuple):
    """What NumPy's `flags` say: nothing that a rule could use."""

    c_contiguous: bool = False


_flags = Flags()
# The class of the namespaces of traced arrays, and one for each library; `nesting.namespace` enters the class.
maker: list[Any] = []
_namespaces: dict[Any, Any] = {}


def tracing(xp: Any) -> Any:
    """The namespace whose functions record what this library would compute."""
    if isinstance(xp, Tracing) and not isinstance(xp, Staging):
        return xp
    recording = _namespaces.get(xp)
    if recording is None:
        recording = _namespaces[xp] = maker[0](xp)
    return recording


class Traced:
    """A tensor as an array. Methods are those of NumPy's arrays that rules use."""

    __slots__ = ("tensor",)
    __array_ufunc__ = None  # array * traced is ours to compute
    __hash__ = None  # type: ignore[assignment]
    # Which namespace it has depends on the array inside, not on the class.
    differs = True

    def __init__(self, tensor: Any):
        self.tensor = tensor

    def __array_namespace__(self) -> Any:
        array = self
        while type(array) is Traced:
            array = array.tensor._array
        return tracing(namespace(array))

    xp = property(__array_namespace__)

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.tensor._array.shape
        return shape[1:] if type(self.tensor._node) is Batch else shape

    @property
    def dtype(self) -> Any:
        return self.tensor._array.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def flags(self) -> Flags:
        return _flags

    def __add__(self, other: Any) -> Any:
        return self.xp.add(self, other)

    def __radd__(self, other: Any) -> Any:
        return self.xp.add(other, self)

    def __iadd__(self, other: Any) -> Any:
        return self.xp.add(self, other, out=self)

    def __sub__(self, other: Any) -> Any:
        return self.xp.subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        return self.xp.subtract(other, self)

    def __isub__(self, other: Any) -> Any:
        return self.xp.subtract(self, other, out=self)

    def __mul__(self, other: Any) -> Any:
        return self.xp.multiply(self, other)

    def __rmul__(self, other: Any) -> Any:
        return self.xp.multiply(other, self)

    def __imul__(self, other: Any) -> Any:
        return self.xp.multiply(self, other, out=self)

    def __truediv__(self, other: Any) -> Any:
        return self.xp.divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self.xp.divide(other, self)

    def __itruediv__(self, other: Any) -> Any:
        return self.xp.divide(self, other, out=self)

    def __neg__(self) -> Any:
        return self.xp.negative(self)

    # comparisons have no derivative: they are of plain arrays

    def __lt__(self, other: Any) -> Array:
        return plain(self) < plain(other)

    def __le__(self, other: Any) -> Array:
        return plain(self) <= plain(other)

    def __gt__(self, other: Any) -> Array:
        return plain(self) > plain(other)

    def __ge__(self, other: Any) -> Array:
        return plain(self) >= plain(other)

    def __eq__(self, other: object) -> Array:
        return plain(self) == plain(other)

    def __ne__(self, other: object) -> Array:
        return plain(self) != plain(other)

    def __getitem__(self, index: Any) -> Any:
        return self.xp.getitem(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.tensor = self.xp.put(self, value, index).tensor

    # positional arguments as NumPy's have them: rules pass them by position, which is quicker

    def sum(self, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False) -> Any:
        return self.xp.sum(self, axis, keepdims)

    def mean(self, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False) -> Any:
        return self.xp.mean(self, axis, keepdims)

    def max(self, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
        return self.xp.max(self, axis, keepdims)

    def min(self, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
        return self.xp.min(self, axis, keepdims)

    def dot(self, other: Any) -> Any:
        return self.xp.matmul(self, other)

    def reshape(self, *shape: Any) -> Any:
        return self.xp.reshape(self, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes: Any) -> Any:
        return self.xp.transpose(self, (axes[0] if len(axes) == 1 else axes) or None)

    T = property(transpose)

    def swapaxes(self, first: int, second: int) -> Any:
        axes = list(range(self.ndim))
        axes[first], axes[second] = axes[second], axes[first]
        return self.xp.transpose(self, tuple(axes))

    def take(self, places: Array) -> Any:
        return self.reshape(-1)[places]

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        return self.xp.astype(self, dtype)

    def copy(self) -> Any:
        return Traced(self.tensor)  # tensors do not change


def plain(value: Any) -> Any:
    """The array of numbers inside; anything else as it is."""
    while type(value) is Traced:
        tensor = value.tensor
        if type(tensor._node) is Batch:
            raise TypeError("a rule asked for the numbers of several seeds at once; use what it saved instead")
        value = tensor._array
    return value


def settled(array: Any) -> Any:
    """An array without its recording if nothing wants that."""
    while type(array) is Traced and array.tensor._node is None:
        array = array.tensor._array
    return array


def computes_alike(xp: Any, array: Any) -> Any:
    """An operand or a saved array as rules take it beside traced ones: an array's own methods would not know those."""
    if type(array) is Traced or not hasattr(array, "dtype") or array.dtype.kind == "b":
        return array
    return xp.asarray(array)
