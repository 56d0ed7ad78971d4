"""The messages of GradBench's protocol: what an eval asks of a tool, and what the tool answers, a line of JSON each.

The protocol is described in CONTRIBUTING.md of github.com/gradbench/gradbench (MIT licence), sections Specification and
Types. Requests are plain dicts, because evals may put anything into them.
"""

import json
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from gradmark.records import Record
from gradmark.records.decoding import UndecodableError, converted

# The name that timings of the function itself have.
EVALUATE = "evaluate"


class Timing(Record, frozen=True, kw_only=True):
    """What one part of the work took; parts may have the same name."""

    name: str
    nanoseconds: Annotated[float, Meta(ge=0.0, lt=1e18)]


class Answer(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What a tool answers to any message. Which parts must be there depends on the message."""

    id: int
    tool: str | None = None  # to `start`
    success: bool | None = None  # to `define` and `evaluate`
    output: Any = None  # to `evaluate`
    timings: list[Timing] | None = None
    error: str | None = None

    @property
    def runs_ns(self) -> list[float]:
        """What each run of the function took."""
        return [timing.nanoseconds for timing in self.timings or () if timing.name == EVALUATE]


def start(module: str) -> dict[str, Any]:
    """The first message: is the tool there?"""
    return {"kind": "start", "eval": module}


def define(module: str) -> dict[str, Any]:
    """Does the tool have this module?"""
    return {"kind": "define", "module": module}


def evaluate(module: str, function: str, argument: Any, description: str) -> dict[str, Any]:
    """Evaluate a function of the module. The description is for people."""
    return {
        "kind": "evaluate", "module": module, "function": function, "input": argument, "description": description
    }  # fmt: skip


def encoded(message: Any) -> bytes:
    """A message as a line."""
    return msgspec.json.encode(message) + b"\n"


def parsed(line: bytes) -> Any:
    """A line as plain data, with the NaN and Infinity that Python's writers put there. Raises `ValueError`."""
    try:
        return json.loads(line)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def answer_of(plain: Any) -> Answer:
    """A parsed line as an answer. Raises `UndecodableError` with what is wrong and where."""
    if not isinstance(plain, dict):
        raise UndecodableError(f"Expected `object`, got `{type(plain).__name__}`")
    return converted(plain, Answer)


# --- messages to be kept and read by people

# Of a list, so many of its first entries; of a text, so many characters.
MOST_ENTRIES, MOST_CHARACTERS, MOST_DEPTH = 4, 400, 6


def abridged(plain: Any, depth: int = 0) -> Any:
    """The same without what makes it long: it is still JSON, and says what was left out.

    >>> abridged({"x": [0.5] * 1000, "n": 3})
    {'x': [0.5, 0.5, 0.5, 0.5, '… 996 more'], 'n': 3}
    """
    if isinstance(plain, str) and len(plain) > MOST_CHARACTERS:
        return f"{plain[:MOST_CHARACTERS]}… {len(plain) - MOST_CHARACTERS:,} more characters"
    if isinstance(plain, dict):
        if depth >= MOST_DEPTH:
            return f"… {len(plain)} fields"
        kept = list(plain.items())[: 4 * MOST_ENTRIES]
        return {abridged(key): abridged(value, depth + 1) for key, value in kept}
    if isinstance(plain, list):
        if depth >= MOST_DEPTH:
            return f"… {len(plain)} entries"
        more = [f"… {len(plain) - MOST_ENTRIES:,} more"] if len(plain) > MOST_ENTRIES else []
        return [*(abridged(value, depth + 1) for value in plain[:MOST_ENTRIES]), *more]
    return plain


def noted(elapsed_ns: int, said: str, content: Any) -> str:
    """A line of a transcript, as GradBench's own logs have them; `said` is `message` or `response`."""
    return json.dumps({"elapsed": {"nanoseconds": elapsed_ns}, said: abridged(content)})
