"""Reads back what is shown: numbers with the rounding that their digits say, and tables as they are printed.

In: the text of a terminal or of markdown. Out: spans of numbers, lines by header.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

FACTORS = {
    "": 1.0, "ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9, "%": 0.01, "ulp": 1.0,
    "B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30,
    "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
}  # fmt: skip
NUMBER = re.compile(r"~?([+-]?[\d,]+(?:\.(\d+))?(?:e([+-]\d+))?)(?: (\S+))?")
MARKS = "◀=?"


# --- numbers as they are shown


class Span(NamedTuple):
    """The numbers that a text may stand for: it was rounded."""

    low: float
    high: float

    def over(self, other: "Span") -> "Span":
        """All quotients."""
        return Span(self.low / other.high, self.high / other.low)

    def meets(self, other: "Span") -> bool:
        """Whether both may stand for one number."""
        slack = 1e-9 * abs(self.high)
        return self.low <= other.high + slack and other.low <= self.high + slack


def span(text: str) -> Span:
    """What a text stands for. Numbers with commas have three digits.

    >>> span("2.50 µs")
    Span(low=2495.0, high=2505.0)
    """
    match = NUMBER.fullmatch(text.rstrip(MARKS))
    assert match, f"{text!r} is no number"
    digits, decimals, exponent, unit = match.groups()
    value = float(digits.replace(",", ""))
    step = 10.0 ** -len(decimals or "") * 10.0 ** int(exponent or 0)
    if "," in digits:
        step = 10.0 ** (len(digits.replace(",", "")) - 3)
    prefix = unit or ""
    for ending in ("FLOP/s", "B/s"):
        prefix = prefix.removesuffix(ending) if unit != ending else ""
    factor = FACTORS[prefix]
    return Span((value - step / 2) * factor, (value + step / 2) * factor)


def is_quotient(ratio: str, above: str, below: str) -> bool:
    """Whether a ratio follows from the numbers beside it, to the digits that are shown. None does from nothing."""
    lower = span(below)
    return lower.low <= 0 or span(ratio).meets(span(above).over(lower))


# --- tables as they are printed

Lines = list[dict[str, str]]


def terminal_tables(text: str, names: set[str]) -> Iterator[tuple[str, Lines]]:
    """The title and the lines of each table, by header. A line begins with one of the names."""
    lines = text.splitlines()
    for rule, line in enumerate(lines):
        if not line or set(line) != {"─"}:
            continue
        head = rule - 1
        while head > 0 and lines[head - 1].startswith(" "):
            head -= 1
        end = rule + 1
        while end < len(lines) and re.split(r"\s{2,}", lines[end].strip())[0] in names:
            end += 1
        block = [*lines[head:rule], *lines[rule + 1 : end]]
        places = _columns(block)
        headers = [" ".join(part[a:b].strip() for part in lines[head:rule]).strip() for a, b in places]
        title = lines[head - 1].strip()
        yield (
            title,
            [
                {plain_title(h): part[a:b].strip() for h, (a, b) in zip(headers, places, strict=True)}
                for part in lines[rule + 1 : end]
            ],
        )


def _columns(block: Sequence[str]) -> list[tuple[int, int]]:
    """Where columns are: between them two characters or more are blank in all lines."""
    width = max(map(len, block))
    padded = [line.ljust(width) for line in block]
    blank = "".join(" " if all(line[k] == " " for line in padded) else "x" for k in range(width))
    gaps = [match.span() for match in re.finditer(r" {2,}", blank)]
    edges = [0, *(end for _, end in gaps), width]
    return [(a, b) for a, b in itertools.pairwise(edges) if blank[a:b].strip()]


def markdown_tables(text: str) -> Iterator[tuple[str, Lines]]:
    """The same of markdown."""
    title, headers = "", list[str]()
    table: Lines = []
    for line in [*text.splitlines(), "### end"]:
        if line.startswith("### "):
            if headers:
                yield title, table
            title, headers, table = _plain(line[4:]), [], []
        elif line.startswith("|"):
            parts = [_plain(part.strip()) for part in re.split(r"(?<!\\)\|", line)[1:-1]]
            if not headers:
                headers = [plain_title(part) for part in parts]
            elif set("".join(parts)) != set("-:"):
                table.append(dict(zip(headers, parts, strict=True)))


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def plain_title(header: str) -> str:
    """The header without its remark."""
    return header.split(" (theory")[0]
