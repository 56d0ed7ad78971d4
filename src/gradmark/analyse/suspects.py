"""Suspects: why a cost may grow faster than the size, judged by which of the other metrics grow as fast.

In: the fits of one engine on one workload, and how much memory its smallest and its largest size take.
Out: a `Suspect` for each; `sentence` says it, and ends with what to look at next.
"""

from typing import Literal

from gradmark import units
from gradmark.analyse.scaling import LINEAR_BELOW, in_words
from gradmark.records import Fit, Record
from gradmark.records.metric import metric

Key = Literal[
    "primal",
    "function",
    "tape_instructions",
    "allocations",
    "allocated_bytes",
    "forward",
    "backward",
    "both",
    "total",
    "phase",
    "caches",
    "peak_bytes",
    "other",
]
# What may cause the growth of times and memory. Where the number of allocations explains it, their bytes add nothing.
CAUSES: tuple[Key, ...] = ("tape_instructions", "allocations", "allocated_bytes")
# Two exponents are about equal if no more than this lies between their intervals: caches that overflow turn n into
# n^1.1, which is why n^1.1 still counts as linear.
SLACK = LINEAR_BELOW - 1.0
CACHE = 1 << 20  # bytes: about what the caches of one core hold
MOST_OF_CACHES = 1.5  # memory is some ten times slower than caches: over three decades of sizes no more than n^1.33

ADVICE: dict[Key, str] = {
    "primal": "the function itself does more than linear work, before any engine. "
    "Look at the workload: its loops, and the number of operations that it declares.",
    "function": "the function itself grows as fast, so the engine is not the first suspect. "
    "Look at how total / primal changes with size.",
    "tape_instructions": "suspect that the same operations are recorded again and again. "
    "Look at the tape of the smallest size for instructions that repeat.",
    "allocations": "suspect hidden allocations, or a buffer that grows by fixed steps instead of doubling. "
    "Look at the allocations of each operator with `gradmark ops`.",
    "allocated_bytes": "suspect buffers that are copied whole: the allocations become larger, not more frequent. "
    "Look at what each operation copies.",
    "forward": "suspect that recording an operation takes longer as the tape grows, as copying or searching it would. "
    "Look at what one operation costs at the start and at the end of a long tape.",
    "backward": "suspect that adjoints are cleared more than once, or that instructions are visited more than once. "
    "Look at how often backward touches one instruction.",
    "both": "suspect one cause for both. Look at backward again once forward is fixed.",
    "total": "suspect what happens between forward and backward, such as resetting, clearing or freeing. "
    "Look at total − forward − backward at the largest size.",
    "phase": "nothing else that was measured grows as fast. Look at a profile of this phase at the largest size.",
    "caches": "suspect the machine before the engine: memory beyond the caches is slower. "
    "Look at the rate (GB/s, GFLOP/s) at each size, and at an engine that does the same work.",
    "peak_bytes": "suspect values that are kept longer than they are needed. "
    "Look at the retained and leaked bytes of the largest size.",
    "other": "nothing else that was measured grows as fast. Look at where it comes from at the largest size.",
}


class Suspect(Record, frozen=True, kw_only=True):
    """One thing that grows too fast, and what to suspect."""

    grown: Fit  # what grows faster than linearly
    key: Key  # what to suspect
    beside: Fit | None = None  # what it was compared with: its cause, the function, forward
    tape: Fit | None = None  # how the tape grows, if that is known and matters
    memory: tuple[float, float] | None = None  # bytes of the smallest and largest size, where caches are suspected
    family: str = ""  # `poly/n=*@tapegrad`

    @property
    def metric(self) -> str:
        """What grows."""
        return self.grown.metric


def suspects(fits: list[Fit], memory: tuple[float, float] | None = None, family: str = "") -> list[Suspect]:
    """What to suspect for each metric that is superlinear; empty if none is.

    memory: the bytes of the smallest and of the largest size, where the work is on arrays.
    """
    return _Growing(fits, memory, family).suspects()


def sentence(suspect: Suspect) -> str:
    """A suspect in words: what grows, what speaks for this suspect, and what to look at."""
    name = f"{suspect.family}: " if suspect.family else ""
    return f"{name}{in_words(suspect.grown)}{_evidence(suspect)}: {ADVICE[suspect.key]}"


