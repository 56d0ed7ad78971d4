"""The tensor: an array that remembers how it was computed.

In: arrays, numbers and tensors. Out: tensors; `apply` executes a primitive and, where an operand needs a gradient,
records it.
"""

from collections.abc import Callable, Iterator
from typing import Any

from tapegrad.errors import (
    ConstantError,
    ConversionError,
    DtypeError,
    InputError,
    OperandError,
    ShapeError,
    TapegradError,
)
from tapegrad.masks import refuse_masked
from tapegrad.tensor.backward import propagate, stats
from tapegrad.tensor.exposure import expose, expose_views, exposed, watch
from tapegrad.tensor.instruction import Instruction, Leaf, Primitive, Tangent, TensorStats
from tapegrad.tensor.namespaces import Array, Staging, namespace, staged
from tapegrad.tensor.nesting.levels import floor, switches
from tapegrad.tensor.nesting.traced import Traced, plain
from tapegrad.tensor.rules import elementwise, products, reductions, shapes


class Tensor:
    """An array, and whether gradients with respect to it are wanted.

    The array is copied, so that nobody can write into what a rule has saved. Operators, indexing and most methods of
    NumPy's arrays work as there; what needs no gradient is not recorded.

    >>> import numpy as np, tapegrad
    >>> x = tapegrad.Tensor(np.array([1.0, 2.0, 3.0]), requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    array([2., 4., 6.])
    """

    __slots__ = ("__weakref__", "_array", "_node")
    __hash__ = None  # type: ignore[assignment]  # == compares elements, as NumPy's does

    _array: Array
    _node: Any

    def __init__(self, array: Any, requires_grad: bool = False):
        if isinstance(array, Tensor):
            array = plain(array._array)
        copied = _as_array(array, copy=True, wrong=DtypeError)
        if requires_grad and copied.dtype.kind != "f":
            raise DtypeError(
                f"only floating-point tensors can require gradients, got dtype {copied.dtype}; "
                "convert first: Tensor(array.astype(float), requires_grad=True)"
            )
        self._array = copied
        self._node = Leaf(copied) if requires_grad else None

    # what it holds

    @property
    def data(self) -> Array:
        """The array. A write into it while a recording that saved it is pending is an error at backward."""
        if type(self._array) is Traced:
            return plain(self._array)
        if not isinstance(self._array, namespace(self._array).ndarray):
            self._array = namespace(self._array).asarray(self._array)
        expose(self._array)
        return self._array

    @data.setter
    def data(self, array: Any) -> None:
        refuse_masked(array)
        copied = namespace(array).array(array, dtype=self._array.dtype)
        if copied.shape != self._array.shape:
            raise ShapeError(f"expected new data of shape {self._array.shape}, got {copied.shape}; make a new Tensor")
        if self._node is not None and type(self._node) is not Leaf:
            raise InputError("only a tensor that was not computed can get new data; assign to the one you made")
        self._array = copied  # not into the old array: recordings may have saved that

    def numpy(self) -> Array:
        """A copy of the array that is safe to keep and to change."""
        array = plain(self._array)
        return namespace(array).array(array)

    def item(self) -> float:
        """The only number of a tensor of size 1."""
        if self._array.size != 1:
            raise ShapeError(f"expected a tensor of one number, got shape {self.shape}; reduce it first, or use .data")
        return plain(self._array).item()  # type: ignore[no-any-return]

    @property
    def requires_grad(self) -> bool:
        """Whether a backward pass gives a gradient to it, or to what it was computed from."""
        return self._node is not None

    @property
    def grad(self) -> Array | None:
        """The gradient that backward passes have accumulated; None before the first, and for computed tensors."""
        return self._node.grad if type(self._node) is Leaf else None

    @grad.setter
    def grad(self, value: Array | None) -> None:
        if type(self._node) is not Leaf:
            raise ConstantError("only a tensor made with requires_grad=True has a gradient")
        if value is not None:
            refuse_masked(value)
            value = namespace(value).array(value, dtype=self._array.dtype)
            if value.shape != self.shape:
                raise ShapeError(f"expected a gradient of shape {self.shape}, got {value.shape}")
        self._node.grad = value

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of its axes."""
        return self._array.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        """The kind of its numbers."""
        return self._array.dtype

    @property
    def ndim(self) -> int:
        """How many axes it has."""
        return len(self._array.shape)

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return self._array.size  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        array = plain(self._array)
        text = repr(namespace(array).asarray(array))
        wanted = ", requires_grad=True" if self.requires_grad else ""
        start, numbers, _ = text.partition("(")
        return f"Tensor({text[len(start) + 1 : -1] if numbers else text}{wanted})"  # one that is traced has no numbers

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        if self._array.size != 1:
            raise ShapeError(
                f"expected a tensor of one number to format with {spec!r}, got shape {self.shape}; reduce it first, or "
                "print .data"
            )
        return format(self.item(), spec)

    def __len__(self) -> int:
        if not self._array.shape:
            raise ShapeError("a tensor of shape () has no length")
        return self._array.shape[0]  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator["Tensor"]:
        return (self[k] for k in range(len(self)))

    def __bool__(self) -> bool:
        return bool(plain(self._array))

    def __index__(self) -> int:
        return plain(self._array).__index__()  # type: ignore[no-any-return]

    def __float__(self) -> float:
        if self._node is not None:
            raise ConversionError("float() of a Tensor would lose its derivative; use .item() where that is meant")
        return float(self._array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if self._node is not None:
            raise ConversionError(
                "an array made of a Tensor would lose its derivative; use the functions of tapegrad.tensor, or .data; "
                "to index an array by a Tensor write tensor.constant(array)[…]"
            )
        return namespace(self._array).array(self._array, dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Any:
        """array + tensor and its like; a function of NumPy's is refused, as its derivative would be lost."""
        name = ufunc.__name__
        operator = _OPERATORS.get(name)
        if operator is None or method != "__call__" or options:
            raise not_numpys(name)
        return operator(*operands)

    def __array_function__(self, function: Any, types: Any, operands: Any, options: Any) -> Any:
        raise not_numpys(function.__name__)

    # gradients

    def backward(self, seed: Any = None, *, retain: bool = False) -> None:
        """Adds to `.grad` of every leaf its gradient of this tensor, times `seed`, which is 1 for a single number.

        retain: keep what was saved, so that backward can be called again.
        """
        if self._node is None:
            raise ConstantError(
                "this tensor was not computed from any that requires gradients; make the inputs with requires_grad=True"
            )
        if type(self._node) is Tangent:
            raise ConstantError(
                "backward of a tensor that carries a tangent: its function is being differentiated in forward mode; "
                "call tapegrad.grad inside it, which may be nested"
            )
        xp = namespace(self._array)
        if seed is None:
            if self._array.size != 1:
                raise ShapeError(
                    f"backward of a tensor of shape {self.shape} needs a seed of that shape; reduce it to one number "
                    "(.sum()), or call backward(seed)"
                )
            seed = xp.ones(self.shape, self.dtype) if self.shape else self.dtype.type(1)
        else:
            raw = plain(seed._array) if isinstance(seed, Tensor) else seed
            seed = xp.asarray(raw, dtype=self.dtype)
            if seed is not raw:  # a plain array is taken as it is
                refuse_masked(raw)
            if seed.shape != self.shape:
                raise ShapeError(f"expected a seed of shape {self.shape}, got {seed.shape}")
        propagate(self._node, seed, retain)

    def detach(self) -> "Tensor":
        """The same numbers as a constant."""
        return wrapped(plain(self._array))

    def stats(self) -> TensorStats:
        """How many instructions lead to this tensor, and how much they have saved."""
        return stats(self._node) if self._node is not None else TensorStats(0, 0, 0)

    # operators

    def __add__(self, other: Any) -> "Tensor":
        return apply(elementwise.ADD, (self, other))

    def __radd__(self, other: Any) -> "Tensor":
        return apply(elementwise.ADD, (other, self))

    def __sub__(self, other: Any) -> "Tensor":
        return apply(elementwise.SUB, (self, other))

    def __rsub__(self, other: Any) -> "Tensor":
        return apply(elementwise.SUB, (other, self))

    def __mul__(self, other: Any) -> "Tensor":
        return apply(elementwise.MUL, (self, other))

    def __rmul__(self, other: Any) -> "Tensor":
        return apply(elementwise.MUL, (other, self))

    def __truediv__(self, other: Any) -> "Tensor":
        return apply(elementwise.DIV, (self, other))

    def __rtruediv__(self, other: Any) -> "Tensor":
        return apply(elementwise.DIV, (other, self))

    def __pow__(self, other: Any) -> "Tensor":
        return apply(elementwise.POW, (self, other))

    def __rpow__(self, other: Any) -> "Tensor":
        return apply(elementwise.POW, (other, self))

    def __matmul__(self, other: Any) -> "Tensor":
        return apply(products.MATMUL, (self, other))

    def __rmatmul__(self, other: Any) -> "Tensor":
        return apply(products.MATMUL, (other, self))

    # `w += …` computes a new tensor, as for numbers; for what the user made to get gradients of it is a mistake

    def __iadd__(self, other: Any) -> "Tensor":
        return apply(elementwise.ADD, (computed(self, "+="), other))

    def __isub__(self, other: Any) -> "Tensor":
        return apply(elementwise.SUB, (computed(self, "-="), other))

    def __imul__(self, other: Any) -> "Tensor":
        return apply(elementwise.MUL, (computed(self, "*="), other))

    def __itruediv__(self, other: Any) -> "Tensor":
        return apply(elementwise.DIV, (computed(self, "/="), other))

    def __neg__(self) -> "Tensor":
        return apply(elementwise.NEG, (self,))

    def __abs__(self) -> "Tensor":
        return apply(elementwise.ABS, (self,))

    def __getitem__(self, index: Any) -> "Tensor":
        return apply(shapes.GETITEM, (self,), _index(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        raise InputError(
            "a tensor is not written to in place; build the result with where, concatenate or pad, or change .data "
            "of a tensor that no pending recording has saved"
        )

    def __lt__(self, other: Any) -> Array:
        return self._array < _plain(other)

    def __le__(self, other: Any) -> Array:
        return self._array <= _plain(other)

    def __gt__(self, other: Any) -> Array:
        return self._array > _plain(other)

    def __ge__(self, other: Any) -> Array:
        return self._array >= _plain(other)

    def __eq__(self, other: object) -> Array:  # element by element, as NumPy's
        return self._array == _plain(other)

    def __ne__(self, other: object) -> Array:
        return self._array != _plain(other)

    # methods that NumPy's arrays have

    def sum(self, axis: Any = None, keepdims: bool = False) -> "Tensor":
        """The sum over axes."""
        return apply(reductions.SUM, (self,), (axis, keepdims))

    def mean(self, axis: Any = None, keepdims: bool = False) -> "Tensor":
        """The mean over axes."""
        return apply(reductions.MEAN, (self,), (axis, keepdims))

    def max(self, axis: Any = None, keepdims: bool = False) -> "Tensor":
        """The largest over axes; equal ones share the gradient."""
        return apply(reductions.MAX, (self,), (axis, keepdims))

    def min(self, axis: Any = None, keepdims: bool = False) -> "Tensor":
        """The smallest over axes; equal ones share the gradient."""
        return apply(reductions.MIN, (self,), (axis, keepdims))

    def var(self, axis: Any = None, keepdims: bool = False, ddof: int = 0) -> "Tensor":
        """The variance over axes."""
        return apply(reductions.VAR, (self,), (axis, keepdims, ddof))

    def reshape(self, *shape: Any) -> "Tensor":
        """The same numbers in another shape."""
        return apply(shapes.RESHAPE, (self,), shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes: Any) -> "Tensor":
        """The axes in another order; reversed if none is given."""
        order = axes[0] if len(axes) == 1 and (axes[0] is None or hasattr(axes[0], "__iter__")) else axes or None
        # as a tuple of our own: nobody can change it before backward
        return apply(shapes.TRANSPOSE, (self,), None if order is None else tuple(order))

    @property
    def T(self) -> "Tensor":  # noqa: N802  NumPy's name
        """The axes reversed."""
        return apply(shapes.TRANSPOSE, (self,), None)


# NumPy's functions that its arrays' operators call, with a tensor on the right.
_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: apply(elementwise.ADD, (x, y)),
    "subtract": lambda x, y: apply(elementwise.SUB, (x, y)),
    "multiply": lambda x, y: apply(elementwise.MUL, (x, y)),
    "divide": lambda x, y: apply(elementwise.DIV, (x, y)),
    "power": lambda x, y: apply(elementwise.POW, (x, y)),
    "matmul": lambda x, y: apply(products.MATMUL, (x, y)),
    "less": lambda x, y: _plain(x) < _plain(y),
    "less_equal": lambda x, y: _plain(x) <= _plain(y),
    "greater": lambda x, y: _plain(x) > _plain(y),
    "greater_equal": lambda x, y: _plain(x) >= _plain(y),
    "equal": lambda x, y: _plain(x) == _plain(y),
    "not_equal": lambda x, y: _plain(x) != _plain(y),
}
# What NumPy calls otherwise than `tapegrad.tensor`, and what is a method here.
_RENAMED = {
    "absolute": "abs",
    "negative": "neg",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "power": "pow",
    "amax": "max",
    "amin": "min",
    "float_power": "pow",
}


def not_numpys(name: str) -> ConversionError:
    """What to raise where a function of NumPy's was called with a tensor."""
    ours = _RENAMED.get(name, name)
    instead = f"call tapegrad.tensor.{ours}" if ours in FUNCTIONS else "use the functions of tapegrad.tensor"
    return ConversionError(
        f"numpy.{name} of a Tensor would lose its derivative; {instead}, or give numpy.{name} its numbers, .data"
    )


# The names of the functions of tensors; `functions` enters them.
FUNCTIONS: set[str] = set()


def computed(tensor: Tensor, operator: str) -> Tensor:
    """A tensor that may be replaced by a result: not a leaf, whose gradient nobody would find again."""
    if type(tensor._node) is Leaf and not tensor._node.level:
        raise InputError(
            f"`w {operator} …` does not change a tensor that was made with requires_grad=True; write "
            f"`w.data {operator} …` to change its numbers, or `y = w {operator[0]} …` to compute with them"
        )
    return tensor


def _plain(value: Any) -> Any:
    """The numbers that a tensor holds; anything else as it is."""
    return plain(value._array) if type(value) is Tensor else value


def _as_array(value: Any, *, copy: bool, wrong: type[TapegradError]) -> Array:
    """A value as an array of real numbers, or an error."""
    xp = namespace(value)
    if isinstance(value, xp.ndarray) and type(value) is not xp.ndarray:
        raise OperandError(f"expected a plain array, got {type(value).__name__}, whose operators mean something else")
    if isinstance(value, (list, tuple)):
        refuse_masked(value)
    try:
        converted = xp.array(value) if copy else xp.asarray(value)
    except ValueError as error:
        raise OperandError(f"expected numbers in the shape of an array, got {value!r:.60}: {error}") from error
    if converted.dtype.kind not in "fiub":
        raise wrong(
            f"expected an array of real numbers, got {value!r:.60} of dtype {converted.dtype}; use float32 or float64"
        )
    return converted


def operand(value: Any) -> Any:
    """A value as a primitive takes it: an array, or a Python number, which leaves dtypes alone."""
    return value if isinstance(value, (int, float)) else _as_array(value, copy=False, wrong=OperandError)


def _index(index: Any) -> Any:
    """An index of our own: nobody can change it before backward."""
    if type(index) is tuple:
        return tuple([_index(item) for item in index])
    index = _plain(index)
    if type(index) is list or hasattr(index, "shape"):
        xp = namespace(index)
        if type(index) is not xp.ndarray:
            refuse_masked(index)
        return xp.array(index)
    return index


class Clock:
    """Numbers the instructions in the order of their execution."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 0


_clock = Clock()


# Which operands want a cotangent, for one operand and for two; made once, because an operation on a small array takes
# no longer than making a few tuples.
_ONE = ((False,), (True,))
_TWO = (((False, False), (False, True)), ((True, False), (True, True)))


# What `apply` leaves to `nesting.execution`, which enters it: operands of several levels, modes other than reverse.
nested: list[Any] = []


def level_of(parents: list[Any], arrays: list[Any]) -> int:
    """The level of these operands if it is one of reverse mode, on plain arrays; else -1."""
    level = -1
    for k in range(len(parents)):
        node = parents[k]
        if node is None:
            continue
        if type(node) is Instruction:
            instruction = node
            own = instruction.level
        elif type(node) is Leaf:
            leaf = node
            own = leaf.level
        else:
            return -1
        if (own != level and level >= 0) or type(arrays[k]) is Traced:
            return -1
        level = own
    return level


def apply(primitive: Primitive, operands: tuple[Any, ...], settings: Any = None) -> Tensor:
    """Executes a primitive; records it if an operand needs a gradient."""
    count = len(operands)
    arrays: list[Any] = [None] * count
    parents: list[Any] = [None] * count
    raw = None
    xp = None
    recorded = False
    for k in range(count):
        value = operands[k]
        if type(value) is Tensor:
            tensor = value
            array = tensor._array
            if tensor._node is not None:
                parents[k] = tensor._node
                recorded = True
            if xp is None:
                xp = namespace(array)
        elif type(value) is float or type(value) is int:
            array = value
        else:
            array = operand(value)
            if not isinstance(array, (int, float)):
                raw = [array] if raw is None else [*raw, array]
                if xp is None:
                    xp = namespace(array)
        arrays[k] = array
    if xp is None:
        xp = namespace(None)
        arrays = [xp.asarray(array) for array in arrays]
    tracing = False
    if switches.staging:
        xp = staged(arrays, xp)
        tracing = isinstance(xp, Staging)
    level = 0
    if recorded and switches.open:
        level = level_of(parents, arrays)
        if level < 0 or switches.bodies:
            return nested[0](primitive, operands, settings)  # type: ignore[no-any-return]
    if recorded and switches.off and floor() >= level:
        recorded = False
    instruction = Instruction.__new__(Instruction)
    instruction.primitive = primitive
    instruction.xp = xp
    instruction.settings = settings
    instruction.saved = ()
    instruction.shapes = [getattr(array, "shape", ()) for array in arrays] if primitive.shapes else None
    instruction.snapshots = instruction.scratch = None
    instruction.tracing = tracing
    if not recorded:
        instruction.needs = (False,) * count
    elif count == 1:
        instruction.needs = _ONE[1]
    elif count == 2:
        instruction.needs = _TWO[parents[0] is not None][parents[1] is not None]
    else:
        instruction.needs = tuple([parent is not None for parent in parents])
    try:
        if count == 1:
            result = primitive.forward(instruction, arrays[0])
        elif count == 2:
            result = primitive.forward(instruction, arrays[0], arrays[1])
        else:
            result = primitive.forward(instruction, *arrays)
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        if settings is None and isinstance(error, OverflowError):
            raise  # of a number among the operands; of an axis it is one that does not fit
        raise refusal(primitive, arrays, settings, error) from error
    output = Tensor.__new__(Tensor)
    output._array = result
    if recorded:
        clock = _clock
        clock.now += 1
        instruction.number = clock.now
        instruction.level = level
        instruction.parents = parents
        instruction.shape = result.shape
        instruction.dtype = result.dtype
        if raw is not None or exposed:
            watch(instruction, raw or [])
        output._node = instruction
    else:
        output._node = None
    if raw is not None:
        expose_views(result, raw)
    return output


def wrapped(array: Array) -> Tensor:
    """A constant that holds an array, not a copy of it."""
    tensor = Tensor.__new__(Tensor)
    tensor._array, tensor._node = array, None
    return tensor


def joined(instruction: Instruction, parents: list[Any], array: Array, level: int) -> Tensor:
    """The result of an instruction that is part of a recording from now on."""
    clock = _clock
    clock.now += 1
    instruction.number = clock.now
    instruction.level = level
    instruction.parents = parents
    instruction.shape = array.shape
    instruction.dtype = array.dtype
    tensor = Tensor.__new__(Tensor)
    tensor._array, tensor._node = array, instruction
    return tensor


def refusal(primitive: Primitive, arrays: list[Any], settings: Any, error: Exception) -> Exception:
    """What to raise where a primitive's computation failed: the library's words, and what it was given."""
    if isinstance(error, TapegradError):
        return error
    got = ", ".join(str(getattr(array, "shape", array)) for array in arrays)
    of_settings = "" if settings is None else f" with {settings!r:.60}"
    return ShapeError(f"{primitive.name} does not fit operands of shape {got}{of_settings}: {error}")
