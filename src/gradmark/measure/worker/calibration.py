"""The calibration process: fixed work of each kind in turns, with the pilot of the core around each block.

In: how long it may take, as JSON. Out: the blocks of each kind. No engine is loaded here, and nothing of a user's.
"""

import ctypes
import os
import time
from collections.abc import Callable
from typing import Any

import msgspec

from gradmark.isolation import inside
from gradmark.measure.worker import pilot
from gradmark.records.pilots import CORE, reference_of
from gradmark.records.sample import Phase

# Shorter than what a busy system gives a process at a time, and long enough that the clock and the pilots cost nothing.
BLOCK_NS = 3e6
# More than the last cache of nearly all processors, and read from end to end, so that it is the memory that is read.
BUFFER_BYTES, STEP_BYTES = 128 << 20, 4096
# Of one copy to the GPU and back.
COPY_BYTES = 16 << 20
# A GPU is measured for so large a part of the time; its context takes longer to make.
SHARE_OF_GPU = 0.1
# Repetitions by which the length of a block is found.
FIRST = 2000


class Asked(msgspec.Struct):
    """What a calibration is asked for."""

    seconds: float
    pin: bool = True
    huge_pages: bool = False
    gpu: bool = False


class Answered(msgspec.Struct):
    """The blocks of each kind of work."""

    work: dict[str, Phase]


def interpret(steps: int) -> int:
    """So many rounds of what programs in Python do most: names, calls, numbers, lists and dictionaries."""
    start = time.perf_counter_ns()
    table: dict[int, float] = {}
    total = 0.0
    for k in range(steps):
        key = k & 63
        total += _half(k) + table.get(key, 1.0)
        table[key] = total * 0.5
        parts = [key, total, k]
        total -= parts[1]
    return time.perf_counter_ns() - start


def _half(k: int) -> float:
    return 0.5 * k


def kinds_of_work() -> dict[str, Callable[[int], int]]:
    """Each kind of work: so many steps of it, in nanoseconds."""
    buffer = bytearray(b"1") * BUFFER_BYTES  # every page is there: one that nobody wrote to is no memory yet
    begin = 0

    def read(steps: int) -> int:
        nonlocal begin
        count = STEP_BYTES * steps
        begin = begin if begin + count <= BUFFER_BYTES else 0
        taken_ns = pilot.read(buffer, begin, count)
        begin += count
        return taken_ns

    return {
        "integer": pilot.integer,
        "floating": pilot.floating,
        "memory": read,
        "allocation": pilot.allocation,
        "interpreter": interpret,
    }


def measured(work: dict[str, Callable[[int], int]], seconds: float) -> dict[str, Phase]:
    """Blocks of each kind, in turns, so that all see the same moments of the machine. Times are of a thousand steps."""
    until = time.monotonic() + seconds
    steps = {kind: max(1, round(FIRST * BLOCK_NS / max(1, do(FIRST)))) for kind, do in work.items()}
    steps = {
        kind: min(count, BUFFER_BYTES // STEP_BYTES) if kind == "memory" else count for kind, count in steps.items()
    }
    blocks: dict[str, list[float]] = {kind: [] for kind in work}
    pairs: dict[str, list[tuple[float, float]]] = {kind: [] for kind in work}
    while time.monotonic() < until or not all(blocks.values()):
        for kind, do in work.items():
            before = float(pilot.core())
            taken_ns = do(steps[kind])
            pairs[kind].append((before, float(pilot.core())))
            blocks[kind].append(1000 * taken_ns / steps[kind])
    reference = {CORE: reference_of([{CORE: pairs[kind]} for kind in work])[CORE]}
    return {
        kind: Phase(iterations=steps[kind], block_ns=blocks[kind], pilots={CORE: pairs[kind]}, reference=reference)
        for kind in work
    }


def copied(seconds: float) -> Phase | None:
    """Copies to the first GPU and back, by its driver alone; None where there is none, or it has no room."""
    try:
        cuda: Any = ctypes.CDLL("libcuda.so.1" if os.name != "nt" else "nvcuda.dll")
    except OSError:
        return None
    device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    size = ctypes.c_size_t(COPY_BYTES)
    begun = (
        cuda.cuInit(0) == 0
        and cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
        and cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device) == 0
        and cuda.cuMemAlloc_v2(ctypes.byref(memory), size) == 0
    )
    if not begun:
        return None
    host = ctypes.create_string_buffer(COPY_BYTES)
    blocks: list[float] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until or len(blocks) < 2:
        start = time.perf_counter_ns()
        failed = cuda.cuMemcpyHtoD_v2(memory, host, size) or cuda.cuMemcpyDtoH_v2(host, memory, size)
        if failed:
            return None
        blocks.append(float(time.perf_counter_ns() - start))
    return Phase(iterations=1, block_ns=blocks[1:])  # the first makes the pages known to the device


def main() -> None:
    """One calibration."""
    requests, answers = inside.private_streams()
    asked = msgspec.json.decode(requests.read(), type=Asked)
    if asked.pin and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])  # where workers are, too
    if not asked.huge_pages:
        inside.refuse_huge_pages()
    gpu_s = SHARE_OF_GPU * asked.seconds if asked.gpu else 0.0
    work = measured(kinds_of_work(), asked.seconds - gpu_s)
    copies = copied(gpu_s) if asked.gpu else None
    answered = Answered(work=work | ({"copy": copies} if copies is not None else {}))
    inside.leave(answers, msgspec.json.encode(answered))


if __name__ == "__main__":
    main()
