"""Execution of a traced function on a CUDA device: kernels, products and what CuPy does, in one queue.

In: a traced function. Out: `CudaExecutable`, called with the arrays of its inputs. Nothing waits for the device and
nothing is copied to the host. Each call has memory of its own for results and temporary arrays, from CuPy's pool, which
takes it back in the order of the stream; so calls in several threads and streams do not meet.
"""

import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy

from tapegrad.compile import planning
from tapegrad.compile.cuda.calling import Entry
from tapegrad.compile.cuda.kernel import Argument
from tapegrad.compile.cuda.replay import Replay
from tapegrad.compile.cuda.steps import Interpret, Launch, Multiply, SteppedFunction
from tapegrad.compile.fusion import is_splat
from tapegrad.compile.grouped import is_plain
from tapegrad.compile.operations import computed
from tapegrad.compile.report import Report
from tapegrad.compile.symbol import Node
from tapegrad.compile.trace import TracedFunction
from tapegrad.errors import InputError

# What vectors of 16 bytes can be read from.
ALIGNED = 16
# Results up to this size share one piece of memory: each by itself would cost another call.
SMALL_RESULT_BYTES = 1 << 15


class CudaExecutable(SteppedFunction):
    """A traced function on a device, ready to be called. tf32: whether products of float32 may round their operands."""

    def __init__(self, function: TracedFunction, device: Any, tf32: bool):
        begun = time.perf_counter()
        super().__init__(function, device, tf32)
        self.lock = threading.Lock()  # the table is there once
        self.calls = 0  # that wrote into the table, but for those of the quick way in
        self._lay_out()
        with device.chosen():
            self._compile()
            self._place_constants()
        self.replay = self._replay()
        self.seconds = time.perf_counter() - begun

    # ---- where it lies

    def _lay_out(self) -> None:
        """Places in the table of addresses: for inputs, results, temporary arrays, constants and spare memory."""
        outputs = self.function.outputs
        interpreted = {id(step.node) for step in self.plan.steps if isinstance(step, Interpret)}
        known = {id(node) for node in self.nodes}
        self.stored = {key: node for key, node in self.stored.items() if key in known}
        bases = self.bases_of_outputs = [self._memory_of(node) for node in outputs]
        self.made = [base for base in bases if base.operands and id(base) not in interpreted and not is_splat(base)]
        ours = {id(base) for base in self.made}
        temporary = [
            node
            for node in self.stored.values()
            if node.operands and id(node) not in ours and id(node) not in interpreted and not is_splat(node)
        ]
        over = self.plan.over
        plan = planning.planned(temporary, self.made, self._lives(), over, len(self.groups))
        self.slots: dict[int, int] = {}
        for node in (*self.function.inputs, *self.stored.values(), *bases):
            if id(node) not in self.numbers:
                self.slots.setdefault(id(node), len(self.slots))
        self.spare_slot, self.flag_slot = len(self.slots), len(self.slots) + 1
        self.table = numpy.zeros(len(self.slots) + 2 + len(self.function.checks), numpy.uint64)
        spare = -(-self.plan.spare_bytes // planning.ALIGNED) * planning.ALIGNED
        self.arena_bytes = spare + plan.total
        self.temporary = {id(node): node for node in temporary}
        self.in_arena: dict[int, int] = {}
        self.guests: dict[int, list[tuple[int, int]]] = {}
        self.host_of: dict[int, tuple[int, int]] = {}
        for node in temporary:
            host, place = plan.places[id(node)]
            if host is None:
                self.in_arena[id(node)] = spare + place
            else:
                self.guests.setdefault(id(host), []).append((self.slots[id(node)], place))
                self.host_of[id(node)] = id(host), place
        places = [(self.slots[key], at) for key, at in self.in_arena.items()] + [(self.spare_slot, 0)]
        self.arena_slots = numpy.array([slot for slot, _ in places], numpy.intp)
        self.arena_places = numpy.array([at for _, at in places], numpy.uint64)
        self.given = numpy.zeros(max(1, len(self.numbers)), numpy.uint64)  # numbers, each in eight bytes
        self.given_floats = self.given.view(numpy.float64)
        self.number_at = {key: 8 * k for k, key in enumerate(self.numbers)}
        small = {id(node): node for node in self.made if planning.exact_bytes(node) <= SMALL_RESULT_BYTES}
        self.small_places: dict[int, int] = {}
        self.small_bytes = 0
        for node in small.values():
            self.small_places[id(node)] = self.small_bytes
            self.small_bytes += -(-planning.exact_bytes(node) // 256) * 256
        self.results = list({id(node): node for node in self.made}.values())
        self.by_id = {id(node): node for node in self.results}
        touched = [self.slots[id(node)] for node in self.results]
        touched += [slot for guests in self.guests.values() for slot, _ in guests]
        touched += [slot for slot, _ in places] if self.arena_bytes else []
        self.result_slots = numpy.array(touched, numpy.intp)  # of what differs from call to call, but for inputs
        self.small_outputs = [k for k, base in enumerate(bases) if id(base) in self.small_places]

    def _compile(self) -> None:
        """Functions for the kernels, and the parameters that they are launched with."""
        launches = [step for step in self.plan.steps if isinstance(step, Launch)]
        if launches:
            functions = self.device.functions(self.plan.text, [step.kernel.name for step in launches])
            for step, function in zip(launches, functions, strict=True):
                step.function = function
                step.parameters = numpy.array([self._where(x) for x in step.kernel.arguments], numpy.uint64)
                step.address = step.parameters.ctypes.data
        self.flags, address = self.device.flags(len(self.function.checks))
        self.flags_seen = memoryview(self.flags)  # quicker to read
        for k in range(len(self.function.checks)):
            self.table[self.flag_slot + k] = address + 4 * k

    def _where(self, argument: Argument) -> int:
        """The address of the place of the table, or of the number, that a kernel is given."""
        start = self.table.ctypes.data
        if argument.kind == "spare":
            return start + 8 * self.spare_slot
        node = argument.node
        if argument.kind == "flag":
            places = [k for k, (condition, _) in enumerate(self.function.checks) if condition is node]
            return start + 8 * (self.flag_slot + places[0])
        if argument.kind == "number":
            return self.given.ctypes.data + self.number_at[id(node)]
        return start + 8 * self.slots[id(node)]

    def _place_constants(self) -> None:
        """Constant arrays, on the device as long as the function is there."""
        self.constants: dict[int, Any] = {}
        xp = self.device.xp
        for node in {id(x): x for x in (*self.stored.values(), *map(self._memory_of, self.function.outputs))}.values():
            if node.op == "array":
                array = xp.ascontiguousarray(xp.asarray(node.settings))
            elif node.op == "arange":
                array = xp.arange(node.settings, dtype=node.dtype)
            elif is_splat(node):
                inner = node
                while inner.op == "broadcast_to":
                    inner = inner.operands[0]
                array = xp.full(node.shape, inner.settings, node.dtype)
            else:
                continue
            self.constants[id(node)] = array
            if id(node) in self.slots:
                self.table[self.slots[id(node)]] = self.device.pointer(array)

    def _replay(self) -> Replay | None:
        """Graphs of calls, if they can be captured and gain anything."""
        steps = self.plan.steps
        if any(isinstance(step, Interpret) for step in steps):
            return None
        return Replay(self.device, self._queue, len(steps))

    # ---- a call

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """The outputs for these inputs, arrays of their own."""
        with self.device.chosen():
            return self._called(inputs)

    def _called(self, inputs: Sequence[Any]) -> list[Any]:
        self.refuse_failed()
        self.calls += 1
        device, table, slots = self.device, self.table, self.slots
        arrays: dict[int, Any] = {}
        for node, array in zip(self.function.inputs, inputs, strict=True):
            if id(node) in self.numbers:
                at = self.number_at[id(node)]
                self.given.view(numpy.uint8)[at : at + node.dtype.itemsize] = numpy.frombuffer(
                    numpy.asarray(array, node.dtype).tobytes(), numpy.uint8
                )
                arrays[id(node)] = numpy.asarray(array, node.dtype)[()]
                continue
            arrays[id(node)] = lying = self._lying(array)
            table[slots[id(node)]] = device.pointer(lying)
        results = self.queue(arrays, None)
        return [self.output(k, arrays) if result is None else result for k, result in enumerate(results)]

    def _lying(self, array: Any) -> Any:
        """An array as kernels read it: its numbers one after the other, and vectors of them where vectors may be."""
        if not array.flags.c_contiguous:
            return self.device.xp.ascontiguousarray(array)
        return array.copy() if self.device.pointer(array) % ALIGNED else array

    def small_arrays(self, memory: Any) -> list[Any]:
        """Arrays for the small results, in one piece of memory."""
        return [
            self.device.array(memory, place, self.by_id[key].shape, self.by_id[key].dtype)
            for key, place in self.small_places.items()
        ]

    def queue(self, arrays: dict[int, Any], arena: Any) -> list[Any]:
        """Queues a call whose inputs are in the table. arrays: memory of results that is there already, by the identity
        of nodes; the rest is added. Gives the outputs, None for those that were there."""
        device = self.device
        there = set(arrays)
        if self.small_bytes and next(iter(self.small_places)) not in arrays:
            arrays.update(zip(self.small_places, self.small_arrays(device.alloc(self.small_bytes)), strict=True))
        for node in self.results:
            key = id(node)
            array = arrays.get(key)
            if array is None:
                arrays[key] = device.empty(node.shape, node.dtype)
        if self.arena_bytes and arena is None:
            arena = device.alloc(self.arena_bytes)
        self.use(arrays, arena)
        if self.replay is not None:
            self.replay(self.table, self.given)
        else:
            self._queue_with_others(arrays, arena)
        return [None if id(base) in there else self.output(k, arrays) for k, base in enumerate(self.bases_of_outputs)]

    def use(self, arrays: dict[int, Any], arena: Any) -> None:
        """Puts the addresses of results and temporary arrays into the table."""
        table, slots, pointer = self.table, self.slots, self.device.pointer
        for node in self.results:
            table[slots[id(node)]] = start = pointer(arrays[id(node)])
            for slot, at in self.guests.get(id(node), ()):
                table[slot] = start + at
        if self.arena_bytes:
            table[self.arena_slots] = self.arena_places + numpy.uint64(self.device.address(arena))

    def output(self, k: int, arrays: dict[int, Any]) -> Any:
        """An output, as it is given back."""
        node, base = self.function.outputs[k], self.bases_of_outputs[k]
        array = arrays.get(id(base))
        if array is None:
            return self.constants[id(base)].copy().reshape(node.shape)
        return array if array.shape == node.shape else array.reshape(node.shape)

    def _queue(self, stream: int) -> None:
        """Queues everything: there is nothing among it that CuPy does."""
        table, launch = self.table, self.device.launch
        for step in self.plan.steps:
            if type(step) is Launch:
                kernel = step.kernel
                launch(step.function, kernel.blocks, kernel.threads, stream, step.address)
            else:
                self._multiply(step, table, stream)  # type: ignore[arg-type]

    def _multiply(self, step: Multiply, table: Any, stream: int) -> None:
        call, slots = step.call, self.slots
        left, right, result = (int(table[slots[key]]) for key in (step.left, step.right, step.result))
        self.device.blas.product(stream, call.form, left + call.left, right + call.right, result + call.result)

    def _queue_with_others(self, arrays: dict[int, Any], arena: Any) -> None:
        """The same with operations between that CuPy does."""
        table, device = self.table, self.device
        stream = device.stream()
        for step in self.plan.steps:
            if isinstance(step, Launch):
                device.launch(step.function, step.kernel.blocks, step.kernel.threads, stream, step.address)
            elif isinstance(step, Multiply):
                self._multiply(step, table, stream)
            else:
                node = step.node
                operands = [self._array(x, arrays, arena) for x in node.operands]
                value = computed(node.op, node.settings, operands, device.xp)
                if not isinstance(value, device.xp.ndarray):
                    value = device.xp.asarray(value)
                value = device.xp.ascontiguousarray(value.astype(node.dtype, copy=False)).reshape(node.shape)
                arrays[id(node)] = value
                if id(node) in self.slots:
                    table[self.slots[id(node)]] = device.pointer(value)

    def _array(self, x: Node, arrays: dict[int, Any], arena: Any) -> Any:
        """The numbers of a node that has been computed."""
        if id(x) in arrays:
            return arrays[id(x)]
        if id(x) in self.constants:
            return self.constants[id(x)]
        if id(x) in self.in_arena:
            arrays[id(x)] = self.device.array(arena, self.in_arena[id(x)], x.shape, x.dtype)
            return arrays[id(x)]
        if id(x) in self.host_of:
            host, place = self.host_of[id(x)]
            size = planning.exact_bytes(x)
            flat = arrays[host].reshape(-1).view(numpy.uint8)[place : place + size]
            return flat.view(x.dtype).reshape(x.shape)
        if is_splat(x):
            inner = x
            while inner.op == "broadcast_to":
                inner = inner.operands[0]
            return self.device.xp.full(x.shape, inner.settings, x.dtype)
        operands = [self._array(operand, arrays, arena) for operand in x.operands]
        return computed(x.op, x.settings, operands, self.device.xp)

    # ---- checks

    def refuse_failed(self, waiting: bool = False) -> None:
        """An error if a check failed in an earlier call, as far as the device has come, or waiting for it."""
        if waiting and self.function.checks:
            self.device.synchronize()
        if any(self.flags_seen):
            failed = [message for flag, (_, message) in zip(self.flags, self.function.checks, strict=False) if flag]
            self.flags[:] = 0
            raise InputError(
                f"{failed[0]}; the device found this in an earlier call, whose results are not to be used: it checks "
                "without waiting"
            )

    def items(self, results: list[Any]) -> list[Any]:
        """What is given back: arrays, also for numbers without axes, since a float would wait for the device."""
        return results

    def entry(self, args: tuple[Any, ...]) -> Entry | None:
        """A quick way to call it with arguments like these, if nothing of it is CuPy's."""
        if self.replay is None or not is_plain((args, self.function.structure)):
            return None
        return Entry(self, args, self.function.structure)

    # ---- what is said

    def report(self) -> Report:
        """What it was compiled to."""
        alone = [step.node.op for step in self.plan.steps if isinstance(step, Interpret)]
        read = sum(min(map(planning.exact_bytes, pair)) for pair in self._read())
        written = sum(planning.exact_bytes(x) for group in self.groups for x in self._written(group))
        return Report(
            operations=len(self.nodes),
            kernels=self.counts["kernels"],
            products=self.counts["products"],
            convolutions=0,
            loops=0,
            interpreted=alone,
            temporary_bytes=self.arena_bytes,
            read_bytes=read,
            written_bytes=written,
            code_bytes=len(self.plan.text),
            compile_seconds=self.seconds,
            vector_maths="cuda" if self.counts["kernels"] else "",
        )
