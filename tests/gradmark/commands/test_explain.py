"""`gradmark explain`, as a user types it."""

import json
from pathlib import Path

import pytest

import gradmark as package
from gradmark.report.model.explanation import READING

GUIDE = (Path(__file__).parents[3] / "docs" / "guide" / "explain.md").read_text()
pytestmark = pytest.mark.slow
QUICK = ["--processes", "1", "--no-memory"]


def test_one_function_from_its_recording_to_the_engines(gradmark):
    called = gradmark("explain", "expression", "-e", "tapegrad", "-e", "null", *QUICK)
    assert called.code == 0
    shown = called.out.splitlines()
    assert shown[0] == "expression"
    assert any(line.endswith("backward adds") for line in shown)
    assert "operations: function 3, with its gradient 6: 2.00 × the function; theory's bound is 4 ×" in shown
    assert [line.partition(":")[0] for line in shown if ": function and derivative take " in line] == ["tapegrad"]
    assert shown[-1].startswith("run file: ")
    timed = next(k for k, line in enumerate(shown) if line.startswith("engine "))
    explained = [line for line in shown[:timed] if line not in READING]
    assert [line for line in explained if line not in GUIDE.splitlines()] == []


def test_json_has_the_same(gradmark):
    called = gradmark("explain", "poly/n=10", "-d", "jvp", "--json", *QUICK)
    shown = json.loads(called.out)
    assert (called.code, shown["row"], shown["derivative"]) == (0, "poly/n=10/derivative=jvp", "jvp")
    assert shown["recording"]["operations"] == 20
    assert [engine["engine"] for engine in shown["engines"]] == ["tapegrad"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing argument 'WORKLOAD'"),
        (["scalar"], "explain shows one function, and 'scalar' has 1"),
        (["expression", "-d", "hessian"], "'hessian' is not one of 'gradient', 'jvp', 'vjp', 'hvp'"),
        (["poly/derivative=hessian"], "theory has no bound for a hessian"),
    ],
)
def test_what_is_refused(gradmark, arguments, said):
    called = gradmark("explain", *arguments, *QUICK)
    assert called.code == 2
    assert said in called.err


def test_a_function_of_ones_own(gradmark, tmp_path):
    explained = package.explain(lambda x, y: x * y, [2.0, 3.0], name="product", processes=1, memory=False)
    assert (explained.recording.operations, explained.engines[0].engine) == (1, "tapegrad")
    assert repr(explained).startswith("product\ninputs: ")
    assert explained._repr_html_().startswith("<pre>product\n")
    assert gradmark("explain", "--resume", explained.run.id).out.splitlines()[0] == "product"


def test_what_cannot_be_recorded_shows_the_line(gradmark, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from gradmark import workload\n"
        "@workload(suite='mine', stresses='x')\n"
        "def f(ops, x):\n"
        "    return float(x) * 2\n"
    )
    called = gradmark("explain", "mine.py", *QUICK)
    assert called.code == 1
    assert "not counted: f cannot be recorded: mine.py, line 4, `return float(x) * 2`: ConversionError" in called.out
    assert "tapegrad: error: mine.py, line 4" in called.out


def test_of_a_file_with_several_functions_one_is_named_as_it_is_typed(gradmark, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from gradmark import workload\n"
        "@workload(suite='mine', stresses='x')\n"
        "def f(ops, x):\n"
        "    return x * 2\n"
        "@workload(suite='mine', stresses='x')\n"
        "def g(ops, x):\n"
        "    return x * 3\n"
    )
    called = gradmark("explain", "mine.py", *QUICK)
    assert called.code == 2
    assert "'mine.py' has 2: name one, such as mine.py:f, mine.py:g" in called.err
