from gradmark.records.finding import Finding, Gate
from gradmark.report.tables.gate import amount, lines, markdown

FOUND = [
    Finding(
        cell="poly@e", metric="allocations", word="fail", before=0, now=12, limit=0, reason="the budget allows 0 more"
    ),
    Finding(cell="poly@e", metric="tape_instructions", word="pass", before=20, now=20, limit=20),
    Finding(cell="tree@e", metric="total", word="inconclusive", before=1000.0, now=1060.0, reason="too | noisy"),
    Finding(cell="new@e", metric="status", word="new", reason="not in the baseline"),
]
GATE = Gate(against="gradmark-baseline.json", findings=FOUND, notes=["python: 3.11 in the baseline, 3.12 here"])


def test_lines_begin_with_what_is_wrong_and_end_with_the_answer():
    assert lines(GATE) == [
        "fail         poly@e allocations: 0 → 12: the budget allows 0 more",
        "inconclusive tree@e total: 1.00 µs → 1.06 µs (+6.0 %): too | noisy",
        "new          new@e status: not in the baseline",
        "note         python: 3.11 in the baseline, 3.12 here",
        "fail against gradmark-baseline.json: 1 fail, 1 inconclusive, 1 new, 1 pass",
    ]


def test_nothing_at_all():
    assert lines(Gate(against="b", findings=[])) == ["pass against b: nothing to compare"]


def test_markdown():
    assert markdown(GATE).splitlines() == [
        "### ❌ gradmark: fail",
        "",
        "Against gradmark-baseline.json: 1 fail, 1 inconclusive, 1 new, 1 pass.",
        "",
        "| | cell | metric | change | why |",
        "|---|---|---|---|---|",
        "| ❌ | `poly@e` | allocations | 0 → 12 | the budget allows 0 more |",
        "| ❔ | `tree@e` | total | 1.00 µs → 1.06 µs (+6.0 %) | too \\| noisy |",
        "| 🆕 | `new@e` | status |  | not in the baseline |",
        "",
        "- python: 3.11 in the baseline, 3.12 here",
    ]


def test_amounts_have_units():
    assert [amount(m, 2048) for m in ("peak_bytes", "total", "allocations")] == ["2.00 KiB", "2.05 µs", "2048"]
    assert amount("gradient_error", 1.23e-15) == "1.2e-15"
