"""The language of kernels: numbers, functions, and that CUDA's own compiler takes all of it."""

import math
import shutil
import subprocess

import mpmath
import numpy as np
import pytest

import tapegrad
from tapegrad import tensor
from tapegrad.compile.cuda import language, points
from tapegrad.compile.cuda.execution import CudaExecutable
from tapegrad.compile.trace import traced
from tapegrad.rules.table import RULES

F32 = np.float32


def test_numbers_are_written_exactly():
    assert language.literal(0.1, "double") == "0x1.999999999999ap-4"
    assert language.literal(0.1, "float") == "0x1.99999a0000000p-4f"
    assert language.literal(math.inf, "float") == "float_of(0x7f800000u)"
    assert language.literal(-math.inf, "double") == "double_of(0xfff0000000000000ull)"
    assert language.literal(math.nan, "float") == "float_of(0x7fc00000u)"
    assert language.literal(-(2**63), "long long") == "(long long)(-9223372036854775807LL - 1LL)"
    assert (language.literal(True, "bool"), language.literal(-0.0, "float")) == ("true", "-0x0.0p+0f")


@pytest.mark.slow
@pytest.mark.usefixtures("device")
def test_tanh_is_within_three_units_in_the_last_place(there):
    x = np.concatenate([np.linspace(-10, 10, 4001), np.linspace(0.5, 0.6, 500), np.logspace(-38, 1, 500)]).astype(F32)
    with mpmath.workdps(30):
        exact = np.array([float(mpmath.tanh(mpmath.mpf(float(number)))) for number in x])
    (got,) = [tapegrad.jit(tensor.tanh)(*there(x)).view(np.ndarray)]
    assert np.max(np.abs(got - exact) / np.abs(np.spacing(exact.astype(F32)))) <= 3.0


def loss(x, w, b, y, labels):
    hidden = tensor.gelu(tensor.layer_norm(x @ w + b))
    sums = tensor.logsumexp(hidden, axis=1).sum() + tensor.sum(tensor.erf(tensor.softplus(x) - y))
    return sums + tensor.softmax_cross_entropy(hidden, labels)


def sources(device, there):
    """Kernels of every kind: for rows, columns and clusters, alone and as one, and for points."""
    for rows, columns, classes in ((8, 16, 4), (300, 64, 10), (8, 64, 20_000)):
        shapes = [(rows, columns), (columns, classes), (classes,), (rows, columns)]
        args = (*there(*(np.ones(shape, F32) for shape in shapes)), *there(np.zeros(rows, int)))
        yield CudaExecutable(traced(tapegrad.value_and_grad(loss, (0, 1, 2)), args, device), device, False).plan.text
    functions = "".join(points.function_of(name) for name, rule in RULES.items() if rule.value is not None)
    yield points.PRELUDE + points.helpers_h() + functions


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="CUDA's compiler, nvcc, is not installed")
def test_cudas_compiler_takes_every_kind_of_kernel(device, there, tmp_path):
    for k, text in enumerate(sources(device, there)):
        source = tmp_path / f"kernels{k}.cu"
        source.write_text(language.WORDS + language.COMMON + text)
        command = ["nvcc", "-std=c++17", "-arch=sm_90", "--ptx", "-o", str(tmp_path / "kernels.ptx"), str(source)]
        told = subprocess.run(command, capture_output=True, text=True, check=False)
        assert told.returncode == 0, told.stderr[:2000]
