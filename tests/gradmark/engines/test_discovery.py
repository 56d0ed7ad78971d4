"""Discovery: built-in names, module paths, and errors that help."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from contract import adapters

from gradmark.engines import discovery
from gradmark.errors import EngineError, SelectionError


@pytest.mark.parametrize("name", [*map(adapters.cell, discovery.BUILT_IN)])
def test_built_in_engines_have_the_name_they_are_known_by(name):
    assert discovery.load(name).name == name


def test_by_module_path():
    assert discovery.load("faults.engines:Leak").name == "leak"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tapegrat", "did you mean tapegrad"),
        ("zzz", "choose from: null, python-floats"),
        ("Null", "did you mean null"),
        ("tapegrad:porgram", r"did you mean tapegrad:program\?"),
        ("tapegrad:frsh", r"did you mean tapegrad:fresh\?"),
        ("jax:Eager", r"did you mean jax:eager\?"),
        ("torch:9", "did you mean torch:c"),
    ],
)
def test_wrong_names(name, message):
    with pytest.raises(SelectionError, match=f"no engine is called '{name}'; {message}"):
        discovery.load(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:X", r"cannot be imported: No module named 'no_such_module'; a name with ':'"),
        ("faults.engines:Lek", r"has no 'Lek'; did you mean Leak"),
        ("faults.engines:Qqqq", r"has no 'Qqqq'; it has: Faulty, WrongGradient, .*, …$"),
        ("math:Engine", r"math has no 'Engine'; it has no classes"),
        (
            "faults.engines:NeedsAnArgument",
            r"^faults.engines:NeedsAnArgument\(\) needs an argument level; engines are created without arguments$",
        ),
        (
            "faults.engines:FailsWhenMade",
            r"^faults.engines:FailsWhenMade\(\) failed: engines.py, line .*: RuntimeError: no licence$",
        ),
        ("faults.engines:NotAnEngine", r"lacks name, capabilities, prepare"),
    ],
)
def test_wrong_paths(name, message):
    with pytest.raises(EngineError, match=message):
        discovery.load(name)


@pytest.mark.parametrize("name", ["..:x", "./mine:Own", ".mine:Own", ":Own", "mine:"])
def test_what_is_no_module_and_class(name):
    with pytest.raises(EngineError, match=rf"engine '{name}' is not of the form package\.module:Class"):
        discovery.load(name)


def test_a_name_of_an_installed_package_that_leads_nowhere(monkeypatch):
    offered = {"kit": "no_such_module:Engine", "odd": "math"}
    monkeypatch.setattr(discovery, "known", lambda: offered)
    with pytest.raises(EngineError) as caught:
        discovery.load("kit")
    assert str(caught.value) == (
        "engine 'kit' cannot be imported from 'no_such_module:Engine': No module named 'no_such_module'"
    )
    with pytest.raises(EngineError, match=r"engine 'odd' from 'math' is not of the form package\.module:Class"):
        discovery.load("odd")


def test_a_peer_that_is_not_installed():
    """In a process that finds no peer, as `make quick` has it."""
    code = """
from gradmark.engines import discovery
from gradmark.errors import MissingEngineError

print([name for name in discovery.known() if discovery.installed(name) and name.partition(":")[0] in discovery.PEERS])
KNOWN = {"manual", "tapegrad", "tapegrad:compiled", "tapegrad:jit", "tapegrad:program"}
print(set(discovery.chosen(["all"])) <= KNOWN)
try:
    discovery.load("xad")
except MissingEngineError as error:
    print(error)
"""
    hiding = Path(__file__).parents[2] / "without_peers"
    path = os.pathsep.join(filter(None, [str(hiding), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "[]",
        "True",
        "engine 'xad' needs xad, which is not installed; pip install 'gradmark[peers]' installs all peers, "
        "pip install xad this one",
    ]


def test_all_is_every_engine_that_differentiates():
    every = discovery.chosen(["manual", "all"])
    assert every[0] == "manual"
    here = {name for name in discovery.known() if discovery.installed(name)}
    assert set(every) == here - set(discovery.NOT_COMPARED) - set(discovery.COMPARED_FOR)
    assert len(every) == len(set(every))


def test_all_has_what_is_compared_for_a_derivative_where_that_is_asked_for():
    here = {name for name in discovery.COMPARED_FOR if discovery.installed(name)}
    assert set(discovery.chosen(["all"], ["hvp"])) == set(discovery.chosen(["all"]))
    assert set(discovery.chosen(["all"], ["hvp", "sparse-jacobian"])) == set(discovery.chosen(["all"])) | here
    assert discovery.chosen(["asdex"]) == ["asdex"]


def test_importing_the_laboratory_imports_no_peer():
    code = "import sys, gradmark, gradmark.measure.worker.jobs, gradmark.commands.run; print([*sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not [peer for peer in discovery.PEERS if f"'{peer}'" in loaded]
