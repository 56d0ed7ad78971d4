"""The recording: what `gradmark explain` shows of a function before anything is timed.

A record of plain data: it is made in a process of its own, beside the user's function.
"""

from gradmark.records.quantities import Work
from gradmark.records.record import Record


class Recording(Record, frozen=True, kw_only=True):
    """A function and its derivative as lists of operations, and how many these are."""

    inputs: dict[str, str]  # the first ones by name, as text
    inputs_left_out: int = 0
    function: list[str]  # a line for each operation; of many, the first and the last
    derivative: list[str]  # likewise, with the function's own operations that it needs
    operations: Work | None = None  # of the function
    derivative_operations: Work | None = None  # of function and derivative together
    counted: str = "operations"  # what is counted: of arrays, operations on numbers
    reason: str = ""  # why something is missing

    @property
    def predicted(self) -> float | None:
        """Operations of function and derivative, as a multiple of the function's own."""
        if not self.operations or self.derivative_operations is None:
            return None
        return self.derivative_operations / self.operations
