"""Does an installation work? The engine, and the laboratory where it is installed too. No pytest is needed.

    python tests/smoke.py

Run it outside of the repository's folder, or with an installed wheel: it says which files it tried.
"""

import importlib.util
import subprocess
import sys
import tempfile

import numpy

import tapegrad
from tapegrad import Tensor, tensor


def engine() -> None:
    """A tape, a program with its derivatives, a batch, tensors."""
    tape = tapegrad.Tape()
    x, y = tape.var(1.0), tape.var(2.0)
    program = tape.freeze([x, y], x * y + tapegrad.exp(-x))
    value, gradient = program.value_and_grad([0.5, 4.0])
    expected = 2.0 + numpy.exp(-0.5), [4.0 - numpy.exp(-0.5), 0.5]
    assert abs(value - expected[0]) < 1e-15, value
    assert numpy.allclose(gradient, expected[1], rtol=1e-14, atol=0.0), gradient
    points = numpy.random.default_rng(0).normal(size=(1000, 2))
    _, gradients = program.batch(points, threads=2)
    assert numpy.allclose(gradients[:, 1], points[:, 0], rtol=1e-14, atol=0.0)
    assert tapegrad.hessian(lambda x: x[0] * x[0] * x[1])([2.0, 3.0]).tolist() == [[6.0, 4.0], [4.0, 0.0]]
    w = Tensor(numpy.ones((2, 3)), requires_grad=True)
    loss = tensor.sum(tensor.tanh(numpy.ones((4, 2)) @ w))
    loss.backward()
    assert numpy.allclose(w.grad, 4 * (1 - numpy.tanh(2.0) ** 2), rtol=1e-12, atol=0.0)


def laboratory() -> None:
    """One row is measured, with its counts; the list and the check of the machine print something."""
    with tempfile.TemporaryDirectory() as folder:
        for typed in (["run", "expression", "--quick", "--processes", "1"], ["list"], ["doctor", "--seconds", "0"]):
            command = [sys.executable, "-m", "gradmark.commands.main", *typed]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)
            assert done.returncode == 0, f"gradmark {' '.join(typed)}: {done.returncode}\n{done.stdout}{done.stderr}"
            assert done.stdout.strip()


def without_laboratory() -> None:
    """The command says what to install."""
    command = [sys.executable, "-m", "gradmark.commands.main", "run"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done
    assert "pip install 'gradmark[lab]'" in done.stderr, done.stderr


def main() -> None:
    """All of it."""
    print("tapegrad:", tapegrad.__file__)
    engine()
    print("engine: ok")
    if importlib.util.find_spec("click") is None:
        without_laboratory()
        print("laboratory: not installed, and says so")
    else:
        laboratory()
        print("laboratory: ok")


if __name__ == "__main__":
    main()
