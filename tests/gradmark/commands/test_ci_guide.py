"""What the guide to the gate shows is what there is."""

import re
from pathlib import Path

from gradmark.commands.check import FORMATS
from gradmark.gate.configuration import BUILD, DEFAULTS, read

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "guide" / "ci.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, flags=re.DOTALL)


def test_the_workflow_is_the_one_that_this_repository_uses():
    assert blocks("yaml")[-1:] == [(ROOT / ".github" / "workflows" / "gate.yml").read_text()]


def test_the_budgets_on_the_page_are_the_defaults(tmp_path):
    budgets, build = blocks("toml")
    (tmp_path / "pyproject.toml").write_text(budgets)
    found = read((), tmp_path / "pyproject.toml")
    assert found.budgets == DEFAULTS
    assert list(found.workloads) == ["mlp_*"]
    (tmp_path / "pyproject.toml").write_text(build)
    assert read((), tmp_path / "pyproject.toml").build == BUILD


def test_every_format_is_on_the_page():
    assert [name for name in FORMATS if f"| `{name}` |" not in GUIDE] == ["table"]
