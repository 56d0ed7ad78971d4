"""The border: any bytes give a record that makes sense, or one error that says what is wrong."""

import doctest
import json
from pathlib import Path

import msgspec
import pytest

from gradmark.records import Phase, Run, Sample, Settings, Warning, decoding
from gradmark.records.decoding import UndecodableError, converted, decoded, encoded

PHASE = {"iterations": 3, "block_ns": [1.0, 2.0]}
RUN = json.loads((Path(__file__).parents[2] / "data" / "runs" / "format-1.json").read_bytes())


def reason(kind, plain):
    data = plain if isinstance(plain, bytes) else json.dumps(plain).encode()
    with pytest.raises(UndecodableError) as error:
        decoded(msgspec.json.Decoder(kind), data)
    return str(error.value)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "Input data was truncated"),
        (b'{"iterations": 3, "block_ns": [NaN]}', "JSON is malformed: invalid character (byte 31)"),
        (b'{"reason": "\xff"}', "Expected UTF-8, got the byte 0xff (byte 12)"),
        (b'{"numbers": {"\xc3(": 1}}', "Expected UTF-8, got the byte 0xc3 (byte 14)"),
        (b'{"x":' + b"[" * 100_000, "Expected values inside each other a few levels deep, got too many levels"),
    ],
)
def test_bytes_that_are_no_json(data, expected):
    assert reason(Warning, data) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"block_ns": []}, "Expected `array` of length >= 1 - at `$.block_ns`"),
        ({"block_ns": [1e19]}, "Expected `float` <= 1e+18 - at `$.block_ns[0]`"),
        ({"iterations": -1}, "Expected `int` >= 0 - at `$.iterations`"),
        ({"iterations": 10**30}, "Expected `int` <= 9007199254740992 - at `$.iterations`"),
        ({"pilots": {"core": [[1.0, 2.0]]}}, "Expected 2 pairs of core pilots, one a block, got 1"),
        ({"pilots": {"disk": []}}, "Expected core, memory or device - at `key` in `$.pilots`"),
        ({"pilots": {"core": [[0.0, 1.0], [1.0, 1.0]]}}, "Expected `float` >= 0.001 - at `$.pilots[...][0][0]`"),
        ({"reference": {"core": 0.0}}, "Expected `float` >= 0.001 - at `$.reference[...]`"),
    ],
)
def test_phases_that_make_no_sense(change, expected):
    assert reason(Phase, PHASE | change) == expected


@pytest.mark.parametrize("started", ["", "now", "2026-13-01T00:00:00+00:00", "2026-01-01", "2026-01-01T00:00:00"])
def test_a_moment_that_is_none(started):
    expected = "Expected a moment such as 2026-01-31T12:00:00+00:00 - at `$.started`"
    assert reason(Run, RUN | {"started": started}) == expected


def test_a_warning_without_its_numbers():
    assert (
        reason(Warning, {"code": "unfinished"}) == "Expected the number 'late_ns' of a warning 'unfinished', got none"
    )


def test_settings_that_make_no_sense():
    assert reason(Settings, {"timeout_s": 0}) == "Expected `float` > 0.0 - at `$.timeout_s`"


def test_plain_data_is_held_to_the_same():
    with pytest.raises(UndecodableError, match=r"^Expected `array` of length >= 1 - at `\$.block_ns`$"):
        converted(PHASE | {"block_ns": []}, Phase)


def sample(**change):
    known = {"process": 0, "phases": {"total": Phase(**PHASE)}, "once_ns": {}, "harness_ns": 1.0, "clock_ns": 1.0}
    return Sample(**(known | change))


SAMPLE = msgspec.json.Decoder(Sample)


def test_what_is_encoded_is_decoded():
    assert decoded(SAMPLE, encoded(sample(), SAMPLE)) == sample()


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (sample(harness_ns=float("inf")), "Expected `float`, got `null` - at `$.harness_ns`"),
        (sample(once_ns={"import": float("nan")}), "Expected `float`, got `null` - at `$.once_ns[...]`"),
        (sample(once_ns={"\ud800": 1.0}), "Expected text that UTF-8 has, got '\\ud800'"),
        (sample(process="x"), "Expected `int`, got `str` - at `$.process`"),
        (sample(process=-1), "Expected `int` >= 0 - at `$.process`"),
        (sample(once_ns=object), "Encoding objects of type type is unsupported"),
    ],
)
def test_what_could_not_be_read_again_is_not_encoded(record, expected):
    with pytest.raises(UndecodableError) as error:
        encoded(record, SAMPLE)
    assert str(error.value) == expected


def test_what_would_be_read_as_something_else_is_not_encoded():
    with pytest.raises(UndecodableError, match="Expected finite numbers"):
        encoded([float("inf")], msgspec.json.Decoder(list[float | None]))


def test_examples_run():
    assert doctest.testmod(decoding) == (0, 2)
