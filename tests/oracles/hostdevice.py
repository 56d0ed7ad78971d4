"""A device that is none: kernels for CUDA, compiled for the host and run thread by thread.

The text of a kernel is the same as on a GPU; only the words that know about one are others. The threads of a block are
fibres, each with a stack of its own, which change places at barriers. Memory that nobody wrote is nan, a thread that
waits for one that never comes is an error, and arrays refuse NumPy's functions by name: a copy to the host would be
seen. A graph keeps the addresses that it was captured with, as a real one does.
"""

import ctypes
import hashlib
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from oracles import foreign
from tapegrad.compile.cuda import language
from tapegrad.compile.cuda.blas import Form

WORDS = r"""
#include <ucontext.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <utility>
#include <vector>
#define INLINE inline
#define RARE __attribute__((noinline))
#define KERNEL(threads, blocks) extern "C" void
#define IN_CLUSTERS(blocks)
#define RESTRICT __restrict__
#define UNROLL
#define UNROLL_FOUR
#define THREAD (now->thread)
#define BLOCK (now->block)
struct Barrier { int waiting = 0; long turn = 0; };
struct Memory { std::vector<char> bytes; };
struct Block { std::map<int, Memory> shared; Barrier barrier; std::vector<Barrier> warps; std::vector<double> lanes; };
struct Fibre { ucontext_t context; std::vector<char> stack; int thread, block, rank; bool done; };
static Fibre* now;
static ucontext_t scheduler;
static std::vector<Block>* blocks_now;
static Barrier cluster_barrier;
static int threads_now, cluster_now;
static long progress;
static std::function<void()> body_now;
static int next_key;
inline void yield() { swapcontext(&now->context, &scheduler); }
inline void wait_at(Barrier& barrier, int count) {
  const long turn = barrier.turn;
  if (++barrier.waiting == count) { barrier.waiting = 0; ++barrier.turn; ++progress; }
  else while (barrier.turn == turn) yield();
}
inline Block& my_block() { return (*blocks_now)[now->rank]; }
inline void wait_for_block() { wait_at(my_block().barrier, threads_now); }
inline void wait_for_cluster() { wait_at(cluster_barrier, threads_now * cluster_now); }
inline char* shared_of(int key, size_t bytes) {
  Memory& memory = my_block().shared[key];
  if (memory.bytes.empty()) memory.bytes.assign(bytes, (char)0xff);
  return memory.bytes.data();
}
#define SHARED(type, name, count) \
  static const int name##_key = ++next_key; type* name = (type*)shared_of(name##_key, sizeof(type) * (count))
template <typename T> T across(T x, int distance) {
  Block& block = my_block();
  const int warp = now->thread / 32, lane = now->thread % 32, size = std::min(32, threads_now - 32 * warp);
  memcpy(&block.lanes[now->thread], &x, sizeof x);
  wait_at(block.warps[warp], size);
  memcpy(&x, &block.lanes[32 * warp + (lane ^ distance)], sizeof x);
  wait_at(block.warps[warp], size);
  return x;
}
inline void hand_over(double* place, int rank, double x) {
  for (auto& entry : my_block().shared) {
    std::vector<char>& bytes = entry.second.bytes;
    if ((char*)place < bytes.data() || (char*)place >= bytes.data() + bytes.size()) continue;
    std::vector<char>& there = (*blocks_now)[rank].shared[entry.first].bytes;
    if (there.empty()) there.assign(bytes.size(), (char)0xff);
    memcpy(there.data() + ((char*)place - bytes.data()), &x, sizeof x);
    return;
  }
  abort();
}
inline void copy_over(void* place, const void* from) { memcpy(place, from, 16); }
inline void wait_for_copies() {}
inline float quick_exp2(float x) { return exp2f(x); }
inline float quick_inverse(float x) { return 1.0f / x; }
inline float float_of(unsigned bits) { float x; memcpy(&x, &bits, 4); return x; }
inline double double_of(unsigned long long bits) { double x; memcpy(&x, &bits, 8); return x; }
static void enter() { body_now(); now->done = true; ++progress; swapcontext(&now->context, &scheduler); }
static int run_all(int blocks, int threads, int cluster, std::function<void()> body) {
  static std::vector<Fibre> fibres;
  body_now = body; threads_now = threads; cluster_now = cluster; cluster_barrier = Barrier();
  fibres.resize(threads * cluster);
  for (int first = 0; first < blocks; first += cluster) {
    std::vector<Block> memory(cluster);
    blocks_now = &memory;
    for (auto& block : memory) { block.warps.resize((threads + 31) / 32); block.lanes.resize(threads); }
    for (int k = 0; k < threads * cluster; ++k) {
      Fibre& fibre = fibres[k];
      fibre.stack.resize(1 << 16);
      fibre.thread = k % threads; fibre.rank = k / threads; fibre.block = first + fibre.rank; fibre.done = false;
      getcontext(&fibre.context);
      fibre.context.uc_stack.ss_sp = fibre.stack.data();
      fibre.context.uc_stack.ss_size = fibre.stack.size();
      fibre.context.uc_link = &scheduler;
      makecontext(&fibre.context, (void (*)())enter, 0);
    }
    for (int left = threads * cluster; left;) {
      const long before = progress;
      left = 0;
      for (auto& fibre : fibres) {
        if (fibre.done) continue;
        now = &fibre;
        swapcontext(&scheduler, &fibre.context);
        left += !fibre.done;
      }
      if (left && progress == before) return 1;  // all wait for somebody who never comes
    }
  }
  return 0;
}
template <typename... A, size_t... K>
int run_with(void (*kernel)(A...), int blocks, int threads, int cluster, void** p, std::index_sequence<K...>) {
  return run_all(blocks, threads, cluster, [=] { kernel(*(A*)p[K]...); });
}
template <typename... A> int run(void (*kernel)(A...), int blocks, int threads, int cluster, void** p) {
  return run_with(kernel, blocks, threads, cluster, p, std::index_sequence_for<A...>());
}
"""
KERNELS = re.compile(r"KERNEL\((\d+), \d+\) (?:IN_CLUSTERS\((\d+)\) )?(\w+)\((.*)\)\s*\{")
COMPILER = ["g++", "-std=c++17", "-O1", "-w", "-ffp-contract=off", "-fPIC"]


