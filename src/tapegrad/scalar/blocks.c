/* Blocks of points: the sweeps of sweeps.h with W = BLOCK, compiled for plain and for wide vector instructions, and
 * the C library's vector maths where the running machine has it (x86-64 with AVX2, glibc); plain loops elsewhere.
 * Which of them is used is decided when the program runs, so a built wheel does not depend on the builder's CPU. */

#define TAPEGRAD_SLOPES 1
#include "kernels.h"

/* ELF with ifunc, which target_clones needs: glibc on x86-64 with GCC or a recent clang. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#define HAS_VECTOR_MATHS 1
#else
#define WIDE
#define HAS_VECTOR_MATHS 0
#endif

#define FUNCTIONS(ONE, TWO)                                                                                            \
    ONE(exp) ONE(expm1) ONE(log) ONE(log1p) ONE(sin) ONE(cos) ONE(tan) ONE(asin) ONE(acos) ONE(atan)                   \
    ONE(sinh) ONE(cosh) ONE(tanh) ONE(erf) TWO(pow) TWO(atan2) TWO(hypot)

/* ---- plain loops, and the function pointers that choose -------------------------------------------------------- */

#define PLAIN1(f)                                                                                                      \
    static void plain_##f(double *out, const double *in)                                                               \
    {                                                                                                                  \
        for (int k = 0; k < BLOCK; k++)                                                                                \
            out[k] = f(in[k]);                                                                                         \
    }                                                                                                                  \
    static void (*block_##f)(double *, const double *) = plain_##f;
#define PLAIN2(f)                                                                                                      \
    static void plain_##f(double *out, const double *in1, const double *in2)                                           \
    {                                                                                                                  \
        for (int k = 0; k < BLOCK; k++)                                                                                \
            out[k] = f(in1[k], in2[k]);                                                                                \
    }                                                                                                                  \
    static void (*block_##f)(double *, const double *, const double *) = plain_##f;
FUNCTIONS(PLAIN1, PLAIN2)

/* ---- vector maths ---------------------------------------------------------------------------------------------- */

#if HAS_VECTOR_MATHS
#include <dlfcn.h>
#include <immintrin.h>

typedef __m256d (*vector1)(__m256d);
typedef __m256d (*vector2)(__m256d, __m256d);

/* _ZGVdN4v_exp and the like: the names of the x86 vector function ABI for AVX2, four doubles, no mask. */
#define VECTOR1(f)                                                                                                     \
    static vector1 vector_##f;                                                                                         \
    __attribute__((target("avx2"))) static void wide_##f(double *out, const double *in)                                \
    {                                                                                                                  \
        for (int k = 0; k < BLOCK; k += 4)                                                                             \
            _mm256_storeu_pd(out + k, vector_##f(_mm256_loadu_pd(in + k)));                                            \
    }
#define VECTOR2(f)                                                                                                     \
    static vector2 vector_##f;                                                                                         \
    __attribute__((target("avx2"))) static void wide_##f(double *out, const double *in1, const double *in2)            \
    {                                                                                                                  \
        for (int k = 0; k < BLOCK; k += 4)                                                                             \
            _mm256_storeu_pd(out + k, vector_##f(_mm256_loadu_pd(in1 + k), _mm256_loadu_pd(in2 + k)));                 \
    }
FUNCTIONS(VECTOR1, VECTOR2)

static const char *chosen = "plain loops";

__attribute__((constructor)) static void choose(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2"))
        return;
    void *library = dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL); /* kept open as long as the process lives */
    if (!library)
        return;
    chosen = "libmvec, AVX2";
#define CHOOSE1(f)                                                                                                     \
    if ((vector_##f = (vector1)dlsym(library, "_ZGVdN4v_" #f)))                                                        \
        block_##f = wide_##f;
#define CHOOSE2(f)                                                                                                     \
    if ((vector_##f = (vector2)dlsym(library, "_ZGVdN4vv_" #f)))                                                       \
        block_##f = wide_##f;
    FUNCTIONS(CHOOSE1, CHOOSE2)
}
#else
static const char *chosen = "plain loops";
#endif

const char *vector_maths(void) { return chosen; }

void erf_block(double *out, const double *in) { block_erf(out, in); }

/* ---- the sweeps ------------------------------------------------------------------------------------------------ */

#define W 32
#if W != BLOCK
#error "W is written out because the names forward_32 and backward_32 are pasted from it"
#endif
#include "sweeps.h"

WIDE void forward_block(const struct code *code, double *values, ptrdiff_t begin, ptrdiff_t end)
{
    forward_32(code, values, begin, end);
}

WIDE void backward_block(const struct code *code, const double *values, double *adjoints, ptrdiff_t end)
{
    backward_32(code, values, adjoints, end);
}
