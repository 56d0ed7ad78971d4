"""`gradmark hypothesis`: built-in ones by name, one's own from a file, wrong names."""

from pathlib import Path

import pytest
from oracles.watched import watched

from gradmark.analyse.hypotheses import BUILT_IN
from gradmark.commands.hypothesis import Claim, choose, unsettled
from gradmark.errors import SelectionError
from gradmark.records import Environment, Measurement, Phase, Run, Sample, Settings

QUICK = Settings()
EXAMPLE = str(Path(__file__).parents[3] / "examples" / "hypothesis.py")


def test_all_built_in_ones_without_a_name():
    assert choose((), QUICK) == [Claim(hypothesis) for hypothesis in BUILT_IN]


def test_by_name():
    (claim,) = choose(("filtering",), QUICK)
    assert (claim.hypothesis.name, claim.file) == ("filtering", None)
    assert [(c.engine, c.row, c.suite, c.file) for c in claim.cells] == [
        ("tapegrad:recording-constants", "constants/n=1000", "scalar", None),
        ("tapegrad", "constants/n=1000", "scalar", None),
    ]


def test_from_a_file_with_its_own_workloads():
    (claim,) = choose((EXAMPLE,), QUICK)
    assert (claim.hypothesis.name, claim.file) == ("products", EXAMPLE)
    assert [(c.row, c.suite, c.file) for c in claim.cells] == [
        ("by_power/n=50", "mine", EXAMPLE),
        ("by_products/n=50", "mine", EXAMPLE),
    ]


def test_a_file_with_hypotheses_only(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from gradmark.analyse.hypotheses import Arm, Hypothesis\n"
        "h = Hypothesis('h', 'c', Arm('null', 'expression', 'total'), Arm('tapegrad', 'expression', 'total'))\n"
    )
    (claim,) = choose((str(path),), QUICK)
    assert [(c.engine, c.workload, c.file) for c in claim.cells] == [
        ("null", "expression", None),
        ("tapegrad", "expression", None),
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("replai", "no hypothesis is called 'replai'; did you mean replay?"),
        ("xyzzy", "no hypothesis is called 'xyzzy'; choose from: reuse-allocations, "),
        ("none.py", "none.py cannot be loaded: "),
    ],
)
def test_wrong_names(gradmark, tmp_path, name, message):
    called = gradmark("hypothesis", name)
    assert (called.code, called.out) == (2, "")
    assert called.err.startswith(f"gradmark: {message}")
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_a_hypothesis(tmp_path):
    path = tmp_path / "empty.py"
    path.write_text("x = 1\n")
    with pytest.raises(SelectionError, match=r"has no Hypothesis; see examples/hypothesis\.py"):
        choose((str(path),), QUICK)


def test_a_file_that_fails(tmp_path):
    path = tmp_path / "failing.py"
    path.write_text("x = 1 / 0\n")
    with pytest.raises(SelectionError, match=r"failing.py, line 1, `x = 1 / 0`: ZeroDivisionError"):
        choose((str(path),), QUICK)


@pytest.mark.slow
def test_an_exact_count_is_decided_by_one_process(gradmark, quick):
    called = gradmark("hypothesis", "filtering", *quick)
    assert called.code == 0
    lines = called.out.splitlines()
    assert lines[0] == "supported    not recording constants shrinks the tape when constants dominate"
    assert lines[1].endswith("constants/n=1000 on tapegrad: tape 10")
    assert lines[2].strip() == "100 times fewer"
    assert lines[-1].startswith("run file: ")


@pytest.mark.slow
def test_not_measured_is_doubt(gradmark, quick):
    called = gradmark("hypothesis", "reuse-allocations", *quick)
    assert called.code == 3
    assert [line.strip() for line in called.out.splitlines()[1:3]] == [
        "reuse on tapegrad:fresh has no allocs: switched off with --no-memory",
        "reuse on tapegrad has no allocs: switched off with --no-memory",
    ]


@pytest.mark.slow
def test_two_files_with_workloads_of_one_name(gradmark, quick, tmp_path):
    text = (
        "from gradmark import workload\nfrom gradmark.analyse.hypotheses import Arm, Hypothesis\n"
        "@workload(suite='mine', stresses='x')\ndef f(ops, x):\n    return {body}\n"
        "h = Hypothesis('h', 'c', Arm('tapegrad', 'f', 'tape'), Arm('tapegrad', 'expression', 'tape'))\n"
    )
    (tmp_path / "one.py").write_text(text.format(body="x * x"))
    (tmp_path / "two.py").write_text(text.format(body="x * x * x * x * x * x"))
    called = gradmark("hypothesis", "one.py", "two.py", *quick)
    assert called.code == 1
    assert [line.strip().partition(",")[0] for line in called.out.splitlines() if "f on tapegrad" in line] == [
        "f on tapegrad: tape 1",
        "f on tapegrad: tape 5",
    ]


def test_arms_that_lack_calm_rounds_are_measured_further():
    (chosen,) = choose(("replay",), QUICK)

    def measured(cell, calm):
        samples = [
            watched(
                Sample(
                    process=process,
                    phases={"total": Phase(iterations=1, block_ns=[1000.0])},
                    once_ns={},
                    harness_ns=0.0,
                    clock_ns=1.0,
                ),
                calm=calm if process < 4 else 4,
            )
            for process in range(9)
        ]
        return Measurement(cell=cell, status="ok", samples=samples)

    first, second = chosen.cells
    environment = Environment(cpu="c", cores=1, memory_bytes=1, os="o", python="p", packages={})

    def run(calm):
        rows = [measured(first, 4), measured(second, calm)]
        return Run(id="r", started="", environment=environment, settings=Settings(), measurements=rows)

    assert unsettled(run(4), [chosen]) == []
    assert unsettled(run(0), [chosen]) == [first, second]
