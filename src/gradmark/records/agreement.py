"""Agreement: have the processes of a cell found its time, or should there be more of them?

In: a measurement. Out: whether the fastest processes agree. The rule looks at nothing but how close processes on a calm
machine lie together. `benchmarks/two_states.py` simulates its bias.
"""

from gradmark.records.measurement import Measurement
from gradmark.records.number import OF_ROW
from gradmark.records.times import calm_floor_ns

# So many of the fastest processes must lie so close together. Each process has a layout in memory of its own, which
# moves a time by 1 to 3 %, and some rows have two layouts 12 % apart. A time that three processes found is no luck.
AGREEING, WITHIN = 3, 1.015
# And so many processes must have had a calm machine: the first three to agree may all have the slower layout.
LEAST_PROCESSES = 6


def agreed(measurement: Measurement) -> bool:
    """Whether no further process is needed; of a cell that does not work, none is."""
    if measurement.status != "ok" or not measurement.samples:
        return True
    phase = next((name for name in OF_ROW if any(name in sample.phases for sample in measurement.samples)), None)
    if phase is None:
        return True
    floors = [ns for sample in measurement.samples if (ns := calm_floor_ns(sample, phase)) is not None]
    fastest = sorted(floors)[:AGREEING]
    return len(floors) >= LEAST_PROCESSES and fastest[-1] <= WITHIN * fastest[0]
