"""The adapters that the contract's tests run over, without importing one: those that are not installed are skipped."""

import pytest

from gradmark.engines import discovery

# What each has, so that collecting the tests imports no engine; a test holds every engine to it.
SCALARS_ONLY = {
    "python-floats",
    "tapegrad:compiled",
    "tapegrad:fresh",
    "tapegrad:plain",
    "tapegrad:program",
    "tapegrad:recording-constants",
    "casadi",
    "xad",
    "micrograd",
}
TENSORS_ONLY = {"numpy", "tapegrad:jit"}
EVALUATE_ONLY = {"null", "python-floats", "numpy"}
EVERY = list(discovery.BUILT_IN)
SCALAR = [name for name in EVERY if name not in TENSORS_ONLY]
TENSOR = [name for name in EVERY if name not in SCALARS_ONLY]


def cell(name, *more):
    """Parameters of a test with an engine, skipped where its package is not installed."""
    package = name.partition(":")[0]
    marks = [pytest.mark.peers(package)] if package in discovery.PEERS else []
    marks += [pytest.mark.slow] * ("convolution" in more)  # tens of milliseconds for one evaluation
    return pytest.param(name, *more, marks=marks, id="-".join(map(str, (name, *more))))
