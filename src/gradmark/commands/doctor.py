"""`gradmark doctor`: is this machine fit to measure on, and what to do about it."""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from gradmark.commands.helping import Verb
from gradmark.commands.terminal import Styled, say
from gradmark.measure.fitness import Check, extras, machine, platform, tools

if TYPE_CHECKING:
    from gradmark.analyse.states import States, Visit
    from gradmark.records import Sample

# How long all that is measured takes, and how much of it the cores are watched.
SECONDS = 10.0
WATCHING = 0.4
# How long a core is watched at a time, where there are several; so many of them are watched.
VISIT_S = 0.5
MOST_CORES = 8
# A core that is calm for less of the time deserves a look; one that is calm for almost none of it is never calm.
OFTEN_CALM, NEVER_CALM = 0.7, 0.05
# A core is clearly calmer than another if it is calm for so much more of the time.
CLEARLY = 0.1
# Fewer calm processes say nothing of noise. Draws of two halves of them.
LEAST_PROCESSES = 6
DRAWS = 2000
# Equal things that differ by less are steady. No slowdown below the second is called visible.
STEADY, LEAST_SEEN = 0.03, 0.01
MINUTE_S = 60.0
# As wide as a terminal that nobody has widened.
WIDTH = 80
ELSEWHERE = "measure on another machine, or at another time"


@click.command(cls=Verb, examples=("gradmark doctor", "gradmark doctor --seconds 60"))
@click.option(
    "--seconds", default=SECONDS, show_default=True, help="Duration of all measurements together; 0 skips them."
)
def command(seconds: float) -> None:
    """Check whether this machine is fit to measure on.

    It looks at the clock, the load, the CPU and the tools, watches each core for slow moments, and measures the noise.
    """
    show([*machine(), *tools(), *platform(), *extras()])
    if seconds > 0:
        show(cores(WATCHING * seconds))
        show(noise((1.0 - WATCHING) * seconds))


def show(checks: Sequence[Check]) -> None:
    """Each check with its mark."""
    for check in checks:
        mark = Styled("ok  ", "green") if check.good else Styled("look", "yellow", bold=True)
        first, *rest = [line for text in (check.what, *check.details, check.advice) for line in wrapped(text)]
        say(mark, f"  {first}")
        for line in rest:
            say(f"      {line}")


def wrapped(text: str) -> list[str]:
    """The lines of a text that stands beside a mark."""
    import textwrap

    return textwrap.wrap(text, WIDTH - len("look  "))


def cores(seconds: float) -> list[Check]:
    """Each core that may be used: when it was calm, slow or taken by others; and which one to use."""
    from gradmark.analyse import states
    from gradmark.commands.progress import working
    from gradmark.errors import GradmarkError
    from gradmark.measure import watching
    from gradmark.report.tables.states import legend

    usable = watching.allowed()
    watched = usable[-MOST_CORES:]  # the last ones: runs use these
    rounds = max(1, round(seconds / VISIT_S / len(watched))) if len(watched) > 1 else 1
    visit_ns = int(seconds * 1e9 / rounds / max(1, len(watched)))
    with working(f"watching the cores for {seconds:g} s"):
        try:
            visited = watching.watch(watching.Order(cores=watched, rounds=rounds, visit_ns=visit_ns))
        except GradmarkError as error:
            return [Check(False, f"cores: could not be watched: {error}")]
    visits: dict[int, list[Visit]] = {}
    for visit in visited:
        visits.setdefault(visit.core, []).append([states.Look(*look) for look in visit.pilots])
    reference = states.reference_ns(visits.values())
    by_core = {core: states.states(visits[core], reference) for core in visits}
    checks = [one_core(f"core {core}" if watched else "the core", by_core[core]) for core in by_core]
    return [
        Check(True, how_watched(watched, usable), details=(legend(by_core[visited[0].core], sys.stdout.encoding),)),
        *said_once(checks),
        *([choice(by_core, usable)] if len(watched) > 1 else []),
    ]


def said_once(checks: Sequence[Check]) -> list[Check]:
    """The checks, each advice only where it stands last."""
    later = [{check.advice for check in checks[place + 1 :]} for place in range(len(checks))]
    return [
        replace(check, advice="") if check.advice in after else check
        for check, after in zip(checks, later, strict=True)
    ]


def how_watched(watched: Sequence[int], usable: Sequence[int]) -> str:
    """What was watched, of what there is."""
    if not watched:
        return "watched: whichever core the system chose; this platform cannot pin a process"
    if len(watched) == 1:
        return f"watched: core {watched[0]}, the only one that may be used"
    which = "all" if len(watched) == len(usable) else f"the last {len(watched)} of {len(usable)}"
    return f"watched: {which} cores, in turns: two may be halves of one physical core"


def one_core(name: str, states: "States") -> Check:
    """One core: its picture, what its states are like, and what to do if it is seldom calm."""
    from gradmark.report.tables.states import lines, percentage

    calm = states.share("calm")
    return Check(
        calm >= OFTEN_CALM,
        f"{name}: {percentage(calm)} calm",
        "" if calm >= OFTEN_CALM else remedy(states),
        tuple(lines(states, sys.stdout.encoding)),
    )


