"""Vectors of a row: how a kernel reads and writes them.

In: an array's part of a row, and which vector of it. Out: lines that load or store it: side by side, or gathered where
its numbers lie apart; with a mask where the row ends within a vector.
"""

from tapegrad.compile.elementary import BYTES, MEMORY, Writer, literal
from tapegrad.compile.rowlayout import Access, element_of
from tapegrad.compile.symbol import Node


class RowVectors:
    """The vector that is being computed: where in the row it is, and its mask."""

    def __init__(self, writer: Writer, lanes: int, inner: int | None):
        self.writer = writer
        self.lanes = lanes
        self.inner = inner  # the axis along which a row lies
        self.at = "0"
        self.mask: str | None = None
        self.waiting: list[str] = []  # stores of the vectors that are computed together

    def load(self, access: Access, row: str, element: str) -> str:
        """An array's vector; row: where its part of the row starts."""
        w, lanes = self.writer, self.lanes
        assert self.inner is not None
        stride = access.strides[self.inner]
        memory = MEMORY[element]
        kind, flags = f"<{lanes} x {memory}>", f"<{lanes} x i1>"
        if access.node.op == "arange":
            lane = ", ".join(f"i64 {k}" for k in range(lanes))
            first = w.splat(w.put(f"add i64 {self.at}, {row}"), "i64", lanes)
            return w.put(f"add <{lanes} x i64> {first}, <{lane}>")
        if stride == 1:
            pointer = w.put(f"getelementptr {memory}, ptr {row}, i64 {self.at}")
            if self.mask is None:
                value = w.put(f"load {kind}, ptr {pointer}, align {BYTES[element]}")
            else:
                value = w.intrinsic(
                    f"llvm.masked.load.v{lanes}{self._mark(memory)}.p0",
                    kind,
                    [("ptr", pointer), ("i32", str(BYTES[element])), (flags, self.mask), (kind, self._one_in(memory))],
                )
        else:
            lane = ", ".join(f"i64 {k * stride}" for k in range(lanes))
            first = w.splat(w.put(f"mul i64 {self.at}, {stride}"), "i64", lanes)
            places = w.put(f"add <{lanes} x i64> {first}, <{lane}>")
            pointers = w.put(f"getelementptr {memory}, ptr {row}, <{lanes} x i64> {places}")
            mask = self.mask or "splat (i1 true)"
            value = w.intrinsic(
                f"llvm.masked.gather.v{lanes}{self._mark(memory)}.v{lanes}p0",
                kind,
                [
                    (f"<{lanes} x ptr>", pointers),
                    ("i32", str(BYTES[element])),
                    (flags, mask),
                    (kind, self._one_in(memory)),
                ],
            )
        return w.put(f"icmp ne {kind} {value}, zeroinitializer") if element == "i1" else value

    def store(self, node: Node, row: str, value: str) -> None:
        """Writes a vector once all that are computed together have been read."""
        w, lanes, element = self.writer, self.lanes, element_of(node)
        memory = MEMORY[element]
        kind = f"<{lanes} x {memory}>"
        value = self.as_memory(value, node)
        pointer = w.put(f"getelementptr {memory}, ptr {row}, i64 {self.at}")
        if self.mask is None:
            self.waiting.append(f"store {kind} {value}, ptr {pointer}, align {BYTES[element]}")
            return
        name = f"llvm.masked.store.v{lanes}{self._mark(memory)}.p0"
        flags = f"<{lanes} x i1>"
        w.definitions[name] = f"declare void @{name}({kind}, ptr, i32, {flags})\n"
        given = f"{kind} {value}, ptr {pointer}, i32 {BYTES[element]}, {flags} {self.mask}"
        self.waiting.append(f"call void @{name}({given})")

    def store_waiting(self) -> None:
        """Stores what the vectors gave, after all their loads: results may lie where operands lie, and a load that
        follows a store to the same place of another page waits for it."""
        self.writer.lines += self.waiting
        self.waiting = []

    def as_memory(self, value: str, node: Node) -> str:
        """A vector as it is written: conditions take a byte each."""
        if element_of(node) != "i1":
            return value
        return self.writer.put(f"zext <{self.lanes} x i1> {value} to <{self.lanes} x i8>")

    def _one_in(self, memory: str) -> str:
        """What is in lanes that are not there: a harmless number for every function."""
        return f"splat ({memory} {literal(1, memory)})"

    def _mark(self, memory: str) -> str:
        return {"float": "f32", "double": "f64"}.get(memory, memory)
