"""Numbers as people read them."""

import math
from typing import get_args

import pytest

from gradmark import units
from gradmark.records import metric


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (0.5, "0.50 ns"),
        (1, "1 ns"),
        (3.14159, "3.14 ns"),
        (31.4159, "31.4 ns"),
        (314.159, "314 ns"),
        (999.7, "1.00 µs"),
        (1000, "1.00 µs"),
        (2_500_000, "2.50 ms"),
        (60e9, "60.0 s"),
        (3600e9, "3600 s"),
        (-1234.5, "-1.23 µs"),
        (math.inf, "inf"),
        (math.nan, "nan"),
    ],
)
def test_time(ns, text):
    assert units.time(ns) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1, "1 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (1 << 20, "1.00 MiB"), (8 << 30, "8.00 GiB")],
)
def test_size(count, text):
    assert units.size(count) == text


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (7, "7"), (0.25, "0.25"), (1000, "1.00 k"), (45_600_000, "45.6 M"), (2e12, "2.00 T")]
)
def test_count(number, text):
    assert units.count(number) == text


@pytest.mark.parametrize(("ratio", "text"), [(1.0, "+0.0 %"), (1.05, "+5.0 %"), (0.5, "-50.0 %"), (3.0, "+200.0 %")])
def test_percent(ratio, text):
    assert units.percent(ratio) == text


@pytest.mark.parametrize(("ns", "text"), [(9.996, "10.0 ns"), (99.96, "100 ns")])
def test_rounding_up_to_fewer_digits(ns, text):
    assert units.time(ns) == text


@pytest.mark.parametrize(
    ("per_s", "text"),
    [(0, "0 FLOP/s"), (999, "999 FLOP/s"), (1.5e6, "1.50 MFLOP/s"), (12.3e9, "12.3 GFLOP/s"), (math.inf, "inf FLOP/s")],
)
def test_flops(per_s, text):
    assert units.flops(per_s) == text


def test_traffic():
    assert [units.traffic(n) for n in (5, 8.1e9, 2e12)] == ["5 B/s", "8.10 GB/s", "2.00 TB/s"]


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "±0.0 %"),
        (0.0123, "±1.2 %"),
        (0.0994, "±9.9 %"),
        (0.0996, "±10 %"),
        (1.21, "±121 %"),
        (math.inf, "±inf %"),
    ],
)
def test_within(share, text):
    assert units.within(share) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.034, "0.03"),
        (1.0, "1.00"),
        (1.4142, "1.41"),
        (9.996, "10.0"),
        (23.456, "23.5"),
        (99.96, "100"),
        (999.6, "1,000"),
        (1884.4, "1,880"),
        (1_234_567.0, "1,230,000"),
        (math.inf, "inf"),
        (math.nan, "nan"),
    ],
)
def test_times(ratio, text):
    assert units.times(ratio) == text


@pytest.mark.parametrize(
    ("unit", "number", "text"),
    [
        ("time", 2500.0, "2.50 µs"),
        ("bytes", 4096, "4.00 KiB"),
        ("count", 12, "12"),
        ("share", 0.5, "±50 %"),
        ("ratio", 2.5, "2.50"),
        ("rate", 8e6, "8.00 M"),
        ("flops", 4e9, "4.00 GFLOP/s"),
        ("traffic", 2e9, "2.00 GB/s"),
        ("relative", 2e-7, "2.0e-07"),
        ("ulp", 0.5, "0.50 ulp"),
    ],
)
def test_every_unit_of_the_registry(unit, number, text):
    assert units.text(unit, number) == text


@pytest.mark.parametrize("unit", units.FORMS)
@pytest.mark.parametrize("number", [1e300, -1e300, 3.9e299, 1e18])
def test_no_number_is_long(unit, number):
    assert len(units.text(unit, number)) <= 16


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (units.ulps(1e300), "1.0e+300 ulp"),
        (units.ulps(2.5e6), "2.5e+06 ulp"),
        (units.ulps(999_000), "999 k ulp"),
        (units.count(1e300), "1.0e+300"),
        (units.count(5e14), "500 T"),
        (units.percent(1e299), "+1.0e+301 %"),
        (units.times(1e300), "1.0e+300"),
        (units.time(3600e9), "3600 s"),
    ],
)
def test_large_numbers(text, expected):
    assert text == expected


def test_every_unit_has_a_form():
    assert units.FORMS.keys() == set(get_args(metric.Unit))
