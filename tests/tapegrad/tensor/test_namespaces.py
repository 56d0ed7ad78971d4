"""Which library computes: the array's own, never NumPy by name."""

import ast
from pathlib import Path

import numpy as np
import pytest
from oracles import agreement, derivatives, foreign
from oracles import tensor as oracle
from oracles.problems import PROBLEMS

from tapegrad import tensor
from tapegrad.tensor import Tensor, namespaces
from tapegrad.tensor.instruction import REUSED

SOURCES = Path(__file__).parents[3] / "src" / "tapegrad" / "tensor"
# The only module that may name a library.
NAMING = {"namespaces.py"}


@pytest.fixture
def foreign_special(monkeypatch):
    monkeypatch.setitem(namespaces.SPECIAL, "foreign", "oracles.foreign")


def names(source):
    """Every module that a source imports, and every name that it reads or writes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0]
        elif isinstance(node, ast.Name):
            yield node.id


def test_no_source_but_one_names_a_library():
    assert "numpy" in set(names((SOURCES / "namespaces.py").read_text()))
    found = {
        str(path.relative_to(SOURCES)): named
        for path in SOURCES.rglob("*.py")
        if path.name not in NAMING and (named := {"numpy", "np", "scipy", "cupy"} & set(names(path.read_text())))
    }
    assert found == {}
    assert len(list((SOURCES / "rules").glob("*.py"))) >= 7


@pytest.mark.usefixtures("foreign_special")
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_primitive_computes_with_the_arrays_own_namespace(name):
    foreign.Inside.called.clear()

    def check(outcome: oracle.Outcome, rng: np.random.Generator) -> None:
        oracle.check_value(outcome)
        oracle.check_differences(outcome, rng)

    agreement.agree(name, check, examples=6, wrap=foreign.foreign)
    assert foreign.Inside.called


@pytest.mark.usefixtures("foreign_special")
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_derivative_is_computed_with_the_arrays_own_namespace(name):
    for check in (derivatives.check_first, derivatives.check_seeds, derivatives.check_second):
        derivatives.agree(name, check, 2, foreign.foreign)


def test_a_function_of_numpy_called_by_name_is_caught():
    x = foreign.foreign(np.ones(3))
    with pytest.raises(AssertionError, match=r"numpy.exp was called by name"):
        np.exp(x)
    with pytest.raises(AssertionError, match=r"numpy.sum was called by name"):
        np.sum(x)
    assert type(x + 1) is type(foreign.NAMESPACE.exp(x)) is type(x[0]) is foreign.ForeignArray


@pytest.mark.usefixtures("foreign_special")
def test_dropout_draws_from_the_arrays_own_namespace():
    x = Tensor(foreign.foreign(np.ones(8)), requires_grad=True)
    y = tensor.dropout(x, 0.5, seed=0)
    y.sum().backward()
    assert type(y.data) is type(x.grad) is foreign.ForeignArray
    assert x.grad.tolist() == tensor.dropout(np.ones(8), 0.5, seed=0).data.tolist()


def test_the_seed_of_a_large_sum_is_an_array_of_the_namespace():
    x = Tensor(foreign.foreign(np.ones(REUSED)), requires_grad=True)
    x.sum().backward()
    assert type(x.grad) is foreign.ForeignArray
    assert x.grad.tolist() == [1.0] * REUSED


def test_numbers_and_lists_are_numpys():
    for value in (1, 2.0, [1.0], np.float32(1), np.ones(2)):
        assert namespaces.namespace(value) is np
    assert namespaces.namespace(foreign.foreign(np.ones(2))) is foreign.NAMESPACE