def multiply(form: Form, left: int, right: int, result: int) -> None:
    """Products as cuBLAS gives them, of matrices at addresses that lie as a form says."""
    dtype = np.dtype(form.dtype)

    def matrices(address: int, lying: str, line: int, step: int, shape: tuple[int, int]) -> np.ndarray:
        strides = (line, 1) if lying == "N" else (1, line)
        reach = 1 + (form.count - 1) * step + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        memory = np.frombuffer((ctypes.c_char * (reach * dtype.itemsize)).from_address(address), dtype)
        lengths = [number * dtype.itemsize for number in (step, *strides)]
        return np.lib.stride_tricks.as_strided(memory, (form.count, *shape), lengths)

    a = matrices(left, form.left, form.left_line, form.left_step, (form.m, form.k))
    b = matrices(right, form.right, form.right_line, form.right_step, (form.k, form.n))
    c = np.ascontiguousarray(np.matmul(a, b))
    ctypes.memmove(result, c.ctypes.data, c.nbytes)


class HostDevice:
    """What `tapegrad.compile.cuda.device.Device` is to a GPU."""

    words = WORDS
    xp = foreign.NAMESPACE
    number, name, processors, most_cluster = 0, "host:0", 2, 8

    def __init__(self) -> None:
        self.blas = self
        self.launches = self.products = 0
        self.sources: list[str] = []
        self._functions: list[tuple[Any, int]] = []
        self._counts: list[int] = []  # of parameters
        self._modules: dict[str, dict[str, int]] = {}
        self._captured: list[Callable[[], None]] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def pointer(self, array: Any) -> int:
        assert isinstance(array, foreign.ForeignArray), f"{type(array).__name__} is not on the device"
        return array.ctypes.data

    def place(self, array: Any) -> tuple[int, int]:
        return self.pointer(array), 0

    def alloc(self, nbytes: int) -> Any:
        memory = np.full(nbytes + 512, 0xFF, np.uint8)
        start = -memory.ctypes.data % 256
        return memory[start : start + nbytes]

    def address(self, memory: Any) -> int:
        return memory.ctypes.data

    def array(self, memory: Any, offset: int, shape: tuple[int, ...], dtype: Any) -> Any:
        size = int(np.prod(shape, dtype=int)) * np.dtype(dtype).itemsize
        return memory[offset : offset + size].view(dtype).reshape(shape).view(foreign.ForeignArray)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        size = int(np.prod(shape, dtype=int)) * np.dtype(dtype).itemsize
        return self.array(self.alloc(size), 0, shape, dtype)

    def flags(self, count: int) -> tuple[Any, int]:
        flags = np.zeros(max(count, 1), np.int32)
        return flags, flags.ctypes.data

    def synchronize(self) -> None:
        pass

    def is_current(self) -> bool:
        return True

    def stream(self) -> int:
        return 0

    def functions(self, text: str, names: Sequence[str], exact: bool = False) -> list[int]:
        if text not in self._modules:
            self.sources.append(text)
            self._modules[text] = self._compiled(text)
        return [self._modules[text][name] for name in names]

    def folder(self) -> Path:
        """Where kernels are compiled; with the words compiled beforehand, which is most of the work."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="gradmark-kernels-")
            words = Path(self._folder.name) / "words.h"
            words.write_text(WORDS)
            subprocess.run([*COMPILER, "-x", "c++-header", str(words)], check=True)
        return Path(self._folder.name)

    def _compiled(self, text: str) -> dict[str, int]:
        kernels = KERNELS.findall(text)
        runs = "".join(
            f'extern "C" int run_{name}(int blocks, int threads, int cluster, void** p) '
            f"{{ return run({name}, blocks, threads, cluster, p); }}\n"
            for _, _, name, _ in kernels
        )
        source = language.COMMON + text + runs
        path = self.folder() / f"{hashlib.sha1(source.encode()).hexdigest()[:12]}.so"
        command = [*COMPILER, "-shared", "-include", str(self.folder() / "words.h"), "-x", "c++", "-o", str(path), "-"]
        told = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
        assert told.returncode == 0, told.stderr[:3000]
        library = ctypes.CDLL(str(path))
        made = {}
        for _, cluster, name, parameters in kernels:
            function = getattr(library, f"run_{name}")
            function.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
            self._functions.append((function, int(cluster or 1)))
            self._counts.append(parameters.count(",") + 1 if parameters else 0)
            made[name] = len(self._functions)
        return made

    def launch(self, function: int, blocks: int, threads: int, stream: int, parameters: int) -> None:
        self.launches += 1
        run, cluster = self._functions[function - 1]
        call = (run, blocks, threads, cluster)
        if self._captured is None:
            self._run(*call, parameters)
            return
        # a graph holds what the parameters were when it was captured
        count = self._counts[function - 1]
        places = np.array((ctypes.c_uint64 * count).from_address(parameters))
        values = np.array([ctypes.c_uint64.from_address(int(place)).value for place in places], np.uint64)
        kept = np.array([values.ctypes.data + 8 * k for k in range(count)], np.uint64)
        self._captured.append(lambda: (values, self._run(*call, kept.ctypes.data)))

    def prepare(self, stream: int) -> None:
        pass

    def product(self, stream: int, form: Form, left: int, right: int, result: int) -> None:
        self.products += 1
        if self._captured is None:
            multiply(form, left, right, result)
        else:
            self._captured.append(lambda: multiply(form, left, right, result))

    def _run(self, run: Any, blocks: int, threads: int, cluster: int, parameters: int) -> None:
        assert run(blocks, threads, cluster, parameters) == 0, "threads wait for one that never comes"

    def captured(self, queue: Callable[[int], None]) -> Callable[[], None]:
        self._captured = []
        try:
            queue(1)
            calls = self._captured
        finally:
            self._captured = None

        def launch() -> None:
            for call in calls:
                call()

        return launch

    @contextmanager
    def chosen(self) -> Iterator[None]:
        yield


HOST = HostDevice()
