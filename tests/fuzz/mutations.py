"""Mutations of valid files: what a bad disk, half a download, a merge conflict or a hand with an editor leaves.

In: the bytes of a valid file. Out: a strategy of bytes that are nearly such a file.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

# Deeper than any parser should follow, and far less than what takes long.
DEEP = 5_000
HOSTILE = "\x1b[31m\x1b]8;;http://x\x07\r\x07\u202e\n[red]|`<img src=x>@someone=1+1"
# What stands where something else should: of every type, and of every size.
STRANGE: list[Any] = [
    None, True, False, 0, 1, -1, 3, 2**31, 2**63, -(2**63), 10**30, 10**400, 0.5, -0.0, 1e-320, 1e18, 1e308, -1e308,
    float("nan"), float("inf"), float("-inf"), "", "x", "ok", "total", "1e999", "2026-13-45T99:99:99", "0000", "cpu",
    "core", "é" * 300, HOSTILE, "\0", "\ud800", [], {}, [[]], [None], [0.0], [0.0, 1.0], [[1.0, 2.0]], {"": 0},
    {"x": {}}, {"core": []}, {"total": None},
]  # fmt: skip
BYTES = [b"", b"\xff", b"\x00", b"\xc3", b"\xed\xa0\x80", b"\n", b"\r\n", b'"', b"{", b"}", b"]", b",", b"\xef\xbb\xbf"]
WORDS = [
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"1e999",
    b"-",
    b"9" * 400,
    b"9" * 5000,
    b"[" * DEEP,
    b'{"a":' * DEEP,
    b"nul",
]


def mutated(*valid: bytes) -> st.SearchStrategy[bytes]:
    """One of the files with one to three mutations: of its text, or of the values in it."""
    return st.builds(
        _applied,
        st.sampled_from(valid),
        st.lists(st.one_of(_of_bytes(), _of_lines(), _of_values(), _of_values()), min_size=1, max_size=3),
    )


Mutation = Callable[[bytes], bytes]


def _applied(data: bytes, mutations: Sequence[Mutation]) -> bytes:
    for mutation in mutations:
        data = mutation(data)
    return data


PLACES = st.integers(0, 2**30)


def _of_bytes() -> st.SearchStrategy[Mutation]:
    """A byte flipped, a stretch replaced or cut out, an end cut off."""

    def flipped(place: int, mask: int) -> Mutation:
        return lambda data: data and _put(data, place % len(data), 1, bytes([data[place % len(data)] ^ mask]))

    def replaced(place: int, length: int, by: bytes) -> Mutation:
        return lambda data: _put(data, place % (len(data) + 1), length, by)

    def cut(place: int) -> Mutation:
        return lambda data: data[: place % (len(data) + 1)]

    inserted = st.one_of(st.sampled_from(BYTES), st.sampled_from(WORDS), st.binary(max_size=8))
    return st.one_of(
        st.builds(flipped, PLACES, st.integers(1, 255)),
        st.builds(replaced, PLACES, st.integers(0, 40), inserted),
        st.builds(cut, PLACES),
    )


def _put(data: bytes, place: int, length: int, by: bytes) -> bytes:
    return data[:place] + by + data[place + length :]


def _of_lines() -> st.SearchStrategy[Mutation]:
    """A line twice, gone, in another place, or two of them as one."""

    def changed(how: str, place: int, other: int) -> Mutation:
        def change(data: bytes) -> bytes:
            lines = data.splitlines(keepends=True)
            if not lines:
                return data
            place_, other_ = place % len(lines), other % len(lines)
            if how == "twice":
                lines.insert(other_, lines[place_])
            elif how == "gone":
                del lines[place_]
            elif how == "moved":
                lines.insert(other_, lines.pop(place_))
            else:
                lines[place_] = lines[place_].rstrip(b"\n")
            return b"".join(lines)

        return change

    return st.builds(changed, st.sampled_from(["twice", "gone", "moved", "joined"]), PLACES, PLACES)


def _of_values() -> st.SearchStrategy[Mutation]:
    """A value of another type or size, a key gone or renamed, an entry twice, or two values swapped."""

    def changed(how: str, line: int, place: int, other: int, value: Any) -> Mutation:
        def change(data: bytes) -> bytes:
            lines = data.split(b"\n") if b"\n{" in data.strip() else [data]
            chosen = line % len(lines)
            try:
                tree = json.loads(lines[chosen])
            except (ValueError, RecursionError):  # an earlier mutation broke it
                return data
            holders = list(_places(tree))
            if not holders:
                return data
            holder, key = holders[place % len(holders)]
            if how == "like":  # the same type, so that many of these are read, and used
                alike = [one for one in STRANGE if type(one) is type(holder[key])]
                holder[key] = alike[other % len(alike)]
            else:
                _edit(how, holder, key, *holders[other % len(holders)], value)
            # With what JSON does not allow: NaN, and halves of surrogate pairs.
            lines[chosen] = json.dumps(tree, ensure_ascii=False).encode("utf-8", "surrogatepass")
            return b"\n".join(lines)

        return change

    strange = st.one_of(st.sampled_from(STRANGE), st.floats(), st.integers(), st.text(max_size=5))
    how = st.sampled_from(["set", "like", "like", "like", "deleted", "renamed", "twice", "swapped"])
    return st.builds(changed, how, PLACES, PLACES, PLACES, strange)


def _places(tree: Any) -> Any:
    """Every holder and key of a tree, the outermost first."""
    keys = list(tree) if isinstance(tree, dict) else list(range(len(tree))) if isinstance(tree, list) else []
    for key in keys:
        yield tree, key
    for key in keys:
        yield from _places(tree[key])


def _edit(how: str, holder: Any, key: Any, other: Any, other_key: Any, value: Any) -> None:
    if how == "deleted":
        del holder[key]
    elif how == "renamed" and isinstance(holder, dict):
        holder[str(value)] = holder.pop(key)
    elif how == "twice" and isinstance(holder, list):
        holder.append(holder[key])
    elif how == "swapped":
        first, second = json.dumps(holder[key]), json.dumps(other[other_key])  # copies: one may hold the other
        holder[key], other[other_key] = json.loads(second), json.loads(first)
    else:
        holder[key] = value
