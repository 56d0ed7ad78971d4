"""Numbers with units, as people read them."""

import math
from collections.abc import Callable, Mapping

Units = tuple[tuple[float, str], ...]
TIMES: Units = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
BYTES: Units = ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))
COUNTS: Units = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def _scaled(number: float, units: Units) -> str:
    if not math.isfinite(number):
        return str(number)
    if abs(number) >= 1e6 * units[0][0]:  # of no unit a number that anybody reads
        return f"{number / units[0][0]:.1e} {units[0][1]}".rstrip()
    # 999.6 of one unit is shown as 1.00 of the next
    factor, unit = next((pair for pair in units if abs(number) >= 0.9995 * pair[0]), units[-1])
    value = number / factor
    digits = 0 if factor == 1 and value == int(value) else 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:.{digits}f} {unit}".rstrip()


def time(ns: float) -> str:
    """Nanoseconds as a time.

    >>> time(1234.5)
    '1.23 µs'
    """
    return _scaled(ns, TIMES)


def size(count: float) -> str:
    """Bytes as a size.

    >>> size(1536)
    '1.50 KiB'
    """
    return _scaled(count, BYTES)


def count(number: float) -> str:
    """A count with a metric prefix, as far as there are any.

    >>> count(45_600_000)
    '45.6 M'
    """
    return f"{number:.1e}" if math.isfinite(number) and abs(number) >= 1e15 else _scaled(number, COUNTS)


def flops(per_s: float) -> str:
    """Floating-point operations per second.

    >>> flops(12.3e9)
    '12.3 GFLOP/s'
    """
    return _joined(count(per_s), "FLOP/s")


def traffic(per_s: float) -> str:
    """Bytes per second, in powers of ten as memory is sold.

    >>> traffic(8.1e9)
    '8.10 GB/s'
    """
    return _joined(count(per_s), "B/s")


def _joined(number: str, unit: str) -> str:
    """A number with its prefix put before a unit."""
    return f"{number}{unit}" if number.endswith(("k", "M", "G", "T")) else f"{number} {unit}"


def percent(ratio: float) -> str:
    """A ratio of 1.05 as a change.

    >>> percent(1.05)
    '+5.0 %'
    """
    return f"{_change(ratio - 1, 1)} %"


def ulps(number: float) -> str:
    """Units of the last place.

    >>> ulps(1.615)
    '1.61 ulp'
    """
    return f"{number:.1e} ulp" if math.isfinite(number) and abs(number) >= 1e6 else f"{count(number)} ulp"


def part(share: float) -> str:
    """A part of a whole.

    >>> part(0.872)
    '87 %'
    """
    return f"{100 * share:.0f} %" if math.isfinite(share) and abs(share) < 1e6 else f"{100 * share:.1e} %"


def within(share: float) -> str:
    """How far a number may lie from the truth, to either side.

    >>> within(0.0123), within(0.0), within(0.1)
    ('±1.2 %', '±0.0 %', '±10 %')
    """
    return f"±{_change(abs(share), 1 if 100 * abs(share) < 9.95 else 0).lstrip('+')} %"


def _change(share: float, digits: int) -> str:
    large = math.isfinite(share) and abs(share) >= 1e6
    return f"{100 * share:+.1e}" if large else f"{100 * share:+.{digits}f}"


def times(ratio: float) -> str:
    """A factor, as it is said: three digits, and thousands with commas.

    >>> times(1.4142), times(23.456), times(1880.4)
    ('1.41', '23.5', '1,880')
    """
    if not math.isfinite(ratio):
        return str(ratio)
    if abs(ratio) >= 1e9:
        return f"{ratio:.1e}"
    digits = 2 if abs(ratio) < 9.995 else 1 if abs(ratio) < 99.95 else 0
    rounded = round(ratio, digits)
    return f"{float(f'{rounded:.3g}'):,.0f}" if digits == 0 else f"{rounded:.{digits}f}"


# How a number of each unit of the registry is written.
FORMS: Mapping[str, Callable[[float], str]] = {
    "time": time,
    "bytes": size,
    "count": count,
    "rate": count,
    "flops": flops,
    "traffic": traffic,
    "share": within,
    "ratio": times,
    "ulp": ulps,
    "relative": "{:.1e}".format,
    "part": part,
}


def text(unit: str, number: float) -> str:
    """A number of a metric, in its unit.

    >>> text("time", 1234.5), text("ratio", 3.0), text("relative", 2.5e-16)
    ('1.23 µs', '3.00', '2.5e-16')
    """
    return FORMS[unit](number)
