"""Kernels shared by threads: the results of one thread, whatever is summed, and from whichever thread or process."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad import tensor
from tapegrad.compile import crew, sharing
from tapegrad.errors import InputError
from tapegrad.tensor.trees import flat

F32 = np.float32


@pytest.fixture
def eager_to_share(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every kernel is long enough."""
    monkeypatch.setattr(sharing, "FEWEST_OPERATIONS", 1)
    return


def drawn(*shape: int) -> Any:
    return np.random.default_rng(0).normal(size=shape).astype(F32)


LENGTHS = np.linspace(0.5, 1.5, 33).astype(F32)
FUNCTIONS: dict[str, tuple[Any, Any]] = {
    "elements": (lambda x: tensor.exp(x) * x, drawn(20_003)),
    "a sum of all": (tapegrad.value_and_grad(lambda x: tensor.softplus(x).sum()), drawn(20_003)),
    "in double precision": (tapegrad.value_and_grad(lambda x: tensor.sin(x).mean()), drawn(20_003).astype(float)),
    "rows": (tapegrad.value_and_grad(lambda x: tensor.logsumexp(x, axis=-1).sum()), drawn(37, 33)),
    "columns": (lambda x: [tensor.tanh(x).sum(0), tensor.tanh(x).max(0), tensor.tanh(x).min(0)], drawn(37, 33)),
    "the axis between": (lambda x: tensor.tanh(x).sum(1), drawn(5, 7, 33)),
    "rows, columns and all": (
        tapegrad.value_and_grad(lambda x: (tensor.layer_norm(x, LENGTHS, LENGTHS) ** 2).sum()),
        drawn(37, 33),
    ),
    "what is kept of a row": (lambda x: tensor.exp(x) / tensor.exp(x).sum(1, keepdims=True), drawn(37, 33)),
    "fewer rows than threads": (lambda x: tensor.exp(x - x.max(1, keepdims=True)), drawn(2, 3000)),
    "nan": (lambda x: tensor.where(x > 2.5, np.nan, x).max(0), drawn(37, 33)),
}


@pytest.mark.parametrize("threads", [2, 3, 5])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.usefixtures("eager_to_share")
def test_the_results_of_one_thread(name: str, threads: int) -> None:
    f, x = FUNCTIONS[name]
    alone, shared = tapegrad.jit(f), tapegrad.jit(f, threads=threads)
    assert shared.report(x).shared_kernels > 0
    assert alone.report(x).shared_kernels == 0
    for _ in range(2):
        for got, expected in zip(flat(shared(x)), flat(alone(x)), strict=True):
            np.testing.assert_allclose(got, expected, rtol=2e-6, atol=2e-6 if x.dtype == F32 else 1e-14)
    assert crew.members() >= 1


@pytest.mark.usefixtures("eager_to_share")
def test_what_a_whole_row_gives_is_not_divided() -> None:
    """A single row whose sum is read again."""
    compiled = tapegrad.jit(lambda x: tensor.softmax(x), threads=2)
    x = drawn(20_003)
    np.testing.assert_array_equal(compiled(x), tapegrad.jit(tensor.softmax)(x))
    assert compiled.report(x).shared_kernels == 0


def test_short_kernels_are_left_to_one_thread() -> None:
    f = tapegrad.jit(lambda x: tensor.exp(x) * 2.0, threads=2)
    assert f.report(drawn(1000)).shared_kernels == 0
    assert f.report(drawn(1_000_000)).shared_kernels == 1


@pytest.mark.usefixtures("eager_to_share")
def test_calls_from_several_threads() -> None:
    """Whoever finds the crew at work does all parts itself."""
    x = drawn(200, 33)
    functions = [tapegrad.jit(lambda x, k=k: tensor.exp(x * k).sum(0), threads=3) for k in range(1, 5)]
    expected = [f(x) for f in functions]
    wrong: list[int] = []

    def call(k: int) -> None:
        executable = functions[k]._executable((x,))[0]
        for _ in range(200):
            if not np.array_equal(executable([x])[0], expected[k]):  # without the interpreter's lock
                wrong.append(k)

    threads = [threading.Thread(target=call, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


FORKED = """
import os, sys
import numpy as np, tapegrad
from tapegrad import tensor
from tapegrad.compile import crew, sharing
sharing.FEWEST_OPERATIONS = 1
f = tapegrad.jit(lambda x: tensor.exp(x).sum(0), threads=3)
x = np.ones((40, 5))
before = f(x)
assert crew.members() == 2
child = os.fork()
if not child:
    assert crew.members() == 0
    os._exit(0 if np.array_equal(f(x), before) and crew.members() == 2 else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_a_forked_process_has_a_crew_of_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED], check=False, timeout=60, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("threads", [0, -1, 2.0, True, 257, "2"])
def test_how_many_threads(threads: Any) -> None:
    with pytest.raises(InputError, match="expected threads to be a whole number from 1 to 256, got"):
        tapegrad.jit(lambda x: x, threads=threads)
