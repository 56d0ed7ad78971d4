"""What is made of the rules: files that are up to date, and notice if they are not."""

from pathlib import Path

import pytest
from oracles import scalar as oracle

import tapegrad
from tapegrad.rules.generate import texts, write
from tapegrad.rules.opcodes import numbered
from tapegrad.rules.special import SPECIAL
from tapegrad.rules.table import RULES

ROOT = Path(__file__).parents[3]
SCALAR = ROOT / "src" / "tapegrad" / "scalar"
PAGE = ROOT / "docs" / "reference" / "operations.md"


def stale(scalar, page):
    return [path.name for path, text in texts(scalar, page).items() if path.read_text(encoding="utf-8") != text]


def test_the_files_are_up_to_date():
    assert stale(SCALAR, PAGE) == []


def test_a_file_that_was_edited_is_noticed_and_mended(tmp_path):
    write(tmp_path)
    assert stale(tmp_path, None) == []
    rules = tmp_path / "rules.h"
    rules.write_text(rules.read_text().replace("cos", "sin"))
    assert stale(tmp_path, None) == ["rules.h"]
    write(tmp_path)
    assert stale(tmp_path, None) == []


def test_a_file_that_is_up_to_date_is_not_touched(tmp_path):
    write(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    write(tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


def test_every_operation_has_its_oracle_its_bounds_and_its_special_points():
    public = {name for name, rule in RULES.items() if not rule.internal}
    assert public == set(oracle.OPERATIONS) == set(SPECIAL)
    assert {name for name in public if len(RULES[name].bounds) != 6} == set()


@pytest.mark.parametrize("name", [name for name, rule in RULES.items() if not rule.internal])
def test_every_operation_is_a_function_and_a_method(name):
    rule = RULES[name]
    assert getattr(tapegrad, name).__doc__.endswith(rule.doc)
    assert getattr(tapegrad.Tape, name).__doc__.endswith(rule.doc)
    assert name in tapegrad.__all__


def test_opcodes_fit_into_a_byte():
    assert numbered()["OPCODES"] < 256
