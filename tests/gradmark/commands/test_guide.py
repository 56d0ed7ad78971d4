"""The files that the guide tells its readers to write do what it says."""

import re
from functools import partial
from operator import add, mul, pow, sub, truediv
from pathlib import Path
from types import SimpleNamespace

import pytest

from gradmark import plain
from gradmark.store import runs

GUIDE = Path(__file__).parents[3] / "docs" / "guide"
PAGES = ["run.md", "your-engine.md", "your-function.md"]


@pytest.fixture
def statuses(gradmark, quick, tmp_path):
    text = "".join((GUIDE / page).read_text() for page in PAGES)
    for block in re.findall(r"```python\n(# \w+\.py\n.*?)```", text, flags=re.DOTALL):
        (tmp_path / block.split()[1]).write_text(block)

    def measured(*arguments, code=0):
        assert gradmark("run", *arguments, *quick).code == code
        (path,) = Path(".gradmark/runs").glob("*.jsonl")
        return [(m.cell.row, m.status) for m in runs.load(path).measurements]

    return measured


@pytest.mark.slow
def test_a_workload(statuses):
    assert statuses("mine.py") == [("norm/n=10", "ok"), ("norm/n=100", "ok"), ("norm/n=1000", "ok")]


@pytest.mark.slow
def test_a_workload_of_arrays(statuses):
    assert statuses("ridge.py") == [("ridge/n=10", "ok"), ("ridge/n=100", "ok"), ("ridge/n=1000", "ok")]


@pytest.mark.peers("micrograd")
def test_an_engine(statuses):
    assert statuses("poly", "expression", "-e", "nano:Micrograd", code=1) == [
        ("poly/n=10", "ok"),
        ("poly/n=100", "ok"),
        ("poly/n=1000", "error"),
        ("poly/n=10000", "skipped"),
        ("expression", "unsupported"),
    ]


@pytest.mark.slow
def test_an_engine_from_nothing(statuses):
    assert statuses("expression", "poly", "-e", "duals:Duals") == [
        ("expression", "ok"),
        ("poly/n=10", "ok"),
        ("poly/n=100", "ok"),
        ("poly/n=1000", "ok"),
        ("poly/n=10000", "ok"),
    ]


@pytest.fixture
def duals():
    """The engine from nothing, as its page writes it."""
    text = (GUIDE / "your-engine.md").read_text()
    (block,) = re.findall(r"```python\n(# duals\.py\n.*?)```", text, flags=re.DOTALL)
    names = {}
    exec(block, names)
    return SimpleNamespace(**names)


NAMES = ("exp", "log", "sqrt", "sin", "cos", "erf")
OPERATORS = {
    "neg": lambda ops, x: -x,
    **{
        f"{name} {form}": partial(lambda operator, form, ops, x: form_of(form, operator, x), operator, form)
        for name, operator in {"+": add, "-": sub, "*": mul, "/": truediv, "**": pow}.items()
        for form in ("x?c", "c?x", "x?x")
    },
    "a power of a constant base and of an integer": lambda ops, x: x**2 - x**3 / 2 + 1 / x - 2**x,
    "a branch": lambda ops, x: x * x if x > 1 else -x,
    **{name: partial(lambda name, ops, x: getattr(ops, name)(x), name) for name in NAMES},
}


def form_of(form, operator, x):
    return operator(*{"x?c": (x, 1.7), "c?x": (1.7, x), "x?x": (x, x)}[form])


@pytest.mark.parametrize("name", OPERATORS)
def test_the_numbers_of_an_engine_from_nothing_have_every_operator(duals, name):
    """A newcomer's function divides, subtracts from a constant and takes powers."""
    f, at, step = OPERATORS[name], 1.3, 1e-5
    found = f(duals.OPS, duals.Dual(at, 1.0))
    above, below = f(plain.floats, at + step), f(plain.floats, at - step)
    assert found.value == f(plain.floats, at)
    assert found.slope == pytest.approx((above - below) / (2 * step), rel=1e-8)


@pytest.mark.slow
def test_a_function_of_the_guide_on_an_engine_of_the_guide(statuses):
    assert statuses("option.py", "-e", "duals:Duals") == [("price", "ok")]


@pytest.mark.slow
def test_what_an_engine_from_nothing_lacks(statuses):
    assert statuses("chain/f=tanh", "expression", "-e", "duals:Duals") == [
        ("chain/f=tanh", "unsupported"),
        ("expression", "ok"),
    ]


@pytest.mark.slow
def test_one_row_of_a_file(statuses):
    assert statuses("mine.py:norm/n=777") == [("norm/n=777", "ok")]


@pytest.mark.slow
def test_the_contract_of_an_engine_from_nothing(gradmark, quick, tmp_path):
    text = (GUIDE / "your-engine.md").read_text()
    (block,) = re.findall(r"```python\n(# duals\.py\n.*?)```", text, flags=re.DOTALL)
    (tmp_path / "duals.py").write_text(block)
    called = gradmark("contract", "-e", "duals:Duals", *quick)
    assert called.code in (0, 1, 3)  # times decide between them
    assert "gradients add up exactly, to rounding" in called.out


@pytest.mark.peers("casadi", "xad", "micrograd")
def test_a_function_over_several_engines(statuses):
    assert statuses("option.py", "-e", "tapegrad", "-e", "casadi", "-e", "xad", "-e", "micrograd") == [
        ("price", "ok"),
        ("price", "ok"),
        ("price", "ok"),
        ("price", "unsupported"),
    ]


@pytest.mark.slow
def test_an_engine_with_tangents(statuses):
    assert statuses("poly/n=10", "-d", "gradient", "-d", "jvp", "-e", "tangents:Tangents") == [
        ("poly/n=10", "ok"),
        ("poly/n=10/derivative=jvp", "ok"),
    ]


@pytest.mark.slow
def test_a_function_with_several_results(statuses):
    assert statuses("equations.py", "-d", "jvp", "-d", "jacobian", "-e", "finite-difference") == [
        ("equations/n=10/derivative=jvp", "ok"),
        ("equations/n=10/derivative=jacobian", "ok"),
        ("equations/n=100/derivative=jvp", "ok"),
        ("equations/n=100/derivative=jacobian", "ok"),
    ]
