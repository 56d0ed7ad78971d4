"""Execution of a traced function: kernels, products and single operations, on buffers planned ahead.

In: a traced function. Out: `Executable`, called with the arrays of its inputs. What can be compiled is one native
function from one operation that cannot be to the next; most functions are one in all. Temporary arrays lie in one piece
of memory that is kept from call to call, and share it where their lives do not overlap.
"""

import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from tapegrad.compile import convolution, llvm, maths, moving, planning, products
from tapegrad.compile.calling import Entry, Leaf, Result
from tapegrad.compile.elementary import Writer
from tapegrad.compile.fusion import Group, is_splat, view_of
from tapegrad.compile.grouped import GroupedFunction, is_plain
from tapegrad.compile.operations import computed
from tapegrad.compile.recomputing import recompute
from tapegrad.compile.repeating import Repeating
from tapegrad.compile.report import Report
from tapegrad.compile.rowkernels import Kernel, kernel
from tapegrad.compile.rowlayout import UnsupportedGroupError
from tapegrad.compile.symbol import Node
from tapegrad.compile.trace import TracedFunction, is_input
from tapegrad.errors import InputError
from tapegrad.tensor.carried import filled
from tapegrad.tensor.namespaces import Array
from tapegrad.tensor.trees import flat, rebuilt

NATIVE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@dataclass
class Step:
    """What is executed together: a native function, or one operation by NumPy."""

    native: Any = None
    native_address: int = 0
    node: Node | None = None


