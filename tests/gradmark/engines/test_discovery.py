"""Discovery: built-in names, module paths, and errors that help."""

import subprocess
import sys

import pytest

from gradmark.engines import discovery
from gradmark.errors import EngineError, MissingEngineError, SelectionError


@pytest.mark.parametrize("name", discovery.BUILT_IN)
def test_built_in_engines_have_the_name_they_are_known_by(name):
    assert discovery.load(name).name == name


def test_by_module_path():
    assert discovery.load("faults.engines:Leak").name == "leak"


@pytest.mark.parametrize(
    ("name", "message"),
    [("tapegrat", "did you mean tapegrad"), ("zzz", "there are: null, python-floats"), ("Null", "did you mean null")],
)
def test_wrong_names(name, message):
    with pytest.raises(SelectionError, match=f"no engine is called '{name}'; {message}"):
        discovery.load(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:X", r"cannot be imported: No module named 'no_such_module'; a name with ':'"),
        ("faults.engines:Lek", r"has no 'Lek'; it has: Leak"),
        ("tapegrad:frsh", r"has no 'frsh'"),
        ("faults.engines:NotAnEngine", r"lacks name, capabilities, prepare"),
    ],
)
def test_wrong_paths(name, message):
    with pytest.raises(EngineError, match=message):
        discovery.load(name)


def test_a_peer_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "xad", None)
    monkeypatch.delitem(sys.modules, "gradmark.engines.xad", raising=False)
    monkeypatch.setattr(discovery.importlib.util, "find_spec", lambda name: None if name == "xad" else True)
    with pytest.raises(MissingEngineError, match=r"needs xad, which is not installed; pip install 'gradmark\[peers\]'"):
        discovery.load("xad")
    assert not discovery.installed("xad")
    assert "xad" not in discovery.chosen(["all"])


def test_all_is_every_engine_that_differentiates():
    every = discovery.chosen(["manual", "all"])
    assert every[0] == "manual"
    assert set(every) == set(discovery.known()) - set(discovery.NOT_COMPARED)
    assert len(every) == len(set(every))


def test_importing_the_laboratory_imports_no_peer():
    code = "import sys, gradmark, gradmark.measure.worker.jobs, gradmark.commands.run; print([*sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not [peer for peer in discovery.PEERS if f"'{peer}'" in loaded]
