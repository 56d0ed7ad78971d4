# cython: cdivision=True, boundscheck=False, wraparound=False, binding=False, auto_pickle=False
"""Freezing: from a recording to the instructions that its outputs need, with constants folded.

In: a recording, the inputs and outputs among its variables. Out: a `Frozen`, which a Program replays.
"""

import cython
from cython.cimports.libc.stdint import int32_t, uint8_t
from cython.cimports.libc.stdlib import calloc, free, malloc
from cython.cimports.tapegrad.scalar.kernels import FRESH_LHS, FRESH_RHS, FRESH_THIRD
from cython.cimports.tapegrad.scalar.opcodes import (
    BASES,
    CC,
    CONSTANT,
    CV,
    INPUT,
    LHS_VALUE,
    OPERANDS,
    RHS_VALUE,
    SELECT,
    THIRD_VALUE,
    VC,
    VV,
    WHERE,
)
from cython.cimports.tapegrad.scalar.recording import Guard, Recording, Store
from cython.cimports.tapegrad.scalar.variables import Var, check_owner, recorded

from tapegrad.errors import InputError, StaleVarError


@cython.cclass
class Frozen:
    """The instructions of a program. The first values are its inputs."""

    def __cinit__(self, *source):
        """Of a tape, its inputs and its outputs; of nothing where deriving.py will fill it."""
        if not source:
            return
        tape, inputs, outputs = source
        if not isinstance(tape, Recording) or type(inputs) is not list or type(outputs) is not list:
            raise TypeError("expected a tape, a list of inputs and a list of outputs")
        store: cython.pointer(Store) = cython.address(cython.cast(Recording, tape).store)
        # Bounds: at most every instruction is kept, and each has at most two constants.
        self.allocate(store.size, 2 * store.size + 2, store.guards_size, len(inputs), len(outputs))
        if store.has_derivatives:
            self.allocate_third()
        Freezer(tape, self, None, 0).run(inputs, outputs)
        self.finish()

    def allocate(
        self,
        most: cython.Py_ssize_t,
        most_constants: cython.Py_ssize_t,
        most_guards: cython.Py_ssize_t,
        inputs: cython.Py_ssize_t,
        outputs: cython.Py_ssize_t,
    ) -> cython.int:
        """Room for so many values and constants; outputs may be constants too."""
        count: cython.size_t = most + 1
        self.ops = cython.cast(cython.pointer(uint8_t), malloc(count))
        self.lhs = cython.cast(cython.pointer(int32_t), malloc(count * 4))
        self.rhs = cython.cast(cython.pointer(int32_t), malloc(count * 4))
        self.constants = cython.cast(cython.p_double, malloc((most_constants + outputs) * 8))
        self.guards = cython.cast(cython.pointer(Guard), malloc((most_guards + 1) * cython.sizeof(Guard)))
        self.outputs = cython.cast(cython.pointer(int32_t), malloc(outputs * 4))
        self.room = cython.cast(cython.pointer(int32_t), malloc(count * 4))
        self.lhs_room = cython.cast(cython.pointer(int32_t), malloc(count * 4))
        self.rhs_room = cython.cast(cython.pointer(int32_t), malloc(count * 4))
        self.fresh = cython.cast(cython.pointer(uint8_t), calloc(count, 1))
        if (
            self.ops is cython.NULL
            or self.lhs is cython.NULL
            or self.rhs is cython.NULL
            or self.constants is cython.NULL
            or self.guards is cython.NULL
            or self.outputs is cython.NULL
            or self.room is cython.NULL
            or self.lhs_room is cython.NULL
            or self.rhs_room is cython.NULL
            or self.fresh is cython.NULL
        ):
            raise MemoryError(f"no memory for a program of {most} values")
        self.most = most
        self.most_guards = most_guards
        self.inputs_size = inputs
        self.outputs_size = outputs
        return 0

    def allocate_third(self) -> cython.int:
        """Room for third operands, which only the operations of derivatives have."""
        count: cython.size_t = self.most + 1
        self.third = cython.cast(cython.pointer(int32_t), malloc(count * 4))
        self.third_room = cython.cast(cython.pointer(int32_t), malloc(count * 4))
        if self.third is cython.NULL or self.third_room is cython.NULL:
            raise MemoryError(f"no memory for a program of {self.most} values")
        return 0

    def finish(self) -> cython.int:
        """What is left to do once the instructions are there."""
        assign_rooms(self)
        self.first = self.inputs_size
        while self.first < self.size and self.ops[self.first] == CONSTANT:
            self.first += 1
        self.code.ops = self.ops
        self.code.lhs = self.lhs
        self.code.rhs = self.rhs
        self.code.third = self.third
        self.code.constants = self.constants
        self.code.room = self.room
        self.code.lhs_room = self.lhs_room
        self.code.rhs_room = self.rhs_room
        self.code.third_room = self.third_room
        self.code.fresh = self.fresh
        return 0

    def __dealloc__(self):
        free(self.ops)
        free(self.lhs)
        free(self.rhs)
        free(self.third)
        free(self.constants)
        free(self.guards)
        free(self.outputs)
        free(self.room)
        free(self.lhs_room)
        free(self.rhs_room)
        free(self.third_room)
        free(self.fresh)


