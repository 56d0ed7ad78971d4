"""Dense Jacobians and Hessians."""

import numpy as np
import pytest

import tapegrad
from tapegrad import tensor
from tapegrad.tensor import jacobians
from tapegrad.tensor.differentiate import hessian_of, jacobian_of, jvp_of

X = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize("mode", [None, "forward", "reverse"])
def test_shapes_are_those_of_result_and_argument(mode):
    x = np.arange(6.0).reshape(2, 3)
    found = jacobian_of(lambda x: tensor.square(x.T), (x,), 0, mode)
    assert found.shape == (3, 2, 2, 3)
    assert np.einsum("abba->ab", found).tolist() == (2 * x.T).tolist()
    assert np.count_nonzero(found) == 5
    assert jacobian_of(lambda x: x.sum(), (x,), 0, mode).tolist() == np.ones((2, 3)).tolist()
    assert jacobian_of(lambda x: x * X, (2.0,), 0, mode).tolist() == X.tolist()


@pytest.mark.parametrize("mode", [None, "forward", "reverse"])
def test_structures(mode):
    p = {"a": X, "b": 2.0}
    found = jacobian_of(lambda p: {"y": p["a"] * p["b"], "z": p["b"] * 3}, (p,), 0, mode)
    assert found["y"]["a"].tolist() == (2 * np.eye(3)).tolist()
    assert found["y"]["b"].tolist() == X.tolist()
    assert found["z"]["a"].tolist() == [0.0, 0.0, 0.0]
    assert found["z"]["b"] == 3.0
    stacked = jacobian_of(lambda x: [x[0] * x[1], x[2], 1.0], (X,), 0, mode)
    assert stacked.tolist() == [[2.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]


def test_the_mode_with_fewer_seeds_is_taken(monkeypatch):
    taken = []
    for name in ("by_rows", "by_columns"):
        inner = getattr(jacobians, name)
        monkeypatch.setattr(jacobians, name, lambda *a, name=name, inner=inner: (taken.append(name), inner(*a))[1])
    tall, wide = np.ones((5, 2)), np.ones((2, 5))
    assert jacobian_of(lambda x: tall @ x, (np.ones(2),), 0).tolist() == tall.tolist()
    assert jacobian_of(lambda x: wide @ x, (np.ones(5),), 0).tolist() == wide.tolist()
    assert jacobian_of(lambda x: X * x, (1.0,), 0).tolist() == X.tolist()
    assert taken == ["by_columns", "by_rows", "by_columns"]


def test_all_seeds_take_one_pass():
    """The function is called once, and each primitive's rule as often as for one seed."""
    calls = []

    def f(x):
        calls.append(1)
        return tensor.sin(x) * x

    assert jacobian_of(f, (np.ones(50),), 0, "forward").shape == (50, 50)
    assert jacobian_of(f, (np.ones(50),), 0, "reverse").shape == (50, 50)
    assert len(calls) == 2


def test_seeds_that_do_not_fit_the_cache_are_taken_in_portions(monkeypatch):
    x = np.linspace(0, 1, 7)
    f = lambda x: [tensor.sin(x) * x[0], tensor.cos(x)]  # noqa: E731
    expected = {mode: jacobian_of(f, (x,), 0, mode) for mode in ("forward", "reverse")}
    monkeypatch.setattr(jacobians, "AT_ONCE", 20)
    for mode, whole in expected.items():
        assert jacobian_of(f, (x,), 0, mode).tolist() == whole.tolist()


def test_a_hessian():
    a = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]])
    assert hessian_of(lambda x: x @ a @ x / 2, (X,), 0).tolist() == a.tolist()
    p = {"a": X[:2], "b": 2.0}
    found = hessian_of(lambda p: (p["a"] * p["a"]).sum() * p["b"], (p,), 0)
    assert found["a"]["a"].tolist() == (4 * np.eye(2)).tolist()
    assert found["a"]["b"].tolist() == found["b"]["a"].tolist() == [2.0, 4.0]
    assert found["b"]["b"] == 0.0


def test_jacobians_compose():
    f = lambda x: (tensor.sin(x) * x[::-1]).sum()  # noqa: E731
    expected = hessian_of(f, (X,), 0)
    for mode in ("forward", "reverse"):
        again = jacobian_of(lambda x: tapegrad.grad(f)(x), (X,), 0, mode)
        assert again == pytest.approx(expected, abs=1e-14)
        third = jacobian_of(lambda x, mode=mode: hessian_of(f, (x,), 0), (X,), 0, mode)
        along = jvp_of(lambda x: hessian_of(f, (x,), 0), (X,), (0,), (np.array([0.0, 1.0, 0.0]),))[1]
        assert third[..., 1] == pytest.approx(along, abs=1e-14)
    trace = tapegrad.grad(lambda x: sum(jacobian_of(tensor.exp, (x,), 0, "reverse")[k, k] for k in range(3)))
    assert trace(X) == pytest.approx(np.exp(X))


def test_nothing_to_differentiate_by_or_of():
    assert jacobian_of(lambda x: x * 2, (np.ones((0, 2)),), 0).shape == (0, 2, 0, 2)
    for mode in ("forward", "reverse", None):
        assert jacobian_of(lambda x: x.sum(), (np.ones(0),), 0, mode).shape == (0,)
        assert jacobian_of(lambda x: x[:0], (X,), 0, mode).shape == (0, 3)
    assert hessian_of(lambda x: x.sum(), (np.ones(0),), 0).shape == (0, 0)
    with pytest.raises(tapegrad.InputError, match="expected an array or number"):
        jacobian_of(lambda x: 1.0, ([],), 0)


@pytest.mark.parametrize("mode", [None, "forward", "reverse"])
def test_what_does_not_fit_in_memory_is_refused_before_it_is_tried(monkeypatch, mode):
    monkeypatch.setattr(jacobians, "memory", lambda: 10**6)
    with pytest.raises(tapegrad.InputError, match=r"1,000 × 1,000 numbers needs 0.0 GiB.*sparse matrix"):
        jacobian_of(lambda x: x * 2, (np.ones(1000),), 0, mode)
    with pytest.raises(tapegrad.InputError, match="a dense Hessian of 1,000 × 1,000"):
        hessian_of(lambda x: pytest.fail("it was called"), (np.ones(1000),), 0)


def test_how_much_memory_there_is():
    assert jacobians.memory() > 1 << 28


def test_a_mode_that_is_none():
    with pytest.raises(tapegrad.InputError, match="expected mode to be 'forward', 'reverse' or None, got 'fwd'"):
        jacobian_of(lambda x: x, (X,), 0, "fwd")
