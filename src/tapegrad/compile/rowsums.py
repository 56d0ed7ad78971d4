"""Sums and extremes of rows: accumulators of vectors, and totals that lose nothing.

In: numbers as they are computed. Out: lines that add them up: several accumulators, whose sum is added after at most
`CHUNK` numbers to a double (or, for doubles, with the rounding error carried along), so that a sum is at least as exact
as NumPy's pairwise one.
"""

import math
from collections.abc import Callable

from tapegrad.compile.elementary import Writer, literal
from tapegrad.compile.sharing import COMBINED

IDENTITY = {"sum": 0.0, "max": -math.inf, "min": math.inf}


class Sums:
    """What a kernel adds up; allocate: gives a variable of a type."""

    def __init__(self, writer: Writer, lanes: int, allocate: Callable[[str], str]):
        self.writer = writer
        self.lanes = lanes
        self.allocate = allocate

    def accumulator(self, op: str, element: str) -> str:
        """A vector that numbers are added to."""
        kind = self.writer.kind(element, self.lanes)
        name = self.allocate(kind)
        self.writer.say(f"store {kind} {self.writer.number(IDENTITY[op], element, self.lanes)}, ptr {name}")
        return name

    def gathered(self, op: str, element: str, accumulators: list[str]) -> str:
        """One number of several accumulators."""
        w, lanes = self.writer, self.lanes
        kind = w.kind(element, lanes)
        values = [w.put(f"load {kind}, ptr {accumulator}") for accumulator in accumulators]
        op = COMBINED[op]
        while len(values) > 1:
            values = [
                w.operation(op, [element] * 2, [values[k], values[k + 1]], element, lanes)
                for k in range(0, len(values), 2)
            ]
        value = values[0]
        while lanes > 1:
            lanes //= 2
            wide, narrow = f"<{2 * lanes} x {element}>", lanes
            low = ", ".join(f"i32 {k}" for k in range(narrow))
            high = ", ".join(f"i32 {narrow + k}" for k in range(narrow))
            first = w.put(f"shufflevector {wide} {value}, {wide} poison, <{narrow} x i32> <{low}>")
            second = w.put(f"shufflevector {wide} {value}, {wide} poison, <{narrow} x i32> <{high}>")
            value = w.operation(op, [element] * 2, [first, second], element, lanes)
        return w.put(f"extractelement <1 x {element}> {value}, i32 0")

    def new_total(self, op: str) -> tuple[str, str]:
        """Where numbers are added up: a double and, for doubles, what was rounded off it."""
        total, lost = self.allocate("double"), self.allocate("double")
        self.writer.say(f"store double {literal(IDENTITY[op], 'double')}, ptr {total}")
        self.writer.say(f"store double {literal(-0.0, 'double')}, ptr {lost}")
        return total, lost

    def add(self, total: tuple[str, str], op: str, element: str, value: str) -> None:
        """Adds a number, or takes it if it is larger or smaller."""
        w = self.writer
        if element == "float":
            value = w.put(f"fpext float {value} to double")
        before = w.put(f"load double, ptr {total[0]}")
        after = w.operation(COMBINED[op], ["double"] * 2, [before, value], "double", 0)
        w.say(f"store double {after}, ptr {total[0]}")
        if op == "sum" and element == "double":  # Knuth's two-sum
            taken = w.put(f"fsub double {after}, {before}")
            back = w.put(f"fsub double {after}, {taken}")
            error = w.put(f"fsub double {before}, {back}")
            missing = w.put(f"fsub double {value}, {taken}")
            both = w.put(f"fadd double {error}, {missing}")
            lost = w.put(f"load double, ptr {total[1]}")
            w.say(f"store double {w.put(f'fadd double {lost}, {both}')}, ptr {total[1]}")

    def read_total(self, total: tuple[str, str], element: str) -> str:
        """What has been added up."""
        w = self.writer
        value = w.put(f"load double, ptr {total[0]}")
        if element == "float":
            return w.put(f"fptrunc double {value} to float")
        lost = w.put(f"load double, ptr {total[1]}")
        exact = w.put(f"fadd double {value}, {lost}")
        size = w.intrinsic("llvm.fabs.f64", "double", [("double", exact)])
        finite = w.put(f"fcmp olt double {size}, {literal(math.inf, 'double')}")
        return w.put(f"select i1 {finite}, double {exact}, double {value}")
