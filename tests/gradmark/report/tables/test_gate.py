import pytest

from gradmark.records import Budget
from gradmark.records.finding import Finding, FindingCode, Gate
from gradmark.report.tables.gate import SENTENCES, amount, lines, markdown, sentence

FOUND = [
    Finding(
        cell="poly@e",
        metric="allocations",
        word="fail",
        code=FindingCode.OVER,
        before=0,
        now=12,
        limit=0,
        budget=Budget(),
    ),
    Finding(cell="poly@e", metric="tape_instructions", word="pass", before=20, now=20, limit=20),
    Finding(cell="tree@e", metric="total", word="inconclusive", before=1000.0, now=1060.0, reason="too | noisy"),
    Finding(cell="new@e", metric="status", word="new", code=FindingCode.NEW),
]
GATE = Gate(against="gradmark-baseline.json", findings=FOUND, differing={"python": ("3.11", "3.12")})


def test_lines_begin_with_what_is_wrong_and_end_with_the_answer():
    assert lines(GATE) == [
        "fail         poly@e allocations: 0 → 12: the budget allows 0 more",
        "inconclusive tree@e total: 1.00 µs → 1.06 µs (+6.0 %): too | noisy",
        "new          new@e: not in the baseline; `gradmark baseline update` adds it",
        "note         python: 3.11 in the baseline, 3.12 here",
        "fail against gradmark-baseline.json: 1 cell fails (1 of 2 metrics); 1 cell is inconclusive (1 metric); "
        "1 cell is not in the baseline",
    ]


def test_nothing_at_all():
    assert lines(Gate(against="b", findings=[])) == ["pass against b: nothing to compare"]


def test_markdown():
    assert markdown(GATE).splitlines() == [
        "### ❌ gradmark: fail",
        "",
        "Against gradmark-baseline.json: 1 cell fails (1 of 2 metrics); 1 cell is inconclusive (1 metric); "
        "1 cell is not in the baseline.",
        "",
        "| | cell | metric | change | why |",
        "|---|---|---|---|---|",
        "| ❌ | `poly@e` | allocations | 0 → 12 | the budget allows 0 more |",
        "| ❔ | `tree@e` | total | 1.00 µs → 1.06 µs (+6.0 %) | too \\| noisy |",
        "",
        "- 🆕 new@e: not in the baseline; `gradmark baseline update` adds it",
        "- python: 3.11 in the baseline, 3.12 here",
    ]


def finding(code, metric="total", **numbers):
    return Finding(cell="c", metric=metric, word="fail", code=code, **numbers)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (finding(FindingCode.WITHIN), ""),
        (finding(FindingCode.OVER, budget=Budget()), "the budget allows 0 more"),
        (finding(FindingCode.OVER, budget=Budget(share=0.05)), "the budget allows 5% more"),
        (finding(FindingCode.OVER, budget=Budget(factor=10.0)), "the budget allows 10 times as much"),
        (
            finding(FindingCode.OVER, budget=Budget(share=0.05), noise=0.003, p_value=0.00024, ratios=[1.08, 1.09]),
            "noise 0.3 %, p = 0.00024, measured twice: +8.0 %, +9.0 %; the budget allows 5% more",
        ),
        (finding(FindingCode.BETTER, "allocations"), "`gradmark baseline update` records it"),
        (finding(FindingCode.BETTER, noise=0.01, p_value=1.0), "noise 1.0 %, p = 1"),  # no baseline has times
        (
            finding(FindingCode.VANISHED),
            "in the baseline, but not measured: name it (`gradmark check FILE` for a function of yours) or list it "
            "under `select` in pyproject.toml; if it is gone for good, `gradmark baseline update` removes it",
        ),
        (finding(FindingCode.STATUS, statuses=("ok", "crash"), detail="bang"), "crash, was ok: bang"),
        (finding(FindingCode.STATUS, statuses=("error", "error"), detail="bang"), "still error: bang"),
        (
            finding(FindingCode.STATUS, statuses=("ok", "crash"), detail="bang", once=True),
            "seen once, but not again: crash, was ok: bang",
        ),
        (
            finding(FindingCode.REPAIRED, statuses=("error", "ok")),
            "works now; it was error; `gradmark baseline update` records it",
        ),
        (
            finding(FindingCode.ELSEWHERE, differing={"numpy": ("2.3", "2.4"), "libc": ("none", "musl")}),
            "numpy: 2.3 in the baseline, 2.4 here; libc: none in the baseline, musl here",
        ),
        (finding(FindingCode.MISSING, detail="no room"), "could not be obtained: no room"),
        (finding(FindingCode.ON_DEMAND, detail="counted only with --instructions"), "counted only with --instructions"),
        (
            finding(FindingCode.OVER, "least_allocations", budget=Budget(), scatter=2),
            "the budget allows 0 more, and processes differ by 2",
        ),
        (
            finding(FindingCode.BY_CHANCE, "allocations", scatter=4.5),
            "differs by 4.5 from process to process; least_allocations are compared instead",
        ),
        (
            finding(FindingCode.ERRATIC, "allocations", budget=Budget(), counts=[180.5, 183, 181]),
            "the budget allows 0 more, but 3 processes counted 180.5 to 183, where those of the baseline agreed; a "
            "calmer machine may decide, or `gradmark baseline update` records it",
        ),
        (
            finding(FindingCode.NEW_FAILURE, statuses=("", "wrong-gradient"), detail="the gradient is off by 1.0e-03"),
            "new and failing: wrong-gradient: the gradient is off by 1.0e-03",
        ),
        (finding(FindingCode.TOO_SHORT), "too short: the cost of an empty call is not known well enough"),
        (
            finding(FindingCode.NEAR, noise=0.02, p_value=0.3),
            "noise 2.0 %, p = 0.3; may or may not be within the budget; more pairs (--pairs) or a quieter "
            "machine would decide",
        ),
        (
            finding(FindingCode.LOST, statuses=("ok", "timeout"), detail="60 s"),
            "started to fail while it was timed: timeout, was ok: 60 s",
        ),
        (
            finding(FindingCode.NEVER_CALM),
            "the machine was never calm while it was timed; measure again: `gradmark doctor` shows the machine's "
            "states",
        ),
        (finding(None, reason="in words"), "in words"),
    ],
)
def test_sentences(said, expected):
    assert sentence(said) == expected


