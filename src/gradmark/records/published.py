"""The published: ratios that others report, kept apart from all that is measured here."""

from typing import Annotated

import msgspec

from gradmark.records.record import Record

Ratio = Annotated[float, msgspec.Meta(gt=0.0, le=1e9)]


class Source(Record, frozen=True, kw_only=True):
    """Where ratios stand, and how they came about."""

    name: str  # short, in tables
    title: str
    where: str
    machine: str
    licence: str
    ratio: str  # what is divided by what


class Published(Record, frozen=True, kw_only=True):
    """All that is known of others. `ratios` are by source, problem, size and tool: derivative's time by function's."""

    sources: dict[str, Source]
    ratios: dict[str, dict[str, dict[str, dict[str, Ratio]]]]


class Stated(Record, frozen=True, kw_only=True):
    """What one source states of one problem at one size: each tool with its ratio, the smallest first."""

    source: Source
    problem: str
    size: str
    exact: bool  # whether that is the size that was asked for; else the one that is nearest
    ratios: list[tuple[str, Ratio]]