# What a value is to a program: nothing, one that depends on the inputs, an input itself, or a value from outside that
# became one.
COMPUTED = cython.declare(cython.int, 1)
GIVEN = cython.declare(cython.int, 2)
FOUND = cython.declare(cython.int, 3)
# Beside needed or not: an instruction that gives the constant is there.
MADE = cython.declare(cython.int, 2)


@cython.final
@cython.cclass
class Freezer:
    """Copies what the outputs need of a recording into a Frozen. Lives only while that is made.

    Of a segment of a recording, any values may be inputs, and values that are not computed from them become inputs too.
    """

    source: cython.pointer(Store)
    frozen: Frozen
    outside: list  # of a segment: these values, as Vars; else None
    start: cython.Py_ssize_t  # of a segment: its first value; what is before is outside
    before: dict  # the place in the program of values from before the start
    # per recorded value: what it is to the program; is it needed; its place in the program
    active: cython.pointer(uint8_t)
    needed: cython.pointer(uint8_t)
    place: cython.pointer(int32_t)
    fixed: cython.pointer(uint8_t)  # of a segment: whether it is computed from constants alone
    count: cython.Py_ssize_t  # values of the recording when room was made for them

    def __cinit__(self, tape: Recording, frozen: Frozen, outside, start: cython.Py_ssize_t):
        self.source = source = cython.address(tape.store)
        self.frozen = frozen
        self.outside = outside
        self.start = start
        self.before = {}
        count: cython.size_t = source.size - start + 1
        self.count = source.size - start
        self.active = cython.cast(cython.pointer(uint8_t), calloc(count, 1))
        self.needed = cython.cast(cython.pointer(uint8_t), calloc(count, 1))
        self.place = cython.cast(cython.pointer(int32_t), calloc(count, 4))
        self.fixed = cython.cast(cython.pointer(uint8_t), calloc(count, 1))
        if (
            self.active is cython.NULL
            or self.needed is cython.NULL
            or self.place is cython.NULL
            or self.fixed is cython.NULL
        ):
            raise MemoryError(f"no memory to freeze {source.size} values")

    def __dealloc__(self):
        free(self.active)
        free(self.needed)
        free(self.place)
        free(self.fixed)

    @cython.cfunc
    def chosen(self, i: cython.Py_ssize_t) -> int32_t:
        """The operand that a `where` with a constant condition stands for; -1 if that is a constant."""
        kinds: cython.int = OPERANDS[self.source.ops[i]]
        if self.source.values[i - 1] != 0.0:
            return self.source.lhs[i] if kinds & LHS_VALUE else -1
        return self.source.rhs[i] if kinds & RHS_VALUE else -1

    @cython.cfunc
    @cython.exceptval(check=False)
    def is_settled(self, i: cython.Py_ssize_t) -> cython.bint:
        """Whether instruction i is a `where` whose choice the inputs cannot change. Of a segment others may."""
        return self.outside is None and BASES[self.source.ops[i]] == WHERE and not self.state(i - 1)

    @cython.cfunc
    def mark_active(self) -> cython.void:
        """Activity: which values change when the inputs do. The caller has marked the inputs."""
        source: cython.pointer(Store) = self.source
        i: cython.Py_ssize_t
        for i in range(self.start, source.size):
            if self.state(i):
                continue
            if self.is_settled(i):
                if self.chosen(i) >= 0 and self.state(self.chosen(i)):
                    self.set_state(i, COMPUTED)
                continue
            kinds: cython.int = OPERANDS[source.ops[i]]
            if (
                (kinds & LHS_VALUE and self.state(source.lhs[i]))
                or (kinds & RHS_VALUE and self.state(source.rhs[i]))
                or (kinds & THIRD_VALUE and self.state(source.third[i]))
                or (BASES[source.ops[i]] == WHERE and self.state(i - 1))
            ):
                self.set_state(i, COMPUTED)
            elif self.outside is not None and source.ops[i] != INPUT:
                self.fixed[i - self.start] = (
                    (not kinds & LHS_VALUE or self.is_fixed(source.lhs[i]))
                    and (not kinds & RHS_VALUE or self.is_fixed(source.rhs[i]))
                    and (not kinds & THIRD_VALUE or self.is_fixed(source.third[i]))
                    and (BASES[source.ops[i]] != WHERE or self.is_fixed(i - 1))
                )

    @cython.cfunc
    def mark_needed(self) -> cython.void:
        """What the outputs and guards depend on. The caller has marked these."""
        source: cython.pointer(Store) = self.source
        i: cython.Py_ssize_t
        for i in range(source.size - 1, self.start - 1, -1):
            if not self.is_computed(i):
                continue
            if self.is_settled(i):
                self.need(self.chosen(i))
                continue
            kinds: cython.int = OPERANDS[source.ops[i]]
            if BASES[source.ops[i]] == WHERE:
                self.need(i - 1)
            if kinds & LHS_VALUE:
                self.need(source.lhs[i])
            if kinds & RHS_VALUE:
                self.need(source.rhs[i])
            if kinds & THIRD_VALUE:
                self.need(source.third[i])

    @cython.cfunc
    @cython.exceptval(-1)
    def take_outside(self) -> cython.int:
        """Of a segment: makes inputs of the values from outside that it needs."""
        frozen: Frozen = self.frozen
        source: cython.pointer(Store) = self.source
        i: cython.Py_ssize_t
        kinds: cython.int
        for i in range(self.start, source.size):
            if not self.is_computed(i):
                continue
            kinds = OPERANDS[source.ops[i]]
            if kinds & LHS_VALUE:
                self.take(source.lhs[i])
            if kinds & RHS_VALUE:
                self.take(source.rhs[i])
            if kinds & THIRD_VALUE:
                self.take(source.third[i])
            if BASES[source.ops[i]] == WHERE:
                self.take(cython.cast(int32_t, i - 1))
        frozen.inputs_size = frozen.size
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def take(self, index: int32_t) -> cython.int:
        if (self.source.ops[index] == CONSTANT or self.is_fixed(index)) and not self.state(index):
            return 0
        if index < self.start:
            if index not in self.before:
                self.before[index] = self.frozen.size
                self.make_input()
                self.outside.append(recorded(self.source, index))
        elif not self.state(index):
            self.set_state(index, FOUND)
            self.place[index - self.start] = self.make_input()
            self.outside.append(recorded(self.source, index))
        return 0

    @cython.cfunc
    @cython.exceptval(check=False)
    def make_input(self) -> int32_t:
        """The next value of the program is an input; its place."""
        frozen: Frozen = self.frozen
        place: cython.Py_ssize_t = frozen.size
        frozen.ops[place] = INPUT
        frozen.lhs[place] = frozen.rhs[place] = 0
        frozen.size = place + 1
        return cython.cast(int32_t, place)

    # What is known of a value. Of a segment nothing is kept of what is before it, or many short ones on a long tape
    # would take the square of its length.

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def state(self, index: cython.Py_ssize_t) -> cython.int:
        return self.active[index - self.start] if index >= self.start else 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def is_fixed(self, index: cython.Py_ssize_t) -> cython.bint:
        return index >= self.start and self.fixed[index - self.start]

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def set_state(self, index: cython.Py_ssize_t, state: cython.int) -> cython.void:
        self.active[index - self.start] = cython.cast(uint8_t, state)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def need(self, index: cython.Py_ssize_t) -> cython.void:
        if index >= self.start:
            self.needed[index - self.start] = True

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def is_computed(self, index: cython.Py_ssize_t) -> cython.bint:
        """Whether the program computes it."""
        return self.needed[index - self.start] and self.active[index - self.start] == COMPUTED

    @cython.cfunc
    @cython.exceptval(-1)
    def place_of(self, index: int32_t) -> int32_t:
        """The place of a value in the program; -1 if it has none, because there it is a constant."""
        if index < self.start:
            return self.before.get(index, -1)
        return self.place[index - self.start] if self.active[index - self.start] else -1

    @cython.cfunc
    def immediate(self, value: cython.double) -> int32_t:
        frozen: Frozen = self.frozen
        frozen.constants[frozen.constants_size] = value
        frozen.constants_size += 1
        return cython.cast(int32_t, frozen.constants_size - 1)

    @cython.cfunc
    @cython.exceptval(-1)
    def emit(self, i: cython.Py_ssize_t) -> cython.int:
        """Copies instruction i with its operands in their new places, folding what has become constant."""
        source: cython.pointer(Store) = self.source
        frozen: Frozen = self.frozen
        op: cython.int = source.ops[i]
        kinds: cython.int = OPERANDS[op]
        base: cython.int = BASES[op]
        if self.is_settled(i):
            self.place[i - self.start] = self.place_of(self.chosen(i))
            return 0
        third: int32_t = 0
        if kinds & THIRD_VALUE:
            third = self.value_of(source.third[i])
        elif base == WHERE and self.outside is not None:
            third = self.place_of(cython.cast(int32_t, i - 1))
        index: cython.Py_ssize_t = frozen.size
        lhs: int32_t = self.place_of(source.lhs[i]) if kinds & LHS_VALUE else -1
        rhs: int32_t = self.place_of(source.rhs[i]) if kinds & RHS_VALUE else -1
        frozen.lhs[index] = lhs if lhs >= 0 else self.constant_of(kinds & LHS_VALUE, source.lhs[i])
        frozen.rhs[index] = 0
        if OPERANDS[base] & RHS_VALUE:
            frozen.rhs[index] = rhs if rhs >= 0 else self.constant_of(kinds & RHS_VALUE, source.rhs[i])
            if base == WHERE and self.outside is not None:  # what was recorded just before may be an input now
                base = SELECT
            op = base + (VV if lhs >= 0 and rhs >= 0 else VC if lhs >= 0 else CV if rhs >= 0 else CC)
        if frozen.third is not cython.NULL:
            frozen.third[index] = third
        frozen.ops[index] = cython.cast(uint8_t, op)
        self.place[i - self.start] = cython.cast(int32_t, index)
        frozen.size = index + 1
        return 0

    @cython.cfunc
    @cython.exceptval(check=False)
    def constant_of(self, is_value: cython.bint, index: int32_t) -> int32_t:
        """A constant of the program: what a value is here, or a constant of the recording."""
        return self.immediate(self.source.values[index] if is_value else self.source.constants[index])

    @cython.cfunc
    @cython.exceptval(-1)
    def value_of(self, index: int32_t) -> int32_t:
        """The place of a third operand, which must be a value; a constant becomes one, once."""
        frozen: Frozen = self.frozen
        place: int32_t = self.place_of(index)
        if place >= 0:
            return place
        if index >= self.start and self.needed[index - self.start] == MADE:
            return self.place[index - self.start]
        place = cython.cast(int32_t, frozen.size)
        frozen.ops[place] = CONSTANT
        frozen.lhs[place] = self.immediate(self.source.values[index])
        frozen.rhs[place] = frozen.third[place] = 0
        frozen.size += 1
        if index >= self.start:
            self.needed[index - self.start] = MADE
            self.place[index - self.start] = place
        return place

    @cython.cfunc
    @cython.exceptval(-1)
    def guard(self, entry: Guard) -> cython.int:
        """Keeps a guard if the inputs can break it."""
        frozen: Frozen = self.frozen
        lhs: int32_t = self.place_of(entry.lhs) if entry.lhs >= 0 else -1
        rhs: int32_t = self.place_of(entry.rhs) if entry.rhs >= 0 else -1
        if lhs < 0 and rhs < 0:
            return 0
        if entry.lhs >= 0 and lhs < 0:
            entry.constant = self.source.values[entry.lhs]
        if entry.rhs >= 0 and rhs < 0:
            entry.constant = self.source.values[entry.rhs]
        entry.lhs = lhs
        entry.rhs = rhs
        frozen.guards[frozen.guards_size] = entry
        frozen.guards_size += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def check(self, what: str, variables: list) -> cython.int:
        """Raises unless all are Vars of this recording, and there is one."""
        if not variables:
            raise InputError(f"expected at least one Var as {what}, got none")
        for x in variables:
            if type(x) is not Var:
                raise InputError(f"expected Vars of this tape as {what}, got {type(x).__name__}: {x!r:.60}")
            check_owner(self.source, x)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def run(self, inputs: list, outputs: list) -> cython.int:
        """Checks what it is given, here, where no Python code can run between check and use, and copies."""
        source: cython.pointer(Store) = self.source
        frozen: Frozen = self.frozen
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        x: Var
        if (
            source.size - self.start != frozen.most
            or source.size - self.start != self.count
            or (self.outside is None and source.guards_size != frozen.most_guards)
            or len(inputs) != frozen.inputs_size
            or len(outputs) != frozen.outputs_size
        ):
            raise StaleVarError("the tape changed while it was being frozen; freeze again")
        self.check("inputs", inputs)
        self.check("outputs", outputs)
        for k in range(len(inputs)):
            x = inputs[k]
            if x.index < 0 or (self.outside is None and source.ops[x.index] != INPUT):
                raise InputError(f"an input must come from tape.var(...); {x!r} is a constant or a result")
            if self.state(x.index):
                raise InputError(f"{x!r} is given twice among the inputs; give each variable once")
            self.set_state(x.index, GIVEN)
            self.place[x.index - self.start] = self.make_input()
        self.mark_active()
        for x in outputs:
            if x.index >= 0:
                self.need(x.index)
        for k in range(frozen.most_guards):
            if source.guards[k].lhs >= 0:
                self.need(source.guards[k].lhs)
            if source.guards[k].rhs >= 0:
                self.need(source.guards[k].rhs)
        self.mark_needed()
        if self.outside is not None:
            for x in outputs:
                if x.index >= 0:
                    self.take(x.index)
            self.take_outside()
        for i in range(self.start, source.size):
            if self.is_computed(i):
                self.emit(i)
        for k in range(frozen.most_guards):
            self.guard(source.guards[k])
        for k in range(len(outputs)):
            x = outputs[k]
            place: int32_t = self.place_of(x.index) if x.index >= 0 else -1
            frozen.outputs[k] = place if place >= 0 else -1 - self.immediate(x.number)
        frozen.removed = source.size - source.inputs - (frozen.size - frozen.inputs_size)
        return 0


