"""How far an engine's time is from what the operations say, and where."""

import pytest

from gradmark.analyse.departures import departures, farthest
from gradmark.records import Cell, Measurement, Phase, Sample
from gradmark.records.recording import Recording

RECORDING = Recording(inputs={}, function=[], derivative=[], operations=10, derivative_operations=20)


def measured(primal=100.0, forward=100.0, backward=100.0, status="ok", **more):
    phases = {"primal": primal, "forward": forward, "backward": backward, "total": forward + backward}
    sample = Sample(
        process=0,
        phases={name: Phase(iterations=1, block_ns=[ns]) for name, ns in phases.items()},
        once_ns={},
        harness_ns=0.0,
        clock_ns=1.0,
        own_total=True,
    )
    cell = Cell(engine="mine", workload="f", suite="s")
    return Measurement(cell=cell, status=status, samples=[sample] if status == "ok" else [], **more)


def one(measurement, recording=RECORDING):
    (departure,) = departures([measurement], recording, 4.0)
    return departure


def test_as_the_operations_predict():
    departure = one(measured())
    assert (departure.ratio, departure.predicted, departure.factor, departure.bound) == (2.0, 2.0, 1.0, 4.0)
    assert departure.per_operation_ns == 10.0
    assert farthest(departure) is None


@pytest.mark.parametrize(
    ("forward", "backward", "factor", "name"),
    [(500.0, 100.0, 3.0, "forward"), (100.0, 500.0, 3.0, "backward"), (100.0, 20.0, 0.6, "backward")],
)
def test_where_it_departs(forward, backward, factor, name):
    departure = one(measured(forward=forward, backward=backward))
    assert departure.factor == pytest.approx(factor)
    assert farthest(departure).name == name


def test_without_a_count_there_is_no_prediction():
    departure = one(measured(), Recording(inputs={}, function=[], derivative=[]))
    assert (departure.ratio, departure.predicted, departure.factor, departure.parts) == (2.0, None, None, [])
    assert farthest(departure) is None


def test_a_function_that_is_too_short_is_no_measure():
    departure = one(measured(primal=4.0))
    assert (departure.function_ns, departure.ratio, departure.factor) == (None, None, None)
    assert departure.total_ns == 200.0


def test_what_failed_says_how():
    assert one(measured(status="crash", message="signal 11")).problem == "crash: signal 11"
