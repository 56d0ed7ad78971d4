"""The contract as a matrix: promises × engines, the reader's own engine first.

In: material and the verdicts on promises. Out: a word for each promise and engine, and the evidence of each engine.
"""

from collections.abc import Sequence

from gradmark.records import Record, Verdict
from gradmark.report.model.characters import one_line
from gradmark.report.model.overview import is_own, own_engine
from gradmark.report.page.material import Material


class Judged(Record, frozen=True, kw_only=True):
    """One engine: its place in the index, and what its verdicts rest on."""

    name: str
    place: int
    own: bool
    broken: bool
    evidence: list[tuple[str, list[str]]]


class Promise(Record, frozen=True, kw_only=True):
    """One promise, with a word for each engine."""

    claim: str
    words: list[str]


class Matrix(Record, frozen=True, kw_only=True):
    """The contract of all engines that were measured on some of its workloads."""

    engines: list[Judged]
    lines: list[Promise]


def matrix(material: Material, promises: Sequence[Verdict]) -> Matrix:
    """Own engines first, the others in the order of the run."""
    own = own_engine(material.run)
    names = sorted(dict.fromkeys(p.engine for p in promises), key=lambda engine: not is_own(engine, own))
    words = {(p.claim, p.engine): p.verdict for p in promises}
    return Matrix(
        engines=[
            _judged(name, [p for p in promises if p.engine == name], material, is_own(name, own)) for name in names
        ],
        lines=[
            Promise(claim=one_line(claim), words=[words.get((claim, name), "not measured") for name in names])
            for claim in dict.fromkeys(p.claim for p in promises)
        ],
    )


def _judged(name: str, verdicts: Sequence[Verdict], material: Material, own: bool) -> Judged:
    return Judged(
        name=one_line(name),
        place=material.engines.index(one_line(name)),
        own=own,
        broken=any(v.verdict == "broken" for v in verdicts),
        evidence=[(one_line(v.claim), [one_line(part) for part in v.evidence]) for v in verdicts],
    )
