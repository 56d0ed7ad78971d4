"""Nests: functions of LLVM that are loops in loops, written as Python's `with` blocks.

In: loops, loads, stores and sums of products, where an index is an int that is known or a register. Out: the text of a
function. What is known is computed here, so that the text has only what must be computed in every call.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tapegrad.compile import llvm
from tapegrad.compile.elementary import BYTES, Writer, literal

Index = int | str


class Nest:
    """One function while it is being written. All pointers that it takes are to different memory."""

    def __init__(self, name: str, pointers: Sequence[str], element: str, lanes: int):
        self.name = name
        self.pointers = pointers
        self.element = element
        self.lanes = lanes
        self.writer = Writer()
        self.allocated: list[str] = []

    def text(self) -> str:
        """The function."""
        parameters = ", ".join(f"ptr noalias %{pointer}" for pointer in self.pointers)
        header = f"define internal void @{self.name}({parameters}) nounwind {{"
        return "\n".join([header, "entry:", *self.allocated, *self.writer.lines, "ret void", "}", ""])

    # ---- loops and branches

    def variable(self, kind: str, value: str) -> str:
        """A place for what changes, with a first value."""
        name = f"%{self.writer.name('a')}"
        self.allocated.append(f"{name} = alloca {kind}, align 64")
        self.writer.say(f"store {kind} {value}, ptr {name}")
        return name

    @contextmanager
    def loop(self, count: Index, step: int = 1) -> Iterator[Index]:
        """A loop over an index from 0; known to be 0 where there is one turn."""
        if isinstance(count, int) and count <= step:
            yield 0
            return
        w = self.writer
        place, head, done = self.variable("i64", "0"), w.name("loop"), w.name("done")
        w.say(f"br label %{head}")
        w.say(f"{head}:")
        index = w.put(f"load i64, ptr {place}")
        yield index
        following = w.put(f"add i64 {index}, {step}")
        w.say(f"store i64 {following}, ptr {place}")
        more = w.put(f"icmp ult i64 {following}, {count}")
        w.say(f"br i1 {more}, label %{head}, label %{done}")
        w.say(f"{done}:")

    @contextmanager
    def where(self, condition: str) -> Iterator[None]:
        """What is done only if a condition holds."""
        w = self.writer
        then, after = w.name("then"), w.name("after")
        w.say(f"br i1 {condition}, label %{then}, label %{after}")
        w.say(f"{then}:")
        yield
        w.say(f"br label %{after}")
        w.say(f"{after}:")

    # ---- indices

    def total(self, *terms: tuple[Index, int] | Index) -> Index:
        """Σ index·factor."""
        known, parts = 0, []
        for term in terms:
            index, factor = term if isinstance(term, tuple) else (term, 1)
            if isinstance(index, int):
                known += index * factor
            elif factor == 1:
                parts.append(index)
            elif factor:
                parts.append(self.writer.put(f"mul i64 {index}, {factor}"))
        if not parts:
            return known
        result = parts[0]
        for part in parts[1:]:
            result = self.writer.put(f"add i64 {result}, {part}")
        return self.writer.put(f"add i64 {result}, {known}") if known else result

    def least(self, index: Index, most: int) -> Index:
        """The smaller of an index and a number."""
        if isinstance(index, int):
            return min(index, most)
        return self.writer.intrinsic("llvm.umin.i64", "i64", [("i64", index), ("i64", str(most))])

    def divided(self, index: Index, by: int) -> tuple[Index, Index]:
        """Quotient and remainder."""
        if isinstance(index, int):
            return divmod(index, by)
        if by == 1:
            return index, 0
        return self.writer.put(f"udiv i64 {index}, {by}"), self.writer.put(f"urem i64 {index}, {by}")

    def below(self, *pairs: tuple[Index, int]) -> str:
        """Whether all indices are from 0 to below their bounds."""
        flags = [self.writer.put(f"icmp ult i64 {index}, {bound}") for index, bound in pairs]
        result = flags[0]
        for flag in flags[1:]:
            result = self.writer.put(f"and i1 {result}, {flag}")
        return result

    # ---- memory

    def place(self, pointer: str, *terms: tuple[Index, int] | Index) -> str:
        """The address of a number of an array."""
        index = self.total(*terms)
        return self.writer.put(f"getelementptr {self.element}, ptr {pointer}, i64 {index}") if index != 0 else pointer

    def number(self, pointer: str) -> str:
        """A number in memory."""
        return self.writer.put(f"load {self.element}, ptr {pointer}")

    def keep(self, value: str, pointer: str) -> None:
        """A number into memory."""
        self.writer.say(f"store {self.element} {value}, ptr {pointer}")

    def added(self, pointer: str, value: str) -> None:
        """A number is added to one in memory."""
        self.keep(self.writer.put(f"fadd {self.element} {self.number(pointer)}, {value}"), pointer)

    @property
    def kind(self) -> str:
        """The type of a vector."""
        return f"<{self.lanes} x {self.element}>"

    @property
    def mark(self) -> str:
        """How LLVM's own functions call it."""
        return f"v{self.lanes}f{8 * BYTES[self.element]}"

    def vector(self, pointer: str, mask: str | None = None) -> str:
        """A vector in memory; zeros where a mask says that there is nothing."""
        w, size = self.writer, BYTES[self.element]
        if mask is None:
            return w.put(f"load {self.kind}, ptr {pointer}, align {size}")
        flags = f"<{self.lanes} x i1>"
        given = [("ptr", pointer), ("i32", str(size)), (flags, mask), (self.kind, "zeroinitializer")]
        return w.intrinsic(f"llvm.masked.load.{self.mark}.p0", self.kind, given)

    def keep_vector(self, value: str, pointer: str) -> None:
        """A vector into memory."""
        self.writer.say(f"store {self.kind} {value}, ptr {pointer}, align {BYTES[self.element]}")

    def everywhere(self, value: str) -> str:
        """A vector of one number."""
        return self.writer.splat(value, self.element, self.lanes)

    def add_product(self, place: str, x: str, y: str) -> None:
        """x·y is added to a vector in memory, rounded once where the machine can, as BLAS does it."""
        before = self.writer.put(f"load {self.kind}, ptr {place}")
        if llvm.machine().fused:
            operands = [(self.kind, value) for value in (x, y, before)]
            after = self.writer.intrinsic(f"llvm.fma.{self.mark}", self.kind, operands)
        else:
            product = self.writer.put(f"fmul {self.kind} {x}, {y}")
            after = self.writer.put(f"fadd {self.kind} {before}, {product}")
        self.writer.say(f"store {self.kind} {after}, ptr {place}")

    def lane_sum(self, value: str) -> str:
        """The sum of a vector's numbers, added by halves."""
        w, lanes, element = self.writer, self.lanes, self.element
        while lanes > 1:
            lanes //= 2
            wide = f"<{2 * lanes} x {element}>"
            low = ", ".join(f"i32 {k}" for k in range(lanes))
            high = ", ".join(f"i32 {lanes + k}" for k in range(lanes))
            first = w.put(f"shufflevector {wide} {value}, {wide} poison, <{lanes} x i32> <{low}>")
            second = w.put(f"shufflevector {wide} {value}, {wide} poison, <{lanes} x i32> <{high}>")
            value = w.put(f"fadd <{lanes} x {element}> {first}, {second}")
        return w.put(f"extractelement <1 x {element}> {value}, i32 0")

    def zeros(self, pointer: str, count: int) -> None:
        """Zeros into so many numbers of memory."""
        w = self.writer
        w.definitions["llvm.memset.p0.i64"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"
        w.say(f"call void @llvm.memset.p0.i64(ptr {pointer}, i8 0, i64 {count * BYTES[self.element]}, i1 false)")

    def copied(self, target: str, source: str, count: int, target_step: int = 1, source_step: int = 1) -> None:
        """So many numbers from one place to another."""
        w = self.writer
        if target_step == source_step == 1:
            name = "llvm.memcpy.p0.p0.i64"
            w.definitions[name] = f"declare void @{name}(ptr, ptr, i64, i1)\n"
            w.say(f"call void @{name}(ptr {target}, ptr {source}, i64 {count * BYTES[self.element]}, i1 false)")
            return
        with self.loop(count) as k:
            self.keep(self.number(self.place(source, (k, source_step))), self.place(target, (k, target_step)))

    def constants(self, numbers: Sequence[int]) -> str:
        """Where known indices are, 32 bits each."""
        name = f"@{self.name}.table{self.writer.name('')}"
        words = ", ".join(f"i32 {number}" for number in numbers)
        self.writer.definitions[name] = f"{name} = internal constant [{len(numbers)} x i32] [{words}], align 64\n"
        return name

    def entry(self, table: str, index: Index) -> str:
        """A number of such a table."""
        place = self.writer.put(f"getelementptr i32, ptr {table}, i64 {index}")
        return self.writer.put(f"sext i32 {self.writer.put(f'load i32, ptr {place}')} to i64")

    def zero(self) -> str:
        """0 as an operand."""
        return literal(0.0, self.element)
