"""Every rule against differences, PyTorch and JAX."""

import pytest
from oracles import agreement
from oracles.problems import PROBLEMS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", PROBLEMS)
def test_values_are_numpys_and_gradients_those_of_differences(name):
    agreement.with_differences(name)


@pytest.mark.peers("torch")
@pytest.mark.parametrize("name", PROBLEMS)
def test_gradients_are_pytorchs(name):
    assert agreement.with_torch(name)


@pytest.mark.peers("jax")
@pytest.mark.parametrize("name", PROBLEMS)
def test_gradients_are_jaxs(name):
    assert agreement.with_jax(name)
