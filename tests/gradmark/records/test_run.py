"""The run: which environments are unlike, and files of a newer version."""

import msgspec
import pytest

from gradmark.records import Environment, Run, Settings

HERE = Environment(
    cpu="c", cores=2, memory_bytes=1, os="o", python="p", packages={"numpy": "1"}, governor="g", commit="a"
)


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
        ({"memory_bytes": 2000}, ["memory: 1 bytes, 2,000 bytes"]),
        ({"os": "q"}, ["os: o, q"]),
        ({"python": "r"}, ["python: p, r"]),
        ({"governor": None}, ["governor: g, not shown"]),
        ({"cpu": "d", "os": "q"}, ["cpu: c, d", "os: o, q"]),
    ],
    ids=str,
)
def test_unlike(change, expected):
    assert HERE.unlike(msgspec.structs.replace(HERE, **change)) == expected


@pytest.mark.parametrize(
    ("setting", "usual", "other"),
    [
        ({"full": True}, "is quick", "is --full"),
        ({"pin": False}, "is pinned", "is not pinned"),
        ({"forked": True}, "has fresh workers", "has forked workers"),
        ({"threads": 4}, "uses 1 thread", "uses 4 threads"),
        ({"block_ns": 2_000_000}, "has blocks of 0.5 ms", "has blocks of 2 ms"),
    ],
    ids=str,
)
def test_settings_in_words(setting, usual, other):
    """Seen: `full: False, True`."""
    (field,) = setting
    assert (Settings().words(field), Settings(**setting).words(field)) == (usual, other)


def test_records_are_frozen():
    with pytest.raises(AttributeError):
        HERE.cpu = "d"


def test_an_unknown_field_of_a_newer_file_is_ignored():
    run = Run(id="i", started="2026-01-01T00:00:00Z", environment=HERE, settings=Settings(), measurements=[])
    text = msgspec.json.encode({**msgspec.to_builtins(run), "colour": "red"})
    assert msgspec.json.decode(text, type=Run) == run
