"""The user's files on their way to a machine, and names on their way back."""

from pathlib import Path

import msgspec
import pytest

from gradmark.errors import FleetError
from gradmark.fleet import shipping
from gradmark.fleet.shipping import Shipment, packed
from gradmark.records.event import Counted, Inspected, Stopped
from gradmark.records.measurement import Instructions


def test_a_file_goes_with_the_modules_beside_it_that_it_imports(tmp_path):
    (tmp_path / "mine.py").write_text("import numpy, one\nfrom two.sub import x\nfrom . import none")
    (tmp_path / "one.py").write_text("import three")
    (tmp_path / "two.py").write_text("import one")
    (tmp_path / "three.py").write_text("import mine")
    (tmp_path / "four.py").write_text("")
    assert sorted(packed([str(tmp_path / "mine.py")])) == [
        str(tmp_path / name) for name in ("mine.py", "one.py", "three.py", "two.py")
    ]


def test_a_file_that_python_cannot_read_goes_alone(tmp_path):
    (tmp_path / "mine.py").write_bytes(b"def \xff(")
    assert list(packed([str(tmp_path / "mine.py")])) == [str(tmp_path / "mine.py")]


def test_a_file_that_is_gone(tmp_path):
    with pytest.raises(FleetError, match=r"gone\.py cannot be sent to the fleet: No such file"):
        packed([str(tmp_path / "gone.py")])


def test_data_is_not_carried(tmp_path, monkeypatch):
    monkeypatch.setattr(shipping, "MOST_BYTES", 4)
    (tmp_path / "mine.py").write_text("x = 12345")
    with pytest.raises(FleetError, match="a fleet carries source code only"):
        packed([str(tmp_path / "mine.py")])


def test_files_of_one_folder_lie_in_one_and_cannot_leave_it(tmp_path, cell_of):
    sent = {"/home/a/mine.py": b"1", "/home/a/one.py": b"2", "/home/b/mine.py": b"3", "../../etc/x.py": b"4"}
    shipment = Shipment.unpacked(sent, tmp_path, "m1")
    there = [shipment.arrived(cell_of(file=path)).file for path in sent]
    assert [Path(path).read_bytes() for path in there] == [b"1", b"2", b"3", b"4"]
    folders = [path.rpartition("/")[0] for path in there]
    assert folders[0] == folders[1] != folders[2]
    assert all(folder.startswith(f"{tmp_path}/") and ".." not in folder for folder in folders)


def test_what_comes_back_has_the_names_of_the_run(tmp_path, run_of, cell_of, inspected, sampled):
    cell = cell_of(file="/home/a/mine.py")
    shipment = Shipment.unpacked({"/home/a/mine.py": b"1"}, tmp_path, "m1")
    here = shipment.begun(run_of(cell)).planned[0]
    assert here != cell
    assert shipment.leaving(inspected(here)) == Inspected(measurement=inspected(cell).measurement)
    assert shipment.leaving(sampled(here, 0, machine="")) == sampled(cell, 0, machine="m1")
    assert shipment.leaving(Stopped(cell=here.id, status="crash")) == Stopped(cell=cell.id, status="crash")
    counted = Counted(cell=here.id, instructions=Instructions(total=3.0))
    assert shipment.leaving(counted) == msgspec.structs.replace(counted, cell=cell.id)


def test_samples_of_this_machine_are_its_own(tmp_path, run_of, cell_of, inspected, sampled):
    cell = cell_of()
    kept = [sampled(cell, n, machine=machine).sample for n, machine in enumerate(("m1", "m2"))]
    run = msgspec.structs.replace(run_of(cell), measurements=[inspected(cell, samples=kept).measurement])
    (measurement,) = Shipment({}, "m1").begun(run).measurements
    assert [sample.machine for sample in measurement.samples] == ["", "m2"]
