"""The notebooks under examples/, cell by cell, as a kernel runs them: one namespace, no file that a cell is in."""

import ast
import json
import linecache
import sys
import types
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples").glob("*.ipynb"))
REQUIRED = {"cell_type", "id", "metadata", "source"}


def cells_of(path):
    """The code of a notebook; raises if it is none of format 4.5, or has outputs that grow old."""
    notebook = json.loads(path.read_text())
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    for cell in notebook["cells"]:
        assert set(cell) >= REQUIRED
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
            yield "".join(cell["source"])


def shown(thing):
    """What a notebook would show of the last expression of a cell."""
    if thing is None:
        return ""
    return thing._repr_html_() if hasattr(thing, "_repr_html_") else repr(thing)


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """Runs cells as ipykernel does: in `__main__`, each from a file that is not there; gives what each shows."""
    monkeypatch.chdir(tmp_path)
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)

    def run(path):
        for number, source in enumerate(cells_of(path)):
            name = f"/nowhere/ipykernel_{path.stem}/{number}.py"
            linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
            tree = ast.parse(source)
            last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, name, "exec"), vars(main))
            value = None
            if last is not None:
                value = eval(compile(ast.Expression(last.value), name, "eval"), vars(main))
            yield source, shown(value)

    return run


def test_there_are_notebooks():
    assert [path.name for path in NOTEBOOKS] == ["own_function.ipynb"]


def test_own_function(kernel, tmp_path):
    texts = [text for _, text in kernel(NOTEBOOKS[0])]
    assert "<table>" in texts[1]
    assert "tapegrad:program" in texts[1]
    assert "'price': [" in texts[2]
    assert set(ast.literal_eval(texts[3])) == {"tapegrad", "tapegrad:program"}
    assert "The function, as tapegrad records it" in texts[4]
    assert ast.literal_eval(texts[5])["tape_instructions"] == 1.0
    assert "tape_instructions: 19 → 20" in texts[6], texts[6]
    assert (tmp_path / "report.html").is_file()
