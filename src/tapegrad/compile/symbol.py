"""The symbol: an array without numbers, which stands for one while a function of tensors is traced.

In: an operation and its operands. Out: a node of the traced graph, merged with an equal one where there is one. Rules
cannot tell a symbol from an array; writing into one replaces the node that it stands for, so that rules may write in
place. There are no views.
"""

# ruff: noqa: D102, ARG002  the methods are NumPy's, and so are their parameters

import contextlib
import math
import threading
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy

from tapegrad.compile import operations
from tapegrad.compile.devices import device_of, on_device, place
from tapegrad.errors import InputError, TraceError
from tapegrad.tensor.namespaces import Array
from tapegrad.tensor.nesting.levels import switches

# Beyond this a function is a loop that was unrolled: compiling it would take minutes.
MOST_OPERATIONS = 100_000


class Node:
    """One operation of a traced function: its operands, its settings, and the shape and dtype of its result."""

    __slots__ = ("dtype", "op", "operands", "settings", "shape", "weak")

    def __init__(
        self,
        op: str,
        operands: "tuple[Node, ...]",
        settings: Any,
        shape: tuple[int, ...],
        dtype: Any,
        weak: bool = False,
    ):
        self.op = op
        self.operands = operands
        self.settings = settings
        self.shape = shape
        self.dtype = dtype
        self.weak = weak  # a Python number, which leaves dtypes alone

    def __repr__(self) -> str:
        return f"<{self.op} {self.dtype}{list(self.shape)}>"


@dataclass(frozen=True)
class Place:
    """In settings: the operand with this number belongs here."""

    operand: int


def single(index: Any) -> bool:
    """Whether an index is one operand, as such or in a tuple: `x[k]`, `x[k,]`."""
    return type(index) is Place or (type(index) is tuple and len(index) == 1 and type(index[0]) is Place)


class Flags(NamedTuple):
    """What NumPy's `flags` say: nothing that a rule could use."""

    c_contiguous: bool = False


_flags = Flags()


class Trace:
    """The nodes of the function that is being traced, so that equal ones become one."""

    def __init__(self, device: Any = None) -> None:
        self.thread = threading.get_ident()
        self.device = device  # where it will be computed; None for the CPU
        self.known: dict[Any, Node] = {}
        self.loops: dict[Any, list[Node]] = {}  # the results of each loop with its operands
        self.checks: list[tuple[Node, str]] = []  # what must hold at every call, and what to say if it does not

    def node(self, op: str, operands: tuple[Node, ...], settings: Any, shape: tuple[int, ...], dtype: Any) -> Node:
        """The node of an operation, the same for the same operands."""
        try:
            key = (op, operands, comparable(settings), dtype)
            equal = self.known.get(key)
        except TypeError:  # settings that cannot be compared
            return Node(op, operands, settings, shape, dtype)
        if equal is None:
            equal = self.known[key] = Node(op, operands, settings, shape, dtype)
            if len(self.known) > MOST_OPERATIONS:
                raise TraceError(
                    f"the traced function has more than {MOST_OPERATIONS:,} operations; call it without jit, or trace "
                    "a part of it: jit the function that a loop calls, not the loop"
                )
        return equal


def comparable(settings: Any) -> Any:
    """Settings as a dictionary's key: slices are none before Python 3.12, and 0.0 equals -0.0."""
    if isinstance(settings, slice):
        return (slice, settings.start, settings.stop, settings.step)
    if isinstance(settings, tuple):
        return (type(settings), tuple([comparable(item) for item in settings]))
    if isinstance(settings, list):
        return (list, tuple([comparable(item) for item in settings]))
    if isinstance(settings, float):
        return (float, settings.hex())
    return (type(settings), settings)


# The trace that is open, innermost last; one thread traces at a time.
traces: list[Trace] = []
_tracing = threading.RLock()


