"""matmul in all of NumPy's cases, einsum, dot and outer."""

import operator
from collections.abc import Callable

import numpy as np

from oracles.problems.drawing import Draw
from oracles.tensor import Problem
from tapegrad import tensor


def matmul(d: Draw) -> Problem:
    rows, inner, columns = d.integer(1, 3), d.integer(1, 3), d.integer(1, 3)
    left, right = d.batches()
    left, right = d.choice(
        [
            ((inner,), (inner,)),
            ((inner,), (*right, inner, columns)),
            ((*left, rows, inner), (inner,)),
            ((*left, rows, inner), (inner, columns)),
            ((rows, inner), (*right, inner, columns)),
            ((*left, rows, inner), (*right, inner, columns)),
        ]
    )
    operands = [d.numbers(left), d.numbers(right)]
    if d.integer(0, 2) == 0:
        return Problem(operands, tensor.dot, np.dot, None, lambda j, x, y: j.numpy.dot(x, y))
    return Problem(
        operands, d.choice([tensor.matmul, operator.matmul]), np.matmul, lambda t, x, y: t.matmul(x, y),
        lambda j, x, y: j.numpy.matmul(x, y),
    )  # fmt: skip


SUBSCRIPTS = ["ij,jk->ik", "ij,kj", "i,i", "i,j->ij", "ij->ji", "ij->", "ii", "ii->i", "iij->j", "bij,bjk->bik"]
SUBSCRIPTS += ["i,ij,j->", "ij,jk,kl->il", "ij,ij->ij", "ijk->ik", "ij,j->i", " i j , j -> i", "Ab,bA->", "ii,i->i"]
SUBSCRIPTS += ["bhqd,bhkd->bhqk", "i->", ",i->i", "ij,ik->"]


def einsum(d: Draw) -> Problem:
    subscripts = d.choice(SUBSCRIPTS)
    terms = subscripts.replace(" ", "").partition("->")[0].split(",")
    lengths = {label: d.integer(1, 3) for label in sorted(set("".join(terms)))}
    # NumPy repeats an axis of length 1; PyTorch and JAX do so in part
    ones = {(k, label) for k, term in enumerate(terms) for label in term if len(terms) > 1 and d.integer(0, 9) == 0}
    shapes = [tuple(1 if (k, label) in ones else lengths[label] for label in term) for k, term in enumerate(terms)]
    like_others = None if ones else (lambda lib, *xs: getattr(lib, "numpy", lib).einsum(subscripts, *xs))
    return Problem(
        [d.numbers(shape) for shape in shapes],
        lambda *xs: tensor.einsum(subscripts, *xs),
        lambda *xs: np.einsum(subscripts, *xs),
        None if subscripts == "Ab,bA->" else like_others and (lambda t, *xs: t.einsum(subscripts, *xs)),
        like_others and (lambda j, *xs: j.numpy.einsum(subscripts, *xs)),
    )


PROBLEMS: dict[str, Callable[[Draw], Problem]] = {"matmul": matmul, "einsum": einsum}
