"""The files that the guide tells its readers to write do what it says."""

import re
from pathlib import Path

import pytest

from gradmark.store import runs

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "run.md"


@pytest.fixture
def statuses(gradmark, quick, tmp_path):
    for block in re.findall(r"```python\n(# \w+\.py\n.*?)```", GUIDE.read_text(), flags=re.DOTALL):
        (tmp_path / block.split()[1]).write_text(block)

    def measured(*arguments):
        assert gradmark("run", *arguments, *quick).code == 0
        (path,) = Path(".gradmark/runs").glob("*.json")
        return [(m.cell.row, m.status) for m in runs.load(path).measurements]

    return measured


def test_a_workload(statuses):
    assert statuses("mine.py") == [("norm/n=10", "ok"), ("norm/n=100", "ok"), ("norm/n=1000", "ok")]


def test_a_workload_of_arrays(statuses):
    assert statuses("ridge.py") == [("ridge/n=10", "ok"), ("ridge/n=100", "ok"), ("ridge/n=1000", "ok")]


def test_an_engine(statuses):
    assert statuses("poly", "expression", "-e", "nano:Micrograd") == [
        ("poly/n=10", "ok"),
        ("poly/n=100", "ok"),
        ("poly/n=1000", "error"),
        ("poly/n=10000", "skipped"),
        ("expression", "error"),
    ]
