from typing import Any

from gradmark.records import Verdict
from gradmark.report.page.material import Material
from gradmark.report.page.matrix import matrix


def promise(engine: str, claim: str, verdict: Any) -> Verdict:
    return Verdict(claim=claim, verdict=verdict, evidence=[f"{engine} {claim}"], engine=engine)


def test_the_own_engine_is_first_and_every_promise_has_a_word_for_each_engine(make: Any) -> None:
    cells = [make.cell(engine=engine) for engine in ("jax", "tapegrad", "jax:eager")]
    material = Material([make.run(*map(make.measurement, cells))])
    promises = [
        promise("tapegrad", "a", "kept"), promise("tapegrad", "b", "undecided"), promise("jax", "a", "kept"),
        promise("jax:eager", "a", "broken"),
    ]  # fmt: skip
    found = matrix(material, promises)
    assert [(one.name, one.place, one.own, one.broken) for one in found.engines] == [
        ("jax", 0, True, False), ("jax:eager", 2, True, True), ("tapegrad", 1, False, False)
    ]  # fmt: skip
    assert [(line.claim, line.words) for line in found.lines] == [
        ("a", ["kept", "broken", "kept"]), ("b", ["not measured", "not measured", "undecided"])
    ]  # fmt: skip
    assert found.engines[2].evidence == [("a", ["tapegrad a"]), ("b", ["tapegrad b"])]
