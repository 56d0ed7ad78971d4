"""jvp, vjp and hvp of functions of arrays."""

import numpy as np
import pytest

import tapegrad
from tapegrad import Tensor, tensor
from tapegrad.tensor.differentiate import hessian_of, hvp_of, jvp_of, vjp_of

X = np.array([1.0, 2.0, 3.0])


def cubes(x):
    return (x * x * x).sum()


def test_a_jvp_is_value_and_tangent():
    value, tangent = jvp_of(lambda x: x * x, (X,), (0,), (np.array([1.0, 0.0, -1.0]),))
    assert value.tolist() == [1.0, 4.0, 9.0]
    assert tangent.tolist() == [2.0, 0.0, -6.0]
    assert type(tangent) is np.ndarray


def test_numbers_give_numbers():
    assert jvp_of(lambda x: x * x, (3.0,), (0,), (1.0,)) == (9.0, 6.0)
    assert jvp_of(cubes, (X,), (0,), (np.ones(3),)) == (36.0, 42.0)
    value, pullback = vjp_of(lambda x: x * x, (3.0,), (0,))
    assert (value, pullback(2.0)) == (9.0, (12.0,))
    assert hvp_of(lambda x: x**3, (2.0,), (0,), (1.0,)) == ((12.0,), (12.0,))


def test_structures_come_back_as_they_went_in():
    p = {"w": np.array([1.0, 2.0]), "more": [3.0, (np.array([[4.0]]),)]}
    t = {"w": np.array([1.0, 0.0]), "more": [1.0, (np.array([[2.0]]),)]}

    def f(p):
        return {"product": p["w"] * p["more"][0], "rest": [p["more"][1][0].sum(), 7.0]}

    value, tangent = jvp_of(f, (p,), (0,), (t,))
    assert value["product"].tolist() == [3.0, 6.0]
    assert value["rest"] == [4.0, 7.0]
    assert tangent["product"].tolist() == [4.0, 2.0]
    assert tangent["rest"] == [2.0, 0.0]
    _, pullback = vjp_of(f, (p,), (0,))
    (gradient,) = pullback({"product": np.array([1.0, 1.0]), "rest": [1.0, 1.0]})
    assert gradient["w"].tolist() == [3.0, 3.0]
    assert gradient["more"][0] == 3.0
    assert gradient["more"][1][0].tolist() == [[1.0]]
    (gradient,), (product,) = hvp_of(lambda p: (p["w"] * p["w"]).sum() * p["more"][0], (p,), (0,), (t,))
    assert gradient["w"].tolist() == [6.0, 12.0]
    assert product["w"].tolist() == [8.0, 4.0]
    assert product["more"][0] == 2.0


