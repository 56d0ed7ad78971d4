"""Elementwise operations in CUDA C++, and what every kernel's source begins with.

In: the name of an operation and its operands as expressions. Out: an expression. Written so that nan, infinities and
zeros come out as NumPy's. Only `WORDS` knows that the code is for a GPU: with other words the same kernels run on the
host, which is how they are tested where there is no device.
"""

import math
import struct
from typing import Any

import numpy

from tapegrad.compile.symbol import Node

TYPES = {"float32": "float", "float64": "double", "int64": "long long", "int32": "int", "bool": "bool"}
BYTES = {"float": 4, "double": 8, "long long": 8, "int": 4, "bool": 1}
INFIX = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "equal": "==",
    "not_equal": "!=",
    "bitwise_and": "&",
    "bitwise_or": "|",
}
CALLS = {
    **{name: name for name in ("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tanh", "erf")},
    "power": "pow",
    "absolute": "fabs",
}
# Dearer than a register that keeps the number until it is needed again.
DEAR = {*CALLS, "divide"} - {"absolute"}
IDENTITY = {"sum": 0.0, "max": -math.inf, "min": math.inf}
# How two numbers of a reduction become one.
JOINED = {"sum": "Sum", "max": "Largest", "min": "Smallest"}

# The words that only a GPU knows.
WORDS = r"""
#define INLINE __device__ __forceinline__
#define RARE __device__ __noinline__
#define KERNEL(threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks)
#define IN_CLUSTERS(blocks) __cluster_dims__(blocks, 1, 1)
#define SHARED(type, name, count) __shared__ __align__(16) type name[count]
#define RESTRICT __restrict__
#define UNROLL _Pragma("unroll")
#define UNROLL_FOUR _Pragma("unroll 4")
#define THREAD ((int)threadIdx.x)
#define BLOCK ((int)blockIdx.x)
INLINE void wait_for_block() { __syncthreads(); }
template <typename T> INLINE T across(T x, int distance) { return __shfl_xor_sync(0xffffffffu, x, distance); }
INLINE void wait_for_cluster() {
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}
/* Writes a number into the same place of another block of the cluster. */
INLINE void hand_over(double* place, int rank, double x) {
  const unsigned here = (unsigned)__cvta_generic_to_shared(place);
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
  asm volatile("st.shared::cluster.f64 [%0], %1;" :: "r"(there), "d"(x) : "memory");
}
/* 16 bytes to the block's memory, while the thread goes on; and until all have come. */
INLINE void copy_over(void* place, const void* from) {
  const unsigned here = (unsigned)__cvta_generic_to_shared(place);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(here), "l"(from) : "memory");
}
INLINE void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
INLINE float quick_exp2(float x) { float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
INLINE float quick_inverse(float x) { float y; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
INLINE float float_of(unsigned bits) { return __uint_as_float(bits); }
INLINE double double_of(unsigned long long bits) { return __longlong_as_double((long long)bits); }
"""

