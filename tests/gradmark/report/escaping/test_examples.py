"""The examples in the docstrings of all modules that escape, and of the text that they begin with."""

import doctest

import pytest

from gradmark.report.escaping import csv, html, json, markdown, terminal, xml
from gradmark.report.model import characters


@pytest.mark.parametrize(
    ("module", "examples"),
    [(characters, 5), (csv, 1), (html, 1), (json, 1), (markdown, 3), (terminal, 2), (xml, 1)],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_examples_run(module, examples):
    assert doctest.testmod(module) == (0, examples)
