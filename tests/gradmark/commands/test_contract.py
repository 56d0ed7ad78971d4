"""`gradmark contract`: verdicts as text and as an exit code."""

import pytest

from gradmark.analyse import contract
from gradmark.commands.verdicts import exit_code, print_verdicts
from gradmark.records import Verdict


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["kept", "kept"], 0),
        (["supported"], 0),
        (["kept", "broken", "undecided"], 1),
        (["refuted", "not measured"], 1),
        (["kept", "undecided"], 3),
        (["kept", "not measured"], 3),
    ],
)
def test_exit_code(words, code):
    assert exit_code([Verdict(claim="c", verdict=word, evidence=[]) for word in words]) == code


def test_each_piece_of_evidence_has_its_line(capsys):
    print_verdicts([Verdict(claim="it is good", verdict="kept", evidence=["one", "two"], engine="e")])
    assert capsys.readouterr().out == f"kept         it is good\n{'':13}one\n{'':13}two\n"


def test_the_engine_is_named_where_there_are_several(capsys):
    print_verdicts([Verdict(claim="c", verdict="kept", evidence=["x"], engine=engine) for engine in "ab"])
    assert capsys.readouterr().out.splitlines()[::2] == ["kept         a: c", "kept         b: c"]


@pytest.fixture
def one_workload(monkeypatch):
    """The quickest one that has evidence for two of the four promises."""
    monkeypatch.setattr(contract, "WORKLOADS", ["expression"])


@pytest.mark.slow
@pytest.mark.usefixtures("one_workload")
def test_an_engine_that_allocates_breaks_a_promise(gradmark):
    called = gradmark("contract", "-e", "faults.engines:Allocates", "--processes", "1")
    assert called.code == 1
    lines = called.out.splitlines()
    broken = next(number for number, line in enumerate(lines) if line.startswith("broken"))
    assert lines[broken] == "broken       a reused tape does not allocate in steady state"
    assert lines[broken + 1].endswith("allocations in an iteration")
    assert [line.split("  ")[0] for line in lines if line[:1].strip()][:4] == [
        "not measured recording is linear in the differentiable operations executed",
        "not measured backward is linear in the recorded instructions",
        "broken",
        "kept",
    ]
    assert lines[-1].startswith("run file: ")


@pytest.mark.slow
@pytest.mark.usefixtures("one_workload")
def test_an_engine_without_a_fault_breaks_none(gradmark):
    called = gradmark("contract", "-e", "faults.engines:Faulty", "--processes", "1")
    assert called.code == 3  # the two that need sizes were not measured
    assert [line[:6] for line in called.out.splitlines() if line.startswith(("kept", "broken"))] == ["kept  ", "kept  "]


def test_an_unknown_engine(gradmark, tmp_path):
    called = gradmark("contract", "-e", "tapegrat")
    assert called.code == 2
    assert "did you mean tapegrad" in called.err
    assert list(tmp_path.iterdir()) == []
