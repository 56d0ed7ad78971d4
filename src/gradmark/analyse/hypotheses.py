"""Hypotheses: a claim about two arms, measured side by side.

In: a `Hypothesis` and a run that has both arms. Out: supported, refuted or undecided, with the effect and its interval.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from gradmark import units
from gradmark.analyse.paired import compare
from gradmark.errors import GradmarkError
from gradmark.records import Cell, Measurement, Param, Verdict

# With fewer rounds the permutation test cannot reach the level, whatever the numbers are: 2/2^6 is the first below it.
LEAST_ROUNDS = 6
SIGNIFICANT = 0.05
PHASES = ("primal", "forward", "backward", "total")
METRICS = (*PHASES, "allocations", "tape", "peak_bytes")


@dataclass(frozen=True)
class Arm:
    """One side: an engine on a workload, and what is looked at (a phase, or allocations, tape, peak_bytes)."""

    engine: str
    workload: str
    metric: str
    params: Mapping[str, Param] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """A wrong metric is said at once, not after measuring."""
        if self.metric not in METRICS:
            raise GradmarkError(f"no metric is called {self.metric!r}; there are: {', '.join(METRICS)}")


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
        Arm("tapegrad:recording-constants", "constants", "tape", {"n": 1000}),
        Arm("tapegrad", "constants", "tape", {"n": 1000}),
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
    return (arm.engine, arm.workload, dict(arm.params)) == (cell.engine, cell.workload, cell.params)


def numbers(arm: Arm, measurements: Sequence[Measurement]) -> list[float] | str:
    """An arm's numbers, one for each process or one in all; a string that says why there are none."""
    for measurement in measurements:
        if not matches(arm, measurement.cell):
            continue
        if measurement.status != "ok":
            return f"{measurement.cell.row} {arm.engine}: {measurement.status}: {measurement.message}"
        if arm.metric in PHASES:
            found = [s.phases[arm.metric].floor_ns for s in measurement.samples if arm.metric in s.phases]
            return found or f"{arm.engine} has no {arm.metric}"
        number = None
        if arm.metric == "tape" and measurement.tape is not None:
            number = measurement.tape.instructions
        elif measurement.memory is not None and arm.metric != "tape":
            number = getattr(measurement.memory, arm.metric)
        if number is None:
            reason = measurement.memory.reason if measurement.memory is not None else None
            return f"{arm.engine} has no {arm.metric}" + (f": {reason}" if reason else "")
        return [float(number)]
    return f"{arm.workload} {arm.engine} was not measured"


def judge(hypothesis: Hypothesis, measurements: Sequence[Measurement]) -> Verdict:
    """The verdict: decided only where the whole interval lies on one side."""
    first, second = (numbers(arm, measurements) for arm in (hypothesis.first, hypothesis.second))
    engine = hypothesis.second.engine
    for found in (first, second):
        if isinstance(found, str):
            return Verdict(claim=hypothesis.claim, verdict="not measured", evidence=found, engine=engine)
    assert not isinstance(first, str)
    assert not isinstance(second, str)
    effect = compare(hypothesis.second.metric, first, second)
    arms = ", ".join(
        f"{_named(arm)} {_shown(arm.metric, min(found))}"
        for arm, found in ((hypothesis.first, first), (hypothesis.second, second))
    )
    interval = "" if effect.low == effect.high else f" ({effect.low:.3g} to {effect.high:.3g})"
    verdict: Literal["supported", "refuted", "undecided"] = "undecided"
    exact = hypothesis.second.metric not in PHASES
    if exact:
        verdict = "supported" if effect.ratio < 1.0 else "refuted"
    elif effect.p_value is not None and effect.p_value <= SIGNIFICANT:
        verdict = "supported" if effect.high < 1.0 else "refuted" if effect.low > 1.0 else "undecided"
    elif len(first) < LEAST_ROUNDS:
        interval += f"; {LEAST_ROUNDS} processes or more can decide"
    return Verdict(
        claim=hypothesis.claim,
        verdict=verdict,
        evidence=f"{arms}: second is {effect.ratio:.3g} × first{interval}",
        engine=engine,
    )


def _named(arm: Arm) -> str:
    size = ",".join(f"{key}={value}" for key, value in arm.params.items())
    return f"{arm.engine} {arm.workload}{f' {size}' if size else ''} {arm.metric}"


def _shown(metric: str, number: float) -> str:
    if metric in PHASES:
        return units.time(number)
    return units.size(number) if metric == "peak_bytes" else f"{number:g}"
