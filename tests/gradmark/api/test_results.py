"""What results show, and what they know: as the command prints it."""

import html.parser
import sys
import types

import msgspec
import pytest

import gradmark
from gradmark.commands.main import main
from gradmark.errors import InstallationError, SelectionError, StoreError

pytestmark = pytest.mark.slow


def test_it_shows_what_the_command_shows(measured, inside, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit):
        main(["run", "--resume", measured.run.id])  # it is finished, so it is only shown
    printed, _, where = capsys.readouterr().out.rpartition("\n\n")
    assert repr(measured) == printed.strip("\n")
    assert where == f"run file: {measured.path}\n"


def test_the_command_goes_on_with_it(measured, inside, tmp_path, capsys):
    """As `gradmark run --resume` does: the arguments are those of a command, and output options may be added."""
    with pytest.raises(SystemExit) as ended:
        main(["run", "--resume", measured.run.id, "--format", "csv", "--json", str(tmp_path / "again.json")])
    assert ended.value.code == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("product,functions,product,")
    assert gradmark.load(tmp_path / "again.json").run.id == measured.run.id


def test_a_notebook_gets_the_same_cells(measured, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    texts = []
    parser = html.parser.HTMLParser()
    parser.handle_data = texts.append
    parser.feed(measured._repr_html_())
    words = repr(measured).split()
    assert [text for text in texts if not set(text.split()) <= set(words)] == []
    assert "product" in texts


def test_html_is_escaped(measured):
    cell = msgspec.structs.replace(measured.run.measurements[0].cell, workload="<script>")
    wrong = msgspec.structs.replace(measured.run.measurements[0], cell=cell, status="error", message="<b>\x1b[31m")
    run = msgspec.structs.replace(measured.run, planned=[], measurements=[wrong])
    shown = gradmark.api.results.Result(run)._repr_html_()
    assert "&lt;script&gt;" in shown
    assert not {"<script>", "<b>", "\x1b"} & {part for part in ("<script>", "<b>", "\x1b") if part in shown}


def test_what_it_knows(measured):
    assert measured.ok
    assert measured.best == {"product": ["tapegrad:program"]} or set(measured.best["product"]) == {
        "tapegrad",
        "tapegrad:program",
    }
    assert [row.engine for row in measured.rows] == ["tapegrad", "tapegrad:program"]
    assert measured.answers[0].startswith("product: ")
    assert measured.markdown().startswith("- product: ")


def test_it_is_kept_and_loaded(measured, inside, tmp_path):
    assert gradmark.load(measured.run.id).run == measured.run
    assert gradmark.load(measured.save(tmp_path / "mine.json")).run.id == measured.run.id
    page = measured.page(tmp_path / "page.html")
    assert "product" in page.read_text()
    with pytest.raises(StoreError, match="is a folder"):
        measured.page(tmp_path)


def test_two_runs_are_compared(measured, inside):
    again = gradmark.run(lambda ops, x, y: ops.sin(x) * y + x, [0.5, 2.0], name="product", processes=1, memory=False)
    compared = gradmark.compare(measured, again)
    assert [(d.cell.engine, d.verdict) for d in compared.rows] == [
        ("tapegrad", "undecided"),
        ("tapegrad:program", "not in both"),
    ]
    assert [(c.metric, c.old, c.new) for c in compared.rows[0].changes][-1] == ("tape_instructions", 2, 3)
    assert "tape_instructions: 2 → 3" in repr(compared)
    assert repr(gradmark.compare(measured.run.id)) == repr(compared)  # the other is the latest
    with pytest.raises(SelectionError, match="OLD and NEW are the same run"):
        gradmark.compare(measured, measured)
    with pytest.raises(StoreError, match="expected a result, or the id or file of a run, got 3"):
        gradmark.compare(3)


def test_a_data_frame_has_the_columns_of_the_csv(measured, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InstallationError, match="python -m pip install pandas"):
        measured.to_pandas()
    pandas = types.ModuleType("pandas")
    pandas.DataFrame = types.SimpleNamespace(from_records=lambda records: records)
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    first = measured.to_pandas()[0]
    assert (first["row"], first["engine"], first["status"]) == ("product", "tapegrad", "ok")
    assert first["total_ns"] == measured.rows[0].value("total")
