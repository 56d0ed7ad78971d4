"""Hypotheses: a claim about two arms, measured side by side.

In: a `Hypothesis` and a run that has both arms. Out: supported, refuted or undecided, with the effect and its interval.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from gradmark import units
from gradmark.analyse.calm import is_calm
from gradmark.analyse.paired import compare, rounds
from gradmark.errors import GradmarkError
from gradmark.records import Cell, Comparison, DerivativeName, Measurement, Number, Param, Verdict, order
from gradmark.records.derivative import USUAL_DERIVATIVE
from gradmark.records.metric import REGISTRY, Metric, is_known, metric, numbers

# Fewer rounds than this decide nothing about a time: the sign test cannot reach the level, whatever the numbers are.
LEAST_ROUNDS = order.LEAST_ROUNDS
LEVEL = 0.05
# What is computed from times has no number of its own in each process, so that no test can be made of it.
OF_TIMES = ("share", "ratio", "rate", "flops", "traffic")


@dataclass(frozen=True)
class Arm:
    """One side: an engine on a workload, and which metric of it is looked at."""

    engine: str
    workload: str
    metric: str
    params: Mapping[str, Param] = field(default_factory=dict)
    derivative: DerivativeName = USUAL_DERIVATIVE

    def __post_init__(self) -> None:
        """A wrong metric is said at once, not after measuring."""
        names = [entry.name for entry in REGISTRY if entry.unit not in OF_TIMES]
        if not is_known(self.metric) or metric(self.metric).unit in OF_TIMES:
            raise GradmarkError(
                f"Expected a metric for the arm {self.engine} on {self.workload}, got {self.metric!r}. "
                f"Choose one of: {', '.join(names)}."
            )

    @property
    def row(self) -> str:
        """What it measures, as tables name it."""
        unusual = [] if self.derivative == USUAL_DERIVATIVE else [f"derivative={self.derivative}"]
        return "/".join([self.workload, *(f"{key}={value}" for key, value in self.params.items()), *unusual])


@dataclass(frozen=True)
class Hypothesis:
    """The second arm is smaller than the first: that is the claim, in words and in numbers."""

    name: str
    claim: str
    first: Arm
    second: Arm


BUILT_IN = [
    Hypothesis(
        "reuse-allocations",
        "reusing the tape reduces allocations",
        Arm("tapegrad:fresh", "reuse", "allocations"),
        Arm("tapegrad", "reuse", "allocations"),
    ),
    Hypothesis(
        "reuse-time",
        "reusing the tape reduces time",
        Arm("tapegrad:fresh", "reuse", "total"),
        Arm("tapegrad", "reuse", "total"),
    ),
    Hypothesis(
        "filtering",
        "not recording constants shrinks the tape when constants dominate",
        Arm("tapegrad:recording-constants", "constants", "tape_instructions", {"n": 1000}),
        Arm("tapegrad", "constants", "tape_instructions", {"n": 1000}),
    ),
    Hypothesis(
        "replay",
        "replaying a program is faster than recording",
        Arm("tapegrad", "poly", "total", {"n": 1000}),
        Arm("tapegrad:program", "poly", "total", {"n": 1000}),
    ),
    Hypothesis(
        "backward",
        "backward costs less than forward",
        Arm("tapegrad", "poly", "forward", {"n": 1000}),
        Arm("tapegrad", "poly", "backward", {"n": 1000}),
    ),
]


def matches(arm: Arm, cell: Cell) -> bool:
    """Whether a cell is an arm's."""
    same = (arm.engine, arm.workload, arm.derivative) == (cell.engine, cell.workload, cell.derivative)
    return same and dict(arm.params) == cell.params


@dataclass(frozen=True)
class Measured:
    """An arm with its numbers: the one that is shown, and what each process says."""

    arm: Arm
    metric: Metric
    number: Number
    rounds: dict[int, float]
    calm: bool = True  # False: no process saw a calm machine while it was timed


def measured(arm: Arm, measurements: Sequence[Measurement]) -> Measured | str:
    """The numbers of an arm; a string that says why there are none."""
    measurement = next((m for m in measurements if matches(arm, m.cell)), None)
    if measurement is None:
        return f"{arm.row} on {arm.engine} was not measured"
    if measurement.status != "ok":
        return f"{measurement.cell.row} on {arm.engine}: {measurement.status}: {measurement.message}"
    entry, known = metric(arm.metric), numbers(measurement)
    number = known.get(entry.name)
    if number is None:
        why = entry.why_missing(measurement, known)
        return f"{measurement.cell.row} on {arm.engine} has no {entry.title}: {why}"
    by_process = rounds(measurement, entry) if number.how != "derived" else {}
    return Measured(arm, entry, number, by_process, is_calm(known, entry.name))