class Executable(GroupedFunction):
    """A traced function, ready to be called. lend: whether temporary arrays may lie in results that are not written
    yet; then whoever calls the code itself must note their addresses. threads: how many may share a kernel."""

    def __init__(self, function: TracedFunction, lend: bool = False, threads: int = 1):
        self.native = llvm.available()
        super().__init__(function)
        self.lend = lend
        self.threads = threads
        self.lock = threading.Lock()  # its temporary arrays are there once
        self._compile()
        self._lay_out(function.outputs)

    def _compute_again(self) -> None:
        if self.native:
            recompute(self.groups, self.roots)

    # ---- what is compiled

    def _compile(self) -> None:
        self.steps: list[Step] = []
        self.slots: dict[int, int] = {}  # the place of a node's address in the table
        self.scratch = 0
        self.over: list[tuple[Node, Node]] = []
        self.counts = {"kernels": 0, "shared": 0, "products": 0, "convolutions": 0}
        self.loops: dict[int, Repeating] = {}
        texts: list[str] = []
        definitions: dict[str, str] = {}
        segment: Writer | None = None
        names: list[str] = []
        for group in self.groups:
            if group.nodes[0].op == "scan":
                self.loops[id(group.nodes[0])] = Repeating(group.nodes[0], group.nodes[1:], Executable)
            writer = segment or Writer()
            written = self.native and self._write(group, writer, texts, definitions)
            if written:
                segment = writer
                definitions |= writer.definitions
                continue
            if segment is not None:
                names.append(self._close(segment, texts, len(names)))
                segment = None
            for node in group.nodes:
                if node.op == "part":
                    self.stored[id(node)] = node
                    continue
                self.stored[id(node)] = node
                self.steps.append(Step(node=node))
                for x in node.operands:
                    base = self._memory_of(x)
                    self.stored[id(base)] = base
        if segment is not None:
            names.append(self._close(segment, texts, len(names)))
        self.code, self.vector_maths = None, ""
        if names:
            self.vector_maths = maths.sources_of(definitions)
            text = "".join(definitions.values()) + "".join(texts)
            self.text = text
            self.code = llvm.compiled(text, optimise=2, passes=1)
            functions = iter(names)
            for step in self.steps:
                if step.node is None:
                    step.native_address = self.code.address(next(functions))
                    step.native = NATIVE(step.native_address)

    def _close(self, segment: Writer, texts: list[str], number: int) -> str:
        name = f"segment{number}"
        texts.append("\n".join([f"define void @{name}(ptr %table) nounwind {{", *segment.lines, "ret void", "}", ""]))
        self.steps.append(Step())
        return name

    def _slot(self, node: Any) -> int:
        return self.slots.setdefault(id(node), len(self.slots) + 1)  # the first is the scratch memory's

    def _write(self, group: Group, writer: Writer, texts: list[str], definitions: dict[str, str]) -> bool:
        """Writes a group as native code; False if it has none."""

        def pointer(node: Node) -> str:
            self.stored[id(node)] = node
            place = writer.put(f"getelementptr ptr, ptr %table, i64 {self._slot(node)}")
            return writer.put(f"load ptr, ptr {place}")

        if group.space is not None:
            try:
                loop: Kernel = kernel(f"kernel{len(texts)}", group, self.stored, self.threads)
            except UnsupportedGroupError:
                return False
            texts.append(loop.text)
            definitions |= loop.definitions
            self.over += loop.over
            scratch = writer.put("load ptr, ptr %table")
            if loop.shared is None:
                given = ", ".join([f"ptr {pointer(node)}" for node in loop.arrays] + [f"ptr {scratch}"])
                writer.say(f"call void @kernel{len(texts) - 1}({given})")
            else:
                loop.shared.call(writer, pointer, scratch)
                self.counts["shared"] += 1
            self.scratch = max(self.scratch, loop.scratch_bytes)
            self.counts["kernels"] += 1
            return True
        node = group.nodes[0]
        if node.op == "scan":
            return self._write_loop(self.loops[id(node)], writer, texts, pointer)
        if convolution.supported(node):
            self._write_convolution(node, writer, pointer, texts, definitions)
            return True
        if node.op != "matmul":
            return self._write_moving(node, writer, texts, definitions, pointer)
        done = products.product(writer, node, pointer)
        self.counts["products"] += done
        return done

    def _write_loop(self, loop: Repeating, writer: Writer, texts: list[str], pointer: Any) -> bool:
        if not loop.native:
            return False
        name = f"loop{len(texts)}"
        texts.append(loop.write(name, writer, lambda x: self._place(x, writer, pointer), self._slot))
        return True

    def _write_convolution(
        self, node: Node, writer: Writer, pointer: Any, texts: list[str], definitions: dict[str, str]
    ) -> None:
        lying = [products.lying(writer, x) for x in node.operands]
        places = [(offset, strides) for _, offset, strides in lying]
        written = convolution.convolution(f"kernel{len(texts)}", node, places)
        texts.append(written.text())
        definitions |= written.writer.definitions
        given = [pointer(base) if isinstance(base, Node) else base for base, _, _ in lying]
        arguments = [pointer(node), *given, writer.put("load ptr, ptr %table")]
        writer.say(f"call void @kernel{len(texts) - 1}({', '.join(f'ptr {argument}' for argument in arguments)})")
        self.scratch = max(self.scratch, written.scratch_bytes)
        self.counts["convolutions"] += 1

    def _write_moving(
        self, node: Node, writer: Writer, texts: list[str], definitions: dict[str, str], pointer: Any
    ) -> bool:
        name = f"moving{len(texts)}"
        moved = moving.function_for(name, node)
        if moved is None:
            return False
        texts.append(moved[0])
        definitions |= moved[1]
        places = [pointer(node), *[self._place(x, writer, pointer) for x in moving.operands_of(node)]]
        writer.say(f"call void @{name}({', '.join(f'ptr {place}' for place in places)})")
        return True

    def _place(self, x: Node, writer: Writer, pointer: Any) -> str:
        """Where a view's numbers start."""
        base, offset, _ = (x, 0, ()) if is_splat(x) else view_of(x) or (x, 0, ())
        return products.moved(writer, pointer(base), offset * x.dtype.itemsize)

    # ---- where it lies

    def _lay_out(self, outputs: list[Node]) -> None:
        """Places for temporary arrays, and which nodes are given back as they are."""
        self.given: dict[int, int] = {}
        self.fresh: list[int] = []  # the outputs that are made anew in every call
        for place, node in enumerate(outputs):
            if node.shape:
                self.given[id(self._memory_of(node))] = place
        temporary = [
            node
            for node in self.stored.values()
            if id(node) not in self.given and node.operands and not is_splat(node) and not self._is_interpreted(node)
        ]
        scratch = planning.padded(self.scratch)
        results = [base for base in self._results(outputs) if id(base) in self.slots] if self.lend else []
        plan = planning.planned(temporary, results, self._lives(), self.over, len(self.groups))
        total = scratch + plan.total
        self.arena = numpy.zeros(total + planning.ALIGNED, numpy.uint8)
        start = -self.arena.ctypes.data % planning.ALIGNED
        self.table = numpy.zeros(len(self.slots) + 2, numpy.uintp)
        self.table[0] = self.arena.ctypes.data + start
        self.memory: dict[int, Array] = {}  # of what stays where it is
        self.guests: dict[int, list[tuple[Node, int]]] = {}  # of each result, what lies in it and where
        for node in temporary:
            host, place = plan.places[id(node)]
            if host is not None:
                self.guests.setdefault(id(host), []).append((node, place))
                continue
            at = start + scratch + place
            size = planning.exact_bytes(node)
            self.memory[id(node)] = self.arena[at : at + size].view(node.dtype).reshape(node.shape)
        for node in self.stored.values():
            if node.op == "array":
                self.memory[id(node)] = numpy.ascontiguousarray(node.settings)
            elif node.op == "arange":
                self.memory[id(node)] = numpy.asarray(computed(node.op, node.settings, []), node.dtype)
            elif is_splat(node) and (id(node) in self.slots or not node.shape):
                self.memory[id(node)] = self._splat(node)
        for node in self.stored.values():
            if id(node) in self.memory and id(node) in self.slots:
                self.table[self.slots[id(node)]] = self.memory[id(node)].ctypes.data
        for loop in self.loops.values():
            if loop.native:
                loop.spare = numpy.zeros(loop.spare_bytes + planning.ALIGNED, numpy.uint8)
                start = loop.spare.ctypes.data
                for held, address in (
                    (loop, loop.inner.steps[0].native_address),
                    (loop.inner, loop.inner.address),
                    (loop.spare_of, start + -start % planning.ALIGNED),
                ):
                    self.table[self.slots[id(held)]] = address
        self.address = self.table.ctypes.data

    def _results(self, outputs: list[Node]) -> list[Node]:
        """The memory of results that is there before the call."""
        bases = [self._memory_of(node) for node in outputs if node.shape]
        return [base for base in bases if base.operands and not self._is_interpreted(base)]

    def entry(self, args: tuple[Any, ...]) -> Entry | None:
        """A quick way to call it with arguments like these, if all of it is machine code and makes its own results."""
        if [step.node for step in self.steps] != [None] or not is_plain(self.function.structure):
            return None
        inputs, numbers = iter(self.function.inputs), 0
        leaves = []
        self.numbers = numpy.zeros(1 + len(self.function.inputs))
        for value in flat(args):
            if not is_input(value):
                leaves.append(Leaf(2, None, (), value, 0))
                continue
            node = next(inputs)
            slot = self.slots.get(id(node), len(self.table) - 1)
            if node.weak:
                self.table[slot] = self.numbers.ctypes.data + 8 * numbers
                leaves.append(Leaf(1, None, (), None, numbers))
                numbers += 1
            else:
                leaves.append(Leaf(0, node.dtype, node.shape, None, slot))
        results = []
        for node in self.function.outputs:
            base = self._memory_of(node)
            if node.shape and id(base) in self.slots:
                guests = [(self.slots[id(guest)], place) for guest, place in self.guests.get(id(base), ())]
                results.append(Result(node.dtype, node.shape, self.slots[id(base)], 0, tuple(guests)))
            elif not node.shape and id(base) in self.memory and node.dtype.name in ("float32", "float64"):
                results.append(Result(node.dtype, (), 0, self.memory[id(base)].ctypes.data, ()))
            else:
                return None
        checks = [(self.memory[id(self._memory_of(x))].ctypes.data, message) for x, message in self.function.checks]
        return Entry(
            self.steps[0].native_address,
            self.address,
            self.numbers.ctypes.data,
            rebuilt(args, iter(leaves)),
            filled(self.function.structure, results),
            checks,
            InputError,
            self,
        )

    def _splat(self, node: Node) -> Array:
        inner = node
        while inner.op == "broadcast_to":
            inner = inner.operands[0]
        return numpy.full(node.shape, inner.settings, node.dtype)

    def _is_interpreted(self, node: Node) -> bool:
        source = node.operands[0] if node.op == "part" else node
        return any(step.node is source for step in self.steps)

    def array(self, node: Node, arrays: dict[int, Array]) -> Array:
        """The numbers of a node that has been computed."""
        if id(node) in arrays:
            return arrays[id(node)]
        if id(node) in self.memory:
            return self.memory[id(node)]
        if is_splat(node):
            return self._splat(node)
        if not node.operands:
            return numpy.asarray(computed(node.op, node.settings, []), node.dtype)
        # a view
        return computed(node.op, node.settings, [self.array(x, arrays) for x in node.operands])

    def __call__(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs for these inputs, arrays of their own."""
        arrays: dict[int, Array] = {}
        for node, array in zip(self.function.inputs, inputs, strict=True):
            arrays[id(node)] = array = numpy.ascontiguousarray(array).reshape(array.shape)
            if id(node) in self.slots:
                self.table[self.slots[id(node)]] = array.ctypes.data
        results: list[Any] = [None] * len(self.function.outputs)
        for place, node in enumerate(self.function.outputs):
            base = self._memory_of(node)
            if node.shape and not self._is_interpreted(base):
                results[place] = numpy.empty(node.shape, node.dtype)
                arrays[id(base)] = results[place].reshape(base.shape)
                if id(base) in self.slots:
                    self.table[self.slots[id(base)]] = results[place].ctypes.data
                for guest, at in self.guests.get(id(base), ()):
                    size = planning.exact_bytes(guest)
                    numbers = results[place].reshape(-1).view(numpy.uint8)[at : at + size].view(guest.dtype)
                    arrays[id(guest)] = numbers.reshape(guest.shape)
                    self.table[self.slots[id(guest)]] = numbers.ctypes.data
        with numpy.errstate(all="ignore"):
            for step in self.steps:
                if step.node is None:
                    step.native(self.address)
                    continue
                node = step.node
                if node.op == "scan":
                    loop = self.loops[id(node)]
                    last_values = loop.values([self.array(x, arrays) for x in node.operands])
                    for k, part in loop.parts.items():
                        self._keep(part, last_values[k], arrays)
                    continue
                value = computed(node.op, node.settings, [self.array(x, arrays) for x in node.operands])
                self._keep(node, value, arrays)
        for condition, message in self.function.checks:
            if not self.array(condition, arrays).all():
                raise InputError(message)
        return [
            numpy.array(self.array(node, arrays)) if result is None else result
            for node, result in zip(self.function.outputs, results, strict=True)
        ]

    def _keep(self, node: Node, value: Array, arrays: dict[int, Array]) -> None:
        """Notes what was interpreted where others find it."""
        value = numpy.ascontiguousarray(value, node.dtype).reshape(node.shape)
        arrays[id(node)] = value
        if id(node) in self.slots:
            self.table[self.slots[id(node)]] = value.ctypes.data

    def refuse_failed(self, waiting: bool = False) -> None:
        """Nothing: each call looks at what it checks."""

    def items(self, results: list[Array]) -> list[Any]:
        """What is given back: arrays, and floats for numbers without axes."""
        return [result if result.shape else result.item() for result in results]

    def report(self) -> Report:
        """What it was compiled to."""
        bodies = [loop.inner.report() for loop in self.loops.values()]
        alone = [step.node.op for step in self.steps if step.node is not None]
        return Report(
            operations=len(self.nodes) + sum(body.operations for body in bodies),
            kernels=self.counts["kernels"] + sum(body.kernels for body in bodies),
            shared_kernels=self.counts["shared"] + sum(body.shared_kernels for body in bodies),
            products=self.counts["products"] + sum(body.products for body in bodies),
            convolutions=self.counts["convolutions"] + sum(body.convolutions for body in bodies),
            loops=len(self.loops) + sum(body.loops for body in bodies),
            interpreted=[*alone, *[op for body in bodies for op in body.interpreted]],
            temporary_bytes=self.arena.nbytes + sum(body.temporary_bytes for body in bodies),
            read_bytes=sum(min(map(planning.exact_bytes, pair)) for pair in self._read()),
            written_bytes=sum(planning.exact_bytes(x) for group in self.groups for x in self._written(group)),
            code_bytes=(0 if self.code is None else self.code.nbytes) + sum(body.code_bytes for body in bodies),
            compile_seconds=(0.0 if self.code is None else self.code.seconds)
            + sum(body.compile_seconds for body in bodies),
            vector_maths=self.vector_maths,
        )
