"""Execution of a loop: its body's machine code in a native loop, or its body step by step where part of it is
interpreted.

In: a loop's node, and which of its results are read. Out: `Repeating`, which is part of an `Executable` and holds the
body's own. Nothing that no result needs is computed. What is carried lies in two places, of which each step reads one
and writes the other.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from tapegrad.compile.elementary import Writer
from tapegrad.compile.fusion import memory_of
from tapegrad.compile.loopnode import Loop
from tapegrad.compile.planning import exact_bytes, padded
from tapegrad.compile.symbol import Node, ordered
from tapegrad.compile.trace import TracedFunction
from tapegrad.tensor.namespaces import Array


def cut(inputs: Sequence[Node], results: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """A body's nodes with inputs in the places of what it is given: some of that was computed in another body."""
    given = [Node("input", (), k, x.shape, x.dtype, x.weak) for k, x in enumerate(inputs)]
    known = {id(x): y for x, y in zip(inputs, given, strict=True)}
    for node in ordered(results, set(known)):
        operands = tuple([known[id(x)] for x in node.operands])
        if all(x is y for x, y in zip(operands, node.operands, strict=True)):
            known[id(node)] = node
        else:
            known[id(node)] = Node(node.op, operands, node.settings, node.shape, node.dtype, node.weak)
    return given, [known[id(x)] for x in results]


