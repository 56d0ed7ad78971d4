"""Exact counts of what a tape or a program holds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stats:
    """What a tape holds: counted, not estimated.

    values: numbers on the tape, inputs and results. grads: adjoints that backward has written. instrs: recorded
    operations. constants: immediate operands. nbytes: bytes of the recording (instructions, values, constants and
    guards); adjoints take another 8 * grads.
    """

    values: int
    grads: int
    instrs: int
    constants: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class ProgramStats:
    """What a program holds: inputs, outputs, instructions, constants, guards, and the bytes of all of them.

    removed: recorded operations that the program does not need, because no output depends on them or because they
    were folded into constants.
    """

    inputs: int
    outputs: int
    instrs: int
    constants: int
    guards: int
    removed: int
    nbytes: int
