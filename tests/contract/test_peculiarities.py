"""What single adapters must do: say where they compute, and refuse what their library has only in another form."""

import sys
import types

import pytest

from contract import adapters
from gradmark.engines import discovery
from gradmark.errors import UnsupportedError
from gradmark.workloads.selection import select


@pytest.mark.peers("tinygrad")
def test_the_exact_gelu_is_unsupported_by_tinygrad_and_not_wrong():
    from tinygrad import Tensor

    from gradmark.engines.tinygrad import operations

    ops = operations("tensor")
    with pytest.raises(UnsupportedError, match="tinygrad has no exact gelu, which this function needs"):
        ops.gelu(Tensor([1.0]))
    ops.gelu(Tensor([1.0]), approximate="tanh")


@pytest.mark.peers("tinygrad")
@pytest.mark.parametrize(
    ("backend", "device"),
    [("CPU", "cpu"), ("LLVM", "cpu"), ("PYTHON", "cpu"), ("CUDA", "cuda"), ("NV", "cuda"), ("CUDA:1", "cuda"),
     ("METAL", "metal")],
)  # fmt: skip
def test_the_device_of_tinygrad_is_its_backend_s(monkeypatch, backend, device):
    from gradmark.engines import tinygrad

    monkeypatch.setattr(tinygrad, "Device", types.SimpleNamespace(DEFAULT=backend))
    assert tinygrad.Tinygrad().capabilities().devices == (device,)


@pytest.mark.peers("jax")
@pytest.mark.parametrize(
    ("platform", "version", "device"),
    [
        ("cpu", "cpu", "cpu"),
        ("gpu", "PJRT C API\ncuda 12080", "cuda"),
        ("gpu", "rocm 60000", "rocm"),
        ("tpu", "", "tpu"),
    ],
)
def test_the_device_of_jax_is_its_backend_s(monkeypatch, platform, version, device):
    import jax

    client = types.SimpleNamespace(platform_version=version)
    monkeypatch.setattr(jax, "default_backend", lambda: platform)
    monkeypatch.setattr(jax, "devices", lambda: [types.SimpleNamespace(client=client)])
    assert discovery.load("jax").capabilities().devices == (("cpu",) if device == "cpu" else ("cpu", device))


@pytest.mark.parametrize("name", [adapters.cell(name) for name in ("torch", "jax", "tinygrad", "torch:cuda")])
def test_sessions_say_where_their_arrays_are(name, load):
    engine = load(name)
    (matmul,) = select(["matmul"])
    session = engine.prepare(matmul, matmul.draw(0, {"n": 8}, "float32"), {"n": 8})
    assert session.device_name == engine.capabilities().devices[0]


def test_a_hand_written_adjoint_is_not_that_of_a_user_s_function_of_the_same_name():
    from gradmark import workload

    poly = workload(suite="scalar", stresses="x")(lambda ops, x: x * 3.0)
    with pytest.raises(UnsupportedError, match="there is no hand-written adjoint"):
        discovery.load("manual").prepare(poly, [0.5], {"n": 10})


def test_a_fresh_tape_makes_its_own_constants():
    (constants,) = select(["constants"])
    session = discovery.load("tapegrad:fresh").prepare(constants, [0.5], {"n": 200})
    for _ in range(2):
        session.forward()
        session.backward()
    assert session.tape().instructions == 2


def test_collecting_these_tests_imports_no_engine():
    code = "import sys; sys.path.insert(0, 'tests'); import contract.adapters; print([*sys.modules])"
    import subprocess
    from pathlib import Path

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    assert not [peer for peer in discovery.PEERS if f"'{peer}'" in done.stdout]


def test_an_engine_that_is_not_installed_is_skipped(request):
    assert adapters.cell("torch:compile", "poly").marks == [pytest.mark.peers("torch")]
    assert not adapters.cell("tapegrad:fresh").marks
    request.node.add_marker(pytest.mark.peers("no_such_package"))
    (shared,) = (plugin for plugin in request.config.pluginmanager.get_plugins() if hasattr(plugin, "HIDING"))
    with pytest.raises(pytest.skip.Exception, match="no_such_package is not installed"):
        shared.pytest_runtest_setup(request.node)


@pytest.mark.peers("tinygrad")
def test_tinygrad_without_a_device_is_absent_and_not_broken(monkeypatch):
    from gradmark.engines import tinygrad

    class NoDevice:
        @property
        def DEFAULT(self):  # noqa: N802  tinygrad's name
            raise RuntimeError("no usable devices")

    monkeypatch.setattr(tinygrad, "Device", NoDevice())
    can = tinygrad.Tinygrad().capabilities()
    assert can.absent == "tinygrad runs on no device here (no usable devices); on a CPU it needs clang"
    assert can.devices == ("cpu",)
