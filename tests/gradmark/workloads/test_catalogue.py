"""The catalogue: whatever a file or a package does when it is loaded, this process goes on and says what happened."""

import os
import sys

import pytest
from faults.files import ENDLESS, HARMLESS, HARMS, WORKLOAD

from gradmark.errors import WorkloadError
from gradmark.records import Settings
from gradmark.workloads import catalogue

SHORT = Settings(timeout_s=1.0)


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(first):
        path = tmp_path / "mine.py"
        path.write_text(f"{first}\n{WORKLOAD}")
        return path

    return write


@pytest.mark.slow
@pytest.mark.parametrize("harm", HARMS)
def test_a_file_that_does_harm(file, harm):
    """Seen: the process that was to measure ended in silence, crashed, or waited for ever."""
    first, said = HARMS[harm]
    path = file(first)
    with pytest.raises(WorkloadError) as caught:
        catalogue.of_file(path)
    text = str(caught.value)
    assert text.startswith(f"{path} cannot be loaded: ")
    assert said in text
    assert len(text) < 2100


@pytest.mark.slow
def test_a_file_that_never_ends(file):
    path = file(ENDLESS)
    with pytest.raises(WorkloadError) as caught:
        catalogue.of_file(path, SHORT)
    assert str(caught.value) == (
        f"{path} cannot be loaded: not done after 1 s, its limit; does it wait for something or loop forever?"
    )


@pytest.mark.slow
@pytest.mark.parametrize("what", HARMLESS)
def test_a_file_that_does_odd_things(file, what):
    here, path = os.getcwd(), file(HARMLESS[what])
    (outline,) = catalogue.of_file(path)
    assert (outline.name, outline.file, os.getcwd()) == ("f", str(path), here)


def test_a_file_whose_fields_are_wrong(file):
    path = file("")
    path.write_text(WORKLOAD.replace('stresses="x"', 'stresses="x", also=5'))
    with pytest.raises(WorkloadError, match=r"'f' of .*mine.py cannot be described: Expected `array`, got `int`"):
        catalogue.of_file(path)


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Installed packages that offer workloads, each with what it does when it is loaded."""

    def install(**first):
        for name, code in first.items():
            (tmp_path / f"{name}.py").write_text(f"{code}\n{WORKLOAD}")
            facts = tmp_path / f"{name}-1.0.dist-info"
            facts.mkdir()
            (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            (facts / "entry_points.txt").write_text(f"[gradmark.workloads]\n{name} = {name}\n")

    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    return install


def test_the_package_that_does_harm_is_named(packages):
    packages(good_kit="", bad_kit="import os; os._exit(0)")
    with pytest.raises(WorkloadError) as caught:
        catalogue.available()
    assert str(caught.value) == (
        "the package that offers workloads as 'bad_kit' is broken: its process ended with exit code 0 before the file "
        "was "
        "loaded; does it call os._exit?"
    )
    assert not {"good_kit", "bad_kit"} & sys.modules.keys()


def test_built_in_workloads_need_no_other_process(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a process was started")

    monkeypatch.setattr("gradmark.isolation.child.ask", refuse)
    assert "poly" in [outline.name for outline in catalogue.available()]


def test_a_package_that_workers_do_not_find(packages, monkeypatch):
    packages(good_kit="")
    monkeypatch.delenv("PYTHONPATH")
    with pytest.raises(WorkloadError, match="workers do not find the package that offers workloads as good_kit"):
        catalogue.available()
