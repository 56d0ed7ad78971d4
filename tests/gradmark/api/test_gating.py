"""The gate from Python."""

import re

import pytest

import gradmark
from gradmark.commands.main import main
from gradmark.errors import StoreError

pytestmark = pytest.mark.slow


def test_a_check_against_a_baseline(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match=r"gradmark-baseline\.json"):
        gradmark.check("expression")
    main(["baseline", "update", "expression"])
    checked = gradmark.check("expression", memory_limit=4)
    assert (checked.answer, checked.ok) == ("pass", True)
    assert {finding.cell for finding in checked.findings} == {"expression@tapegrad"}
    assert repr(checked).splitlines()[-1].startswith("pass against gradmark-baseline.json: 1 cell passes")
    baseline = tmp_path / "gradmark-baseline.json"
    baseline.write_text(re.sub(r'("tape_instructions": ?)\d+', r"\g<1>1", baseline.read_text()))
    worse = gradmark.check("expression")
    assert (worse.answer, worse.ok) == ("fail", False)
    assert "❌" in worse.markdown()
