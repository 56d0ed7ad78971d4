"""Progress in a notebook: a line that changes, through what IPython has for it."""

import sys
import types

import pytest

from gradmark.commands import notebook
from gradmark.commands.progress import progress
from gradmark.measure.orchestrator import Step


@pytest.fixture
def shown(monkeypatch):
    """An IPython that is a kernel, and all that it was asked to show."""
    texts = []

    class Handle:
        def update(self, data, raw):
            assert raw
            texts.append(data["text/plain"])

    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    ipython.display = types.SimpleNamespace(display=lambda data, raw, display_id: Handle())
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    return texts


def test_a_line_that_changes_and_goes(shown, capsys):
    with progress() as watch:
        watch(Step("inspection", 0, 2))
        watch(Step("inspection", 1, 2))  # too soon for another message
    assert shown == ["inspecting: 0 of 2 cells", ""]
    assert capsys.readouterr() == ("", "")


def test_ipython_in_a_terminal_is_no_notebook(monkeypatch):
    ipython = types.ModuleType("IPython")
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    for shell in (None, types.SimpleNamespace()):
        ipython.get_ipython = lambda shell=shell: shell
        assert not notebook.is_here()
    monkeypatch.delitem(sys.modules, "IPython")
    assert not notebook.is_here()