def segment(tape: Recording, start: cython.Py_ssize_t, inputs: list, outputs: list, outside: list) -> Frozen:
    """What was computed between inputs and outputs, all of it since the tape had that size. Guards stay on the tape."""
    frozen: Frozen = Frozen.__new__(Frozen)
    size: cython.Py_ssize_t = tape.store.size - start
    if start < 0 or size < 0:
        raise StaleVarError("the tape was reset while a function was being differentiated; record it again")
    # an instruction may need three values from outside, and each output may be one
    frozen.allocate(4 * size + len(outputs), 2 * size + 2, 0, len(inputs), len(outputs))
    frozen.allocate_third()
    frozen.most = size
    Freezer(tape, frozen, outside, start).run(inputs, outputs)
    frozen.finish()
    return frozen


# ---- rooms for adjoints ----------------------------------------------------------------------------------------


@cython.cfunc
@cython.exceptval(check=False)
def room_of(
    frozen: Frozen,
    i: cython.Py_ssize_t,
    operand: int32_t,
    fresh: cython.int,
    free_rooms: cython.pointer(int32_t),
    count: cython.pointer(cython.Py_ssize_t),
) -> int32_t:
    """The room of an operand of instruction i: that which it has, or else a free one or a new one, cleared first."""
    if frozen.room[operand] < 0:
        if count[0]:
            count[0] -= 1
            frozen.room[operand] = free_rooms[count[0]]
        else:
            frozen.room[operand] = cython.cast(int32_t, frozen.rooms)
            frozen.rooms += 1
        frozen.fresh[i] |= fresh
    return frozen.room[operand]


