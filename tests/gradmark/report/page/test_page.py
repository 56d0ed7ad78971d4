from typing import Any

import msgspec

from gradmark.records import Run, Verdict
from gradmark.report.page.page import page


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


def test_verdicts_are_the_gates_the_contracts_and_the_hypotheses(several: Run) -> None:
    gate = Verdict(claim="gate", verdict="kept", evidence=["e"])
    found = page([several], gate).verdicts
    assert [verdict.claim for verdict in found[:2]] == [
        "gate",
        "recording is linear in the differentiable operations that are executed",
    ]
    assert (found[-1].claim, found[-1].verdict) == ("backward costs less than forward", "undecided")


def test_fits_in_words(several: Run) -> None:
    fit = page([several]).growth[0]
    assert (fit.name, fit.metric, fit.exponent, fit.interval, fit.verdict) == (
        "poly tapegrad",
        "primal",
        "1.00",
        "0.98 to 1.02",
        "linear",
    )


def test_only_charts_with_views_are_drawn(make: Any) -> None:
    found = page([make.run(make.failed("crash", "SIGSEGV"))])
    assert found.charts == []
