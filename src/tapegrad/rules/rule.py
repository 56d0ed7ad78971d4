"""A rule: all that is known of one operation. table.py has one for each, and everything else is made from it."""

from collections.abc import Sequence
from dataclasses import dataclass

from .language import Expression


@dataclass(frozen=True)
class Rule:
    """An operation: its value, and what each operand gets of the cotangent g of the value v.

    By linearity the same expression gives what a tangent g of that operand adds to the tangent of the value. A share
    may use the operations of the table, internal ones too, so that it can be differentiated again.
    """

    name: str
    value: Expression
    shares: tuple[Expression | None, ...]  # of a, b and c; None where there is no derivative
    # Internal operations occur in derivatives only: programs have them, tapes do not.
    internal: bool = False
    # For people: the docstring, formulas for the reference, names of the operands, and why it is done this way.
    doc: str = ""
    formula: str = ""
    derivative: str = ""
    operands: tuple[str, ...] = ()
    note: str = ""
    # The largest errors allowed, in units of the last place: recorded value, recorded derivative, the same in batches,
    # and the second derivative, recorded and in batches.
    bounds: Sequence[float] = ()

    @property
    def arity(self) -> int:
        """How many operands it has."""
        return len(self.shares)

    @property
    def code(self) -> str:
        """What it is called in C."""
        return self.name.upper()
