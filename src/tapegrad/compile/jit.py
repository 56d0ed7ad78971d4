"""`jit`: a function of tensors, traced once and then executed as machine code.

In: a function of arrays, tensors, floats and structures of them, among them transforms of other functions. Out: the
same function, quicker. For each structure, shapes and dtypes of the arguments it is traced and compiled once.
"""

import contextlib
import functools
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias

from tapegrad.compile.calling import Entry
from tapegrad.compile.devices import array_of, common, device_of, place
from tapegrad.compile.execution import Executable
from tapegrad.compile.report import Report
from tapegrad.compile.trace import is_input, traced
from tapegrad.errors import InputError
from tapegrad.tensor.carried import filled
from tapegrad.tensor.nesting.levels import depth
from tapegrad.tensor.tensor import Tensor
from tapegrad.tensor.trees import flat

Where: TypeAlias = Literal["cpu", "cuda"]
# Signatures that are kept compiled; a function that is called with more of them is traced anew again and again.
MOST_KEPT = 64
# As many as a crew has members, and the thread that calls.
MOST_THREADS = 256
# From so many traces on a function is told to trace often.
OFTEN = 8


def signature(value: Any) -> Any:
    """What a trace depends on: structure, shapes, dtypes, and whatever is no array or float itself."""
    if isinstance(value, dict):
        return (dict, tuple([(key, signature(item)) for key, item in value.items()]))
    if isinstance(value, (list, tuple)):
        return (type(value), tuple([signature(item) for item in value]))
    if is_input(value):
        if type(value) is float:
            return float
        array = array_of(value)
        device = device_of(array)
        return (array.shape, array.dtype) if device is None else (array.shape, array.dtype, device.name)
    try:
        hash(value)
    except TypeError:
        raise InputError(
            "expected arrays, numbers, and lists, tuples and dicts of them as arguments of a jitted function, got "
            f"{type(value).__name__}; bind it before: jit(functools.partial(f, option=…))"
        ) from None
    return (type(value), value)


def records(value: Any) -> bool:
    """Whether a transform or a backward pass outside wants a derivative of a value."""
    return type(value) is Tensor and value.requires_grad


@contextlib.contextmanager
def exclusively(entry: Entry | None) -> Iterator[None]:
    """A context in which the quick way is closed, because the slow one uses the same memory."""
    if entry is not None:
        entry.busy = True
    try:
        yield
    finally:
        if entry is not None:
            entry.busy = False


class Jit:
    """A function that is compiled when it is called. `traces` counts how often it was traced."""

    def __init__(
        self, f: Callable[..., Any], strict: bool, threads: int, device: Where | None, tf32: bool | None
    ) -> None:
        functools.update_wrapper(self, f)
        self.traces = 0
        self._f = f
        self._strict = strict
        self._threads = threads
        self._device = device
        self._tf32 = tf32
        self._kept: OrderedDict[Any, tuple[Any, Any, Entry | None]] = OrderedDict()
        self._told = False
        self._entry: Entry | None = None

    def __call__(self, *args: Any) -> Any:
        """The function's result: arrays, and floats for numbers without axes."""
        inside = depth()
        if self._entry is not None and not inside:
            quick = self._entry.call(args)
            if quick is not NotImplemented:
                return quick
        if inside or any(records(value) for value in flat(args)):
            return self._f(*args)  # part of what is outside: a transform differentiates it, or a jit compiles it
        return self._found(args)

    def _found(self, args: tuple[Any, ...]) -> Any:
        """The result by the code for such arguments, which is made if there is none yet."""
        executable, structure, entry = self._executable(args)
        if entry is not None and entry is not self._entry:
            self._entry = entry
            quick = entry.call(args)
            if quick is not NotImplemented:
                return quick
        with executable.lock, exclusively(entry):
            results = executable([array_of(value) for value in flat(args) if is_input(value)])
        return filled(structure, executable.items(results))

    def _executable(self, args: tuple[Any, ...]) -> tuple[Any, Any, Entry | None]:
        key = signature(args)
        kept = self._kept.get(key)
        if kept is None:
            if self._strict and self._kept:
                raise InputError(
                    f"expected arguments like those of the first call of {self._name()}, which is strict; got others: "
                    f"{described(key)}; jit(f) without strict=True compiles again for them"
                )
            executable, structure = self._compiled(args)
            kept = self._kept[key] = executable, structure, executable.entry(args)
            self.traces += 1
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
            if self.traces >= OFTEN and not self._told:
                self._told = True
                warnings.warn(
                    f"{self._name()} has been traced {self.traces} times, the last time for {described(key)}: jit "
                    "compiles anew for every shape, dtype and option; pad arrays to a few shapes, and pass numbers "
                    "that change as floats or arrays, not as int",
                    stacklevel=3,
                )
        return kept

    def _compiled(self, args: tuple[Any, ...]) -> tuple[Any, Any]:
        """What executes the function for such arguments where these are, and the structure of its results."""
        device = common([array_of(value) for value in flat(args) if is_input(value)])
        if self._device is not None and self._device != ("cpu" if device is None else "cuda"):
            move = "cupy.asarray(x)" if device is None else "cupy.asnumpy(x)"
            raise InputError(
                f"expected arrays {place_of(self._device)} for {self._name()}, which was jitted for that, got some "
                f"{place(device)}; move them: {move}"
            )
        function = traced(self._f, args, device)
        if device is None:
            return Executable(function, lend=True, threads=self._threads), function.structure
        from tapegrad.compile.cuda.device import tf32_wanted
        from tapegrad.compile.cuda.execution import CudaExecutable

        tf32 = tf32_wanted() if self._tf32 is None else self._tf32
        return CudaExecutable(function, device, tf32), function.structure

    def _name(self) -> str:
        return getattr(self._f, "__qualname__", type(self._f).__name__)

    def check(self) -> None:
        """Raises an `InputError` if labels or indices of an earlier call were wrong. On the CPU each call does; on a
        CUDA device the next one would, as calls do not wait for it. This does."""
        for executable, _, _ in self._kept.values():
            executable.refuse_failed(waiting=True)

    def report(self, *args: Any) -> Report:
        """What the function is compiled to for arguments like these: kernels, what is interpreted, memory, seconds."""
        report: Report = self._executable(args)[0].report()
        return report

    def graph(self, *args: Any) -> str:
        """The traced operations for arguments like these, one on each line."""
        shown: str = self._executable(args)[0].shown()
        return shown


