"""Derivatives: what an engine can be asked for. Their names are spelled here and nowhere else.

Out: for each name what it is of, what its result looks like, and what theory says that it costs.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

DerivativeName = Literal[
    "gradient", "jvp", "vjp", "jacobian", "hvp", "hessian", "sparse-jacobian", "sparse-hessian"
]  # fmt: skip
DERIVATIVES: tuple[DerivativeName, ...] = get_args(DerivativeName)
# What a row is of if its name does not say.
USUAL_DERIVATIVE: DerivativeName = "gradient"
# What a function gives: one number, or several (a list of numbers, or an array).
ResultKind = Literal["number", "array"]
# What a derivative looks like: the differentiated inputs, the function's result, or a matrix.
Form = Literal["inputs", "result", "matrix", "sparse"]


class Facts(NamedTuple):
    """What is known of a derivative, whoever computes it."""

    of: tuple[ResultKind, ...]  # functions that have it
    order: Literal[1, 2]
    form: Form
    bound: float | None = None  # evaluations that it costs at most, in theory
    dense: DerivativeName | None = None  # the same as a full matrix, of a sparse one


# Bounds: Griewank and Walther, Evaluating Derivatives, 2008, sections 3.2 (tangents), 3.3 (gradients) and 3.4 (second
# order adjoints), where every operation costs the same in each pass.
FACTS: Mapping[DerivativeName, Facts] = {
    "gradient": Facts(("number",), 1, "inputs", 4.0),
    "jvp": Facts(("number", "array"), 1, "result", 2.5),
    "vjp": Facts(("number", "array"), 1, "inputs", 4.0),
    "jacobian": Facts(("array",), 1, "matrix"),
    "hvp": Facts(("number",), 2, "inputs", 10.0),
    "hessian": Facts(("number",), 2, "matrix"),
    "sparse-jacobian": Facts(("array",), 1, "sparse", dense="jacobian"),
    "sparse-hessian": Facts(("number",), 2, "sparse", dense="hessian"),
}
SPARSE: Mapping[DerivativeName, DerivativeName] = {
    facts.dense: name for name, facts in FACTS.items() if facts.dense is not None
}
# Those that have a metric of their own: a gradient has columns of its own.
BEYOND_GRADIENTS = tuple(name for name in DERIVATIVES if name != USUAL_DERIVATIVE)
SPARSE_ONES = tuple(SPARSE.values())


def has(result: ResultKind) -> list[DerivativeName]:
    """The derivatives of a function with such a result.

    >>> has("array")
    ['jvp', 'vjp', 'jacobian', 'sparse-jacobian']
    """
    return [name for name in DERIVATIVES if result in FACTS[name].of]


def why_not(workload: str, result: ResultKind, derivative: DerivativeName) -> str:
    """Why a function does not have a derivative; empty if it has.

    >>> why_not("poly", "number", "jacobian")
    'poly gives one number, whose jacobian is its gradient; it has gradient, jvp, vjp, hvp, hessian, sparse-hessian'
    >>> why_not("broyden", "array", "hvp")
    'broyden gives an array, and an hvp is of one number; it has jvp, vjp, jacobian, sparse-jacobian'
    """
    if result in FACTS[derivative].of:
        return ""
    there = f"it has {', '.join(has(result))}"
    if result == "number":
        return f"{workload} gives one number, whose {derivative} is its gradient; {there}"
    return f"{workload} gives an array, and {with_article(derivative)} is of one number; {there}"


def with_article(derivative: str) -> str:
    """The name in a sentence: an hvp, a jvp."""
    return f"an {derivative}" if derivative.startswith("h") and not derivative.startswith("he") else f"a {derivative}"
