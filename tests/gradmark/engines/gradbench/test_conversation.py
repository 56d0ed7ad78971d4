"""Conversations with a tool that is all right, and with one that is not: what is said, and the transcript."""

import json
import sys
from pathlib import Path

import pytest

from gradmark.engines.gradbench import conversation
from gradmark.engines.gradbench.conversation import FIRST_LINES, LAST_LINES, Conversation
from gradmark.errors import ToolError, UnsupportedError
from gradmark.isolation import inside

TOOL = Path(__file__).parents[3] / "faults" / "tool.py"


@pytest.fixture
def begun():
    """Begins a conversation with the tool that has a fault; it ends with the test."""
    open_ones = []

    def begin(fault="", module="hello"):
        talk = Conversation([sys.executable, str(TOOL), fault])
        open_ones.append(talk)
        talk.start(module)
        talk.define(module)
        return talk

    yield begin
    for talk in open_ones:
        talk.close()


def without_times(transcript):
    return [{key: value for key, value in json.loads(line).items() if key != "elapsed"} for line in transcript]


def test_a_conversation_and_its_transcript(begun):
    talk = begun()
    answer = talk.evaluate("hello", "double", 4.0, "4.0")
    assert (answer.output, answer.runs_ns) == (8.0, [9000.0])
    evaluate = {"id": 2, "kind": "evaluate", "module": "hello", "function": "double", "input": 4.0}
    assert without_times(talk.transcript) == [
        {"message": {"id": 0, "kind": "start", "eval": "hello"}},
        {"response": {"id": 0, "tool": "fake"}},
        {"message": {"id": 1, "kind": "define", "module": "hello"}},
        {"response": {"id": 1, "success": True}},
        {"message": {**evaluate, "description": "4.0"}},
        {
            "response": {
                "id": 2, "success": True, "output": 8.0, "timings": [{"name": "evaluate", "nanoseconds": 9000}],
            }
        },
    ]  # fmt: skip
    elapsed = [json.loads(line)["elapsed"]["nanoseconds"] for line in talk.transcript]
    assert elapsed == sorted(elapsed)


def test_a_module_is_defined_once(begun):
    talk = begun()
    talk.define("hello")
    assert talk.number == 1


def test_of_a_long_transcript_the_beginning_and_the_end_are_kept(begun):
    talk = begun()
    for k in range(LAST_LINES):
        talk.evaluate("hello", "square", float(k), "")
    assert len(talk.transcript) == FIRST_LINES + 1 + LAST_LINES
    assert talk.transcript[FIRST_LINES] == f"… {2 * LAST_LINES - LAST_LINES} more lines"


ASKED = "asked to evaluate hello.double, the tool "


@pytest.mark.parametrize(
    ("fault", "status", "message"),
    [
        ("crash", "crash", "ended with exit code 3: no memory for the tape"),
        ("killed", "out-of-memory", "was ended by SIGKILL, most likely for its memory"),
        ("says no", "error", "failed: Overflow: too large"),
        ("order", "error", "answered out of order: expected the id 2, got 3"),
        ("no times", "error", 'gave no times; expected "timings" with an entry "evaluate" for each run'),
        ("noise", "error", "said 'compiling ...', which is not JSON; expected one line of JSON. What a tool prints"),
        ("a list", "error", "did not answer as the protocol says: Expected `object`, got `list`"),
        ("negative", "error", "did not answer as the protocol says: Expected `float` >= 0.0 - at `$.timings[0].nano"),
    ],
)
def test_what_is_wrong_with_an_answer(begun, fault, status, message):
    talk = begun(fault)
    with pytest.raises(ToolError) as raised:
        talk.evaluate("hello", "double", 4.0, "")
    assert str(raised.value).startswith(ASKED + message)
    assert raised.value.status == status
    assert '"double"' in "".join(raised.value.transcript)
    assert not talk.close.alive  # it is ended: what it says next would answer something else


def test_a_clock_that_runs_too_fast(begun):
    with pytest.raises(ToolError, match="says that its runs took 1,000,000,000,000,000 ns, and answered after"):
        begun("clock").evaluate("hello", "double", 4.0, "")


def test_a_tool_that_says_nothing(begun, monkeypatch):
    talk = begun("hang")
    monkeypatch.setattr(inside, "time_left_s", lambda: 0.0)
    with pytest.raises(ToolError) as raised:
        talk.evaluate("hello", "double", 4.0, "")
    assert (raised.value.status, str(raised.value)) == ("timeout", ASKED + "gave no answer in time")


def test_a_tool_that_closes_its_output(begun, monkeypatch):
    talk = begun("closes")
    monkeypatch.setattr(conversation, "ENDING_S", 0.05)
    with pytest.raises(ToolError, match="closed its output without an answer"):
        talk.evaluate("hello", "double", 4.0, "")


def test_a_module_that_the_tool_does_not_have(begun):
    with pytest.raises(UnsupportedError, match=r"^the tool has no hello: not written yet$"):
        begun("no module")


def test_a_tool_that_does_not_say_whether_it_has_a_module(begun):
    with pytest.raises(ToolError, match=r'^asked to define hello, the tool gave no "success"; expected true or false$'):
        begun("does not say")


def test_no_such_program():
    with pytest.raises(ToolError, match=r"^/no/such/tool cannot be started: No such file or directory$"):
        Conversation(["/no/such/tool"])


def test_long_messages_both_ways(begun):
    """More than a pipe holds: both sides must read while the other writes."""
    talk = begun("large")
    x = [0.5] * 200_000
    answer = talk.evaluate("lse", "gradient", {"x": x, "min_runs": 2, "min_seconds": 0}, "")
    assert (len(answer.output), len(answer.error), answer.runs_ns) == (len(x), 3_000_000, [9000.0, 1000.0])
    assert max(map(len, talk.transcript)) < 1000


def test_an_answer_may_be_too_long(begun, monkeypatch):
    monkeypatch.setattr(conversation, "MOST_ANSWERED_BYTES", 1 << 20)
    with pytest.raises(ToolError, match="answered with more than 1 MiB, which was not read"):
        begun("large").evaluate("hello", "double", 4.0, "")


def test_what_it_prints_for_people_does_not_fill_the_disk(begun, monkeypatch):
    monkeypatch.setattr(conversation.child, "MOST_SAID_BYTES", 150_000)
    talk = begun("talks")
    for _ in range(4):
        talk.evaluate("hello", "double", 4.0, "")
    assert len(conversation.child.tail(talk.said)) <= 100_001


def test_the_process_ends_with_the_conversation(begun):
    talk = begun()
    talk.close()
    assert talk.process.returncode is not None
