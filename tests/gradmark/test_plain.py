"""The public operations on plain numbers."""

import subprocess
import sys

import numpy as np
import pytest

from gradmark import plain
from gradmark.errors import UnsupportedError
from gradmark.workloads.vocabulary import SCALAR_FUNCTIONS, TENSOR_FUNCTIONS


def test_they_have_the_vocabulary():
    assert all(callable(getattr(plain.floats, name)) for name in SCALAR_FUNCTIONS)
    assert all(callable(getattr(plain.arrays, name)) for name in TENSOR_FUNCTIONS)


def test_they_compute():
    assert plain.floats.hypot(3.0, 4.0) == 5.0
    assert np.array_equal(plain.arrays.relu(np.array([-1.0, 2.0])), [0.0, 2.0])


def test_what_they_lack_is_unsupported():
    with pytest.raises(UnsupportedError, match="python-floats has no gamma, which this function needs"):
        _ = plain.floats.gamma
    with pytest.raises(AttributeError, match="it has floats and arrays"):
        _ = plain.tensors


def test_floats_do_not_import_numpy():
    code = "import sys, gradmark.plain; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