def described(key: Any) -> str:
    """A signature for people."""
    if key is float:
        return "float"
    if isinstance(key[0], tuple):
        return f"{key[1]}{list(key[0])}" + "".join(f" on {device}" for device in key[2:])
    if key[0] is dict:
        return "{" + ", ".join(f"{name!r}: {described(item)}" for name, item in key[1]) + "}"
    if isinstance(key[0], type) and issubclass(key[0], (list, tuple)):
        return "(" + ", ".join(described(item) for item in key[1]) + ")"
    return f"{key[1]!r:.40}"


def place_of(device: Where) -> str:
    """Where arrays are to be, for people."""
    return "on the CPU" if device == "cpu" else "on a CUDA device"


def jit(
    f: Callable[..., Any],
    *,
    strict: bool = False,
    threads: int = 1,
    device: Where | None = None,
    tf32: bool | None = None,
) -> Jit:
    """f, compiled: traced once for each structure, shapes and dtypes of its arguments, then run as machine code.

    Arrays, tensors and floats may change from call to call; ints, bools and strings are constants, and another one is
    another trace. Derivatives are compiled with it: jit(value_and_grad(f)). Arrays that f uses without taking them as
    arguments are constants, copied while tracing; printing and other effects happen only then. Results are arrays, and
    floats for numbers without axes. Without llvmlite the traced operations are executed by NumPy.

    With CuPy's arrays it is computed on their CUDA device; results are CuPy's arrays then, also numbers without axes.

    strict: an error, instead of another trace, for arguments unlike the first.
    threads: how many share a kernel that takes long enough for that, on the CPU. Products of matrices are BLAS's, which
    has its own number of threads.
    device: "cpu" or "cuda", where arrays must be then; others are an error. Without it each call is computed where its
    arrays are.
    tf32: on a CUDA device, whether products of float32 round their operands to TF32 (11 bits), which is several times
    as fast; no unless the environment has TAPEGRAD_TF32=1.

    >>> import numpy, tapegrad
    >>> f = tapegrad.jit(tapegrad.value_and_grad(lambda x: (x * x).sum()))
    >>> f(numpy.array([1.0, 2.0]))
    (5.0, array([2., 4.]))
    >>> f(numpy.array([3.0, 4.0]))
    (25.0, array([6., 8.]))
    >>> f.traces
    1
    """
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MOST_THREADS:
        raise InputError(f"expected threads to be a whole number from 1 to {MOST_THREADS}, got {threads!r:.40}")
    if device not in (None, "cpu", "cuda"):
        raise InputError(f"expected device to be 'cpu', 'cuda' or None, got {device!r}")
    if device == "cuda":
        from tapegrad.compile.cuda.device import usual

        usual()
    return Jit(f, strict, threads, device, tf32)
