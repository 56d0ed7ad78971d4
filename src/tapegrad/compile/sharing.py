"""Sharing: a kernel's rows divided among threads.

In: a kernel that can do a part of its rows. Out: LLVM that does all parts at the same time, by the process's crew of
threads (crew.h), and then puts together what each part has summed for itself.
"""

import math
from collections.abc import Callable, Sequence

from tapegrad.compile import llvm
from tapegrad.compile.elementary import DEAR, Writer
from tapegrad.compile.fusion import KINDS, Group
from tapegrad.compile.planning import exact_bytes, padded
from tapegrad.compile.symbol import Node

# Waking a thread and waiting for it takes some 10 µs. Work is counted in operations on numbers, of which a core does
# one in 0.05 to 0.1 ns: a kernel of less than 100 µs is left to one thread.
FEWEST_OPERATIONS = 1 << 20
# A function such as exp is so many operations.
DEAR_OPERATIONS = 8
COMBINED = {"sum": "add", "max": "maximum", "min": "minimum"}
SYMBOL = "tapegrad.crew"


def pays(group: Group) -> bool:
    """Whether a kernel is long enough for several threads."""
    each = sum(DEAR_OPERATIONS if node.op in DEAR else 1 for node in group.nodes)
    return math.prod(group.space or ()) * each >= FEWEST_OPERATIONS


class Shared:
    """A kernel that threads share: its name, what it reads and writes, which of that each part sums for itself, and
    how many rows are divided among how many parts, in multiples of `step`."""

    def __init__(
        self,
        name: str,
        arrays: Sequence[Node],
        summed: Sequence[Node],
        scratch_bytes: int,
        rows: tuple[int, int],
        parts: int,
    ):
        self.name, self.arrays, self.summed = name, arrays, summed
        self.count, self.step = rows
        self.parts = parts
        self.offsets: dict[int, int] = {}
        end = padded(scratch_bytes)
        for node in summed:
            self.offsets[id(node)] = end
            end += padded(exact_bytes(node))
        self.stride = end

    @property
    def scratch_bytes(self) -> int:
        """The memory of all parts."""
        return self.stride * self.parts

    def text(self) -> str:
        """The functions that do one part, and that put the parts together."""
        return self._part() + self._together()

    def call(self, w: Writer, pointer: Callable[[Node], str], scratch: str) -> None:
        """Lines that do the kernel's work."""
        llvm.add_symbols({SYMBOL: _address()})
        w.definitions[SYMBOL] = f"declare void @{SYMBOL}(ptr, ptr, i64)\n"
        context = w.put(f"alloca [{len(self.arrays) + 1} x ptr]")
        for k, place in enumerate([*[pointer(node) for node in self.arrays], scratch]):
            w.say(f"store ptr {place}, ptr {w.slot(context, k)}")
        w.say(f"call void @{SYMBOL}(ptr @{self.name}.part, ptr {context}, i64 {self.parts})")
        if self.summed:
            w.say(f"call void @{self.name}.together(ptr {context})")

    def _part(self) -> str:
        w = Writer()
        places = [w.held("%context", k) for k in range(len(self.arrays) + 1)]
        scratch = w.put(f"getelementptr i8, ptr {places.pop()}, i64 {w.put(f'mul i64 %part, {self.stride}')}")
        first = w.put("icmp eq i64 %part, 0")
        for k, node in enumerate(self.arrays):
            if id(node) in self.offsets:
                own = w.put(f"getelementptr i8, ptr {scratch}, i64 {self.offsets[id(node)]}")
                places[k] = w.put(f"select i1 {first}, ptr {places[k]}, ptr {own}")
        begin = self._start(w, "%part")
        reach = self._start(w, w.put("add i64 %part, 1"))
        last = w.put(f"icmp eq i64 %part, {self.parts - 1}")
        end = w.put(f"select i1 {last}, i64 {self.count}, i64 {reach}")
        given = ", ".join(f"ptr {place}" for place in [*places, scratch])
        w.say(f"call void @{self.name}({given}, i64 {begin}, i64 {end})")
        return _function(f"{self.name}.part(ptr %context, i64 %part)", w)

    def _start(self, w: Writer, part: str) -> str:
        """Where a part starts."""
        steps = self.count // self.step
        whole = w.put(f"udiv i64 {w.put(f'mul i64 {part}, {steps}')}, {self.parts}")
        return w.put(f"mul i64 {whole}, {self.step}")

    def _together(self) -> str:
        if not self.summed:
            return ""
        w = Writer()
        scratch = w.held("%context", len(self.arrays))
        for number, node in enumerate(self.summed):
            element = KINDS[str(node.dtype)]
            (k,) = [k for k, other in enumerate(self.arrays) if other is node]
            target = w.held("%context", k)
            before = "entry" if not number else f"done{number - 1}"
            w.say(f"br label %loop{number}")
            w.say(f"loop{number}:")
            w.say(f"%k{number} = phi i64 [ 0, %{before} ], [ %next{number}, %loop{number} ]")
            here = w.put(f"getelementptr {element}, ptr {target}, i64 %k{number}")
            value = w.put(f"load {element}, ptr {here}")
            for part in range(1, self.parts):
                start = part * self.stride + self.offsets[id(node)]
                other = w.put(f"getelementptr i8, ptr {scratch}, i64 {start}")
                there = w.put(f"getelementptr {element}, ptr {other}, i64 %k{number}")
                own = w.put(f"load {element}, ptr {there}")
                value = w.operation(COMBINED[node.op], [element] * 2, [value, own], element, 0)
            w.say(f"store {element} {value}, ptr {here}")
            w.say(f"%next{number} = add i64 %k{number}, 1")
            more = w.put(f"icmp ult i64 %next{number}, {math.prod(node.shape)}")
            w.say(f"br i1 {more}, label %loop{number}, label %done{number}")
            w.say(f"done{number}:")
        return _function(f"{self.name}.together(ptr %context)", w)


def _address() -> int:
    from tapegrad.compile import crew

    return crew.address()


def _function(header: str, w: Writer) -> str:
    return "\n".join([f"define internal void @{header} nounwind {{", "entry:", *w.lines, "ret void", "}", ""])
