"""The quick way into a function on a device: a call like the one before costs the host a few microseconds.

In: the arguments of a call. Out: results, or `NotImplemented` where the arguments are not those that the function was
compiled for. Small results are used again once nobody outside holds them, nor a view of them, nor their memory: what
somebody still has is never written to. Larger ones come from CuPy's pool in each call.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from sys import getrefcount
from typing import Any

from tapegrad.compile.trace import is_input
from tapegrad.tensor.trees import flat, rebuilt

# Sets of small results that may be waiting to be used again; somebody who keeps more of them gets new ones.
MOST_SETS = 4
# Temporary memory up to this size stays with the function, so that it need not be asked for.
KEPT_BYTES = 1 << 20


@dataclass(frozen=True)
class Leaf:
    """An argument: what an array must be, and where its address goes; the place of a number; or a constant."""

    kind: str  # "array", "number" or "constant"
    dtype: Any = None
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    place: int = 0
    constant: Any = None


class ResultSet:
    """Small results in one piece of memory, and how many references each has if nobody outside has one."""

    def __init__(self, executable: Any):
        self.memory = executable.device.alloc(executable.small_bytes)
        self.arrays = executable.small_arrays(self.memory)
        by_node = dict(zip(executable.small_places, self.arrays, strict=True))
        self.given = [executable.output(k, by_node) for k in executable.small_outputs]
        del by_node
        unique = {id(item): item for item in (*self.arrays, *self.given, self.memory)}
        unique |= {
            id(item): item for item in [getattr(array, "data", None) for array in self.arrays] if item is not None
        }
        self.held = list(unique.values())
        del unique
        self.addresses: Any = None  # of results and temporary arrays, as they are in the table; None until they were
        self.counts = [getrefcount(item) for item in self.held]

    def free(self) -> bool:
        """Whether nobody outside can see any of it."""
        return [getrefcount(item) for item in self.held] == self.counts


class Entry:
    """A compiled function with the structures of its arguments and results."""

    def __init__(self, executable: Any, args: tuple[Any, ...], structure: Any):
        self.busy = False
        self._executable, self._device = executable, executable.device
        self._array = executable.device.xp.ndarray
        self._like = rebuilt(args, self._leaves(flat(args)))
        self._addresses: list[int] = [0] * len(executable.table)
        self._fill = filling(structure)
        self._sets: list[ResultSet] = []
        self._stream: int | None = None
        self._arena: Any = None
        self._calls = 0
        self._written: ResultSet | None = None  # the set whose addresses are in the table
        # whether nothing but small results and little memory is needed in a call
        self._light = executable.small_bytes > 0 and len(executable.small_places) == len(executable.results)
        self._light &= executable.arena_bytes <= KEPT_BYTES and len(executable.small_outputs) == len(
            executable.function.outputs
        )

    def _leaves(self, values: list[Any]) -> Iterator[Any]:
        executable, inputs = self._executable, iter(self._executable.function.inputs)
        for value in values:
            if not is_input(value):
                yield Leaf("constant", constant=value)
                continue
            node = next(inputs)
            if id(node) in executable.numbers:
                yield Leaf("number", type(value), place=executable.number_at[id(node)] // 8)
                continue
            steps, size = [], node.dtype.itemsize
            for length in reversed(node.shape):
                steps.append(size)
                size *= length
            yield Leaf("array", node.dtype, node.shape, tuple(reversed(steps)), executable.slots[id(node)])

    def call(self, args: tuple[Any, ...]) -> Any:
        """The results for these arguments; NotImplemented if they are others, or another thread is here."""
        executable = self._executable
        if self.busy or not executable.lock.acquire(blocking=False):
            return NotImplemented
        try:
            if not self._device.is_current():
                return NotImplemented
            stream = self._device.stream()
            if stream != self._stream:
                # they are in the order of the other stream
                self._sets, self._arena, self._written, self._stream = [], None, None, stream
            if executable.calls != self._calls:  # somebody else wrote into the table
                self._calls, self._written = executable.calls, None
                self._addresses = [0] * len(executable.table)
            if not self._take(args, self._like):
                return NotImplemented
            executable.refuse_failed()
            return self._small_results() if self._light else self._results()
        finally:
            executable.lock.release()

    def _take(self, value: Any, like: Any) -> bool:
        """Puts the addresses of arguments into the table; False if they are not as expected."""
        if type(like) is Leaf:
            if like.kind == "array":
                if type(value) is not self._array or value.dtype != like.dtype or value.shape != like.shape:
                    return False
                if value.strides != like.strides:
                    return False
                address, number = self._device.place(value)
                if address != self._addresses[like.place]:
                    if number != self._device.number or address % 16:
                        return False
                    self._executable.table[like.place] = self._addresses[like.place] = address
                return True
            if like.kind == "number":
                if type(value) is not float or like.dtype is not float:
                    return False
                self._executable.given_floats[like.place] = value
                return True
            return type(value) is type(like.constant) and bool(value == like.constant)
        if type(value) is not type(like) or len(value) != len(like):
            return False
        if type(like) is dict:
            if list(value) != list(like):
                return False
            value, like = value.values(), like.values()
        array, place, addresses = self._array, self._device.place, self._addresses
        for item, part in zip(value, like, strict=True):
            # most are arrays that were there before: for them no call
            if (
                type(part) is Leaf
                and type(item) is array
                and part.kind == "array"
                and item.dtype == part.dtype
                and item.shape == part.shape
                and item.strides == part.strides
                and place(item)[0] == addresses[part.place]
            ):
                continue
            if not self._take(item, part):
                return False
        return True

    def _small_results(self) -> Any:
        """The results where all of them are small: nothing is asked of CuPy, and of the table little changes."""
        executable = self._executable
        for chosen in self._sets:
            if chosen.free():
                break
        else:
            chosen = self._new_set()
        if chosen is not self._written:
            if chosen.addresses is None:
                if executable.arena_bytes and self._arena is None:
                    self._arena = self._device.alloc(executable.arena_bytes)
                executable.use(dict(zip(executable.small_places, chosen.arrays, strict=True)), self._arena)
                chosen.addresses = executable.table[executable.result_slots]
            else:
                executable.table[executable.result_slots] = chosen.addresses
            self._written = chosen
        executable.replay(executable.table, executable.given)
        return self._fill(chosen.given)

    def _results(self) -> Any:
        executable = self._executable
        arrays: dict[int, Any] = {}
        if executable.small_bytes:
            chosen = next((one for one in self._sets if one.free()), None) or self._new_set()
            self._written = None
            arrays.update(zip(executable.small_places, chosen.arrays, strict=True))
        if executable.arena_bytes and executable.arena_bytes <= KEPT_BYTES and self._arena is None:
            self._arena = self._device.alloc(executable.arena_bytes)
        outputs = executable.queue(arrays, self._arena)
        for place, k in enumerate(executable.small_outputs):
            outputs[k] = chosen.given[place]
        return self._fill(outputs)

    def _new_set(self) -> ResultSet:
        chosen = ResultSet(self._executable)
        if len(self._sets) == MOST_SETS:
            self._sets.pop(0)
        self._sets.append(chosen)
        return chosen


def filling(structure: Any) -> Callable[[list[Any]], Any]:
    """What puts items into the structure of the results; None is nothing."""
    if type(structure) is int:
        return itemgetter(structure)
    if type(structure) is tuple and len(structure) > 1 and all(type(part) is int for part in structure):
        return itemgetter(*structure)
    if type(structure) in (tuple, list):
        kind, parts = type(structure), [filling(part) for part in structure]
        return lambda items: kind([part(items) for part in parts])
    if type(structure) is dict:
        named = [(key, filling(part)) for key, part in structure.items()]
        return lambda items: {key: part(items) for key, part in named}
    return lambda _: None
