"""Selection: names, suites, globs, files; what is not there gets the nearest names."""

import os
import subprocess
import sys

import pytest

from gradmark.errors import SelectionError, WorkloadError
from gradmark.measure.plan import cells_of
from gradmark.workloads import lookup
from gradmark.workloads.selection import select, select_rows


def names(*patterns, keyword=None):
    return [w.name for w in select(patterns, keyword)]


def test_by_name_suite_and_glob():
    assert names("poly") == ["poly"]
    assert names("*_chain") == ["add_chain", "mul_chain"]
    assert names("poly", "po*y") == ["poly"]
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
        (
            "from .helper import sq\n",
            r"relative import .*; write `from helper import …`: the file's folder is on the path",
        ),
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


MINE = """
from gradmark import workload

@workload(suite='mine', stresses='x', sizes={'n': [3, 5]})
def f(ops, x, *, n):
    return x * n

@workload(suite='mine', stresses='x')
def g(ops, x):
    return x
"""


def test_a_row_of_a_file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    assert names(f"{path}:g") == ["g"]
    assert [(p.workload.name, p.points(full=True)) for p in select_rows([f"{path}:f/n=4", f"{path}:*/n=*"])] == [
        ("f", [{"n": 4}]),
        ("f", [{"n": 3}, {"n": 5}]),
    ]
    with pytest.raises(SelectionError, match=r"mine\.py has no workload 'h'; it has: f, g$"):
        select([f"{path}:h"])
    with pytest.raises(SelectionError, match=r"mine\.py/n=3' names no workload; write .*mine\.py:NAME/n=3$"):
        select([f"{path}/n=3"])
    with pytest.raises(SelectionError, match="f has no size 'm': its sizes are n"):
        select([f"{path}:f/m=4"])


def test_the_same_workload_may_come_with_other_sizes():
    parts = select_rows(["poly/n=10", "poly/n=777", "poly/n=10"])
    assert [cell.row for cell in cells_of(parts, ["e"], full=False)] == ["poly/n=10", "poly/n=777"]
    assert names("poly/n=10", "poly") == ["poly"]


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package as an installer leaves it, whose workloads need their neighbour."""
    folder = tmp_path / "site"
    code = folder / "bench_kit"
    code.mkdir(parents=True)
    (code / "__init__.py").write_text("")
    (code / "constants.py").write_text("HALF = 0.5\n")
    (code / "workloads.py").write_text(
        "from gradmark import workload\nfrom .constants import HALF\n\n"
        "@workload(suite='kit', stresses='x', sizes={'n': [2]})\ndef kit(ops, x, *, n):\n    return x * HALF * n\n"
    )
    facts = folder / "bench_kit-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: bench-kit\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[gradmark.workloads]\nkit = bench_kit.workloads\n")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    yield folder
    for name in ("bench_kit", "bench_kit.constants", "bench_kit.workloads"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("package")
def test_workloads_of_an_installed_package_stay_parts_of_it():
    (kit,) = select(["kit"])
    assert (kit.module, kit.file, kit.points()) == ("bench_kit.workloads", None, [{"n": 2}])
    assert "bench_kit" not in sys.modules  # it was loaded elsewhere
    (cell,) = cells_of([kit], ["tapegrad"], full=True)
    assert (cell.row, cell.file) == ("kit/n=2", None)
    from bench_kit.workloads import kit as itself  # as a test of the package would hand it over

    assert itself(None, 3.0, n=4) == 6.0
    assert cells_of([itself], ["tapegrad"], full=True) == [cell]


def test_a_worker_finds_the_workloads_of_an_installed_package(package):
    code = (
        "import sys\n"
        "from gradmark.measure.job import Job\n"
        "from gradmark.measure.worker.jobs import run\n"
        "from gradmark.records import Cell, Settings\n"
        "cell = Cell(engine='tapegrad', workload='kit', suite='kit', params={'n': 2})\n"
        "for kind in ('try', 'inspect'):\n"
        "    result = run(Job(kind=kind, cell=cell, settings=Settings(memory=False)))\n"
        "    print(result.status, result.message)\n"
    )
    path = [str(package), *sys.path]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:] = {path!r}\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "ok \nok \n"


def test_a_package_that_is_broken(package):
    (package / "bench_kit" / "constants.py").write_text("HALF = 1 / 0\n")
    with pytest.raises(
        WorkloadError, match=r"offers workloads as 'bench_kit.workloads' is broken: constants\.py, line 1"
    ):
        select(["poly"])


def test_a_package_may_offer_one_workload(package):
    (package / "bench_kit-1.0.dist-info" / "entry_points.txt").write_text(
        "[gradmark.workloads]\nkit = bench_kit.workloads:kit\n"
    )
    assert names("kit") == ["kit"]


@pytest.mark.parametrize("value", ["bench_kit.constants", "bench_kit.constants:HALF"])
def test_a_package_that_offers_nothing(package, value):
    (package / "bench_kit-1.0.dist-info" / "entry_points.txt").write_text(f"[gradmark.workloads]\nkit = {value}\n")
    with pytest.raises(WorkloadError, match=f"the entry point kit = '{value}' has no workloads; expected a module"):
        select(["poly"])


def test_two_packages_with_one_name(package):
    text = (package / "bench_kit" / "workloads.py").read_text()
    (package / "bench_kit" / "workloads.py").write_text(text.replace("def kit(", "def poly("))
    with pytest.raises(SelectionError, match=r"called 'poly' \(gradmark.workloads.scalar and bench_kit.workloads\)"):
        select(["poly"])
    assert "poly" in [w.name for w in lookup.available()]
