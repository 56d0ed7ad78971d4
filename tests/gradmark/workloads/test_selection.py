"""Selection: names, suites, globs, files; what is not there gets the nearest names."""

import pytest

from gradmark.errors import SelectionError, WorkloadError
from gradmark.workloads.selection import select


def names(*patterns, keyword=None):
    return [w.name for w in select(patterns, keyword)]


def test_by_name_suite_and_glob():
    assert names("poly") == ["poly"]
    assert names("*_chain") == ["add_chain", "mul_chain"]
    assert names("poly", "p*y") == ["poly"]
    assert "poly" in names("scalar")
    assert "operator" not in names("scalar")
    assert names()[: len(names("scalar"))] == names("scalar")
    assert names()[len(names("scalar")) :] == [
        "elementwise",
        "matmul",
        "broadcast_add",
        "reduce_sum",
        "softplus",
        "logsumexp",
        "mlp_step",
    ]
    assert set(names("tensor")) - set(names()) == {
        "reduce_axis",
        "cross_entropy",
        "convolution",
        "layer_norm",
        "attention",
        "transformer_block",
        "lstm_step",
        "embedding",
    }
    assert names("scalar", keyword="chain") == ["add_chain", "mul_chain", "chain"]


@pytest.mark.parametrize(
    ("typed", "hint"),
    [("pol", "did you mean poly?"), ("expresion", "did you mean expression?"), ("zzz", "`gradmark list` shows all")],
)
def test_wrong_names_get_the_nearest(typed, hint):
    with pytest.raises(SelectionError, match=f"no workload or suite is called '{typed}'; .*{hint[:-1]}"):
        select([typed])


def test_a_keyword_that_fits_nothing():
    with pytest.raises(SelectionError, match="no selected row has 'q' in its name; the workloads are: poly"):
        select(["poly"], "q")


def test_files(tmp_path):
    good = tmp_path / "mine.py"
    good.write_text(
        "from gradmark import workload\n@workload(suite='mine', stresses='x')\ndef f(ops, x):\n    return x\n"
    )
    assert names(str(good)) == ["f"]
    assert names(str(good), "poly") == ["f", "poly"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1 +\n", r"mine.py cannot be loaded: line 1: SyntaxError"),
        ("import nonexistent_module\n", r"line 1, `import nonexistent_module`: ModuleNotFoundError"),
        ("def f():\n    return 1 / 0\nf()\n", r"line 2, `return 1 / 0`: ZeroDivisionError"),
        ("x = 1\n", r"has no workload; decorate a function"),
    ],
)
def test_a_broken_file_shows_its_own_line(tmp_path, text, message):
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(WorkloadError, match=message):
        select([str(path)])


def test_two_of_one_name_in_a_file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from gradmark import workload\n"
        "def make(k):\n"
        "    @workload(suite='mine', stresses='x')\n"
        "    def f(ops, x):\n"
        "        return x * k\n"
        "    return f\n"
        "a, b = make(1), make(2)\n"
    )
    with pytest.raises(WorkloadError, match=r"2 workloads of .* are called 'f'; rename them"):
        select([str(path)])


def test_a_file_that_exits_or_prints(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text("import sys\nprint('hello')\nsys.exit(0)\n")
    with pytest.raises(WorkloadError, match=r"line 3, `sys\.exit\(0\)`: SystemExit"):
        select([str(path)])
    assert capsys.readouterr().out == ""


def test_a_file_that_is_not_there():
    with pytest.raises(SelectionError, match=r"there is no file nowhere\.py"):
        select(["nowhere.py"])


def test_a_name_that_is_taken(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from gradmark import workload\n@workload(suite='mine', stresses='x')\ndef poly(ops, x):\n    return x\n"
    )
    with pytest.raises(SelectionError, match="two workloads are called 'poly'"):
        select(["poly", str(path)])
