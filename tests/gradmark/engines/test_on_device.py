"""Adapters as they are on a device, where there is none: libraries that are made up, or the CPU in its place."""

import sys
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from gradmark.engines import cuda_presence, discovery
from gradmark.engines.protocol import Derivative
from gradmark.engines.tapegrad import cuda
from gradmark.errors import UnsupportedError
from gradmark.workloads.selection import select


class Hook:
    """CuPy's base of hooks: it is called from `taken` and `given`, once it is entered."""

    entered: "ClassVar[list[Hook]]" = []

    def __enter__(self):
        self.entered.append(self)


@pytest.fixture
def cupy(monkeypatch):
    """NumPy under CuPy's name."""
    fake = ModuleType("cupy")
    fake.ndarray, fake.asarray, fake.asnumpy = np.ndarray, np.array, np.asarray
    fake.cuda = SimpleNamespace(MemoryHook=Hook, Device=lambda: SimpleNamespace(synchronize=lambda: None))
    monkeypatch.setitem(sys.modules, "cupy", fake)
    Hook.entered.clear()
    return fake


def matmul():
    (found,) = select(["matmul"])
    return found, found.draw(0, {"n": 4}, "float32")


def test_tapegrad_on_cupy(cupy):
    workload, inputs = matmul()
    session = discovery.load("tapegrad").prepare(workload, inputs, {"n": 4}, device="cuda")
    assert session.device_name == "cuda"
    for _ in range(2):
        session.total()
        exact = workload.gradient(*inputs)
        for found, right in zip(session.gradients(), exact, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-6)
        inputs = [2.0 * x for x in inputs]
        session.move(inputs)


def test_what_tapegrad_has_on_the_cpu_only(cupy):
    (poly,) = select(["poly"])
    with pytest.raises(UnsupportedError, match="functions of numbers on the CPU only"):
        discovery.load("tapegrad").prepare(poly, [0.5], {"n": 10}, device="cuda")
    workload, inputs = matmul()
    with pytest.raises(UnsupportedError, match="tapegrad has gradients on cuda, and no hvp"):
        discovery.load("tapegrad").prepare(workload, inputs, {"n": 4}, device="cuda", derivative=Derivative("hvp"))


def test_cupys_memory_is_watched_from_when_somebody_asks(cupy):
    counters = cuda.counters(cupy)
    assert Hook.entered == []
    assert counters.alive_bytes() == counters.alive_bytes() == 0
    (hook,) = Hook.entered
    hook.malloc_postprocess(mem_size=512, size=500)
    hook.malloc_postprocess(mem_size=1024, size=1000)
    hook.free_postprocess(mem_size=512)
    assert (counters.alive_bytes(), counters.peak_bytes(), counters.allocations()) == (1024, 1536, 2)
    counters.reset_peak()
    assert counters.peak_bytes() == 1024


def test_two_rows_in_a_process_share_cupys_only_hook(cupy):
    one, other = cuda.counters(cupy), cuda.counters(cupy)
    assert one.alive_bytes() == other.alive_bytes() == 0
    (hook,) = Hook.entered
    hook.malloc_postprocess(mem_size=512, size=500)
    assert one.alive_bytes() == other.alive_bytes() == 512


@pytest.mark.parametrize(("nodes", "there"), [(["/dev/nvidia3"], True), ([], False)])
def test_a_cuda_device_is_seen_by_its_files(monkeypatch, nodes, there):
    monkeypatch.setattr(cuda_presence.glob, "glob", lambda _pattern: nodes)
    monkeypatch.setattr(cuda_presence.os.path, "exists", lambda _path: False)
    cuda_presence.has_cuda.cache_clear()
    try:
        assert cuda_presence.has_cuda() is there
    finally:
        cuda_presence.has_cuda.cache_clear()


@pytest.mark.peers("jax")
def test_jax_on_a_device_does_not_wait_in_its_calls(monkeypatch):
    """On the CPU in place of a GPU: nothing waits but `synchronize`, and results are right."""
    from gradmark.engines import jax as adapter

    monkeypatch.setattr(adapter, "use", lambda _device: None)
    waited = []
    real = adapter.jax.block_until_ready
    monkeypatch.setattr(adapter.jax, "block_until_ready", lambda x: waited.append(x) or real(x))
    workload, inputs = matmul()
    with adapter.jax.default_device(adapter.jax.devices("cpu")[0]):
        session = adapter.Jax().prepare(workload, inputs, {"n": 4}, device="cuda")
        assert session.queue is None  # its arrays say that they are on the CPU, whatever was planned
        assert session.device_name == "cpu"
        session.forward()
        session.backward()
        session.total()
        assert waited == []
        session.synchronize()
    assert len(waited) == 1
    for found, right in zip(session.gradients(), workload.gradient(*inputs), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-6)
    latest = adapter.Latest()
    latest.join()  # nothing was asked for yet
    monkeypatch.setattr(adapter, "FLUSHED_WORDS", 8)
    latest.flush(2 * adapter.MOST_TOGETHER + 1)
    latest.join()
    latest.wait()
    assert latest.result.shape == (1, 8)
    assert adapter.temporary_bytes(adapter.jax.jit(lambda x: x @ x), [adapter.jnp.ones((4, 4))]) >= 0


@pytest.mark.peers("torch")
def test_a_view_of_pytorch_is_read_as_a_view():
    """On a GPU a kernel would make an array of it, which takes longer than the work whose result it is."""
    import torch

    from gradmark.engines.torch import on_host

    one = on_host(torch.ones(1).expand(3, 4))
    assert (one.numpy().tolist(), one.stride(), one.untyped_storage().nbytes()) == ([[1.0] * 4] * 3, (0, 0), 4)
    part = torch.arange(12.0).reshape(3, 4).T[1:, ::2]
    assert on_host(part).numpy().tolist() == part.tolist()


@pytest.mark.peers("torch")
def test_every_size_of_a_function_is_compiled(monkeypatch):
    """PyTorch compiles a function for eight sizes and runs it as it is for others, unless it is told otherwise."""
    import torch

    from gradmark.engines import torch as adapter

    compiled = []

    def noted(graph, _inputs):
        compiled.append(graph)
        return graph.forward

    real = torch.compile
    monkeypatch.setattr(adapter.torch, "compile", lambda f, dynamic: real(f, dynamic=dynamic, backend=noted))
    engine = adapter.TorchCompile()
    (found,) = select(["softplus"])
    for n in range(2, 14):
        for _ in range(2):  # a second session has nothing to compile
            session = engine.prepare(found, found.draw(0, {"n": n}, "float32"), {"n": n})
            session.total()
        assert len(compiled) == n - 1
