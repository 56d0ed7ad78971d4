"""Every primitive in forward mode and to second order, against differences, PyTorch and JAX."""

import warnings

import numpy as np
import pytest
from oracles import derivatives
from oracles import tensor as oracle
from oracles.problems import PROBLEMS

from tapegrad.tensor.instruction import PRIMITIVES

# The roles, shapes and layouts that gradients were compared on are the same ones; what is new here is few.
EXAMPLES = 6
# JAX compiles every problem anew.
JAX_EXAMPLES = 2


@pytest.mark.parametrize("name", PROBLEMS)
def test_jvps_are_those_of_differences_and_adjoint_to_vjps(name):
    derivatives.agree(name, derivatives.check_first, EXAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_second_derivatives_in_all_modes_are_those_of_differences(name):
    derivatives.agree(name, derivatives.check_second, EXAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_several_seeds_at_once_say_the_same_as_one_after_the_other(name):
    derivatives.agree(name, derivatives.check_seeds, EXAMPLES)


@pytest.mark.peers("torch")
@pytest.mark.parametrize("name", PROBLEMS)
def test_second_derivatives_are_pytorchs(name):
    torch = oracle.import_torch()

    def check(c):
        if c.problem.torch is not None:
            found = derivatives.products(c)["forward over reverse"]
            for got, expected in zip(found, derivatives.torch_products(c, torch), strict=True):
                derivatives.close(got, expected, c.dtype)

    derivatives.agree(name, check, EXAMPLES)


@pytest.mark.peers("jax")
@pytest.mark.parametrize("name", PROBLEMS)
def test_second_derivatives_are_jaxs(name):
    jax = oracle.import_jax()

    def check(c):
        if c.problem.jax is not None:
            found = derivatives.products(c)["reverse over forward"]
            for got, expected in zip(found, derivatives.jax_products(c, jax), strict=True):
                derivatives.close(got, expected, c.dtype)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        derivatives.agree(name, check, JAX_EXAMPLES)


# Planted faults: the comparison finds each of them.


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_tangent_that_is_a_thousandth_off_is_found(monkeypatch, name):
    rule = PRIMITIVES[name].jvp
    monkeypatch.setattr(PRIMITIVES[name], "jvp", lambda *given: rule(*given) * given[-1].dtype.type(1.001))
    with pytest.raises(AssertionError) as caught:
        derivatives.agree(name, derivatives.check_first, EXAMPLES)
    assert "too uncertain" not in str(caught.value)


@pytest.mark.parametrize("name", ["sigmoid", "log", "softmax", "matmul", "layer_norm", "conv2d"])
def test_a_second_derivative_that_is_lost_is_found(monkeypatch, name):
    """What a rule saved is taken for a constant: the gradient is right, the second derivative is not."""
    rule = PRIMITIVES[name].vjp

    def forgetful(i, g):
        i.saved = tuple([type(x)(x.tensor.detach()) if hasattr(x, "tensor") else x for x in i.saved])
        return rule(i, g)

    monkeypatch.setattr(PRIMITIVES[name], "vjp", forgetful)
    with pytest.raises(AssertionError):
        derivatives.agree(name, derivatives.check_second, EXAMPLES)


def test_a_seed_that_gets_anothers_derivative_is_found(monkeypatch):
    rule = PRIMITIVES["sin"].vjp
    monkeypatch.setattr(
        PRIMITIVES["sin"],
        "vjp",
        lambda i, g: tuple(
            [type(x)(_rolled(x.tensor)) if hasattr(x, "tensor") and x.tensor._array.ndim > 1 else x for x in rule(i, g)]
        ),
    )
    with pytest.raises(AssertionError):
        derivatives.agree("sin", derivatives.check_seeds, EXAMPLES)


def _rolled(tensor):
    made = tensor.detach() if tensor._node is None else type(tensor).__new__(type(tensor))
    made._array, made._node = np.roll(tensor._array, 1, axis=0), tensor._node
    return made