class Repeating:
    """A loop, ready to be executed."""

    def __init__(self, node: Node, parts: Sequence[Node], executable: Callable[[TracedFunction], Any]):
        loop = node.settings
        assert type(loop) is Loop
        self.node, self.loop = node, loop
        self.parts = {part.settings: part for part in parts}
        self.inputs, self.results = cut(loop.body.inputs, loop.body.results)
        self._find_needed()
        outputs: list[Node] = []
        bases: set[int] = set()
        for k in self.wanted:  # each in memory of its own
            x, base = self.results[k], self.results[k]
            while base.op == "reshape":
                base = base.operands[0]
            outputs.append(Node("copy", (x,), None, x.shape, x.dtype) if id(base) in bases else x)
            bases.add(id(base))
        self.inner = executable(TracedFunction(list(self.inputs), outputs, [], None))
        # as they are given back: some are copies
        self.outputs = dict(zip(self.wanted, self.inner.function.outputs, strict=True))
        self.spare_of = object()  # whose address the table holds
        self.spare = numpy.zeros(0, numpy.uint8)
        self.native = [step.node for step in self.inner.steps] == [None]

    def _find_needed(self) -> None:
        """Which of the body's results are computed: those that are read, in the end or in the next step."""
        loop = self.loop
        wanted = set(self.parts) | ({0} if loop.length is None else set())
        place = {id(x): k for k, x in enumerate(self.inputs)}
        known: dict[int, set[int]] = {}
        stop = set(place)

        def reads(k: int) -> set[int]:
            if k not in known:
                if id(self.results[k]) in place:
                    known[k] = {place[id(self.results[k])]}
                else:
                    operands = [x for node in ordered([self.results[k]], stop) for x in node.operands]
                    known[k] = {place[id(x)] for x in operands if id(x) in place}
            return known[k]

        while True:
            carried = {j - loop.constants for k in wanted for j in reads(k)}
            more = wanted | {j for j in carried if 0 <= j < loop.carried}
            if more == wanted:
                break
            wanted = more
        self.used = set().union(*[reads(k) for k in wanted]) if wanted else set()
        # what is carried unchanged is a constant
        self.unchanged = {k for k in wanted if k < loop.carried and self.results[k] is self.carry(k)}
        self.wanted = sorted(wanted - self.unchanged)

    def carry(self, k: int) -> Node:
        """The operand of the body in which it gets what is carried."""
        return self.inputs[self.loop.constants + k]

    # ---- as machine code

    def write(self, name: str, w: Writer, pointer: Callable[[Node], str], slot: Callable[[Any], int]) -> str:
        """The text of a function that runs the loop, and lines that call it; slot: of an address that the table
        holds."""
        loop, inner = self.loop, self.inner
        body = Writer()
        put, say = body.put, body.say
        code, table = body.held("%table", slot(self)), body.held("%table", slot(inner))
        given: dict[int, str] = {}
        for k in sorted(self.used | {loop.constants + j for j in (*self.parts, *self.wanted) if j < loop.carried}):
            given[k] = f"%x{k}"
        targets = {k: f"%y{k}" for k in self.parts}

        def set_slot(node: Node, value: str) -> None:
            if id(node) in inner.slots:
                say(f"store ptr {value}, ptr {body.slot(table, inner.slots[id(node)])}")

        moving: list[tuple[int, int]] = []
        swaps: list[tuple[int, int]] = []
        last: list[tuple[int, int]] = []  # what is carried is copied to where it is read
        steps = loop.length
        # whether a while goes on: read once, before the next step writes it
        flag = given[loop.constants] if 0 in self.unchanged else "%spare"
        for k in sorted(self.used):
            x = self.inputs[k]
            if k < loop.constants or k - loop.constants in self.unchanged:
                set_slot(x, given[k])
            elif k >= loop.constants + loop.carried:
                start, size = given[k], exact_bytes(x)
                assert steps is not None
                if loop.backwards and steps:
                    start = put(f"getelementptr i8, ptr {start}, i64 {(steps - 1) * size}")
                set_slot(x, start)
                if id(x) in inner.slots:
                    moving.append((inner.slots[id(x)], -size if loop.backwards else size))
        for k in self.unchanged:
            if k in self.parts:
                self._copy(body, targets[k], given[loop.constants + k], exact_bytes(self.parts[k]))
        for k in self.wanted:
            out = memory_of(self.outputs[k])
            out_slot = inner.slots[id(out)]
            size = exact_bytes(self.results[k])
            if k >= loop.carried:
                start = targets[k]
                assert steps is not None
                if loop.backwards and steps:
                    start = put(f"getelementptr i8, ptr {start}, i64 {(steps - 1) * size}")
                say(f"store ptr {start}, ptr {body.slot(table, out_slot)}")
                moving.append((out_slot, -size if loop.backwards else size))
                continue
            if k == 0 and steps is None:
                say(f"store ptr {flag}, ptr {body.slot(table, out_slot)}")
                self._copy(body, flag, given[loop.constants], size)
                if k in self.parts:
                    last.append((k, out_slot))
                if id(self.carry(0)) in inner.slots:
                    say(f"store ptr {flag}, ptr {body.slot(table, inner.slots[id(self.carry(0))])}")
                continue
            in_slot = inner.slots.get(id(self.carry(k)))
            own = put(f"getelementptr i8, ptr %spare, i64 {self._spare(k)}")
            if in_slot is None:  # only the last one is read
                say(f"store ptr {targets[k]}, ptr {body.slot(table, out_slot)}")
                if not steps:
                    self._copy(body, targets[k], given[loop.constants + k], size)
                continue
            other = put(f"getelementptr i8, ptr %spare, i64 {self._spare(k) + padded(size)}")
            if k in self.parts and steps is not None:  # the last step writes where it is read
                first, second = (targets[k], own) if steps % 2 == 0 else (own, targets[k])
            else:
                first, second = own, other
                if k in self.parts:
                    last.append((k, in_slot))
            self._copy(body, first, given[loop.constants + k], size)
            say(f"store ptr {first}, ptr {body.slot(table, in_slot)}")
            say(f"store ptr {second}, ptr {body.slot(table, out_slot)}")
            swaps.append((in_slot, out_slot))
        self._write_steps(body, code, table, moving, swaps, flag)
        for k, from_slot in last:
            self._copy(body, targets[k], body.held(table, from_slot), exact_bytes(self.parts[k]))
        say("ret void")
        w.definitions |= body.definitions
        names = ["ptr %table", "ptr %spare", *[f"ptr {x}" for x in (*given.values(), *targets.values())]]
        pointers = [pointer(self.node.operands[k]) for k in given] + [pointer(self.parts[k]) for k in targets]
        spare = w.held("%table", slot(self.spare_of))
        w.say(f"call void @{name}({', '.join(f'ptr {x}' for x in ('%table', spare, *pointers))})")
        return "\n".join(
            [f"define internal void @{name}({', '.join(names)}) nounwind {{", "entry:", *body.lines, "}\n"]
        )

    def _write_steps(
        self, w: Writer, code: str, table: str, moving: list[tuple[int, int]], swaps: list[tuple[int, int]], flag: str
    ) -> None:
        """The loop itself."""
        steps = self.loop.length
        if steps == 0:
            return
        if steps is None:
            w.say("br label %test")
            w.say("test:")
            byte = w.put(f"load i8, ptr {flag}")
            w.say(f"br i1 {w.put(f'icmp ne i8 {byte}, 0')}, label %step, label %done")
        else:
            w.say("br label %step")
        w.say("step:")
        if steps is not None:
            w.say("%k = phi i64 [ 0, %entry ], [ %next, %step ]")
        w.say(f"call void {code}(ptr {table})")
        for slot, size in moving:
            here = w.slot(table, slot)
            before = w.put(f"load ptr, ptr {here}")
            w.say(f"store ptr {w.put(f'getelementptr i8, ptr {before}, i64 {size}')}, ptr {here}")
        for first, second in swaps:
            one, other = w.slot(table, first), w.slot(table, second)
            former, latter = w.put(f"load ptr, ptr {one}"), w.put(f"load ptr, ptr {other}")
            w.say(f"store ptr {latter}, ptr {one}")
            w.say(f"store ptr {former}, ptr {other}")
        if steps is None:
            w.say("br label %test")
        else:
            w.say("%next = add i64 %k, 1")
            w.say(f"br i1 {w.put(f'icmp ult i64 %next, {steps}')}, label %step, label %done")
        w.say("done:")

    def _copy(self, w: Writer, target: str, source: str, size: int) -> None:
        name = "llvm.memcpy.p0.p0.i64"
        w.definitions[name] = f"declare void @{name}(ptr, ptr, i64, i1)\n"
        w.say(f"call void @{name}(ptr {target}, ptr {source}, i64 {size}, i1 false)")

    def _spare(self, k: int) -> int:
        """Where the two places of what is carried start."""
        return sum(2 * padded(exact_bytes(self.results[j])) for j in range(k))

    @property
    def spare_bytes(self) -> int:
        """The memory for what is carried."""
        return self._spare(self.loop.carried)

    # ---- step by step

    def values(self, operands: Sequence[Array]) -> dict[int, Array]:
        """The results that are read, by number."""
        loop = self.loop
        first, second = loop.constants, loop.constants + loop.carried
        carried = list(operands[first:second])
        rows = {k: [] for k in self.parts if k >= loop.carried}  # type: dict[int, list[Array]]
        step = 0
        while carried[0] if loop.length is None else step < loop.length:
            place = step if not loop.backwards else (loop.length or 0) - 1 - step
            given = [*operands[:first], *carried, *[x[place] for x in operands[second:]]]
            step_results = dict(zip(self.wanted, self.inner([numpy.asarray(x) for x in given]), strict=True))
            carried = [step_results.get(k, before) for k, before in enumerate(carried)]
            for k, collected in rows.items():
                collected.append(step_results[k])
            step += 1
        results: dict[int, Array] = {k: carried[k] for k in self.parts if k < loop.carried}
        for k, collected in rows.items():
            part = self.parts[k]
            collected = collected[::-1] if loop.backwards else collected
            results[k] = numpy.stack(collected) if collected else numpy.zeros(part.shape, part.dtype)
        return results