def remedy(states: "States") -> str:
    """What to do about a core that is seldom calm."""
    if states.share("taken") > states.share("slow"):
        return f"close other programs; if there are none, the host takes the core: {ELSEWHERE}"
    if states.share("calm") < NEVER_CALM:
        return ELSEWHERE
    return "measure with --full: with more processes, enough of them meet calm moments"


def choice(by_core: "Mapping[int, States]", usable: Sequence[int]) -> Check:
    """Which core is the calmest, and whether runs use it. All else goes on on the cores before it, if there are any."""
    from gradmark.report.tables.states import percentage

    calm = {core: states.share("calm") for core, states in by_core.items()}
    used = usable[-1]
    best = max(calm, key=lambda core: (calm[core], core))
    if calm[best] < NEVER_CALM:
        return Check(False, "best core: none; all are slow or taken", ELSEWHERE)
    if calm[best] < calm[used] + CLEARLY:
        return Check(True, f"best core: {used}, which runs use; no other is clearly calmer")
    up_to = f"{usable[0]}-{best}" if usable[0] < best else f"{best}"
    return Check(
        False,
        f"best core: {best}, {percentage(calm[best])} calm; runs use core {used}, {percentage(calm[used])} calm",
        f"`taskset -c {up_to} gradmark run …` measures on core {best}: workers take the last core that they may use",
    )


def noise(seconds: float) -> list[Check]:
    """The same work in fresh processes, compared with itself: how different can equal things look here?"""
    import time

    from gradmark.commands.progress import working
    from gradmark.measure import process
    from gradmark.measure.job import Job
    from gradmark.records import Cell, Settings
    from gradmark.records.pilots import Reference
    from gradmark.revisions import contest

    cell = Cell(engine="python-floats", workload="poly", suite="scalar", params={"n": 1000})
    settings = contest.settings_of(Settings(huge_pages=False), contest.PAIRS)
    samples: list[Sample] = []
    reference = Reference()
    with working(f"measuring noise for {seconds:g} s"):
        start_s = now_s = time.monotonic()
        while now_s < start_s + seconds:
            result = process.run(Job(kind="time", cell=cell, settings=settings, pilots=reference.levels()))
            if result.sample is None:
                return [Check(False, f"noise: could not be measured: {result.message}")]
            samples.append(result.sample)
            reference.add(result.sample.phases["primal"].pilots)
            now_s = time.monotonic()
    return [smallest(calm_times(samples, reference.levels()), len(samples), now_s - start_s)]


def calm_times(samples: "Sequence[Sample]", reference: Mapping[str, float]) -> list[float]:
    """The times of the processes that met a calm machine, as all pilots together know it."""
    from gradmark.records.sample import with_one_harness, with_reference
    from gradmark.records.times import process_time_ns

    known = with_one_harness([with_reference(sample, reference) for sample in samples])
    return [ns for sample in known if (ns := process_time_ns(sample, "primal")) is not None]


def smallest(times_ns: Sequence[float], processes: int, seconds: float) -> Check:
    """The smallest slowdown that a gate sees in one minute."""
    from gradmark.gate.timing import TIMES_NOISE
    from gradmark.report.model.characters import plural

    if len(times_ns) < LEAST_PROCESSES:
        few = processes < LEAST_PROCESSES
        return Check(
            False,
            "smallest detectable slowdown: unknown; "
            f"{len(times_ns)} of {plural(processes, 'process')} met a calm machine, and {LEAST_PROCESSES} are needed",
            "give it more time with --seconds" if few else ELSEWHERE,
        )
    fitting = round(MINUTE_S * processes / seconds)
    pairs = max(1, fitting // 2)
    arm = min(len(times_ns) // 2, pairs)
    whole = min(2 * arm, pairs)
    error = aa_error(times_ns, arm) / math.sqrt(whole / arm)
    good = error < STEADY
    cause = (
        "processes differ on a calm machine too"
        if len(times_ns) == processes
        else "not every process met a calm machine"
    )
    return Check(
        good,
        f"smallest detectable slowdown in one minute: about {100 * max(LEAST_SEEN, TIMES_NOISE * error):.0f} %",
        "" if good else f"{cause}: measure with --full, which uses more processes",
        (
            f"{len(times_ns)} of {plural(processes, 'process')} met a calm machine; the medians of two "
            f"equal groups of {whole} differ by up to {100 * error:.1f} % (95th percentile)",
            f"in one minute {plural(fitting, 'process')} of a short row can be measured, {plural(pairs, 'pair')}"
            + (", which may show smaller differences" if pairs > whole else ""),
        ),
    )


def aa_error(times_ns: Sequence[float], arm: int) -> float:
    """The 95th percentile of |ratio - 1| of the medians of two arms of so many, drawn from equal processes.

    Arms of twice as many differ by less: by the root of two.
    """
    import random
    from statistics import median

    draw = random.Random(0)
    errors = []
    for _ in range(DRAWS):
        drawn = draw.sample(times_ns, 2 * arm)
        errors.append(abs(median(drawn[:arm]) / median(drawn[arm:]) - 1.0))
    return sorted(errors)[int(0.95 * DRAWS)]
