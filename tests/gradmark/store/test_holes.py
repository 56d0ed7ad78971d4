"""Holes: long arrays leave a run file and come back as they were, bit for bit; what would not come back stays."""

import msgspec
import pytest

from gradmark.errors import StoreError
from gradmark.records import Calibration, Phase, Sample
from gradmark.records.event import Calibrated, Inspected, Sampled
from gradmark.store import holes
from gradmark.store.journal import Journal


def put_back(frame, rows):
    return holes.put_back(
        frame,
        [
            {name: msgspec.json.decode(text.replace("{", "[").replace("}", "]")) for name, text in row.arrays.items()}
            for row in rows
        ],
    )


@pytest.fixture
def data(begun, events, tmp_path):
    """A run file with pilots, whole numbers, a calibration and names that look like arrays."""
    pilots = {"core": [(1.0, 2.5), (3.0, 4.0)], "memory": [(5, 6), (7, 8)]}
    phase = Phase(iterations=1, block_ns=[1.25, -0.5], pilots=pilots, reference={"core": 1.0})
    calibration = Calibration(started="2026-01-01T00:00:00+00:00", work={"integer": phase})
    more = Sample(
        process=7,
        phases={"total": phase, 'odd":{"iterations": "block_ns":[9': phase},
        once_ns={},
        harness_ns=1.0,
        clock_ns=1.0,
    )
    with Journal.begin(begun(), tmp_path) as keep:
        for event in [*events[:4], Sampled(cell=events[0].measurement.cell.id, sample=more)]:
            keep(event)
        keep(Calibrated(calibration=calibration))
        message = '"block_ns":[1.0,2.0] and \\"pilots\\":{\\"core\\":[[1.0]]}'
        keep(Inspected(measurement=msgspec.structs.replace(events[0].measurement, message=message)))
    return keep.path.read_bytes()


def test_what_is_taken_out_is_put_back(data):
    frame, rows = holes.taken_out(data)
    assert len(frame) < len(data)
    assert put_back(frame, rows) == data


def test_rows_say_whose_arrays_they_are(data, events):
    _, rows = holes.taken_out(data)
    cell = events[0].measurement.cell.id
    first, *_ = rows
    assert (first.cell, first.process, first.phase, first.arrays) == (cell, 0, "total", {"block_ns": "{2.5,3.5}"})
    total = next(row for row in rows if row.process == 7)
    assert (total.cell, total.phase) == (cell, "total")
    assert total.arrays == {
        "block_ns": "{1.25,-0.5}",
        "core": "{{1.0,2.5},{3.0,4.0}}",
        "memory": "{{5,6},{7,8}}",
    }
    assert [(row.cell, row.process) for row in rows if row.phase == "integer"] == [(None, None)]


@pytest.mark.parametrize("array", ["[1.50]", "[1, 2]", "[1.5,2]", "[01]", "[1e400]", "[-]", "[12345678901234567890]"])
def test_what_would_not_come_back_stays(array):
    phase = f'{{"iterations":1,"block_ns":{array}'
    data = f'{{"event":{{"type":"Sampled","cell":"c","sample":{{"process":0,"phases":{{"t":{phase}}}}}}}}},\n'.encode()
    frame, rows = holes.taken_out(data)
    assert (frame, rows) == (data, [])


@pytest.mark.parametrize("data", [b"", b'"block_ns":[', b'"block_ns":[1.5', b'"pilots":{"core":[[1.0,2.0]]'])
def test_what_is_cut_short(data):
    frame, rows = holes.taken_out(data)
    assert put_back(frame, rows) == data


def test_arrays_that_are_lost_are_noticed(data):
    frame, rows = holes.taken_out(data)
    with pytest.raises(StoreError, match="arrays of this run are missing"):
        put_back(frame, rows[:-1])
    with pytest.raises(StoreError, match="more arrays of this run"):
        put_back(frame, [*rows, rows[0]])