class _Growing:
    """The superlinear fits of one family."""

    def __init__(self, fits: list[Fit], memory: tuple[float, float] | None, family: str) -> None:
        self.fits = {fit.metric: fit for fit in fits}
        self.steep = {fit.metric: fit for fit in fits if fit.verdict == "superlinear"}
        self.memory, self.family = memory, family

    def suspects(self) -> list[Suspect]:
        # Effects first: a cause that was named beside its effect needs no sentence of its own.
        order = sorted(self.steep, key=lambda name: (not metric(name).timed, name in CAUSES))
        listed: list[Suspect] = []
        named: set[str] = set()
        for name in order:
            if name not in named:
                suspected = self._suspected(self.steep[name])
                named.update(suspect.key for suspect in suspected)
                listed += suspected
        return listed

    def _suspected(self, grown: Fit) -> list[Suspect]:
        name = grown.metric
        primal = self.steep.get("primal")
        if name == "primal":
            return [self._caches(grown) or self._suspect(grown, "primal")]
        # An n² function has n² operations to record, store and propagate. Only growth beyond that is the engine's.
        if primal and keeps_pace(primal, grown):
            return [self._suspect(grown, "function", primal)]
        parts = [fit for part in ("forward", "backward") if (fit := self.steep.get(part))]
        if name == "total" and any(keeps_pace(part, grown) for part in parts):
            return []  # the sum of its parts, which have their own suspects
        allocations = self.steep.get("allocations")
        if name == "allocated_bytes" and allocations and keeps_pace(allocations, grown):
            return []  # more allocations are more bytes
        causes = self._causes(grown)
        if causes:
            return [self._suspect(grown, key, self.steep[key]) for key in causes]
        caches = self._caches(grown)
        if caches:
            return [caches]
        forward = self.fits.get("forward")
        if name == "backward":
            both = forward is not None and forward.verdict == "superlinear" and overlap(grown, forward)
            return [self._suspect(grown, "both" if both else "backward", forward)]
        return [self._suspect(grown, _own_key(name))]

    def _causes(self, grown: Fit) -> list[Key]:
        """The causes that grow about as fast as what they are to explain, or faster."""
        if grown.metric in CAUSES:  # they do not explain each other
            return []
        causes = [key for key in CAUSES if key in self.steep and keeps_pace(self.steep[key], grown)]
        return [key for key in causes if key != "allocated_bytes" or "allocations" not in causes]

    def _caches(self, grown: Fit) -> Suspect | None:
        """Where the smallest size fits into the caches and the largest does not, they explain some growth."""
        if self.memory is None or not metric(grown.metric).timed or grown.p >= MOST_OF_CACHES:
            return None
        crossed = self.memory[0] < CACHE < self.memory[1] / 4
        return self._suspect(grown, "caches") if crossed else None

    def _suspect(self, grown: Fit, key: Key, beside: Fit | None = None) -> Suspect:
        return Suspect(
            grown=grown,
            key=key,
            beside=beside,
            tape=self.fits.get("tape_instructions") if key in ("forward", "backward") else None,
            memory=self.memory if key == "caches" else None,
            family=self.family,
        )


def keeps_pace(cause: Fit, effect: Fit) -> bool:
    """Whether a cause grows about as fast as an effect, or faster: a slower one does not explain it."""
    return cause.high + SLACK >= effect.low


def overlap(one: Fit, other: Fit) -> bool:
    """Whether the intervals of two exponents overlap."""
    return one.low <= other.high and other.low <= one.high


def _own_key(name: str) -> Key:
    """What is suspected of a metric that nothing else explains."""
    own: dict[str, Key] = {
        "forward": "forward",
        "total": "total",
        "peak_bytes": "peak_bytes",
        "tape_instructions": "tape_instructions",
        "allocations": "allocations",
        "allocated_bytes": "allocated_bytes",
    }
    return own.get(name, "phase" if metric(name).phase else "other")


def _evidence(suspect: Suspect) -> str:
    """What speaks for this suspect: what grows too, or what does not."""
    key, beside = suspect.key, suspect.beside
    if beside is not None and key in (*CAUSES, "function", "both"):
        return f", and {in_words(beside)}"
    if key == "forward":
        return f", while {_tape(suspect.tape)}"
    if key == "backward":
        return f"{_forward(beside)} {_tape(suspect.tape)}"
    if key == "total":
        return ", while neither forward nor backward grows as fast"
    if key == "peak_bytes":
        return ", while neither the tape nor the allocations grow as fast"
    if key == "caches" and suspect.memory:
        return f", while its memory goes from {' to '.join(map(units.size, suspect.memory))}"
    return ""


def _forward(forward: Fit | None) -> str:
    """How forward grows beside a backward that it does not explain."""
    if forward is None or forward.verdict == "unclear":
        return ", while"
    if forward.verdict == "superlinear":
        return f", unlike forward (n^{forward.p:.2f}, {forward.low:.2f} to {forward.high:.2f}), while"
    return f", while forward is {forward.verdict} and"


def _tape(tape: Fit | None) -> str:
    """How the tape grows beside a time that it does not explain."""
    if tape is None:
        return "the tape was not measured"
    if tape.verdict == "superlinear":
        return f"the tape grows more slowly (n^{tape.p:.2f}, {tape.low:.2f} to {tape.high:.2f})"
    return "it is unclear how the tape grows" if tape.verdict == "unclear" else f"the tape is {tape.verdict}"
