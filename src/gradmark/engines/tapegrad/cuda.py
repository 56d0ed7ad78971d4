"""tapegrad's tensors on CuPy's arrays: the same session, with arrays on a CUDA device."""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from gradmark.engines.cuda_presence import has_cuda
from gradmark.engines.protocol import DeviceMemory, Session
from gradmark.engines.tapegrad.tensors import tensor_session
from gradmark.errors import UnsupportedError
from gradmark.records import Param
from gradmark.records.cell import USUAL_DEVICE
from gradmark.workloads.workload import Workload


@cache  # asked for each row
def devices() -> tuple[str, ...]:
    """Where tensors compute here. CuPy is not imported before somebody asks for a device."""
    there = importlib.util.find_spec("cupy") is not None and has_cuda()
    return (USUAL_DEVICE, "cuda") if there else (USUAL_DEVICE,)


def session_on_cuda(workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param]) -> Session:
    """A session of tensors whose arrays are CuPy's."""
    if workload.kind == "scalar":
        raise UnsupportedError("tapegrad computes functions of numbers on the CPU only; on cuda it has tensors")
    import cupy

    arrays = [cupy.asarray(x) for x in inputs]
    session = tensor_session(workload, arrays, params)
    host_move = session.move
    assert host_move is not None

    def move(new: Sequence[Any]) -> None:
        host_move([cupy.asarray(x) for x in new])

    return on_cuda(replace(session, move=move), arrays)


def on_cuda(session: Session, arrays: Sequence[Any]) -> Session:
    """A session whose arrays are CuPy's, as the laboratory reads it."""
    import cupy

    device_gradients = session.gradients
    assert device_gradients is not None
    return replace(
        session,
        gradients=lambda: [cupy.asnumpy(g) for g in device_gradients()],
        synchronize=cupy.cuda.Device().synchronize,
        device=counters(cupy),
        device_name="cuda" if all(isinstance(x, cupy.ndarray) for x in arrays) else USUAL_DEVICE,
    )


@cache  # CuPy takes a hook once, and the rows of an engine on a device share a process
def watched(cupy: Any) -> dict[str, int]:
    """What CuPy's pool is asked for, from now on."""
    counted = {"alive": 0, "peak": 0, "made": 0}

    class Watching(cupy.cuda.MemoryHook):  # type: ignore[misc]
        name = "gradmark"

        def malloc_postprocess(self, **taken: Any) -> None:
            counted["alive"] += taken["mem_size"]
            counted["peak"] = max(counted["peak"], counted["alive"])
            counted["made"] += 1

        def free_postprocess(self, **given: Any) -> None:
            counted["alive"] -= given["mem_size"]

    Watching().__enter__()
    return counted


def counters(cupy: Any) -> DeviceMemory:
    """The counters of CuPy's pool; it is watched from when somebody first asks."""

    def reset() -> None:
        counted = watched(cupy)
        counted["peak"] = counted["alive"]

    return DeviceMemory(
        lambda: watched(cupy)["alive"], reset, lambda: watched(cupy)["peak"], lambda: watched(cupy)["made"]
    )
