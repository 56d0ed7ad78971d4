"""Calling in another process: results and errors of ours come back; all else is an error that says what happened."""

import pytest

from gradmark.errors import SelectionError
from gradmark.isolation.calling import MOST_CHARACTERS, LoadingError, call, shortened
from gradmark.records import Settings
from gradmark.workloads.outline import Outline


def test_a_result_comes_back_as_what_it_should_be(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from gradmark import workload\n"
        "@workload(suite='mine', stresses='x', sizes={'n': [1, 2.5], 'f': ['a']}, quick=[{'n': 1, 'f': 'a'}])\n"
        "def f(ops, x, *, n, f):\n    return x\n"
    )
    (outline,) = call("gradmark.workloads.describing:of_file", str(path), list[Outline], Settings())
    assert outline == Outline(
        name="f",
        suite="mine",
        stresses="x",
        sizes={"n": [1, 2.5], "f": ["a"]},
        quick=[{"n": 1, "f": "a"}],
        dtypes=["float64"],
        derivatives=[],
        also=[],
        module="gradmark_user_mine",
        file=str(path),
    )
    assert outline.points(full=False) == [{"n": 1, "f": "a"}]


def test_an_error_of_ours_is_raised_again():
    with pytest.raises(SelectionError, match=r"there is no file nowhere\.py"):
        call("gradmark.workloads.describing:of_file", "nowhere.py", list[Outline], Settings())


def test_an_argument_that_is_no_text():
    """Seen: a traceback for a file whose name has a byte that is no UTF-8."""
    with pytest.raises(LoadingError, match="its name is not valid UTF-8; rename it"):
        call("gradmark.workloads.describing:of_file", "n\udcff.py", list[Outline], Settings())


def test_a_result_that_is_something_else(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("from gradmark import workload\n@workload(suite='s', stresses='x')\ndef f(ops, x):\n    return x\n")
    with pytest.raises(LoadingError, match=r"what it gave cannot be read: Expected `int`, got `object`"):
        call("gradmark.workloads.describing:of_file", str(path), list[int], Settings())


def test_long_texts_are_cut():
    assert shortened("x" * MOST_CHARACTERS) == "x" * MOST_CHARACTERS
    assert shortened("x" * 5000) == "x" * 2000 + "… (3,000 more characters)"