def test_several_arguments():
    value, tangent = jvp_of(lambda x, c, y: x * c * y, (2.0, 10.0, 3.0), (2, 0), (1.0, 0.5))
    assert (value, tangent) == (60.0, 35.0)
    _, pullback = vjp_of(lambda x, c, y: x * c * y, (2.0, 10.0, 3.0), (2, 0))
    assert pullback(1.0) == (20.0, 30.0)
    with pytest.raises(tapegrad.InputError, match="each argument once"):
        jvp_of(cubes, (X,), (0, 0), (X, X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes_are_those_of_the_arguments(dtype):
    x = X.astype(dtype)
    value, tangent = jvp_of(lambda x: x * 2.0, (x,), (0,), ([1, 2, 3],))
    assert value.dtype == tangent.dtype == dtype
    _, pullback = vjp_of(lambda x: x * 2.0, (x,), (0,))
    assert pullback(np.ones(3, np.float64))[0].dtype == dtype
    (gradient,), (product,) = hvp_of(cubes, (x,), (0,), (np.ones(3),))
    assert gradient.dtype == product.dtype == dtype
    assert hessian_of(cubes, (x,), 0).dtype == dtype


def test_a_pullback_may_be_called_again():
    _, pullback = vjp_of(lambda x: tensor.sin(x), (X,), (0,))
    first = pullback(np.ones(3))[0].copy()
    assert pullback(2 * np.ones(3))[0].tolist() == (2 * first).tolist()
    assert pullback(np.ones(3))[0].tolist() == first.tolist()


def test_what_the_result_does_not_depend_on_has_zeros():
    assert jvp_of(lambda x: 5.0, (X,), (0,), (X,)) == (5.0, 0.0)
    _, tangent = jvp_of(lambda x: [np.ones(2), x.detach()], (X,), (0,), (X,))
    assert [t.tolist() for t in tangent] == [[0.0, 0.0], [0.0, 0.0, 0.0]]
    assert vjp_of(lambda x: 5.0, (X,), (0,))[1](1.0)[0].tolist() == [0.0, 0.0, 0.0]
    (gradient,), (product,) = hvp_of(lambda x: (x * 2).sum(), (X,), (0,), (X,))
    assert gradient.tolist() == [2.0, 2.0, 2.0]
    assert product.tolist() == [0.0, 0.0, 0.0]


# Transforms in transforms


def test_every_order_and_mix():
    derivative = {
        "reverse": lambda f: lambda x: tapegrad.grad(f)(x),
        "forward": lambda f: lambda x: jvp_of(f, (x,), (0,), (1.0,))[1],
        "vjp": lambda f: lambda x: vjp_of(f, (x,), (0,))[1](1.0)[0],
    }
    x = np.array(0.7)
    third_of_tanh = -2 * (1 - np.tanh(0.7) ** 2) * (1 - 3 * np.tanh(0.7) ** 2)
    for first in derivative.values():
        for second in derivative.values():
            for third in derivative.values():
                assert float(first(second(third(tensor.sin)))(x)) == pytest.approx(-np.cos(0.7), rel=1e-13)
                assert float(first(second(third(tensor.tanh)))(x)) == pytest.approx(third_of_tanh, rel=1e-12)


@pytest.mark.parametrize("outer", ["reverse", "forward"])
@pytest.mark.parametrize("inner", ["reverse", "forward"])
def test_what_belongs_to_an_outer_transform_is_a_constant_to_the_inner_one(outer, inner):
    """The classic confusion: d/dx (x · d/dy (x + y)) is 1, not 2."""
    modes = {
        "reverse": lambda f, x: tapegrad.grad(f)(x),
        "forward": lambda f, x: jvp_of(f, (x,), (0,), (1.0,))[1],
    }
    assert float(modes[outer](lambda x: x * modes[inner](lambda y: x + y, x * 1.0), np.array(3.0))) == 1.0
    assert float(modes[outer](lambda x: x * modes[inner](lambda y: x * y, x * 1.0), np.array(3.0))) == 6.0


def test_results_inside_another_transform_are_tensors():
    kinds = []

    def f(x):
        gradient = tapegrad.grad(cubes)(x)
        value, tangent = jvp_of(cubes, (x,), (0,), (np.ones(3),))
        kinds.extend([type(gradient), type(value), type(tangent)])
        return (gradient * tangent).sum() + value

    tapegrad.grad(f)(X)
    assert set(kinds) == {Tensor}


def test_a_leaf_of_backward_is_an_outer_level():
    w = Tensor(X, requires_grad=True)
    penalty = tensor.square(tapegrad.grad(cubes)(w)).sum()
    penalty.backward()
    assert w.grad.tolist() == (36 * X**3).tolist()
    scale = Tensor(2.0, requires_grad=True)
    gradient = tapegrad.grad(lambda x: cubes(x) * scale)(X)
    assert scale.grad is None  # nobody asked for it
    gradient.sum().backward()
    assert scale.grad == (3 * X**2).sum()


def test_no_grad_makes_constants_for_all_transforms_that_are_open():
    def f(x):
        with tapegrad.no_grad():
            weight = x * x
        return (weight * x).sum()

    assert tapegrad.grad(f)(X).tolist() == [1.0, 4.0, 9.0]
    assert jvp_of(f, (X,), (0,), (np.ones(3),))[1] == 14.0
    assert hvp_of(f, (X,), (0,), (np.ones(3),))[1][0].tolist() == [0.0, 0.0, 0.0]
    assert tapegrad.grad(lambda x: tapegrad.grad(f)(x).sum())(X).tolist() == [0.0, 0.0, 0.0]
    detached = lambda x: ((x * x).detach() * x).sum()  # noqa: E731
    assert jvp_of(detached, (X,), (0,), (np.ones(3),))[1] == 14.0
    assert hvp_of(detached, (X,), (0,), (np.ones(3),))[1][0].tolist() == [0.0, 0.0, 0.0]


def test_a_transform_called_within_no_grad_differentiates():
    with tapegrad.no_grad():
        assert tapegrad.grad(cubes)(X).tolist() == [3.0, 12.0, 27.0]
        assert jvp_of(cubes, (X,), (0,), (np.ones(3),))[1] == 42.0
        assert hvp_of(cubes, (X,), (0,), (np.ones(3),))[1][0].tolist() == [6.0, 12.0, 18.0]


def test_comparisons_and_branches_see_the_numbers():
    def f(x):
        y = x * 2 if x[0] > 0.5 else x
        return tensor.where(x > 1.5, y * y, y).sum()

    assert tapegrad.grad(f)(X).tolist() == [2.0, 16.0, 24.0]
    assert hvp_of(f, (X,), (0,), (np.ones(3),))[1][0].tolist() == [0.0, 8.0, 8.0]


def test_kinks_have_one_convention_in_all_modes():
    zeros = np.zeros(3)
    cases = {
        tensor.relu: [0.0, 0.0, 0.0],
        tensor.abs: [0.0, 0.0, 0.0],
        lambda x: tensor.maximum(x, 0.0): [0.5, 0.5, 0.5],
        lambda x: tensor.minimum(x, 0.0): [0.5, 0.5, 0.5],
        lambda x: tensor.clip(x, 0.0, 1.0): [1.0, 1.0, 1.0],
        lambda x: x.max(): [1 / 3, 1 / 3, 1 / 3],
        lambda x: tensor.max_pool2d(tensor.reshape(x, (1, 1, 1, 3)), (1, 3)): [1.0, 0.0, 0.0],
        lambda x: tensor.pow(x, 0.0): [0.0, 0.0, 0.0],
        lambda x: tensor.softplus(x): [0.5, 0.5, 0.5],
    }
    for f, expected in cases.items():
        whole = lambda x, f=f: f(x).sum()  # noqa: E731
        assert tapegrad.grad(whole)(zeros).tolist() == pytest.approx(expected)
        units = np.eye(3)
        assert [jvp_of(whole, (zeros,), (0,), (unit,))[1] for unit in units] == pytest.approx(expected)
        # as an inner transform's value, and the tangent of a gradient's own pass
        twice = lambda x, f=f: tapegrad.value_and_grad(lambda y: f(y).sum())(x)[0]  # noqa: E731
        assert tapegrad.grad(twice)(zeros).tolist() == pytest.approx(expected)
        assert [jvp_of(twice, (zeros,), (0,), (unit,))[1] for unit in units] == pytest.approx(expected)


# What does not fit


@pytest.mark.parametrize(
    ("tangents", "message"),
    [
        ((np.ones(4),), r"expected tangent 0 to have shape \(3,\), got \(4,\); .* call jacobian"),
        ((np.ones((3, 1)),), r"expected tangent 0 to have shape \(3,\), got \(3, 1\); reshape it to \(3,\)"),
        ((1.0,), r"to have shape \(3,\), got \(\); .*numpy.full"),
        ((X, X), "expected a tangent for each of 1 arguments, got 2"),
        (({"w": X},), r"expected tangent 0 to be an array or a number, got dict"),
        (("x",), "expected tangent 0 to be an array or a number, got str"),
        ((np.ones(3, complex),), "expected tangent 0 to hold real numbers, got dtype complex128"),
    ],
)
def test_tangents_that_do_not_fit(tangents, message):
    with pytest.raises((tapegrad.ShapeError, tapegrad.InputError), match=message):
        jvp_of(cubes, (X,), (0,), tangents)


def test_structures_that_do_not_fit():
    p = {"a": X, "b": [1.0, 2.0]}
    f = lambda p: cubes(p["a"]) * p["b"][0]  # noqa: E731
    with pytest.raises(
        tapegrad.InputError, match=r"of argument 0 to be a dict with the keys \['a', 'b'\], got \['a'\]"
    ):
        jvp_of(f, (p,), (0,), ({"a": X},))
    with pytest.raises(tapegrad.InputError, match=r"of argument 0\['b'\] to be a sequence of 2 items, got 1 items"):
        jvp_of(f, (p,), (0,), ({"a": X, "b": [1.0]},))
    with pytest.raises(tapegrad.InputError, match=r"of argument 0\['b'\] to be a sequence of 2 items, got float"):
        jvp_of(f, (p,), (0,), ({"a": X, "b": 1.0},))
    with pytest.raises(tapegrad.InputError, match=r"of argument 0\['b'\]\[1\] to be a number, got list"):
        jvp_of(f, (p,), (0,), ({"a": X, "b": [1.0, [1.0]]},))


def test_seeds_that_do_not_fit():
    _, pullback = vjp_of(lambda x: [x * 2, x.sum()], (X,), (0,))
    with pytest.raises(tapegrad.ShapeError, match=r"expected seed 0 to have shape \(3,\), got \(2,\)"):
        pullback([np.ones(2), 1.0])
    with pytest.raises(tapegrad.InputError, match="expected the seed to be a sequence of 2 items, got ndarray"):
        pullback(np.ones(3))


def test_results_and_arguments_that_have_no_derivative():
    with pytest.raises(tapegrad.InputError, match="to return tensors, arrays and numbers, got str"):
        jvp_of(lambda x: "x", (X,), (0,), (X,))
    with pytest.raises(tapegrad.InputError, match="to return one number, got Tensor of shape"):
        hvp_of(lambda x: x, (X,), (0,), (X,))
    with pytest.raises(tapegrad.DtypeError, match="leave the argument out of argnums"):
        jvp_of(cubes, (np.arange(3),), (0,), (X,))


def test_backward_of_what_carries_a_tangent_says_what_to_do():
    with pytest.raises(tapegrad.ConstantError, match=r"call tapegrad\.grad inside it"):
        jvp_of(lambda x: cubes(x).backward(), (X,), (0,), (X,))