@contextlib.contextmanager
def opened(device: Any = None) -> Iterator[Trace]:
    """A context in which this thread traces; other threads that want to wait until it is left."""
    with _tracing:
        trace = Trace(device)
        traces.append(trace)
        switches.staging += 1
        try:
            yield trace
        finally:
            switches.staging -= 1
            traces.pop()


def current() -> Trace:
    """The trace that is open."""
    if not traces:
        raise TraceError(
            "an array of a traced function was used after tracing had ended; return it from the function instead of "
            "keeping it"
        )
    return traces[-1]


def tracing() -> bool:
    """Whether this thread traces a function."""
    return any(trace.thread == threading.get_ident() for trace in traces[-1:])  # a slice: another may end meanwhile


def constant(value: Any) -> Node:
    """A node for numbers that are known while tracing; its own copy."""
    if on_device(value):
        device = current().device
        if device is not device_of(value):
            raise InputError(
                f"expected arrays {place(device)}, where the function is computed, got one "
                f"{place(device_of(value))} that it uses without taking it as an argument; move it: cupy.asnumpy(x) to "
                "the host, cupy.asarray(x) to the device"
            )
        return Node("array", (), value.copy(), value.shape, value.dtype)
    array = numpy.array(value)
    array.setflags(write=False)
    if not array.shape:
        return current().node("constant", (), array.item(), (), array.dtype)
    if array.size and (array.strides.count(0) == array.ndim or bool((array == array.flat[0]).all())):
        return filled(array.shape, array.flat[0].item(), array.dtype)
    return Node("array", (), array, array.shape, array.dtype)


def filled(shape: tuple[int, ...], value: Any, dtype: Any) -> Node:
    """A node for one number, repeated."""
    number = current().node("constant", (), numpy.dtype(dtype).type(value).item(), (), numpy.dtype(dtype))
    return number if not shape else current().node("broadcast_to", (number,), shape, shape, numpy.dtype(dtype))


def number_of(node: Node) -> Any:
    """The number that a node holds everywhere if that is known; else None."""
    while node.op == "broadcast_to" or node.op == "reshape":
        node = node.operands[0]
    return node.settings if node.op == "constant" else None