# The same for every target.
COMMON = r"""
template <typename T, int N> struct alignas(sizeof(T) * N) Pack { T v[N]; };
template <typename T, int N> INLINE Pack<T, N> several(const T* place) { return *(const Pack<T, N>*)place; }
template <typename T> INLINE T larger(T x, T y) { return x >= y || x != x ? x : y; }
template <typename T> INLINE T smaller(T x, T y) { return x <= y || x != x ? x : y; }
template <typename T> INLINE T sign_of(T x) { return x > 0 ? (T)1 : x < 0 ? (T)-1 : x != x ? x : (T)0; }
/* tanh within 3 units in the last place, in two thirds of the instructions of CUDA's own: below 0.55, where it passes
 * 1/2, x + x³·p(x²), p by Remez (relative error 2^-24.7); from there on 1 - 2/(e^2x + 1), which does not cancel and is
 * 1 where e^2x overflows. Of |x|: for negative x the quotient would be near 2, and so would its rounding be. */
INLINE float tanh_of(float x) {
  const float a = fabsf(x), u = a * a;
  float p = 0x1.0d5042p-6f;
  p = p * u - 0x1.af7cd0p-5f;
  p = p * u + 0x1.10cef6p-3f;
  p = p * u - 0x1.555452p-2f;
  const float near = p * u * a + a;
  const float far = 1.0f - 2.0f * quick_inverse(quick_exp2(a * 0x1.715476p+1f) + 1.0f);
  return copysignf(a < 0.55f ? near : far, x);
}
struct Sum { template <typename T> static INLINE T of(T x, T y) { return x + y; } };
struct Largest { template <typename T> static INLINE T of(T x, T y) { return larger(x, y); } };
struct Smallest { template <typename T> static INLINE T of(T x, T y) { return smaller(x, y); } };
/* One number of those of a team of threads that lie side by side in a warp; all have it. */
template <int TEAM, typename Join, typename T> INLINE T of_team(T x) {
  UNROLL
  for (int distance = TEAM / 2; distance; distance /= 2) x = Join::of(x, across(x, distance));
  return x;
}
/* One number of those that the warps of a block left side by side; all have it. */
template <int WARPS, typename Join, typename T> INLINE T of_warps(const double* left) {
  T x = (T)left[0];
  UNROLL
  for (int k = 1; k < WARPS; ++k) x = Join::of(x, (T)left[k]);
  return x;
}
/* All parts of one result, added up by a whole block, in an order that depends on nothing but their number. */
template <int THREADS, typename Join, typename T, typename P>
INLINE void finish_one(const P* parts, T* result, int count, double start, double* shared) {
  double x = start;
  for (int k = THREAD; k < count; k += THREADS) x = Join::of(x, (double)parts[k]);
  x = of_team<32, Join>(x);
  wait_for_block();
  if (THREAD % 32 == 0) shared[THREAD / 32] = x;
  wait_for_block();
  if (THREAD == 0) *result = (T)of_warps<THREADS / 32, Join, double>(shared);
}
/* The parts of 32 results that lie side by side: each warp adds up every so many of them. */
template <int THREADS, typename Join, typename T, typename P>
INLINE void finish_many(const P* parts, T* results, int first, int columns, int count, double start, double* shared) {
  const int lane = THREAD % 32, warp = THREAD / 32, column = first + lane;
  double x = start;
  if (column < columns)
    for (int k = warp; k < count; k += THREADS / 32) x = Join::of(x, (double)parts[(long long)k * columns + column]);
  wait_for_block();
  shared[THREAD] = x;
  wait_for_block();
  if (warp == 0 && column < columns) {
    for (int k = 1; k < THREADS / 32; ++k) x = Join::of(x, shared[32 * k + lane]);
    results[column] = (T)x;
  }
}
"""


def type_of(node: Node) -> str:
    """The type of a node's numbers."""
    return TYPES[str(node.dtype)]


def literal(value: Any, kind: str) -> str:
    """A number."""
    if kind == "bool":
        return "true" if value else "false"
    if kind not in ("float", "double"):
        whole = int(value)
        return f"({kind}){whole}LL" if whole >= 0 else f"({kind})({whole + 1}LL - 1LL)"
    with numpy.errstate(over="ignore"):
        number = float(numpy.float32(value)) if kind == "float" else float(value)
    if math.isfinite(number):
        return f"{number.hex()}{'f' if kind == 'float' else ''}"
    if kind == "float":
        return f"float_of(0x{struct.unpack('<I', struct.pack('<f', number))[0]:08x}u)"
    return f"double_of(0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016x}ull)"


def expression(node: Node, operands: list[str]) -> str:
    """What a node computes, of its operands."""
    op, kind, first = node.op, type_of(node.operands[0]), operands[0]
    floating = kind in ("float", "double")
    if op in ("broadcast_to", "copy"):
        return first
    if op == "astype":
        return f"({first} != {literal(0, kind)})" if node.dtype.kind == "b" else f"({type_of(node)}){first}"
    if op == "where":
        return f"({first} ? {operands[1]} : {operands[2]})"
    if op in INFIX:
        return f"({first} {INFIX[op]} {operands[1]})"
    if op == "invert":
        return f"(!{first})"
    if op == "negative":
        return f"(-{first})"
    if op == "square":
        return f"({first} * {first})"
    if op in ("maximum", "minimum"):
        return f"{'larger' if op == 'maximum' else 'smaller'}({first}, {operands[1]})"
    if op == "sign":
        return f"sign_of({first})"
    mark = "f" if kind == "float" else ""
    if op == "isfinite":
        return f"(fabs{mark}({first}) < {literal(math.inf, kind)})"
    assert floating, op
    if op == "tanh" and mark:
        return f"tanh_of({first})"
    return f"{CALLS[op]}{mark}({', '.join(operands)})"
