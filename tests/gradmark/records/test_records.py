"""The records: names of cells, and which environments are unlike."""

import msgspec
import pytest

from gradmark.records import Cell, Environment, Phase, Run, Settings

HERE = Environment(
    cpu="c", cores=2, memory_bytes=1, os="o", python="p", packages={"numpy": "1"}, governor="g", commit="a"
)


def test_a_cell_s_names():
    cell = Cell(engine="tapegrad:fresh", workload="poly", suite="scalar", params={"n": 1000, "f": "exp"})
    assert cell.size == "n=1000,f=exp"
    assert cell.row == "poly/n=1000/f=exp"
    assert cell.id == "poly/n=1000/f=exp/float64/cpu@tapegrad:fresh"


def test_a_cell_without_parameters():
    cell = Cell(engine="e", workload="w", suite="s")
    assert (cell.size, cell.row, cell.id) == ("", "w", "w/float64/cpu@e")


def test_the_fastest_block_is_the_floor():
    assert Phase(how="measured", iterations=1, block_ns=[3.0, 1.0, 2.0]).floor_ns == 1.0


def test_like():
    assert HERE.unlike(HERE) == []


@pytest.mark.parametrize(
    "change", [{"commit": "b"}, {"dirty": True}, {"packages": {"numpy": "2"}}, {"virtualisation": "v"}], ids=str
)
def test_code_may_differ(change):
    assert HERE.unlike(msgspec.structs.replace(HERE, **change)) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"cpu": "d"}, ["cpu: c, d"]),
        ({"cores": 4}, ["cores: 2, 4"]),
        ({"memory_bytes": 2}, ["memory_bytes: 1, 2"]),
        ({"os": "q"}, ["os: o, q"]),
        ({"python": "r"}, ["python: p, r"]),
        ({"governor": None}, ["governor: g, None"]),
        ({"cpu": "d", "os": "q"}, ["cpu: c, d", "os: o, q"]),
    ],
    ids=str,
)
def test_unlike(change, expected):
    assert HERE.unlike(msgspec.structs.replace(HERE, **change)) == expected


def test_records_are_frozen():
    with pytest.raises(AttributeError):
        HERE.cpu = "d"


def test_an_unknown_field_of_a_newer_file_is_ignored():
    run = Run(id="i", started="s", environment=HERE, settings=Settings(), measurements=[])
    text = msgspec.json.encode({**msgspec.to_builtins(run), "colour": "red"})
    assert msgspec.json.decode(text, type=Run) == run


def test_parameters_keep_their_types():
    cell = Cell(engine="e", workload="w", suite="s", params={"n": 3, "x": 0.5, "f": "sin"})
    assert msgspec.json.decode(msgspec.json.encode(cell), type=Cell).params == {"n": 3, "x": 0.5, "f": "sin"}
