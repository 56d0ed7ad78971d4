"""A function that is in no file, as a file: what arrives in another process, and what is said of what cannot."""

import functools
import json
import linecache
import subprocess
import sys
import threading
import types

import numpy as np
import pytest

from gradmark import workload
from gradmark.engines.floats import FLOATS
from gradmark.errors import SelectionError, WorkloadError
from gradmark.workloads import packing
from gradmark.workloads.lookup import from_file, where_it_failed
from gradmark.workloads.scalar import poly

LOADING = """
import json, sys
from pathlib import Path
from gradmark.engines.floats import FLOATS
from gradmark.workloads.lookup import from_file
(what,) = from_file(Path(sys.argv[1]))
inputs = what.draw(0, {})
print(json.dumps([what.name, what.suite, what.file, what.dtypes, str(what(FLOATS, *inputs))]))
"""
SCALE = 3.0


def helper(ops, x):
    return SCALE * ops.exp(x)


def through_helper(ops, x):
    return helper(ops, x)


def defined(text, name, file="/nowhere/ipykernel_7/42.py"):
    """A function as a notebook defines it: in `__main__`, and its text in no file."""
    names = {"__name__": "__main__"}
    exec(compile(text, file, "exec"), names)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    return names[name]


def arrived(path):
    """What another process has of it, which finds none of the modules of this one."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", LOADING, str(path)], capture_output=True, text=True, check=False, cwd=path.parent
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "inputs", "value"),
    [
        (through_helper, [0.0], 3.0),  # of a module of tests, which no other process can import
        (lambda x, y: x * y, (2, 3.5), 7.0),
        (defined("a = 4.0\ndef f(x):\n    return a * x", "f"), 0.5, 2.0),
        (functools.partial(lambda ops, a, x: a * ops.sqrt(x), FLOATS, 2.0), 9.0, 6.0),
    ],
)
def test_what_arrives_in_another_process(tmp_path, function, inputs, value):
    what = packing.of_function(function, inputs, "mine")
    path = packing.pack(what, tmp_path / "functions")
    assert arrived(path) == ["mine", "functions", str(path), ["float64"], str(value)]


@pytest.mark.slow
def test_a_workload_keeps_all_that_it_is(tmp_path):
    @workload(suite="mine", stresses="sums", sizes={"n": [2, 3]}, inputs=lambda draw, n: [SCALE] * n)
    def total(ops, *xs, n):
        return sum(xs) / n

    (path, (again,)) = (packing.pack(total, tmp_path), from_file(tmp_path / "total.py"))
    assert (again.sizes, again.stresses, again.file) == (total.sizes, "sums", str(path))
    assert again(FLOATS, *again.draw(0, {"n": 2}), n=2) == 3.0


def test_arrays_are_copied_and_keep_their_dtype():
    given = np.ones((2, 3))
    what = packing.of_function(lambda x, k: x, [given, np.array([1, 2])], "f")
    assert (what.kind, what.dtypes) == ("tensor", ("float64", "float32"))
    first = what.draw(0, {}, "float64")
    first[0][:] = 7.0
    assert what.draw(0, {}, "float64")[0].tolist() == given.tolist()
    assert (what.draw(0, {}, "float32")[0].dtype, what.draw(0, {}, "float32")[1].dtype.kind) == (np.float32, "i")
    assert packing.of_function(lambda x: x, given.astype("float32"), "f").dtypes == ("float32", "float64")
    assert packing.of_function(lambda x, y: x, [1.0, [1.0, 2.0]], "f").draw(0, {}, "float64")[0].shape == ()


def test_ops_is_given_to_those_who_name_it():
    assert packing.of_function(through_helper, [0.0])(FLOATS, 0.0) == 3.0
    assert packing.of_function(lambda x: x + 1.0, [0.0])(FLOATS, 1.0) == 2.0
    assert packing.of_function(lambda *xs: sum(xs), [1.0, 2.0])(FLOATS, 1.0, 2.0) == 3.0
    assert packing.of_function(max, [1.0, 2.0])(FLOATS, 1.0, 2.0) == 2.0


def test_a_function_that_does_not_want_ops_is_told_of_it():
    def f(x):
        raise TypeError("math.sin takes numbers")

    with pytest.raises(TypeError) as raised:
        packing.of_function(f, [0.0])(FLOATS, 1.0)
    said = where_it_failed(raised.value)
    assert said.startswith("test_packing.py, line ")
    assert said.endswith("TypeError: math.sin takes numbers; or give the function a first parameter called ops, and "
                         "write ops.sin(x)")  # fmt: skip


LOCK = threading.Lock()


def locked(ops, x):
    with LOCK:
        return x


def through_locked(ops, x):
    return locked(ops, x)


def around(thing):
    return lambda ops, x: x * thing.factor


class Stubborn:
    factor = 2.0

    def __reduce__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("function", "inputs", "message"),
    [
        (
            through_helper,
            None,
            "through_helper has no inputs; give the numbers or arrays at which",
        ),
        (through_helper, "1.0", "inputs must be numbers or arrays, one for each parameter, got '1.0'"),
        (through_helper, [], "inputs must be numbers or arrays, one for each parameter, got []"),
        (through_helper, [1.0, 2.0], "through_helper takes 1 input, but 2 were given;"),
        (lambda x, y: x, 1.0, "lambda takes 2 inputs, but 1 was given;"),
        (lambda x, y, z=1.0: x, 1.0, "lambda takes 2 or more inputs, but 1 was given;"),
        (lambda ops, x, *, n: x, 1.0, "lambda has the parameter n, for which inputs has nothing"),
        (through_helper, [object()], "input 0 is no number and no array of numbers"),
        (through_helper, [np.arange(3)], "no input is an array of floating numbers"),
        (through_locked, 1.0, "through_locked cannot be given to worker processes: it uses 'LOCK', a lock"),
        (around(Stubborn()), 1.0, "lambda cannot be given to worker processes: it uses 'thing', a Stubborn, and no. "),
    ],
)
def test_what_cannot_be_carried_is_said(tmp_path, function, inputs, message):
    with pytest.raises(WorkloadError) as raised:
        packing.pack(packing.of_function(function, inputs), tmp_path)
    assert message in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_function_is_said():
    with pytest.raises(SelectionError, match="expected a function, a workload, or the name of one"):
        packing.of_function(3, 1.0)


def test_errors_show_the_line_of_a_notebook(tmp_path):
    file = "/nowhere/ipykernel_7/43.py"
    function = defined("def f(ops, x):\n    return x / 0\n", "f", file)
    path = packing.pack(packing.of_function(function, 1.0), tmp_path)
    del linecache.cache[file]
    (what,) = from_file(path)
    with pytest.raises(ZeroDivisionError) as raised:
        what(FLOATS, 1.0)
    assert where_it_failed(raised.value) == "43.py, line 2, `return x / 0`: ZeroDivisionError: float division by zero"


def test_a_pickle_of_another_function_is_refused(tmp_path):
    path = packing.pack(packing.of_function(lambda x: x, 1.0, "f"), tmp_path)
    path.with_suffix(".pickle").write_bytes(b"other")
    with pytest.raises(WorkloadError, match=r"f.pickle is not what was written with f.py; run it again"):
        from_file(path)


def test_what_workers_find_by_themselves_is_not_packed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "option.py").write_text(
        "from gradmark import workload\n@workload(suite='s', stresses='x')\ndef price(ops, x):\n    return x\n"
    )
    module = types.ModuleType("option")
    module.__file__ = str(tmp_path / "option.py")
    monkeypatch.setitem(sys.modules, "option", module)
    exec(compile((tmp_path / "option.py").read_text(), module.__file__, "exec"), vars(module))
    assert packing.select_of(module.price, tmp_path) == "option.py:price"
    assert packing.select_of(poly, tmp_path) == "poly"
    # the script that is running: a worker that loads it would run it
    monkeypatch.setitem(sys.modules, "__main__", module)
    module.__name__ = "__main__"
    again = module.price.__class__(**{**vars(module.price), "module": "__main__"})
    module.price = again
    assert packing.select_of(again, tmp_path / "functions") == "functions/price.py:price"
