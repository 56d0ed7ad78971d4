"""Holes: the text of a run file with its long arrays taken out, so that a database keeps them as arrays.

In: the bytes of a run file. Out: a frame, which is the text with a mark in place of each array, and rows of arrays; and
from these the same bytes again. An array that would not come back as it was written stays in the text.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Annotated, NamedTuple

import msgspec

from gradmark.errors import StoreError
from gradmark.records import Record

# What pilots load, each a column of its own.
KINDS = ("core", "memory", "device")
# Where arrays are in a line, and what says whose they are.
_BLOCKS, _PILOTS, _PHASE, _PROCESS = b'"block_ns":[', b'"pilots":{', b'":{"iterations":', b'"sample":{"process":'
_EVENT = re.compile(rb'\{"event":\{"type":"\w+"(?:,"cell":"((?:[^"\\]|\\.)*)")?')
_KINDS = [(kind, f'"{kind}":[['.encode()) for kind in KINDS]
_BEGIN = itemgetter(1)
_LINE, _DIGITS = b'\n{"event":', re.compile(rb"\d+")
# What stands in place of an array: no JSON has it there. With it, whether its numbers were written as whole numbers.
_MARK = re.compile(rb'("block_ns"|"core"|"memory"|"device"):@([fi])')
_TO_ARRAY = bytes.maketrans(b"[]", b"{}")
_Short = Annotated[int, msgspec.Meta(ge=-(10**15), le=10**15)]
_NUMBERS, _PAIRS = msgspec.json.Decoder(list[list[float]]), msgspec.json.Decoder(list[list[tuple[float, float]]])
_WHOLE, _WHOLE_PAIRS = msgspec.json.Decoder(list[list[_Short]]), msgspec.json.Decoder(list[list[tuple[_Short, _Short]]])


class Row(Record, frozen=True, kw_only=True):
    """The arrays of one phase in one process, or of one kind of work of a calibration, as PostgreSQL writes them."""

    cell: str | None
    process: int | None
    phase: str
    arrays: dict[str, str]  # of `block_ns`, and of pilots by what they load


class _Array(NamedTuple):
    """An array in the text: its name, and where it begins and ends."""

    name: str
    begin: int
    end: int


def taken_out(data: bytes) -> tuple[bytes, list[Row]]:
    """The frame of a run file, and its arrays in their order."""
    phases = list(_located(data))
    marks = iter(_marks([data[array.begin : array.end] for phase in phases for array in phase.arrays]))
    frame: list[bytes] = []
    rows: list[Row] = []
    end = 0
    for phase in phases:
        texts = {}
        for name, begin, after in phase.arrays:
            if mark := next(marks):
                frame += (data[end:begin], mark)
                end = after
                texts[name] = data[begin:after].translate(_TO_ARRAY).decode()
        if texts:
            rows.append(Row(cell=phase.cell, process=phase.process, phase=phase.phase, arrays=texts))
    return b"".join([*frame, data[end:]]), rows


class _Phase(NamedTuple):
    """The arrays of a phase in the text, and whose they are."""

    cell: str | None
    process: int | None
    phase: str
    arrays: list[_Array]


def _located(data: bytes) -> Iterator[_Phase]:
    """Where the arrays are, phase by phase. Searching for fixed words is faster than reading the JSON."""
    cell: str | None = None
    process: int | None = None
    before, at = 0, data.find(_BLOCKS)
    while at >= 0:
        begin, end = at + len(_BLOCKS) - 1, data.find(b"]", at) + 1
        if end <= begin:  # cut short
            return
        if (line := data.rfind(_LINE, before, at)) >= 0:
            event = _EVENT.match(data, line + 1)
            cell, process = (_text(event[1]) if event else None), None
        if (named := data.rfind(_PROCESS, before, at)) >= 0 and (digits := _DIGITS.match(data, named + len(_PROCESS))):
            process = int(digits[0])
        phase_end = data.rfind(_PHASE, before, at)
        phase = _text(data[data.rfind(b'"', before, phase_end) + 1 : phase_end]) if phase_end >= 0 else None
        following = data.find(_BLOCKS, end)
        limit = data.find(b"\n", end, following) if following >= 0 else -1
        limit = limit if limit >= 0 else following if following >= 0 else len(data)
        arrays = [_Array("block_ns", begin, end)]
        if (pilots := data.find(_PILOTS, end, limit)) >= 0:
            last = data.find(b"}", pilots)
            for kind, word in _KINDS:
                if (pairs := data.find(word, pilots, last)) >= 0:
                    opened = pairs + len(word) - 2
                    arrays.append(_Array(kind, opened, data.find(b"]]", opened) + 2))
            arrays.sort(key=_BEGIN)
        yield _Phase(cell, process, phase or "", arrays)
        before, at = end, following


def _marks(texts: Sequence[bytes]) -> list[bytes]:
    """The mark of each array; nothing for one that would not come back as it was written."""
    marks = [b""] * len(texts)
    for pairs in (False, True):
        for mark in (b"@f", b"@i"):
            places = [
                k
                for k, text in enumerate(texts)
                if text.startswith(b"[[") is pairs and (b"." in text or b"e" in text) is (mark == b"@f")
            ]
            if _come_back([texts[k] for k in places], mark, pairs=pairs):
                good = places
            else:  # some do not
                good = [k for k in places if _come_back([texts[k]], mark, pairs=pairs)]
            for k in good:
                marks[k] = mark
    return marks


def _come_back(texts: Sequence[bytes], mark: bytes, *, pairs: bool) -> bool:
    """Whether arrays are written again as they were read."""
    whole = b"[%b]" % b",".join(texts)
    try:
        if mark == b"@i":  # a double holds them if they have no more than 15 digits
            numbers: object = (_WHOLE_PAIRS if pairs else _WHOLE).decode(whole)
        else:
            numbers = (_PAIRS if pairs else _NUMBERS).decode(whole)
    except msgspec.MsgspecError:
        return False
    return msgspec.json.encode(numbers) == whole


@lru_cache(maxsize=4096)
def _text(quoted: bytes | None) -> str | None:
    if quoted is None:
        return None
    try:
        text: str = msgspec.json.decode(b'"%b"' % quoted)
    except msgspec.DecodeError:
        return None
    return text


def _written(numbers: Iterable[float] | Iterable[Sequence[float]], mark: bytes) -> bytes:
    if mark == b"@i":
        return msgspec.json.encode([int(x) if isinstance(x, float) else [int(y) for y in x] for x in numbers])
    return msgspec.json.encode(numbers)


def put_back(frame: bytes, rows: Sequence[dict[str, list[float] | list[list[float]] | None]]) -> bytes:
    """The run file again: arrays in the order in which they were taken out, by their names."""
    arrays = iter([(name, values) for row in rows for name, values in row.items() if values is not None])

    def fill(match: re.Match[bytes]) -> bytes:
        try:
            name, values = next(arrays)
        except StopIteration:
            raise StoreError("arrays of this run are missing in the database") from None
        if b'"%b"' % name.encode() != match[1]:
            raise StoreError(f"arrays of this run are out of order in the database: {name}")
        return match[1] + b":" + _written(values, b"@" + match[2])

    whole = _MARK.sub(fill, frame)
    if next(arrays, None) is not None:
        raise StoreError("the database has more arrays of this run than its file had")
    return whole
