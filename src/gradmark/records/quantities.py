"""Quantities: the numbers and words that records are made of, and what of each makes sense.

What is declared here is checked where a record is decoded (`records/decoding.py`), and nowhere else. Bounds are wide:
they keep out what no machine can give, so that sums, ratios and powers of what is kept stay finite.
"""

from typing import Annotated

from msgspec import Meta

# Thirty years in nanoseconds. A block may be below zero: what was taken off for the harness is itself measured.
MOST_NS = 1e18
Nanoseconds = Annotated[float, Meta(ge=-MOST_NS, le=MOST_NS)]
# A pilot is work of microseconds, and times are divided by it.
PilotNs = Annotated[float, Meta(ge=1e-3, le=MOST_NS)]
# Up to where a double holds every whole number.
Whole = Annotated[int, Meta(ge=0, le=2**53)]
# What is counted in one iteration, on average; less than zero where plain numbers need more.
Amount = Annotated[float, Meta(ge=-1e18, le=1e18)]
# Errors of a gradient; 1e300 stands for one that is not finite (`measure/reference`).
GradientError = Annotated[float, Meta(ge=0.0, le=1e300)]
# Flops and bytes, as a workload declares them.
Work = Annotated[float, Meta(ge=0.0, le=1e30)]
Seconds = Annotated[float, Meta(gt=0.0, le=1e9)]
# ISO 8601; runs are sorted by it.
MOMENT = r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]\d\d:\d\d)$"
Moment = Annotated[str, Meta(pattern=MOMENT)]
# Of a file's format; the first was 1.
Version = Annotated[int, Meta(ge=1, le=2**31)]
# What a pilot loads: see `records/pilots.py`.
PILOT_KIND, LEVEL_KIND = "^(core|memory|device)$", "^(core|memory|device|clock)$"
PilotKind = Annotated[str, Meta(pattern=PILOT_KIND)]
LevelKind = Annotated[str, Meta(pattern=LEVEL_KIND)]
# What a device was measured to do in a second: bytes of a copy, operations of a product in the dtype of the row.
ROOF_KIND = "^(bytes|flops)$"
RoofKind = Annotated[str, Meta(pattern=ROOF_KIND)]
# What is said in place of a pattern.
IN_WORDS = {
    MOMENT: "a moment such as 2026-01-31T12:00:00+00:00",
    PILOT_KIND: "core, memory or device",
    LEVEL_KIND: "core, memory, device or clock",
    ROOF_KIND: "bytes or flops",
}
