"""Samples: every timed block of every process over the pilots around it, and what these say of the number shown.

In: material. Out: the chart of the section on samples. Which blocks count is decided in `records`, not here.
"""

import math
from collections.abc import Iterator
from statistics import median

from gradmark import units
from gradmark.records import Measurement, Phase, metric, pilots, times
from gradmark.report.model.characters import one_line, plural
from gradmark.report.page.chart import FARTHEST, NOTHING, Axis, Blocks, Chart, Course, View, letters, short
from gradmark.report.page.material import Entry, Material

# With one phase of 880 rows, 176,000 samples, a page is 5.3 MB with pilots and 4.5 without; it is to stay below 8.
MOST_SAMPLES = 180_000
# A block in which the machine did something else for a whole time slice takes ten times as long as the others. What
# takes more than this many times the typical block is drawn at the upper edge, else nobody could see the others apart.
HIGHEST = 2.0
# Reads from memory scatter by a third, so hundredths tell enough. By what the core's pilots take, blocks are corrected.
PARTS = {pilots.CORE: 1000, pilots.MEMORY: 100, pilots.DEVICE: 1000}
COURSES = {kind: Course(parts=PARTS[kind], limit=round(PARTS[kind] * (calm - 1))) for kind, calm in pilots.CALM.items()}
PILOTS = (
    " Pilots are short fixed work before and after each block; they are drawn as multiples of what they take on a calm "
    "machine."
)
NO_PILOTS = "This file has no pilots: which of its blocks were calm is unknown."


def samples(material: Material) -> Chart:
    """One view for each cell and phase: every timed block, process after process."""
    timed = [entry for entry in material.fine if any(s.phases for s in entry.measurement.samples)]
    count = sum(len(p.block_ns) for e in timed for s in e.measurement.samples for p in s.phases.values())
    shown = [
        Timed(entry, phase)
        for entry in timed
        for phase in _phases(entry.measurement)[: 1 if count > MOST_SAMPLES else None]
    ]
    kinds = [kind for kind in COURSES if any(one.has(kind) for one in shown)]
    left = f" This run has {count:,} samples: one phase of each row is shown, the run file has all."
    return Chart(
        id="samples-chart",
        title="Every timed block as it was measured, processes shaded in turn."
        + (PILOTS if kinds else "")
        + (left if count > MOST_SAMPLES else ""),
        selects=["Row", "Phase"],
        views=[one.view() for one in shown],
        missing="" if shown else "No row has a time.",
        times=[one.times() for one in shown],
        pilots={kind: [one.pilots(kind) for one in shown] for kind in kinds},
    )


def _phases(measurement: Measurement) -> list[str]:
    """The phases that were timed, the whole first."""
    timed = [
        entry.name
        for entry in metric.metrics_of(measurement)
        if entry.phase and any(times.is_timed(sample, entry.name) for sample in measurement.samples)
    ]
    return sorted(timed, key=lambda name: name != times.WHOLE)