@cython.cfunc
@cython.exceptval(-1)
def assign_rooms(frozen: Frozen) -> cython.int:
    """Gives each value's adjoint a room in a block's workspace.

    Backward first touches an adjoint at the last use of its value and is done with it at the instruction itself, so
    the room is free for another one before. The inputs keep theirs. With several outputs a sweep may start anywhere
    and find first touches already passed; then every adjoint has a room of its own, cleared before the sweep.
    """
    i: cython.Py_ssize_t
    inputs: cython.Py_ssize_t = frozen.inputs_size
    frozen.rooms = frozen.size
    if frozen.outputs_size != 1:  # also of none, such as the entries of a Hessian that is zero
        for i in range(frozen.size):
            frozen.room[i] = cython.cast(int32_t, i)
            frozen.lhs_room[i] = frozen.lhs[i]
            frozen.rhs_room[i] = frozen.rhs[i]
            if frozen.third is not cython.NULL:
                frozen.third_room[i] = frozen.third[i]
        return 0
    # a stack; it never holds more rooms than there are values
    free_rooms: cython.pointer(int32_t) = cython.cast(cython.pointer(int32_t), malloc((frozen.size + 1) * 4))
    if free_rooms is cython.NULL:
        raise MemoryError(f"no memory to freeze {frozen.size} values")
    count: cython.Py_ssize_t = 0
    frozen.rooms = inputs
    for i in range(frozen.size):
        frozen.room[i] = cython.cast(int32_t, i) if i < inputs else -1
    place: int32_t = frozen.outputs[0]
    if place >= inputs:
        frozen.room[place] = cython.cast(int32_t, inputs)
        frozen.rooms += 1
    for i in range(place, inputs - 1, -1):
        if frozen.room[i] < 0:
            continue
        # in the order in which backward touches them
        if OPERANDS[frozen.ops[i]] & LHS_VALUE:
            frozen.lhs_room[i] = room_of(frozen, i, frozen.lhs[i], FRESH_LHS, free_rooms, cython.address(count))
        if OPERANDS[frozen.ops[i]] & RHS_VALUE:
            frozen.rhs_room[i] = room_of(frozen, i, frozen.rhs[i], FRESH_RHS, free_rooms, cython.address(count))
        if OPERANDS[frozen.ops[i]] & THIRD_VALUE:
            frozen.third_room[i] = room_of(frozen, i, frozen.third[i], FRESH_THIRD, free_rooms, cython.address(count))
        free_rooms[count] = frozen.room[i]
        count += 1
    free(free_rooms)
    return 0
