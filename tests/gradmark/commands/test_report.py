"""`gradmark report`, and `gradmark run --html`: which runs are shown, where the page goes, what is refused."""

import shutil
import webbrowser

import msgspec
import pytest

from gradmark.commands.report import against_baseline
from gradmark.store import baselines, runs


@pytest.fixture
def store(finished, tmp_path):
    """A store of its own with the finished run."""
    folder = tmp_path / "runs"
    folder.mkdir()
    shutil.copy(finished, folder)
    return folder


def test_the_latest_run_by_default(gradmark, store, tmp_path):
    called = gradmark("report", "--store", store)
    assert (called.code, called.out) == (0, "report: report.html\n")
    text = (tmp_path / "report.html").read_text()
    (run,) = store.iterdir()
    assert f"<title>Gradmark: {run.stem}</title>" in text
    assert "There is no baseline." in text


def test_several_runs_and_a_file_elsewhere(gradmark, store, finished, tmp_path):
    other = store / "other.json"
    runs.save(msgspec.structs.replace(runs.load(finished), id="20000101T000000-000000"), other)
    called = gradmark("report", finished, other, "-o", tmp_path / "sub" / "both.html")
    assert called.code == 0
    assert "the newest of 2" in (tmp_path / "sub" / "both.html").read_text()


def test_files_that_cannot_be_read_are_named_and_left_out(gradmark, store, finished, tmp_path):
    (store / "broken.json").write_text('{"id": 1')
    (store / "newer.jsonl").write_text('{"format_version": 99}\n')
    called = gradmark("report", *sorted(store.iterdir()))
    assert (called.code, called.out) == (0, "report: report.html\n")
    left_out = called.err.splitlines()
    assert [line.startswith("left out: ") for line in left_out] == [True, True]
    assert "broken.json" in left_out[0]
    assert "newer.jsonl" in left_out[1]
    assert f"<title>Gradmark: {finished.stem}</title>" in (tmp_path / "report.html").read_text()


def test_nothing_that_can_be_read_is_an_error(gradmark, tmp_path):
    (tmp_path / "broken.json").write_text('{"id": 1')
    called = gradmark("report", tmp_path / "broken.json")
    assert called.code == 2
    assert "broken.json" in called.err
    assert not (tmp_path / "report.html").exists()


def test_a_run_that_is_not_there_is_an_error_beside_one_that_is(gradmark, store):
    called = gradmark("report", "latest", "1999", "--store", store)
    assert called.code == 2
    assert "no run" in called.err


@pytest.mark.slow
def test_run_writes_a_page_too(gradmark, quick, tmp_path):
    called = gradmark("run", "expression", *quick, "--html", "here.html")
    assert called.code == 0
    assert "<title>Gradmark: " in (tmp_path / "here.html").read_text()


def test_open_shows_it_in_a_browser(gradmark, store, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert gradmark("report", "--store", store, "--open").code == 0
    assert opened == [(tmp_path / "report.html").as_uri()]


def test_a_baseline_in_the_folder_is_compared_with(gradmark, store, finished, tmp_path):
    run = runs.load(finished)
    kept = baselines.baseline(run.measurements, run.environment)
    baselines.save(kept, tmp_path / baselines.FILE)
    gradmark("report", "--store", store)
    assert "Against gradmark-baseline.json: " in (tmp_path / "report.html").read_text()
    verdict = against_baseline([run])
    assert (verdict.claim, verdict.verdict) == ("nothing got worse than the baseline", "kept")
    worse = {name: baselines.Kept(metrics={"tape_instructions": 0}) for name in kept.cells}
    baselines.save(msgspec.structs.replace(kept, cells=worse), tmp_path / baselines.FILE)
    assert against_baseline([run]).verdict == "broken"


@pytest.mark.slow
def test_hypotheses_of_ones_own_are_judged_by_what_was_measured(gradmark, store, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from gradmark.analyse.hypotheses import Arm, Hypothesis\n"
        "a = Arm('tapegrad', 'expression', 'tape')\n"
        "one = Hypothesis('one', 'a tape is shorter than <itself>', a, a)\n"
        "two = Hypothesis('two', 'nobody measured this', a, Arm('tapegrad', 'tree', 'tape'))\n"
    )
    assert gradmark("report", "--store", store, "--hypothesis", "mine.py").code == 0
    text = (tmp_path / "report.html").read_text()
    assert '<li class="refuted"><p><strong class="word">refuted</strong> a tape is shorter than &lt;itself&gt;' in text
    assert "<li>expression on tapegrad: tape 3, expression on tapegrad: tape 3</li>" in text
    assert "<li>the same</li>" in text
    assert '<strong class="word">not measured</strong> nobody measured this' in text
    assert "<li>tree on tapegrad was not measured</li>" in text


def test_a_file_without_hypotheses_is_refused(gradmark, store, tmp_path):
    (tmp_path / "mine.py").write_text("x = 1\n")
    called = gradmark("report", "--store", store, "--hypothesis", "mine.py")
    assert (called.code, called.err) == (2, "gradmark: mine.py has no Hypothesis; see examples/hypothesis.py\n")
    assert not (tmp_path / "report.html").exists()


def test_a_folder_is_no_file(gradmark, store, tmp_path):
    called = gradmark("report", "--store", store, "-o", tmp_path)
    assert (called.code, called.err) == (
        2,
        f"gradmark: {tmp_path} is a folder; name a file, such as {tmp_path / 'report.html'}\n",
    )


def test_no_run(gradmark):
    called = gradmark("report")
    assert called.code == 2
    assert "no run in .gradmark/runs matches 'latest'; the newest are: none" in called.err


def test_a_run_that_was_cut_off_is_said_to_be_unfinished(gradmark, store, finished, tmp_path):
    lines = finished.read_text().splitlines(keepends=True)
    (tmp_path / "cut.jsonl").write_text("".join(lines[: len(lines) // 2]))
    called = gradmark("report", tmp_path / "cut.jsonl")
    assert called.code == 0
    assert called.err.startswith("unfinished: ")
