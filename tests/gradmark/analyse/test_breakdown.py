"""Where a row's time goes, from how often it uses each operation and what each costs."""

import pytest

from gradmark.analyse.breakdown import breakdown
from gradmark.analyse.operators import Operation
from gradmark.records import Cell, Measurement, Phase, Sample

COSTS = [
    Operation("exp", 20.0, 5.0, 0.0, 0.0, 0.0),
    Operation("add", 3.0, -0.5, 0.0, 0.0, 0.0),
    Operation("erf", None, None, None, None, None, "unsupported: it has none"),
]


def row(calls, forward=1000.0, backward=400.0, **fields):
    phases = {
        name: Phase(iterations=1, block_ns=[ns])
        for name, ns in (("forward", forward), ("backward", backward), ("total", forward + backward))
    }
    samples = [Sample(process=0, phases=phases, once_ns={}, harness_ns=0.0, clock_ns=1.0)]
    cell = Cell(engine="e", workload="w", suite="s", **fields)
    return Measurement(cell=cell, status="ok", samples=samples, calls=calls)


def test_operations_and_what_they_leave():
    forward, backward = breakdown(row({"add": 100, "exp": 10}), COSTS)
    assert [(s.operation, s.calls, s.ns) for s in forward.shares] == [("add", 100, 300.0), ("exp", 10, 200.0)]
    assert (forward.name, forward.ns, forward.rest_ns, forward.times_as_long) == ("forward", 1000.0, 500.0, 1.0)
    assert [(s.operation, s.ns) for s in backward.shares] == [("exp", 50.0)]  # less than nothing is nothing
    assert backward.rest_ns == 350.0


def test_operations_that_take_longer_by_themselves_are_shares():
    forward, _ = breakdown(row({"exp": 100}), COSTS)
    assert [share.ns for share in forward.shares] == [1000.0]
    assert (forward.rest_ns, forward.times_as_long) == (0.0, 2.0)


def test_what_nobody_measured_is_in_the_rest_and_named():
    forward, _ = breakdown(row({"add": 10, "erf": 3, "tan": 1}), COSTS)
    assert forward.unknown == ["erf", "tan"]
    assert forward.rest_ns == 970.0


@pytest.mark.parametrize(
    ("measurement", "costs"),
    [
        (row({}), COSTS),
        (row({"tan": 3}), COSTS),
        (row({"add": 3}), []),
        (row({"add": 3}, derivative="jvp"), COSTS),
        (Measurement(cell=Cell(engine="e", workload="w", suite="s"), status="crash", calls={"add": 3}), COSTS),
    ],
)
def test_nothing_is_made_of_what_is_not_known(measurement, costs):
    assert breakdown(measurement, costs) == []
