"""The explanation of one row: its recording, its operations, and what each engine makes of them, as text.

In: a row, its recording and departures. Out: lines; terminal and notebooks show the same.
"""

from collections.abc import Iterator, Sequence

from gradmark import units
from gradmark.analyse.departures import AS_PREDICTED, Departure, farthest
from gradmark.records import DerivativeName, Record
from gradmark.records.derivative import FACTS, USUAL_DERIVATIVE
from gradmark.records.recording import Recording
from gradmark.report.model.characters import one_line
from gradmark.report.model.columns import MISSING, NEVER_CALM

HEADS = ("engine", "function", "total", "× function", "predicted", "per operation", "allocs")
# Broken so that they fit beside the numbers on any terminal.
READING = [
    "A line is one operation; %2 is the value of line %2. Backward starts with an",
    "adjoint of 1 in the last line and reads upwards: each line adds to the adjoints",
    "of its operands. %2' is the adjoint of %2. See docs/guide/tape.md.",
]
PREDICTED = [
    "predicted: operations of function and derivative, divided by those of the",
    "function alone. This holds if every operation takes the same time and nothing",
    "has to be recorded.",
]
LIVE = [
    "A product named live_ or both is 0 where one factor is 0, whatever the other",
    "is. See docs/reference/operations.md.",
]
WHERE = {"forward": "forward, which evaluates and records", "backward": "backward"}


class Explanation(Record, frozen=True, kw_only=True):
    """All that is said of one row."""

    row: str
    derivative: DerivativeName
    recording: Recording
    engines: list[Departure]


def lines(explanation: Explanation) -> Iterator[str]:
    """The explanation from the function to the engines."""
    yield one_line(explanation.row)
    if explanation.recording.function:
        yield from _recording(explanation.recording, explanation.derivative)
    yield ""
    yield operations(explanation)
    yield ""
    if not all(engine.problem for engine in explanation.engines):
        yield from _table(explanation.engines)
        yield from PREDICTED
        yield ""
    for engine in explanation.engines:
        first, *rest = sentences(engine)
        yield f"{one_line(engine.engine)}: {first}"
        yield from (f"  {line}" for line in rest)


def _recording(recording: Recording, derivative: DerivativeName) -> Iterator[str]:
    left_out = f", and {recording.inputs_left_out} more" if recording.inputs_left_out else ""
    yield f"inputs: {', '.join(f'{one_line(name)} = {text}' for name, text in recording.inputs.items())}{left_out}"
    yield ""
    yield "The function, as tapegrad records it"
    yield from (f"  {line}" for line in recording.function)
    if "backward adds" in recording.function[0]:
        yield from READING
    yield ""
    yield f"Its {derivative}, as operations{' (with the value)' if derivative == USUAL_DERIVATIVE else ''}"
    yield from (f"  {line}" for line in recording.derivative)
    if any("live_" in line or "both" in line for line in recording.derivative):
        yield from LIVE


def operations(explanation: Explanation) -> str:
    """How many operations there are, and what theory allows."""
    recording, derivative = explanation.recording, explanation.derivative
    bound = FACTS[derivative].bound
    theory = f"; theory's bound is {bound:g} ×" if bound else ""
    if recording.predicted is None:
        return f"operations: not counted: {one_line(recording.reason) or 'the function has none'}{theory}"
    assert recording.operations is not None
    assert recording.derivative_operations is not None
    counts = [units.count(number) for number in (recording.operations, recording.derivative_operations)]
    beyond = ""
    if bound and recording.predicted > bound:
        beyond = ". It is exceeded where the derivative of an operation takes several others"
    return (
        f"{recording.counted}: function {counts[0]}, with its {derivative} {counts[1]}: "
        f"{units.times(recording.predicted)} × the function{theory}{beyond}"
    )


def _table(engines: Sequence[Departure]) -> Iterator[str]:
    rows = [HEADS, *(_cells(engine) for engine in engines if not engine.problem)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEADS))]
    for row in rows:
        name, *numbers = row
        aligned = [text.rjust(width) for text, width in zip(numbers, widths[1:], strict=True)]
        yield "  ".join([name.ljust(widths[0]), *aligned])


def _cells(engine: Departure) -> tuple[str, ...]:
    def text(number: float | None, form: str = "time") -> str:
        if number is None:
            return MISSING
        return {"time": units.time, "times": units.times, "count": units.count}[form](number)

    return (
        one_line(engine.engine),
        text(engine.function_ns),
        text(engine.total_ns) + ("" if engine.calm else NEVER_CALM),
        text(engine.ratio, "times"),
        text(engine.predicted, "times"),
        text(engine.per_operation_ns),
        text(engine.allocations, "count"),
    )


def sentences(engine: Departure) -> list[str]:
    """Where an engine's time departs from the prediction, and from theory's bound."""
    if engine.problem:
        return [one_line(engine.problem)]
    if engine.ratio is None:
        return ["the function alone was not timed, or is too short to compare with"]
    bound = engine.bound
    word = "" if bound is None else f", {'within' if engine.ratio <= bound else 'above'} theory's bound of {bound:g} ×"
    whole = f"function and derivative take {units.times(engine.ratio)} × the function{word}"
    factor = engine.factor
    if factor is None:
        return [whole]
    if 1 / AS_PREDICTED <= factor <= AS_PREDICTED:
        return [f"{whole}; as the operations predict"]
    part = farthest(engine)
    if factor > 1:
        whole += f"; {units.times(factor)} times what the operations predict"
    else:
        whole += f"; {units.times(1 / factor)} times as fast as the operations predict"
    if part is None:
        return [whole]
    how = "most of the excess is" if factor > 1 else "most of the saving is"
    taken = f"{units.times(part.ratio)} × the function, predicted {units.times(part.predicted)} ×"
    return [whole, f"{how} {WHERE[part.name]}: {taken}"]
