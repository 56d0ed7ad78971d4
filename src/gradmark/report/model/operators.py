"""Operators: what each operation of an engine adds, as one table that terminal and page show alike.

In: measurements of operator workloads. Out: a table for each engine and kind, with texts and the numbers behind them.
"""

from collections.abc import Callable, Sequence

from gradmark import units
from gradmark.analyse.operators import Operation, operations
from gradmark.records import DerivativeName, Measurement, Record
from gradmark.records.derivative import USUAL_DERIVATIVE
from gradmark.report.model.characters import one_line
from gradmark.report.model.columns import MISSING, NEVER_CALM

NOTES = {
    "scalar": "Each number is what one call adds to a loop of 50 additions; errors are those of its derivative.",
    "tensor": "Each number is what one call adds to the sum of 64×64 numbers; errors are those of its derivative.",
}
COUNTED = "moved: bytes read and written by value and gradient, as the compiler counts them."
DECLARED = "moved: bytes that value and gradient must read and write if no operations are fused."
IN_DOUBT = f"{NEVER_CALM}: the machine was never calm while it was timed; measure again."


class OperatorLine(Record, frozen=True, kw_only=True):
    """One operation; `problem` stands in place of its numbers."""

    name: str
    numbers: list[float | None] = []
    texts: list[str] = []
    problem: str = ""


TIMES = ("forward", "backward", "total")


class OperatorTable(Record, frozen=True, kw_only=True):
    """The operations of one engine on numbers or on tensors of one dtype, the most expensive first."""

    title: str
    engine: str
    kind: str  # what it is of, in words: tables of one kind stand side by side
    heads: list[str]
    lines: list[OperatorLine]
    note: str

    def time_ns(self, line: OperatorLine) -> float | None:
        """What an operation adds in all: its phases together."""
        known = [line.numbers[place] for place, head in enumerate(self.heads) if head in TIMES and line.numbers]
        present = [ns for ns in known if ns is not None]
        return sum(present) if present and len(present) == len(known) else None


def operator_tables(measurements: Sequence[Measurement]) -> list[OperatorTable]:
    """A table for each engine, kind and dtype, as first seen."""
    groups: dict[tuple[str, str, str, DerivativeName], list[Measurement]] = {}
    for m in measurements:
        if "operation" in m.cell.params:
            groups.setdefault((m.cell.engine, m.cell.workload, m.cell.dtype, m.cell.derivative), []).append(m)
    return [
        operator_table(
            engine, operations(members, engine), dtype if members[0].cell.kind == "tensor" else None, derivative
        )
        for (engine, _, dtype, derivative), members in groups.items()
    ]


def operator_table(
    engine: str, rows: Sequence[Operation], dtype: str | None, derivative: DerivativeName = USUAL_DERIVATIVE
) -> OperatorTable:
    """The table of one engine; the dtype is that of tensors, None for scalars."""
    times: dict[str, tuple[str, Callable[[Operation], float | None]]] = (
        {"forward": ("time", lambda o: o.forward_ns), "backward": ("time", lambda o: o.backward_ns)}
        if derivative == USUAL_DERIVATIVE
        else {"total": ("time", lambda o: o.total_ns)}
    )
    numbers: dict[str, tuple[str, Callable[[Operation], float | None]]] = {
        **times,
        "allocs": ("count", lambda o: o.allocations),
        "saved": ("bytes", lambda o: o.saved_bytes),
        **({"moved": ("bytes", lambda o: o.moved_bytes)} if any(o.moved_bytes is not None for o in rows) else {}),
        "error": ("relative" if dtype else "ulp", lambda o: o.error),
    }

    def line(operation: Operation) -> OperatorLine:
        def doubt(unit: str) -> str:
            return NEVER_CALM if unit == "time" and not operation.calm else ""

        if operation.problem:
            return OperatorLine(name=one_line(operation.name), problem=one_line(operation.problem))
        read = [(unit, read_number(operation)) for unit, read_number in numbers.values()]
        texts = [MISSING if number is None else units.text(unit, number) + doubt(unit) for unit, number in read]
        return OperatorLine(name=one_line(operation.name), numbers=[number for _, number in read], texts=texts)

    kind = f"tensors, {dtype}" if dtype else "scalars"
    kind = one_line(kind if derivative == USUAL_DERIVATIVE else f"{kind}, {derivative}")
    return OperatorTable(
        title=one_line(f"{engine}, {kind}"),
        kind=kind,
        engine=one_line(engine),
        heads=list(numbers),
        lines=[line(operation) for operation in rows],
        note=" ".join(
            [
                NOTES["tensor" if dtype else "scalar"],
                *_of_moved(rows),
                *([] if all(o.calm for o in rows) else [IN_DOUBT]),
            ]
        ),
    )


def _of_moved(rows: Sequence[Operation]) -> list[str]:
    """Where the bytes moved come from, if there are any."""
    if all(operation.moved_bytes is None for operation in rows):
        return []
    return [COUNTED if any(operation.moved_is_counted for operation in rows) else DECLARED]
