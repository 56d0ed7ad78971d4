# cython: cdivision=True, boundscheck=False, wraparound=False, binding=False, auto_pickle=False
"""Freezing: from a recording to the instructions that its outputs need, with constants folded.

In: a recording, the inputs and outputs among its variables. Out: a `Frozen`, which a Program replays.
"""

import cython
from cython.cimports.libc.stdint import int32_t, uint8_t
from cython.cimports.libc.stdlib import calloc, free, malloc
from cython.cimports.tapegrad.scalar.kernels import ADD, CC, CV, FRESH_LHS, FRESH_RHS, INPUT, VC, VV, WHERE
from cython.cimports.tapegrad.scalar.recording import Guard, Recording, Store
from cython.cimports.tapegrad.scalar.variables import Var, check_owner

from tapegrad.errors import InputError, StaleVarError


@cython.cclass
class Frozen:
    """The instructions of a program. The first values are its inputs."""

    def __cinit__(self, tape: Recording, inputs: list, outputs: list):
        source: cython.pointer(Store) = cython.address(tape.store)
        # Bounds: at most every instruction is kept, and each has at most two constants.
        self.most = source.size
        self.most_guards = source.guards_size
        most: cython.size_t = source.size + 1
        count: cython.size_t = len(outputs)
        self.ops = cython.cast(cython.pointer(uint8_t), malloc(most))
        self.lhs = cython.cast(cython.pointer(int32_t), malloc(most * 4))
        self.rhs = cython.cast(cython.pointer(int32_t), malloc(most * 4))
        self.constants = cython.cast(cython.p_double, malloc((2 * most + count) * 8))
        self.guards = cython.cast(cython.pointer(Guard), malloc((source.guards_size + 1) * cython.sizeof(Guard)))
        self.outputs = cython.cast(cython.pointer(int32_t), malloc(count * 4))
        self.room = cython.cast(cython.pointer(int32_t), malloc(most * 4))
        self.lhs_room = cython.cast(cython.pointer(int32_t), malloc(most * 4))
        self.rhs_room = cython.cast(cython.pointer(int32_t), malloc(most * 4))
        self.fresh = cython.cast(cython.pointer(uint8_t), calloc(most, 1))
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
            raise MemoryError(f"no memory to freeze {source.size} values")
        self.inputs_size = len(inputs)
        self.outputs_size = len(outputs)
        Freezer(tape, self).run(inputs, outputs)
        assign_rooms(self)
        self.code.ops = self.ops
        self.code.lhs = self.lhs
        self.code.rhs = self.rhs
        self.code.constants = self.constants
        self.code.room = self.room
        self.code.lhs_room = self.lhs_room
        self.code.rhs_room = self.rhs_room
        self.code.fresh = self.fresh

    def __dealloc__(self):
        free(self.ops)
        free(self.lhs)
        free(self.rhs)
        free(self.constants)
        free(self.guards)
        free(self.outputs)
        free(self.room)
        free(self.lhs_room)
        free(self.rhs_room)
        free(self.fresh)


@cython.cfunc
@cython.inline
def base_of(op: cython.int) -> cython.int:
    """The opcode without its form."""
    if op < ADD:
        return op
    return WHERE if op >= WHERE else op - (op - ADD) % 3


@cython.cfunc
@cython.inline
def form_of(op: cython.int) -> cython.int:
    return op - base_of(op)


