"""The cell: one spelling of a row."""

import msgspec
import pytest

from gradmark.records import Cell


def cell(**fields):
    return Cell(**{"engine": "tapegrad", "workload": "poly", "suite": "scalar", "params": {"n": 10}, **fields})


def tensor(**fields):
    return cell(**{"kind": "tensor", "dtype": "float32", **fields})


@pytest.mark.parametrize(
    ("one", "row"),
    [
        (cell(), "poly/n=10"),
        (cell(params={}), "poly"),
        (cell(params={"n": 1000, "f": "exp"}), "poly/n=1000/f=exp"),
        (cell(dtype="float32"), "poly/n=10/dtype=float32"),
        (cell(device="cuda"), "poly/n=10/device=cuda"),
        (tensor(), "poly/n=10"),
        (tensor(dtype="float64", device="cuda"), "poly/n=10/dtype=float64/device=cuda"),
    ],
)
def test_a_row_names_dtype_and_device_where_they_are_unusual(one, row):
    assert one.row == row
    assert one.id == f"{row}@tapegrad"


def test_devices_compete_on_one_task():
    assert tensor(device="cuda").task == tensor().task == "poly/n=10"
    assert tensor(dtype="float64").task == "poly/n=10/dtype=float64"


def test_ids_tell_files_and_sides_apart():
    ids = {cell().id, cell(file="a.py").id, cell(file="b.py").id, cell(side="before").id, cell(engine="torch").id}
    assert len(ids) == 5
    assert cell(file="a.py", side="now").id == "poly/n=10@tapegrad of a.py (now)"


def test_the_size_is_one_word():
    assert (cell(params={"n": 1000, "f": "exp"}).size, cell(params={}).size) == ("n=1000,f=exp", "")


def test_parameters_keep_their_types():
    one = cell(params={"n": 3, "x": 0.5, "f": "sin"})
    assert msgspec.json.decode(msgspec.json.encode(one), type=Cell) == one
