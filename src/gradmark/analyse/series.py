"""Series: kept runs sorted by what makes their times comparable: class of machine, Python, way of measuring.

In: outlines of runs. Out: groups whose runs are points of one series, each with words that no other group has. Machines
of one class whose calibrations say that they are not alike are groups of their own.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from gradmark import units
from gradmark.analyse.paired import MEANING
from gradmark.records.calibration import speed
from gradmark.records.identity import MachineClass
from gradmark.records.outline import Outline

# Machines of one class whose fixed work takes this many times as long as another's are told apart: what they differ by
# would else be taken for steps of every row, which are reported from there on.
ALIKE = 1.05
# Calibrated runs by which a machine is judged: the middle one of fewer may be a slow night.
LEAST_RUNS = 3


@dataclass(frozen=True)
class Group:
    """Runs that are points of one series, oldest first."""

    machine: str  # in words, with the way of measuring
    machine_class: MachineClass
    runs: list[Outline]
    speeds: list[float | None] = field(default_factory=list)  # of each run: times what its fixed work usually takes


def groups(outlines: Sequence[Outline]) -> list[Group]:
    """The groups, in the order of their first runs."""
    ordered = sorted(outlines, key=lambda run: (run.heading.started, run.id))
    alike: dict[tuple[object, ...], list[Outline]] = {}
    for run in ordered:
        alike.setdefault(_key(run), []).append(run)
    names: dict[str, int] = {}
    named_groups: list[Group] = []
    for runs in alike.values():
        for instance, members in _told_apart(runs).items():
            name = ", ".join(filter(None, [_words(members[0]), f"machine {instance}" if instance else ""]))
            names[name] = names.get(name, 0) + 1
            name += f" ({names[name]})" if names[name] > 1 else ""
            named_groups.append(Group(name, members[0].machine_class, members, speeds(members)))
    return named_groups


def _key(run: Outline) -> tuple[object, ...]:
    here, how = run.heading.environment, run.heading.settings
    return (run.machine_class.digest, here.python, *(getattr(how, name) for name in MEANING))


def usual_levels(runs: Sequence[Outline]) -> dict[str, float]:
    """What each kind of fixed work takes in the middle run."""
    every: dict[str, list[float]] = {}
    for run in runs:
        for kind, ns in run.heading.levels.items():
            every.setdefault(kind, []).append(ns)
    return {kind: median(levels) for kind, levels in every.items()}


def speeds(runs: Sequence[Outline]) -> list[float | None]:
    """Of each run how many times as long fixed work took as it usually does; None where nobody knows."""
    usual = usual_levels(runs)
    return [speed(run.heading.levels, usual) for run in runs]


def _told_apart(runs: Sequence[Outline]) -> Mapping[str, list[Outline]]:
    """The machines of a class, each by its id, if one is slower than another; else all under no name."""
    by_instance: dict[str, list[Outline]] = {}
    for run in runs:
        by_instance.setdefault(run.heading.environment.instance, []).append(run)
    usual = usual_levels(runs)
    typical = []
    for members in by_instance.values():
        known = [ratio for run in members if (ratio := speed(run.heading.levels, usual)) is not None]
        if len(known) >= LEAST_RUNS:
            typical.append(median(known))
    if len(typical) < 2 or max(typical) / min(typical) <= ALIKE:
        return {"": list(runs)}
    return by_instance


def _words(run: Outline) -> str:
    how = run.heading.settings
    words = [
        run.machine_class.words,
        run.heading.environment.python,
        f"{how.threads} thread{'s' * (how.threads != 1)}",
        f"blocks of {units.time(how.block_ns)}",
        "" if how.pin else "not pinned",
        "--full" if how.full else "",
        "forked workers" if how.forked else "",
    ]
    return ", ".join(filter(None, words))


def moved(speeds: Sequence[float | None], place: int, window: int) -> float | None:
    """How many times as long fixed work takes from a run on as before it; None if neither side knows."""
    before = [math.log(ratio) for ratio in speeds[max(0, place - window) : place] if ratio is not None]
    after = [math.log(ratio) for ratio in speeds[place : place + window] if ratio is not None]
    return math.exp(median(after) - median(before)) if before and after else None
