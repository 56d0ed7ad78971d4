"""Derivatives: which functions have which, and what is said of those that do not."""

import pytest

from gradmark.records.derivative import BEYOND_GRADIENTS, DERIVATIVES, FACTS, SPARSE, has, why_not, with_article


def test_a_number_and_an_array_have_others():
    assert has("number") == ["gradient", "jvp", "vjp", "hvp", "hessian", "sparse-hessian"]
    assert has("array") == ["jvp", "vjp", "jacobian", "sparse-jacobian"]


def test_each_is_one_of_a_number_or_of_an_array_and_has_facts():
    assert set(FACTS) == set(DERIVATIVES)
    assert set(has("number")) | set(has("array")) == set(DERIVATIVES)
    assert DERIVATIVES[1:] == BEYOND_GRADIENTS
    assert SPARSE == {"jacobian": "sparse-jacobian", "hessian": "sparse-hessian"}


def test_theory():
    assert {name: facts.bound for name, facts in FACTS.items() if facts.bound} == {
        "gradient": 4.0, "jvp": 2.5, "vjp": 4.0, "hvp": 10.0
    }  # fmt: skip


@pytest.mark.parametrize(
    ("result", "derivative", "reason"),
    [
        ("number", "hvp", ""),
        (
            "number",
            "jacobian",
            "f gives one number, whose jacobian is its gradient; it has gradient, jvp, vjp, hvp, hessian, "
            "sparse-hessian",
        ),
        (
            "array",
            "hvp",
            "f gives an array, and an hvp is of one number; it has jvp, vjp, jacobian, sparse-jacobian",
        ),
    ],
)
def test_why_a_function_does_not_have_one(result, derivative, reason):
    assert why_not("f", result, derivative) == reason


def test_names_in_a_sentence():
    assert [with_article(name) for name in ("hvp", "hessian", "jvp")] == ["an hvp", "a hessian", "a jvp"]
