"""The pytest plugin, as a user has it: in a pytest of its own, on the files that the guide shows."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from gradmark.store import runs

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "your-function.md"


@pytest.fixture
def called(tmp_path):
    for block in re.findall(r"```python\n(# \w+\.py\n.*?)```", GUIDE.read_text(), flags=re.DOTALL):
        (tmp_path / block.split()[1]).write_text(block)

    def call(*options):
        # by name, not by its entry point: other plugins of this environment are not the subject
        command = [sys.executable, "-m", "pytest", "-q", "-p", "gradmark.pytest_plugin", *options]
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)

    return call


@pytest.mark.slow
def test_a_cell_is_measured_and_kept(called, tmp_path):
    done = called()
    assert "1 passed" in done.stdout, done.stdout
    (path,) = (tmp_path / runs.FOLDER).glob("*.jsonl")
    run = runs.load(path)
    assert (run.verb, run.finished) == ("pytest", True)
    assert run.arguments[0].startswith("test_price.py::")
    (found,) = run.measurements
    assert (found.cell.row, found.cell.engine, found.status, len(found.samples)) == ("price", "tapegrad", "ok", 1)


def test_pytest_finds_it():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"gradmark": "gradmark.pytest_plugin"}


def test_it_can_be_skipped(called, tmp_path):
    assert "1 skipped" in called("--gradmark-skip").stdout
    assert not (tmp_path / ".gradmark").exists()


def test_a_size_that_there_is_not(called, tmp_path):
    (tmp_path / "test_price.py").write_text(
        "def test_size(gradmark):\n    gradmark('poly', engine='null', size={'m': 7})\n"
    )
    assert "poly has no size {'m': 7} in float64; its sizes are n, its dtypes float64" in called().stdout


@pytest.mark.slow
def test_a_size_that_is_not_listed(called, tmp_path):
    (tmp_path / "test_price.py").write_text(
        "def test_size(gradmark):\n    assert gradmark('poly', engine='null', size={'n': 7}).cell.row == 'poly/n=7'\n"
    )
    assert "1 passed" in called().stdout


FUNCTIONS = """
import pytest
from gradmark import workload
from gradmark.errors import SelectionError, WorkloadError

FACTOR = 3.0


def helper(ops, x):
    return FACTOR * ops.sin(x)


def test_a_function_of_this_file(gradmark):
    found = gradmark(lambda ops, x, y: helper(ops, x) * y, [0.5, 2.0], engine="tapegrad")
    assert (found.status, found.cell.row, found.tape.instructions) == ("ok", "lambda", 3)


def test_a_workload_of_a_test(gradmark):
    @workload(suite="mine", stresses="x", sizes={"n": [2]}, inputs=lambda draw, n: [FACTOR] * n)
    def product(ops, x, y, *, n):
        return x * y

    assert gradmark(product, engine="null").cell.row == "product/n=2"


def test_what_is_refused(gradmark):
    with pytest.raises(WorkloadError, match="helper has no inputs"):
        gradmark(helper)
    with pytest.raises(SelectionError, match="leave inputs out"):
        gradmark("poly", [1.0])
"""


@pytest.mark.slow
def test_plain_functions(called, tmp_path):
    (tmp_path / "test_price.py").write_text(FUNCTIONS)
    assert "3 passed" in called().stdout
    assert {path.name for path in (tmp_path / ".gradmark" / "functions").iterdir() if path.is_file()} == {
        *("lambda.py", "lambda.pickle", "product.py", "product.pickle")
    }