class Timed:
    """One phase of one row: the processes that timed it."""

    def __init__(self, entry: Entry, phase: str) -> None:
        self.entry, self.phase = entry, phase
        self.samples = [sample for sample in entry.measurement.samples if times.is_timed(sample, phase)]
        self.parts = [sample.phases[phase] for sample in self.samples]
        self.blocks = [ns for part in self.parts for ns in part.block_ns]
        self.counted = [sample.phases[phase] for sample in times.counting(self.samples, phase)]
        self.calm = [part.block_ns[k] for part in self.parts for k in part.calm if part.watched]
        self.never_calm = times.never_calm(self.samples, phase)
        self.number = entry.row.numbers.get(phase)
        self.low = min(self.blocks)
        # A thousandth of the fastest block, or more where letters end.
        self.step = max(self.low / 1000, (max(self.blocks) - self.low) / FARTHEST) or 1.0

    def view(self) -> View:
        """All but the times and the pilots."""
        number, top = self.number, self._top()
        return View(
            keys=[one_line(self.entry.row.cell.id), self.phase],
            answer=f"{self._states()} {self._shown()}",
            summary=" ".join(self._summary(top)),
            x=Axis(title="block, in the order of measuring"),
            y=Axis(title=f"{self.phase}, time of an iteration", unit="time"),
            series=[],
            cells=[self.entry.place],
            blocks=Blocks(
                processes=[(s.process + 1, len(p.block_ns)) for s, p in zip(self.samples, self.parts, strict=True)],
                low=self.low,
                step=self.step,
                top=top,
                shown=number.value if number is not None and number.how != "derived" else None,
                pilots={kind: course for kind, course in COURSES.items() if self.has(kind)},
            ),
        )

    def times(self) -> str:
        """Each block in steps above the lowest."""
        return letters([round((ns - self.low) / self.step) for ns in self.blocks])

    def has(self, kind: str) -> bool:
        """Whether some process has pilots of a kind."""
        return any(_seen(part, kind) for part in self.parts)

    def pilots(self, kind: str) -> str:
        """Before and after each block; nothing where no process has any."""
        return "".join(_taken(part, kind) for part in self.parts) if self.has(kind) else ""

    def _top(self) -> float:
        """Where the axis of times ends."""
        typical, highest = median(self.calm or self.blocks), max(self.blocks)
        return short(HIGHEST * typical) if 0 < HIGHEST * typical < highest else highest

    def _states(self) -> str:
        """How much of the time the machine was calm, and how slow it was otherwise."""
        watched = [part for part in self.parts if part.watched]
        if not watched:
            return NO_PILOTS
        count, calm = sum(len(part.block_ns) for part in watched), len(self.calm)
        if calm == count:
            return f"All {plural(count, 'block')} were calm."
        slow = median(ratio for part in watched for ratio in _slow(part))
        slowed = f"slow pilots took {slow:.1f} times as long as on a calm machine (median)"
        if self.never_calm:
            few = f"no process had {pilots.LEAST_CALM} calm blocks" if calm else "no block was calm"
            return f"The machine was never calm: {few}; {slowed}."
        return f"{math.floor(100 * calm / count) or 'Less than 1'} % of the blocks were calm; {slowed}."

    def _shown(self) -> str:
        """What the number of the table is made of."""
        if self.number is None:
            return f"The table shows no number for {self.phase}."
        text = f"The number shown, {units.time(self.number.value)},"
        if self.number.how == "derived":
            return f"{text} is computed from other phases."
        if not any(part.watched for part in self.counted):
            return f"{text} is the fastest block."
        if not self.number.calm:
            return f"{text} is made of slow blocks{' too' if self.calm else ''}, and decides nothing."
        several = len(self.counted) > 1
        return f"{text} is the calm time{f' (median over {len(self.counted)} processes)' * several}."

    def _summary(self, top: float) -> Iterator[str]:
        yield f"{plural(len(self.parts), 'process')}, {plural(len(self.blocks), 'block')}."
        each = [part.time_ns for part in self.counted]
        fastest, slowest = units.time(min(each)), units.time(max(each))
        several = len(each) > 1
        if any(part.watched for part in self.counted):
            counted_blocks = "blocks" if self.never_calm else "calm blocks, at the clock of the reference,"
            apart = f" in the fastest process, {slowest} in the slowest" if several else ""
            yield f"The lower quartile of the {counted_blocks} is {fastest}{apart}."
        else:
            apart = f"; those of the processes lie between that and {slowest}" if several else ""
            yield f"The fastest block took {fastest}{apart}."
        few = len(self.parts) - len(self.counted)
        if few:
            yield f"Not counted: {plural(few, 'process')} with fewer than {pilots.LEAST_CALM} calm blocks."
        beyond = sum(ns > top for ns in self.blocks)
        if beyond:
            yield f"{plural(beyond, 'block')} took longer than {units.time(top)}: drawn at the upper edge."


def _seen(part: Phase, kind: str) -> bool:
    """Whether pilots of a kind say something of a phase."""
    return kind in part.pilots and kind in part.reference


def _slow(part: Phase) -> Iterator[float]:
    """The pilots that saw a slow machine, as multiples of their reference."""
    for kind, level in part.reference.items():
        for pair in part.pilots.get(kind, ()):
            yield from (ns / level for ns in pilots.having_a_say(kind, pair) if ns > pilots.CALM[kind] * level)


def _taken(part: Phase, kind: str) -> str:
    """The pilots of one process. Rounding moves none over the limit, nor below it; of slow ones hundredths are kept."""
    if not _seen(part, kind):
        return 2 * NOTHING * len(part.block_ns)
    parts, limit, level = COURSES[kind].parts, COURSES[kind].limit, part.reference[kind]
    limit_ns, hundredth = pilots.CALM[kind] * level, parts // 100

    def above(ns: float) -> int:
        over = ns / level - 1
        return round(parts * over) if ns <= limit_ns else max(limit + 1, hundredth * round(100 * over))

    return letters([above(ns) for pair in part.pilots[kind] for ns in pair])
