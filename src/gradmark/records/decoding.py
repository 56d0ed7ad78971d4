"""Decoding: the border that every record crosses, from a file or from another process.

In: bytes that anybody may have written. Out: a record whose types and numbers make sense, as its fields declare; or one
error that says what was expected, what came, and where. Nothing behind this border checks again.
"""

from typing import Any, TypeVar

import msgspec

from gradmark.records.quantities import IN_WORDS

T = TypeVar("T")


class UndecodableError(ValueError):
    """These bytes are no such record. The message says why; whoever knows the file adds its name and what to do."""


def decoded(decoder: "msgspec.json.Decoder[T]", data: bytes) -> T:
    """The record in these bytes.

    >>> decoded(msgspec.json.Decoder(dict[str, int]), b'{"n": "x"}')
    Traceback (most recent call last):
    gradmark.records.decoding.UndecodableError: Expected `int`, got `str` - at `$[...]`
    """
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _undecodable(error, data) from error


def converted(plain: Any, to: type[T]) -> T:
    """The record in plain data that was decoded before."""
    try:
        return msgspec.convert(plain, to)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _undecodable(error) from error


def encoded(record: T, decoder: "msgspec.json.Decoder[T]") -> bytes:
    """The bytes of a record, which its reader reads as the same record; an error if it would not.

    JSON has neither NaN nor infinity, and no halves of surrogate pairs; a field may hold what it does not declare. What
    is not caught here would be found when the file is opened, and the measurement is lost.

    >>> encoded([1.5, float("inf")], msgspec.json.Decoder(list[float | None]))
    Traceback (most recent call last):
    gradmark.records.decoding.UndecodableError: Expected finite numbers, got one that is not
    """
    try:
        data = msgspec.json.encode(record)
    except UnicodeEncodeError as error:
        lost = error.object[max(0, error.start - 20) : error.end]
        raise UndecodableError(f"Expected text that UTF-8 has, got {lost!r}") from error
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise _undecodable(error) from error
    if decoded(decoder, data) != record:
        raise UndecodableError("Expected finite numbers, got one that is not")
    return data


def _undecodable(error: Exception, data: bytes = b"") -> UndecodableError:
    if isinstance(error, RecursionError):
        return UndecodableError("Expected values inside each other a few levels deep, got too many levels")
    if isinstance(error, UnicodeDecodeError):
        return UndecodableError(f"Expected UTF-8, got {_not_utf8(data)}")
    reason = str(error)
    for pattern, words in IN_WORDS.items():
        reason = reason.replace(f"`str` matching regex {pattern!r}", words)
    return UndecodableError("".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in reason))


def _not_utf8(data: bytes) -> str:
    """Which byte it is that UTF-8 does not have there."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return f"the byte 0x{data[error.start]:02x} (byte {error.start})"
    return "other bytes"
