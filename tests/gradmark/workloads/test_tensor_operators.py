"""Every function of the tensor vocabulary stands alone once, and its gradient can be checked."""

import numpy as np
import pytest

from gradmark import plain
from gradmark.engines import discovery
from gradmark.measure.reference.directional import judge, reference_of
from gradmark.workloads.operators import BASELINE
from gradmark.workloads.tensor_operators import LABELS, OPERATIONS, moved, tensor_operator
from gradmark.workloads.vocabulary import TENSOR_FUNCTIONS

# Indexing and slicing are no functions; dropout has no reference; a constant is no operation.
BESIDE = {BASELINE, "slice", "index"}
LEFT_OUT = {"dropout", "constant"}


def test_every_function_is_there():
    words = {name.split(",")[0] for name in OPERATIONS}
    assert words - BESIDE == set(TENSOR_FUNCTIONS) - LEFT_OUT


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("dtype", tensor_operator.dtypes)
def test_the_gradient_of_each_is_right(operation, dtype):
    params = {"operation": operation}
    inputs = tensor_operator.draw(0, params, dtype)
    session = discovery.load("tapegrad").prepare(tensor_operator, inputs, params)
    session.total()
    slopes = reference_of(tensor_operator, inputs, params)
    accuracy, words = judge(tensor_operator, inputs, params, session.gradients(), slopes, 1e-9)
    assert accuracy.relative_error <= accuracy.tolerance, words


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name != BASELINE])
def test_the_bytes_moved_are_those_of_operands_and_result(operation):
    operands = tensor_operator.draw(0, {"operation": operation})
    numbers = sum(x.size for x in operands if x.dtype.kind == "f")
    result = np.size(OPERATIONS[operation][1](plain.arrays, *operands))
    assert moved(operation) == 2 * numbers + 4 * result


def test_operands_are_apart_from_each_other_and_from_kinks():
    x, y = tensor_operator.draw(0, {"operation": "maximum"})
    everything = np.sort(np.concatenate([x.ravel(), y.ravel(), [0.3, 0.7]]))
    assert np.diff(everything).min() > 1e-5
    assert 0.1 < everything[0] < everything[-1] < 0.9


def test_labels_are_not_differentiated():
    assert OPERATIONS["embedding"][0][1] == LABELS
    assert tensor_operator.active(tensor_operator.draw(0, {"operation": "embedding"})) == [0]
