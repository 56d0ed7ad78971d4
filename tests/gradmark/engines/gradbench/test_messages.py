"""Messages: what is accepted of a tool, and what is kept of what was said."""

import json

import pytest

from gradmark.engines.gradbench import messages
from gradmark.records.decoding import UndecodableError


def test_a_message_is_a_line():
    assert messages.encoded({"id": 0, **messages.start("lse")}) == b'{"id":0,"kind":"start","eval":"lse"}\n'


def test_numbers_that_json_does_not_have_are_read():
    plain = messages.parsed(b'{"id": 3, "success": true, "output": [NaN, -Infinity, 1e308]}')
    assert repr(messages.answer_of(plain).output) == "[nan, -inf, 1e+308]"


@pytest.mark.parametrize("line", [b"", b"compiling", b"{", b"\xff\xfe", b"[" * 100_000, b"1" * 5000])
def test_what_is_no_json(line):
    with pytest.raises(ValueError, match=r"."):
        messages.parsed(line)


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ([1], "Expected `object`, got `list`"),
        ({}, "missing required field `id`"),
        ({"id": "2"}, "Expected `int`, got `str` - at `$.id`"),
        ({"id": 2, "success": 1}, "Expected `bool | null`, got `int`"),
        ({"id": 2, "timings": [{"name": "evaluate"}]}, "missing required field `nanoseconds`"),
        ({"id": 2, "timings": [{"name": "evaluate", "nanoseconds": 1e30}]}, "Expected `float` <"),
    ],
)
def test_what_is_no_answer(plain, message):
    with pytest.raises(UndecodableError) as raised:
        messages.answer_of(plain)
    assert message in str(raised.value)


def test_only_runs_of_the_function_count():
    timings = [{"name": name, "nanoseconds": ns} for name, ns in (("prepare", 5), ("evaluate", 7), ("evaluate", 8.5))]
    assert messages.answer_of({"id": 0, "timings": timings}).runs_ns == [7.0, 8.5]
    assert messages.answer_of({"id": 0, "timings": None}).runs_ns == []


def test_what_is_kept_is_short_and_still_json():
    long = {"id": 1, "input": {"x": [[0.5] * 1000] * 3, "name": "y" * 1000, "deep": [[[[[[[[1]]]]]]]]}}
    kept = json.loads(messages.noted(5, "message", long))
    assert kept == {
        "elapsed": {"nanoseconds": 5},
        "message": {
            "id": 1,
            "input": {
                "x": [[0.5, 0.5, 0.5, 0.5, "… 996 more"]] * 3,
                "name": "y" * 400 + "… 600 more characters",
                "deep": [[[["… 1 entries"]]]],
            },
        },
    }


def test_halves_of_characters_can_be_kept():
    assert messages.noted(0, "response", "\ud800").isascii()
