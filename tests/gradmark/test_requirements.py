"""An installation that lacks a package of gradmark's own is no verdict on anybody's code."""

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from gradmark import requirements
from gradmark.commands.main import main
from gradmark.errors import InstallationError
from gradmark.measure import process
from gradmark.measure.job import Job
from gradmark.records import Cell, Settings


@pytest.fixture
def without(tmp_path, monkeypatch):
    """Hides a package from every process that is started."""

    def hide(package):
        folder = tmp_path / "hidden" / package
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(f"raise ModuleNotFoundError('No module named {package}', name={package!r})")
        monkeypatch.setenv("PYTHONPATH", str(folder.parent))

    return hide


def test_what_is_needed_is_what_is_installed_with_it():
    assert {"mpmath", "numpy", "scipy", "msgspec", "click"} <= requirements.required()
    assert not {"torch", "jax", "pynvml"} & requirements.required()


def test_the_laboratory_is_an_extra(monkeypatch):
    lines = ["numpy>=2", 'click>=8.1; extra == "lab"', 'memray>=1.13; sys_platform != "win32" and extra == "lab"']
    more = ['nvidia-ml-py>=12; extra == "gpu"', 'torch>=2.8; extra == "peers"']
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: lines + more)
    assert requirements.required() == {"numpy", "click", "memray"}
    assert requirements.advice("click").endswith("install the laboratory: python -m pip install 'gradmark[lab]'")


PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]


def imported(requirement):
    """What a requirement is imported as."""
    return re.split(r"[\[>=;]", requirement)[0].strip().lower().replace("-", "_")


def test_the_extras_that_doctor_names_are_those_of_the_project():
    known = {name: {imported(line) for line in lines} for name, lines in EXTRAS.items()}
    assert {name: set(packages) for name, (packages, _) in requirements.EXTRAS.items()} == {
        name: packages for name, packages in known.items() if name not in ("lab", "sparse", "gpu")
    }


def test_published_extras_have_lower_bounds_and_no_pins():
    lines = [line for extra in [PROJECT["project"]["dependencies"], *EXTRAS.values()] for line in extra]
    assert [line for line in lines if not re.match(r"[\w.\[\]-]+>=[\d.]+(;.*)?$", line)] == []


def test_what_is_tested_is_pinned_above_the_lower_bounds():
    pins = (Path(__file__).parents[2] / "constraints.txt").read_text()
    pinned = dict(re.findall(r"^([\w.-]+)==([\d.]+)$", pins, re.MULTILINE))
    pinned = {name.lower().replace("-", "_"): version for name, version in pinned.items()}
    groups = [line for group in PROJECT["dependency-groups"].values() for line in group if isinstance(line, str)]
    for line in [*PROJECT["project"]["dependencies"], *groups, *(line for extra in EXTRAS.values() for line in extra)]:
        name, bound = imported(line), re.search(r">=([\d.]+)", line)
        if name not in ("nvidia_ml_py", "cupti_python"):  # there is no GPU where versions are tested
            assert tuple(map(int, pinned[name].split("."))) >= tuple(map(int, bound[1].split("."))), line


ENGINE_ALONE = """
import importlib.metadata, sys
lab = {"click", "msgspec", "rich", "mpmath", "jinja2", "ruptures", "memray"}
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in lab:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
"""


def alone(code):
    """What a Python prints that has the engine and nothing of the laboratory."""
    return subprocess.run([sys.executable, "-c", ENGINE_ALONE + code], capture_output=True, text=True, check=False)


def test_the_engine_alone_needs_nothing_of_the_laboratory():
    done = alone("import tapegrad; print(tapegrad.grad(lambda x: x * x)(3.0))")
    assert (done.returncode, done.stdout, done.stderr) == (0, "6.0\n", "")


def test_pytests_plugin_does_no_harm_beside_the_engine_alone():
    done = alone("import gradmark.pytest_plugin; print('loaded')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "loaded\n", "")


def test_using_the_laboratory_beside_the_engine_alone_says_what_to_install():
    done = alone("from gradmark import workload")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("python -m pip install 'gradmark[lab]'")


def test_the_command_beside_the_engine_alone_says_what_to_install():
    done = alone("from gradmark.commands.main import main; main()")
    assert done.returncode == 2
    assert done.stderr.startswith(f"gradmark: click is not installed for {sys.executable}, and gradmark cannot work")
    assert done.stderr.endswith("install the laboratory: python -m pip install 'gradmark[lab]'\n")


def test_a_package_of_our_own_is_told_from_others():
    def failing(name):
        return ModuleNotFoundError(f"No module named {name!r}", name=name)

    wrapped = RuntimeError("while compiling")
    wrapped.__cause__ = failing("scipy.special")
    assert requirements.lacking(failing("mpmath")) == "mpmath"
    assert requirements.lacking(wrapped) == "scipy"
    assert requirements.lacking(failing("torch")) == ""
    assert requirements.lacking(ValueError("mpmath")) == ""


@pytest.mark.slow
@pytest.mark.parametrize(("package", "kind"), [("mpmath", "inspect"), ("numpy", "survey")])
def test_a_worker_without_it_stops_the_command(without, package, kind):
    without(package)
    cell = Cell(engine="tapegrad", workload="expression", suite="scalar")
    with pytest.raises(InstallationError, match=f"^{package} is not installed for {sys.executable}, and gradmark"):
        process.run(Job(kind=kind, cell=cell, settings=Settings()))


@pytest.mark.slow
def test_check_is_no_verdict_without_it(without, tmp_path, monkeypatch, capsys):
    without("mpmath")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["baseline", "update", "expression", "-e", "tapegrad"])
    assert ended.value.code == 2
    assert "mpmath is not installed for" in capsys.readouterr().err
    assert not (tmp_path / "gradmark-baseline.json").exists()


def test_the_command_says_what_it_lacks_itself(without):
    without("click")
    called = [sys.executable, "-c", "from gradmark.commands.main import main; main()", "check"]
    done = subprocess.run(called, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"gradmark: click is not installed for {sys.executable}, and gradmark cannot work")
