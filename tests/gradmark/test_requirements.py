"""An installation that lacks a package of gradmark's own is no verdict on anybody's code."""

import subprocess
import sys

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