def judge(hypothesis: Hypothesis, measurements: Sequence[Measurement]) -> Verdict:
    """The verdict: decided only where the rounds agree, and the numbers shown with them."""
    first, second = (measured(arm, measurements) for arm in (hypothesis.first, hypothesis.second))
    engine = hypothesis.second.engine
    reasons = [arm for arm in (first, second) if isinstance(arm, str)]
    if isinstance(first, str) or isinstance(second, str):
        return Verdict(claim=hypothesis.claim, verdict="not measured", evidence=reasons, engine=engine)
    effect = compare(second.metric.name, first.rounds, second.rounds, shown=(first.number.value, second.number.value))
    never_calm = [f"{one.arm.row} on {one.arm.engine}" for one in (first, second) if not one.calm]
    verdict, doubt = _decided(effect, second.metric, never_calm) if second.metric.timed else _counted(effect)
    texts = [f"{_said(first)}, {_said(second)}", words(effect, second.metric)]
    return Verdict(
        claim=hypothesis.claim, verdict=verdict, evidence=[*texts, *([doubt] if doubt else [])], engine=engine
    )


def lacks_rounds(hypothesis: Hypothesis, measurements: Sequence[Measurement]) -> bool:
    """Whether both arms are timed, in too few rounds that were calm for both to decide anything."""
    arms = [measured(arm, measurements) for arm in (hypothesis.first, hypothesis.second)]
    timed = [set(arm.rounds) for arm in arms if isinstance(arm, Measured) and _is_timed(arm)]
    return len(timed) == 2 and len(timed[0] & timed[1]) < LEAST_ROUNDS


def _is_timed(arm: Measured) -> bool:
    """Whether every process has a time of its own; what is computed from others has none, however many there are."""
    return arm.metric.timed and arm.number.how != "derived"


Decision = tuple[Literal["supported", "refuted", "undecided"], str]


def _counted(effect: Comparison) -> Decision:
    """Counts repeat themselves: the numbers decide."""
    return ("supported" if effect.second < effect.first else "refuted"), ""


def _decided(effect: Comparison, entry: Metric, never_calm: Sequence[str]) -> Decision:
    count = effect.processes[0]
    if never_calm:
        return "undecided", f"the machine was never calm while it timed {' and '.join(never_calm)}; measure again"
    if effect.typical is None:
        return "undecided", f"no round has {entry.name} of both: it was computed, not timed by itself"
    if count < LEAST_ROUNDS:
        return "undecided", f"{count} calm round{'s' * (count != 1)}: {LEAST_ROUNDS} or more can decide"
    if effect.p_value > LEVEL:
        return "undecided", f"the rounds do not agree (sign test, p = {effect.p_value:.2g})"
    if (effect.typical < 1.0) != (effect.ratio < 1.0):
        return "undecided", "the rounds and the times shown disagree"
    return ("supported" if effect.ratio < 1.0 else "refuted"), ""


def words(effect: Comparison, entry: Metric) -> str:
    """The effect as one would say it, with what the rounds say.

    >>> seen = {"first": 280.0, "second": 20.0, "typical": 1 / 13, "low": 1 / 17, "high": 1 / 11, "coverage": 0.98}
    >>> words(Comparison(metric="total", ratio=1 / 14, processes=(10, 10), **seen), metric("total"))
    '14.0 times as fast (round by round 11.0 to 17.0, a 98 % interval)'
    """
    low, high, ratio = effect.low, effect.high, effect.ratio
    if not entry.timed:
        return _amounts(effect, entry)
    if ratio == 1.0:
        text = "as fast"
    else:
        text = (
            f"{units.times(1.0 / ratio)} times as fast" if 0.0 < ratio < 1.0 else f"{units.times(ratio)} times as long"
        )
    if low is None or high is None or effect.coverage is None:
        return text
    if ratio < 1.0 and low > 0.0:
        low, high = 1.0 / high, 1.0 / low
    if effect.processes[0] < 2:
        return f"{text} (one round)"
    kind = f"a {100 * effect.coverage:.0f} % interval" if effect.is_interval else f"the range of {effect.processes[0]}"
    return f"{text} (round by round {units.times(low)} to {units.times(high)}, {kind})"


def _amounts(effect: Comparison, entry: Metric) -> str:
    if effect.first == effect.second:
        return "the same"
    if effect.second <= 0:
        return f"none instead of {_amount(entry, effect.first)}"
    if effect.first <= 0:
        return f"{_amount(entry, effect.second)} instead of none"
    fewer, more = ("fewer", "as many") if entry.unit == "count" else ("less", "as much")
    if effect.ratio < 1.0:
        return f"{units.times(1.0 / effect.ratio)} times {fewer}"
    return f"{units.times(effect.ratio)} times {more}"


def _said(measured: Measured) -> str:
    number = _amount(measured.metric, measured.number.value)
    return f"{measured.arm.row} on {measured.arm.engine}: {measured.metric.title} {number}"


def _amount(entry: Metric, number: float) -> str:
    """Counts in full, so that one more is seen."""
    return f"{number:g}" if entry.unit == "count" else units.text(entry.unit, number)
