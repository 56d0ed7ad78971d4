"""The guide's own lines, one block after the other, as a reader would type them into a notebook."""

import linecache
import re
import sys
import types
from pathlib import Path

import pytest

import gradmark
from gradmark.api.calling import How

PAGE = (Path(__file__).parents[3] / "docs" / "guide" / "python.md").read_text()


@pytest.mark.slow
def test_it_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)):
        name = f"/nowhere/guide/{number}.py"
        linecache.cache[name] = (len(block), None, block.splitlines(keepends=True), name)
        exec(compile(block, name, "exec"), vars(main))
    assert main.fastest == ["tapegrad:program"] or set(main.fastest) == set(main.times)
    assert main.kept.run == main.again.run
    assert "price:" in capsys.readouterr().out


def test_every_verb_and_option_is_on_the_page():
    assert [verb for verb in gradmark.VERBS if f"`gradmark.{verb}(" not in PAGE] == []
    assert [name for name in How.__annotations__ if name not in ("huge_pages", "data") and name not in PAGE] == []


def test_every_attribute_of_a_result_is_on_the_page():
    public = [name for name in vars(gradmark.api.results.Result) if not name.startswith("_")]
    assert [name for name in public if f"result.{name}" not in PAGE] == []
