from typing import Any

import msgspec

from gradmark.records import Run, Settings, Verdict
from gradmark.report.model import sides
from gradmark.report.page.material import Material
from gradmark.report.page.page import page

HOSTILE = "<script>document.title='owned'</script>"


def test_facts_say_where_and_how(make: Any) -> None:
    facts = dict(page([make.run(make.measurement())]).facts)
    assert facts == {
        "run": "run-1",
        "started": "2026-01-01 00:00 UTC",
        "machine": "AMD EPYC, 2 cores, 8.00 GiB",
        "system": "Linux 6.1 x86_64, CPython 3.11.7",
        "commit": "unknown",
        "processes": "1 for each row, interleaved; 8 blocks in each",
        "threads": "1",
        "seed": "0",
    }


def test_rows_of_different_commits_and_machines_are_said(make: Any) -> None:
    def run(name: str, **changes: Any) -> Run:
        made: Run = make.run(make.measurement(), id=name, started=f"2026-{name}")
        return msgspec.structs.replace(made, environment=msgspec.structs.replace(made.environment, **changes))

    found = page([run("01", commit="a" * 40), run("02", cpu="M1"), run("03", commit="b" * 40, dirty=True)])
    assert [note.text for note in found.notes[:2]] == [
        "run 02 is only in the history: its times do not compare (cpu: M1, AMD EPYC).",
        "the rows come from 2 runs of different commits: aaaaaaaaaaaa, bbbbbbbbbbbb with changes.",
    ]


def test_verdicts_are_the_gates_and_the_hypotheses_and_the_contract_is_a_matrix(several: Run) -> None:
    gate = Verdict(claim="gate", verdict="kept", evidence=["e"])
    made = page([several], gate)
    found = made.verdicts
    assert found[0].claim == "gate"
    assert made.contract.lines[0].claim == "recording is linear in the differentiable operations executed"
    assert [(one.name, one.own) for one in made.contract.engines] == [("tapegrad", True), (HOSTILE, False)]
    assert [len(line.words) for line in made.contract.lines] == [2] * 4
    assert (found[-1].claim, found[-1].verdict) == ("backward costs less than forward", "undecided")


def test_fits_in_words(several: Run) -> None:
    fit = page([several]).growth[0]
    assert (fit.name, fit.metric, fit.exponent, fit.interval, fit.verdict) == (
        "poly/n=*@tapegrad",
        "primal",
        "1.00",
        "0.98 to 1.02",
        "linear",
    )


def test_only_charts_with_views_are_drawn(make: Any) -> None:
    found = page([make.run(make.failed("crash", "SIGSEGV"))])
    assert found.charts == []


def test_answers_are_the_terminals_and_engines_that_ran_nothing_are_a_line(make: Any, noisy: Run) -> None:
    lacking = [make.failed("unsupported", "no scalars", make.cell("poly", "tinygrad", n)) for n in (10, 100, 1000)]
    run = msgspec.structs.replace(noisy, measurements=[*noisy.measurements, *lacking])
    found = page([run])
    terminal = sides.comparison(run)
    assert [answer for _, answer in found.answers] == terminal.answers
    for place, answer in found.answers:
        assert answer.startswith(f"{found.index.tasks[place]}: ")
    assert found.absent == terminal.absent
    assert "tinygrad ran nothing: no scalars" in found.absent
    assert found.engines is not None
    assert "tinygrad" not in found.engines.heads


def test_operators_of_one_engine_do_not_hide_the_answers(make: Any) -> None:
    compared = [make.measurement(make.cell("poly", engine, n)) for engine in ("one", "two") for n in (10, 100)]
    cells = [make.cell("operator", "one", None, params={"operation": name}) for name in ("sin", "cos", "exp", "log")]
    found = page([make.run(*compared, *map(make.measurement, cells))])
    assert [answer.split(": ")[0] for _, answer in found.answers] == ["poly/n=10", "poly/n=100"]


def test_one_engine_has_no_answer(make: Any) -> None:
    found = page([make.run(make.measurement())])
    assert (found.answers, found.absent) == ([], [])


def test_a_run_of_many_engines_and_operators_stand_on_one_page(make: Any) -> None:
    """Workers of more than four engines are forked; together with `ops` such a run vanished."""
    engines = [make.measurement(make.cell(engine=f"e{k}")) for k in range(5)]
    many = make.run(*engines, id="many", started="2026-01-01", settings=Settings(forked=True, processes=2))
    operator = make.cell("operator", n=None, suite="operators", params={"operation": "nothing"})
    ops = make.run(make.measurement(operator), id="ops", started="2026-01-02", settings=Settings(full=True))
    found = page([many, ops])
    assert len(found.grid.lines) == 6
    (note,) = [note.text for note in found.notes if "run many" in note.text]
    assert note == (
        "5 rows of run many: a quick run, with fewer processes and blocks, so its times are less precise; "
        "processes forked from one import of each engine, unlike those of ops."
    )


def test_each_unfinished_run_names_its_own_command(make: Any) -> None:
    old = make.run(id="old", started="2026-01-01", planned=[make.cell("poly"), make.cell("tree")], verb="contract")
    new = make.run(make.measurement(), id="new", started="2026-01-02", planned=[make.cell("poly")], finished=True)
    (note,) = [note.text for note in page([old, new]).notes if note.text.startswith("unfinished")]
    assert note == "unfinished: of 1 cell, 1 was not reached. `gradmark contract --resume old` continues the run."


def test_engines_of_different_runs_share_no_rounds(make: Any) -> None:
    """Process 0 of one run was not measured in turns with process 0 of another: no order is settled by that."""
    samples = [make.sample(process, {"total": 1000.0 + process}) for process in range(6)]
    slower = [make.sample(process, {"total": 1200.0 + process}) for process in range(6)]
    runs = [
        make.run(make.measurement(make.cell(engine=engine), samples=s), id=engine, started=f"2026-01-0{day}")
        for day, (engine, s) in enumerate((("a", samples), ("b", slower)), 1)
    ]
    material = Material(runs)
    (row,) = material.standings.values()
    assert {standing.engine: standing.rounds for standing in row} == {"a": 6, "b": 0}
    assert [sample.process for sample in material.run.measurements[1].samples] == list(range(6))


def test_a_hypothesis_whose_arms_come_from_different_runs_does_not_end_the_report(make: Any) -> None:
    def run(engine: str, count: int, started: str) -> Run:
        samples = [make.sample(process) for process in range(count)]
        made: Run = make.run(make.measurement(make.cell("reuse", engine, None), samples=samples), id=started)
        return msgspec.structs.replace(made, started=started)

    found = page([run("tapegrad", 7, "2026-01-01"), run("tapegrad:fresh", 3, "2026-01-02")])
    (verdict,) = [verdict for verdict in found.verdicts if verdict.claim == "reusing the tape reduces time"]
    assert verdict.verdict == "undecided"
