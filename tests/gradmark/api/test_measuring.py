"""The verbs from Python: the plan and the record are those of the command."""

import os
import subprocess
import sys

import pytest

import gradmark
from gradmark.api import calling
from gradmark.commands.main import main
from gradmark.errors import OptionError, SelectionError, UnlikeRunsError
from gradmark.store import runs

QUICK = {"processes": 1, "memory": False}
IMPORTED = "import sys, gradmark; print([name for name in sys.modules if name.startswith({!r})])"


def test_importing_gradmark_imports_no_command():
    for package in ("gradmark.api", "gradmark.commands", "numpy", "cloudpickle"):
        done = subprocess.run(
            [sys.executable, "-c", IMPORTED.format(package)], capture_output=True, text=True, check=True
        )
        assert done.stdout == "[]\n"
    done = subprocess.run(
        [sys.executable, "-c", "import gradmark; gradmark.run;" + IMPORTED.format("gradmark.api")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "gradmark.api" in done.stdout


def test_every_verb_is_listed():
    assert set(gradmark.VERBS) < set(gradmark.__all__) & set(dir(gradmark))
    with pytest.raises(AttributeError, match="no attribute 'rum'"):
        _ = gradmark.rum


@pytest.mark.slow
def test_a_function_is_measured_as_the_command_would(measured, inside):
    run = measured.run
    assert [(m.cell.row, m.cell.engine, m.status, len(m.samples)) for m in run.measurements] == [
        ("product", "tapegrad", "ok", 1),
        ("product", "tapegrad:program", "ok", 1),
    ]
    assert (run.verb, run.finished) == ("run", True)
    assert run.arguments == [
        ".gradmark/functions/product.py:product",
        *("--engine", "tapegrad", "--engine", "tapegrad:program", "--processes", "1", "--no-memory"),
    ]
    assert runs.load(inside / measured.path).id == run.id
    assert {cell.file for cell in run.planned} == {str(inside / ".gradmark" / "functions" / "product.py")}


@pytest.mark.slow
def test_the_command_shows_the_same_plan(measured, inside, capsys):
    main(["run", "--dry-run", *measured.run.arguments])
    assert capsys.readouterr().out == "product@tapegrad\nproduct@tapegrad:program\n2 cells, 1 process each\n"


@pytest.mark.slow
def test_a_script_without_a_guard_runs_once(tmp_path):
    (tmp_path / "script.py").write_text(
        "import gradmark\n"
        "print('begun')\n"
        "@gradmark.workload(suite='mine', stresses='x')\n"
        "def cube(ops, x):\n"
        "    return x * x * x\n"
        "print(gradmark.run(cube, processes=1, memory=False).best)\n"
    )
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "begun\n{'cube': ['tapegrad']}\n"


@pytest.mark.slow
def test_a_file_that_measures_itself_is_stopped(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import gradmark\n"
        "@gradmark.workload(suite='mine', stresses='x')\n"
        "def cube(ops, x):\n"
        "    return x * x * x\n"
        "gradmark.run(cube)\n"
    )
    code = "import gradmark; gradmark.run('mine.py', processes=1)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "gradmark was called while it loads this file for a worker" in done.stderr


@pytest.mark.slow
def test_a_sweep(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    @gradmark.workload(
        suite="mine",
        stresses="sums",
        sizes={"n": [2, 4, 8, 16]},
        inputs=lambda draw, n: [draw.uniform(0.5, 1.0) for _ in range(n)],
        operations=lambda n: n,
    )
    def total(ops, *xs, n):
        return sum(x * x for x in xs)

    swept = gradmark.scale(total, **QUICK)
    assert swept.ok
    assert [(curve.cell.workload, {fit.metric for fit in curve.fits} >= {"total"}) for curve in swept.curves] == [
        ("total", True)
    ]
    assert "cost = a + b·n^p, n counts operations" in repr(swept)
    assert "cost = a + b·n^p" in swept._repr_html_()


@pytest.mark.slow
def test_a_function_that_was_replaced_meanwhile(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    from gradmark.api import measuring

    measure = measuring.measure

    def replaced(*arguments):
        run, where = measure(*arguments)
        (tmp_path / ".gradmark" / "functions" / "f.py").write_text("# another")
        return run, where

    monkeypatch.setattr(measuring, "measure", replaced)
    with pytest.raises(UnlikeRunsError, match="changed while it was measured"):
        gradmark.run(lambda x: x, 1.0, name="f", engines="null", **QUICK)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: gradmark.run("poli"), SelectionError, "did you mean poly"),
        (lambda: gradmark.run("poly", proceses=2), TypeError, r"run\(\) has no option 'proceses'; did you mean 'proce"),
        (
            lambda: gradmark.run("poly", colour=2),
            TypeError,
            "there are: data, derivatives, devices, dtypes, engines, full, huge_pages, instructions, memory",
        ),
        (
            lambda: gradmark.check(full=True),
            TypeError,
            r"check\(\) has no option 'full'; there are: data, engines, huge_pages",
        ),
        (lambda: gradmark.run("poly", derivatives="hpv"), OptionError, "'hpv' is not one of 'gradient'"),
        (lambda: gradmark.run("poly", timeout=-1), OptionError, "expected a number above 0, got -1"),
        (lambda: gradmark.run("poly", engines=[int]), SelectionError, "engines are named"),
        (lambda: gradmark.run("poly", engines="tapegard"), SelectionError, "no engine is called 'tapegard'"),
        (lambda: gradmark.run("poly", [1.0]), SelectionError, "leave inputs out"),
        (lambda: gradmark.run("--help"), SelectionError, "'--help' would be an option"),
        (lambda: gradmark.run(["poly", 3]), SelectionError, "expected a function, a workload, or the name of one"),
        (lambda: gradmark.scale(lambda x: x), SelectionError, "a plain function has no sizes to sweep"),
        (lambda: gradmark.scale("chain"), SelectionError, "chain has no parameter with 4 sizes or more"),
        (lambda: gradmark.ops("tensors"), OptionError, "'tensors' is not one of 'scalar', 'tensor'"),
    ],
)
def test_what_is_refused(tmp_path, monkeypatch, call, error, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        call()
    assert not os.path.exists(".gradmark/runs")


def test_two_workloads_of_one_name_are_refused(tmp_path, monkeypatch):
    """Each would be written into the same file."""
    monkeypatch.chdir(tmp_path)

    def named(name, power):
        made = gradmark.workload(suite="s", stresses="", name=name, inputs=lambda draw: [draw.random()])
        return made(lambda ops, x: x**power)

    square, cube, other = named("price", 2), named("price", 3), named("a_b", 2)
    with pytest.raises(SelectionError, match=r"two workloads called 'price' .* give one of them another name"):
        gradmark.run([square, cube], engines="null", **QUICK)
    with pytest.raises(SelectionError, match=r"'a_b' and 'a-b' .* give one of them another name"):
        gradmark.run([other, named("a-b", 3)], engines="null", **QUICK)
    assert calling.select([square, "poly", "poly", square, other]) == [
        ".gradmark/functions/price.py:price",
        *("poly", "poly"),
        ".gradmark/functions/price.py:price",
        ".gradmark/functions/a_b.py:a_b",
    ]