def test_every_code_has_a_sentence():
    assert list(SENTENCES) == list(FindingCode)


def test_what_was_not_compared_is_said_once():
    gate = Gate(
        against="b",
        findings=[
            Finding(cell="c", metric="allocations", word="not compared", code=FindingCode.ELSEWHERE),
            Finding(cell="d", metric="allocations", word="not compared", code=FindingCode.ELSEWHERE),
            Finding(cell="d", metric="instructions", word="not compared", code=FindingCode.ON_DEMAND),
        ],
        differing={"libc": ("glibc", "musl")},
        notes=["times: floors"],
    )
    assert lines(gate) == [
        "note         libc: glibc in the baseline, musl here",
        "note         not compared because of that: allocations; everything else compares across machines",
        "note         times: floors",
        "pass against b: 2 cells are not compared (3 metrics)",
    ]


def test_many_new_cells_are_one_line_and_counted_as_cells():
    """Seen: 27 lines, then `27 new, 25 pass`, which counted cells and metrics as if they were one thing."""
    new = [Finding(cell=f"w/n={n}@e", metric="status", word="new", code=FindingCode.NEW) for n in range(27)]
    passed = [Finding(cell=f"c{k}@e", metric=name, word="pass") for k in range(5) for name in ("total", "forward")]
    gate = Gate(against="b", findings=[*passed, *new])
    assert lines(gate) == [
        "new          27 cells are not in the baseline; `gradmark baseline update` adds them: w/n=0@e, w/n=1@e, "
        "w/n=2@e and 24 more",
        "pass against b: 5 cells pass (10 metrics); 27 cells are not in the baseline",
    ]
    assert markdown(gate).count("not in the baseline") == 2


def test_an_engine_that_leaks_as_before_is_named():
    def leaking(cell, now):
        return Finding(cell=cell, metric="leaked_bytes", word="pass", code=FindingCode.WITHIN, before=now, now=now)

    one = Gate(against="b", findings=[leaking("a@e", 1024.0), leaking("b@e", 0.0)])
    assert lines(one)[0] == "note         1 cell leaks no more than before; worst: 1.00 KiB an iteration on a@e"
    two = Gate(against="b", findings=[leaking("a@e", 1024.0), leaking("b@e", 2048.0)])
    assert lines(two)[0] == "note         2 cells leak no more than before; worst: 2.00 KiB an iteration on b@e"
    assert lines(two)[1] == "pass against b: 2 cells pass (2 metrics)"


def test_amounts_have_units():
    assert [amount(m, 2048) for m in ("peak_bytes", "total", "allocations")] == ["2.00 KiB", "2.05 µs", "2048"]
    assert amount("gradient_error", 1.23e-15) == "1.2e-15"
    assert [amount("allocations", count) for count in (1234567, 1234568, 0.5)] == ["1234567", "1234568", "0.5"]
    assert amount("allocations", None) == "n/a"


def test_rows_that_another_revision_does_not_have():
    def new(cell):
        return Finding(
            cell=cell, metric="status", word="new", code=FindingCode.NEW, detail="there is no file mine.py"
        )  # fmt: skip

    assert lines(Gate(against="main", findings=[new("a@e")])) == [
        "new          a@e: nothing to compare with in the other revision: there is no file mine.py",
        "pass against main: 1 cell is new",
    ]
    assert lines(Gate(against="main", findings=[new("a@e"), new("b@e")])) == [
        "new          2 cells have nothing to compare with in the other revision: a@e, b@e",
        "pass against main: 2 cells are new",
    ]


def test_what_happens_once_has_a_budget_of_two_parts():
    over = finding(
        FindingCode.OVER, "import", before=30e6, now=230e6, budget=Budget(share=0.1, added_ns=50e6), p_value=0.0002,
        noise=0.02,
    )  # fmt: skip
    assert sentence(over) == "noise 2.0 %, p = 0.0002; the budget allows 10% + 50ms more"


def test_an_engine_that_never_worked():
    doubt = finding(FindingCode.NEVER_WORKED, "status", detail="No module named 'fast'")
    assert sentence(doubt) == (
        "works now, but nothing of its engine or file worked before, so nothing was compared: No module named 'fast'; "
        "see "
        "that `build` in [tool.gradmark] builds the other revision"
    )