class Symbol:
    """A node as an array. Methods are those of NumPy's arrays that rules use."""

    __slots__ = ("__weakref__", "node")
    __array_ufunc__ = None  # array * symbol is ours to compute
    __hash__ = None  # type: ignore[assignment]  # == compares elements

    def __init__(self, node: Node):
        self.node = node

    def __array_namespace__(self) -> Any:
        return namespaces[0]

    xp = property(__array_namespace__)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.node.shape

    @property
    def dtype(self) -> Any:
        return self.node.dtype

    @property
    def ndim(self) -> int:
        return len(self.node.shape)

    @property
    def size(self) -> int:
        return math.prod(self.node.shape)

    @property
    def itemsize(self) -> int:
        return self.node.dtype.itemsize  # type: ignore[no-any-return]

    @property
    def flags(self) -> Flags:
        return _flags

    def __len__(self) -> int:
        return self.node.shape[0]

    def __repr__(self) -> str:
        return f"<traced array, {self.dtype}{list(self.shape)}>"

    # what would need the numbers

    def refuse(self, wanted: str) -> Any:
        raise TraceError(
            f"{wanted} needs the numbers of an array, which are not known while jit traces a function: it is traced "
            "once and then runs on any numbers. For a choice between values write tapegrad.tensor.where(condition, x, "
            "y); what decides about Python's control flow must be an argument of type bool, int or str, or a shape"
        )

    def __bool__(self) -> bool:
        return self.refuse("a condition (if, while, and, or, not)")  # type: ignore[no-any-return]

    def __float__(self) -> float:
        return self.refuse("float()")  # type: ignore[no-any-return]

    def __int__(self) -> int:
        return self.refuse("int()")  # type: ignore[no-any-return]

    def __index__(self) -> int:
        return self.refuse("using it as an index or a count in Python")  # type: ignore[no-any-return]

    def item(self) -> Any:
        return self.refuse(".item()")

    def tolist(self) -> Any:
        return self.refuse(".tolist()")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.refuse("NumPy")

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

    def __mod__(self, other: Any) -> Any:
        return self.xp.remainder(self, other)

    def __pow__(self, other: Any) -> Any:
        return self.xp.power(self, other)

    def __neg__(self) -> Any:
        return self.xp.negative(self)

    def __invert__(self) -> Any:
        return self.xp.invert(self)

    def __and__(self, other: Any) -> Any:
        return self.xp.bitwise_and(self, other)

    __rand__ = __and__

    def __iand__(self, other: Any) -> Any:
        return self.xp.bitwise_and(self, other, out=self)

    def __or__(self, other: Any) -> Any:
        return self.xp.bitwise_or(self, other)

    __ror__ = __or__

    def __lt__(self, other: Any) -> Any:
        return self.xp.less(self, other)

    def __le__(self, other: Any) -> Any:
        return self.xp.less_equal(self, other)

    def __gt__(self, other: Any) -> Any:
        return self.xp.greater(self, other)

    def __ge__(self, other: Any) -> Any:
        return self.xp.greater_equal(self, other)

    def __eq__(self, other: object) -> Any:
        return self.xp.equal(self, other)

    def __ne__(self, other: object) -> Any:
        return self.xp.not_equal(self, other)

    def __getitem__(self, index: Any) -> Any:
        return self.xp.getitem(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.node = self.xp.put(self, value, index).node

    # positional arguments as NumPy's have them: rules pass them by position, which is quicker

    def sum(self, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False) -> Any:
        return self.xp.sum(self if dtype is None else self.astype(dtype), axis, keepdims)

    def mean(self, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False) -> Any:
        return self.xp.mean(self, axis, keepdims)

    def max(self, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
        return self.xp.max(self, axis, keepdims)

    def min(self, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
        return self.xp.min(self, axis, keepdims)

    def dot(self, other: Any) -> Any:
        return self.xp.dot(self, other)

    def reshape(self, *shape: Any) -> Any:
        return self.xp.reshape(self, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes: Any) -> Any:
        return self.xp.transpose(self, (axes[0] if len(axes) == 1 else axes) or None)

    T = property(transpose)

    def swapaxes(self, first: int, second: int) -> Any:
        axes = list(range(self.ndim))
        axes[first], axes[second] = axes[second], axes[first]
        return self.xp.transpose(self, tuple(axes))

    def take(self, places: Any) -> Any:
        return self.reshape(-1)[places]

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        return self.xp.astype(self, dtype)

    def copy(self) -> Any:
        return Symbol(self.node)  # nodes do not change


# The namespace of symbols; `staging` enters it.
namespaces: list[Any] = []


def node_of(value: Any) -> Node:
    """The node of a symbol, an array or a number."""
    if type(value) is Symbol:
        return value.node
    return constant(value)


def recorded(op: str, operands: tuple[Node, ...], settings: Any = None) -> Symbol:
    """The symbol of an operation; its shape and dtype are what NumPy gives to arrays like its operands."""
    shape, dtype = operations.result(op, operands, settings)
    return Symbol(current().node(op, operands, settings, shape, dtype))


def ordered(roots: Iterable[Node], stop: Container[int] = ()) -> list[Node]:
    """All nodes that lead to the roots, operands first, down to those where it stops; a walk without recursion."""
    reached: dict[int, Node] = {}
    waiting = [(node, False) for node in reversed(list(roots))]
    while waiting:
        node, done = waiting.pop()
        if id(node) in reached or id(node) in stop:
            continue
        if done:
            reached[id(node)] = node
            continue
        waiting.append((node, True))
        waiting += [(operand, False) for operand in reversed(node.operands)]
    return list(reached.values())