@cython.final
@cython.cclass
class Freezer:
    """Copies what the outputs need of a recording into a Frozen. Lives only while that is made."""

    source: cython.pointer(Store)
    frozen: Frozen
    # per recorded value: does it depend on an input; is it needed; its place in the program
    active: cython.pointer(uint8_t)
    needed: cython.pointer(uint8_t)
    place: cython.pointer(int32_t)
    count: cython.Py_ssize_t  # values of the recording when room was made for them

    def __cinit__(self, tape: Recording, frozen: Frozen):
        self.source = source = cython.address(tape.store)
        self.frozen = frozen
        count: cython.size_t = source.size + 1
        self.count = source.size
        self.active = cython.cast(cython.pointer(uint8_t), calloc(count, 1))
        self.needed = cython.cast(cython.pointer(uint8_t), calloc(count, 1))
        self.place = cython.cast(cython.pointer(int32_t), calloc(count, 4))
        if self.active is cython.NULL or self.needed is cython.NULL or self.place is cython.NULL:
            raise MemoryError(f"no memory to freeze {source.size} values")

    def __dealloc__(self):
        free(self.active)
        free(self.needed)
        free(self.place)

    @cython.cfunc
    def chosen(self, i: cython.Py_ssize_t) -> int32_t:
        """The operand that a `where` with a constant condition stands for; -1 if that is a constant."""
        form: cython.int = form_of(self.source.ops[i])
        if self.source.values[i - 1] != 0.0:
            return self.source.lhs[i] if form in (VV, VC) else -1
        return self.source.rhs[i] if form in (VV, CV) else -1

    @cython.cfunc
    def mark_active(self) -> cython.void:
        """Activity: which values change when the inputs do. The caller has marked the inputs."""
        source: cython.pointer(Store) = self.source
        i: cython.Py_ssize_t
        for i in range(source.size):
            op: cython.int = source.ops[i]
            form: cython.int = form_of(op)
            if op == INPUT:
                continue
            if base_of(op) == WHERE:
                if self.active[i - 1]:
                    self.active[i] = True
                elif self.chosen(i) >= 0:
                    self.active[i] = self.active[self.chosen(i)]
            elif op < ADD or form == VC:
                self.active[i] = self.active[source.lhs[i]]
            elif form == CV:
                self.active[i] = self.active[source.rhs[i]]
            else:
                self.active[i] = self.active[source.lhs[i]] or self.active[source.rhs[i]]

    @cython.cfunc
    def mark_needed(self) -> cython.void:
        """What the outputs and guards depend on. The caller has marked these."""
        source: cython.pointer(Store) = self.source
        i: cython.Py_ssize_t
        for i in range(source.size - 1, -1, -1):
            op: cython.int = source.ops[i]
            form: cython.int = form_of(op)
            if op == INPUT or not self.needed[i] or not self.active[i]:
                continue
            if base_of(op) == WHERE:
                if not self.active[i - 1]:
                    self.needed[self.chosen(i)] = True
                    continue
                self.needed[i - 1] = True
            if op < ADD or form in (VV, VC):
                self.needed[source.lhs[i]] = True
            if op >= ADD and form in (VV, CV):
                self.needed[source.rhs[i]] = True

    @cython.cfunc
    def immediate(self, value: cython.double) -> int32_t:
        frozen: Frozen = self.frozen
        frozen.constants[frozen.constants_size] = value
        frozen.constants_size += 1
        return cython.cast(int32_t, frozen.constants_size - 1)

    @cython.cfunc
    def emit(self, i: cython.Py_ssize_t) -> cython.void:
        """Copies instruction i with its operands in their new places, folding what has become constant."""
        source: cython.pointer(Store) = self.source
        frozen: Frozen = self.frozen
        op: cython.int = source.ops[i]
        form: cython.int = form_of(op)
        base: cython.int = base_of(op)
        if base == WHERE and not self.active[i - 1]:
            self.place[i] = self.place[self.chosen(i)]
            return
        index: cython.Py_ssize_t = frozen.size
        lhs: int32_t = source.lhs[i]
        rhs: int32_t = source.rhs[i]
        left: cython.bint = form in (VV, VC) and self.active[lhs]
        right: cython.bint = op >= ADD and form in (VV, CV) and self.active[rhs]
        if left:
            frozen.lhs[index] = self.place[lhs]
        else:
            frozen.lhs[index] = self.immediate(source.values[lhs] if form in (VV, VC) else source.constants[lhs])
        if op < ADD:
            frozen.rhs[index] = 0
        elif right:
            frozen.rhs[index] = self.place[rhs]
        else:
            frozen.rhs[index] = self.immediate(source.values[rhs] if form in (VV, CV) else source.constants[rhs])
        if op >= ADD:
            op = base + (VV if left and right else VC if left else CV if right else CC)
        frozen.ops[index] = cython.cast(uint8_t, op)
        self.place[i] = cython.cast(int32_t, index)
        frozen.size = index + 1

    @cython.cfunc
    def guard(self, found: Guard) -> cython.void:
        """Keeps a guard if the inputs can break it."""
        frozen: Frozen = self.frozen
        left: cython.bint = found.lhs >= 0 and self.active[found.lhs]
        right: cython.bint = found.rhs >= 0 and self.active[found.rhs]
        if not left and not right:
            return
        if found.lhs >= 0 and not left:
            found.constant = self.source.values[found.lhs]
        if found.rhs >= 0 and not right:
            found.constant = self.source.values[found.rhs]
        found.lhs = self.place[found.lhs] if left else -1
        found.rhs = self.place[found.rhs] if right else -1
        frozen.guards[frozen.guards_size] = found
        frozen.guards_size += 1

    @cython.cfunc
    @cython.exceptval(-1)
    def check(self, what: str, given: list) -> cython.int:
        """Raises unless all are Vars of this recording, and there is one."""
        if not given:
            raise InputError(f"expected at least one Var as {what}, got none")
        for x in given:
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
            source.size != frozen.most
            or source.size != self.count
            or source.guards_size != frozen.most_guards
            or len(inputs) != frozen.inputs_size
            or len(outputs) != frozen.outputs_size
        ):
            raise StaleVarError("the tape changed while it was being frozen; freeze again")
        self.check("inputs", inputs)
        self.check("outputs", outputs)
        for k in range(len(inputs)):
            x = inputs[k]
            if x.index < 0 or source.ops[x.index] != INPUT:
                raise InputError(f"an input must come from tape.var(...); {x!r} is a constant or a result")
            if self.active[x.index]:
                raise InputError(f"{x!r} is given twice among the inputs; give each variable once")
            self.active[x.index] = True
            self.place[x.index] = cython.cast(int32_t, k)
            frozen.ops[k] = INPUT
            frozen.lhs[k] = frozen.rhs[k] = 0
        frozen.size = len(inputs)
        self.mark_active()
        for x in outputs:
            if x.index >= 0:
                self.needed[x.index] = True
        for k in range(source.guards_size):
            if source.guards[k].lhs >= 0:
                self.needed[source.guards[k].lhs] = True
            if source.guards[k].rhs >= 0:
                self.needed[source.guards[k].rhs] = True
        self.mark_needed()
        for i in range(source.size):
            if source.ops[i] != INPUT and self.needed[i] and self.active[i]:
                self.emit(i)
        for k in range(source.guards_size):
            self.guard(source.guards[k])
        for k in range(len(outputs)):
            x = outputs[k]
            if x.index >= 0 and self.active[x.index]:
                frozen.outputs[k] = self.place[x.index]
            else:
                frozen.outputs[k] = -1 - self.immediate(x.number)
        frozen.removed = source.size - source.inputs - (frozen.size - len(inputs))
        return 0


# ---- rooms for adjoints ----------------------------------------------------------------------------------------


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
    if frozen.outputs_size > 1:
        for i in range(frozen.size):
            frozen.room[i] = cython.cast(int32_t, i)
            frozen.lhs_room[i] = frozen.lhs[i]
            frozen.rhs_room[i] = frozen.rhs[i]
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
        op: cython.int = frozen.ops[i]
        form: cython.int = form_of(op)
        for side in range(2):
            operand: int32_t = frozen.rhs[i] if side else frozen.lhs[i]
            if not (op < ADD and side == 0) and (op < ADD or form not in (VV, CV if side else VC)):
                continue
            if frozen.room[operand] < 0:
                if count:
                    count -= 1
                    frozen.room[operand] = free_rooms[count]
                else:
                    frozen.room[operand] = cython.cast(int32_t, frozen.rooms)
                    frozen.rooms += 1
                frozen.fresh[i] |= FRESH_RHS if side else FRESH_LHS
            if side:
                frozen.rhs_room[i] = frozen.room[operand]
            else:
                frozen.lhs_room[i] = frozen.room[operand]
        free_rooms[count] = frozen.room[i]
        count += 1
    free(free_rooms)
    return 0
