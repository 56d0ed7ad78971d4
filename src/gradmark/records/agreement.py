"""Agreement: is a cell's time known well enough, or should there be more processes?

In: a measurement. Out: whether its interval is narrow. The rule looks at nothing but the width of what is shown.
`benchmarks/two_states.py` simulates its bias.
"""

from gradmark.records.measurement import Measurement
from gradmark.records.number import OF_ROW
from gradmark.records.order import interval_of_median
from gradmark.records.times import half_width, process_time_ns, typical

# Half the width of the interval, as a share of the time. Each process has a layout of its own, which moves a time by 1
# to 4 %: nine to sixty processes bring most rows within this.
NARROW = 0.01
# With fewer processes the interval is the range of nearly all of them, and narrow by chance.
LEAST_PROCESSES = 9


def agreed(measurement: Measurement) -> bool:
    """Whether no further process is needed; of a cell that does not work, none is."""
    if measurement.status != "ok" or not measurement.samples:
        return True
    phase = phase_of_row(measurement)
    if phase is None:
        return True
    times = [ns for sample in measurement.samples if (ns := process_time_ns(sample, phase)) is not None]
    return len(times) >= LEAST_PROCESSES and is_narrow(times)


def phase_of_row(measurement: Measurement) -> str | None:
    """The phase whose time stands for the row, as far as it was timed."""
    return next((name for name in OF_ROW if any(name in sample.phases for sample in measurement.samples)), None)


def is_narrow(times_ns: list[float]) -> bool:
    """Whether the interval of the median is narrow enough."""
    low, high, _ = interval_of_median(times_ns)
    width = half_width(low, high, typical(times_ns).value)
    return width is not None and width <= NARROW
