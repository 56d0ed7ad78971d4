"""Calling a function of ours that loads what users wrote: in a process of its own, under limits.

In: the function's name and its argument, plain data. Out: its result, plain data; or an error that says what happened.
"""

import sys
from typing import Any, TypeVar

import msgspec

from gradmark import errors
from gradmark.isolation import child, home
from gradmark.records import Record, Settings

T = TypeVar("T")
COMMAND = [sys.executable, "-P", "-m", "gradmark.isolation.called"]
# Longer texts are cut: nobody reads them, and they would be kept in every file.
MOST_CHARACTERS = 2000


class Request(Record, frozen=True, kw_only=True):
    """What is called: `module:function` of gradmark."""

    function: str
    argument: Any
    memory_limit_bytes: int


class Reply(Record, frozen=True, kw_only=True):
    """What came of it."""

    result: Any = None
    error: str = ""  # the class of the error, one of `gradmark.errors`
    message: str = ""


class LoadingError(errors.GradmarkError):
    """What users wrote ended its process, hung, or gave something that cannot be read."""


def call(function: str, argument: Any, returns: type[T], settings: Settings) -> T:
    """The result of a function. An error of ours is raised here again; `LoadingError` says what else happened."""
    request = Request(function=function, argument=argument, memory_limit_bytes=settings.memory_limit_bytes)
    try:
        asked = msgspec.json.encode(request)
    except UnicodeEncodeError as error:
        raise LoadingError("its name is not valid UTF-8; rename it") from error
    with home.fresh_folder() as folder:
        ended = child.ask(
            COMMAND,
            asked,
            timeout_s=settings.timeout_s,
            environment=child.environment(settings.threads, folder),
        )
    if ended.code is None:
        raise LoadingError(
            f"not done after {settings.timeout_s:g} s, its limit; does it wait for something or loop forever?"
        )
    if ended.code != 0:
        raise LoadingError(f"its process {ended.how}")
    try:
        reply = msgspec.json.decode(ended.answer, type=Reply)
        if reply.error:
            raise getattr(errors, reply.error, errors.GradmarkError)(shortened(reply.message))
        return msgspec.convert(reply.result, returns)
    except (msgspec.MsgspecError, RecursionError) as error:
        if not ended.answer:
            raise LoadingError(
                f"its process ended with exit code 0 before the file was loaded; does it call os._exit?"
                f"{child.last_line(ended.said)}"
            ) from None
        raise LoadingError(f"what it gave cannot be read: {shortened(str(error))}") from error


def shortened(text: str) -> str:
    """A text of bearable length, which says how much was left out."""
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}… ({len(text) - MOST_CHARACTERS:,} more characters)"
