"""The user's files behind a run: which they are, and whether they are still the same."""

import pytest

from gradmark.records import Cell
from gradmark.store.sources import changed, digests, module_file


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.py").write_text("one")
    (tmp_path / "eng.py").write_text("raise SystemExit('never imported')")
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("raise SystemExit('never imported')")
    (tmp_path / "pack" / "inner.py").write_text("two")
    return tmp_path


def cell(engine="tapegrad", file=None):
    return Cell(engine=engine, workload="w", suite="s", file=file)


def test_only_what_the_user_named_is_kept(files):
    cells = [cell(), cell("tapegrad:program"), cell("eng:A"), cell("eng:B"), cell("pack.inner:C", str(files / "w.py"))]
    kept = digests(cells)
    assert list(kept) == [str(files / "w.py"), str(files / "eng.py"), str(files / "pack" / "inner.py")]
    assert changed(kept) == []
    assert digests([cell("nowhere:A"), cell("pack.nowhere:A"), cell("sys:A"), cell(file=str(files / "gone.py"))]) == {}


def test_a_file_that_was_edited_or_is_gone_has_changed(files):
    kept = digests([cell("eng:A", str(files / "w.py"))])
    (files / "w.py").write_text("another")
    assert changed(kept) == [str(files / "w.py")]
    (files / "eng.py").unlink()
    assert changed(kept) == [str(files / "w.py"), str(files / "eng.py")]


def test_a_package_is_its_first_file(files):
    assert module_file("pack") == str(files / "pack" / "__init__.py")
