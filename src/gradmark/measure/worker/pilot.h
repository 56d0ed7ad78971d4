/* The work of the pilots. Always the same: what it takes says how fast the machine is, and nothing else.

   core_work   many independent operations on integers and floating-point numbers, loads and stores that hit the first
               cache, and branches. It keeps the core as busy as an interpreter or compiled code does, so that a
               neighbour on the other half of a physical core makes it slower by as much (1.4 to 1.9 times). Tried and
               rejected: chains of dependent operations, which a neighbour slows by only 1.2, and branches that a
               predictor learns, which take longer after other code has run.
   memory_work reads what is in no cache, in order: the bandwidth that neighbours leave. Flushed before it is read, so
               that it does not matter what ran before. */

#include <stddef.h>
#include <stdint.h>
#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#endif

#define LINE 64 /* bytes of a cache line */

static uint64_t pilot_integers[512];
static double pilot_numbers[256];
static volatile double pilot_result;

/* Six operations on integers and four on floating-point numbers, each step on others than the step before: the core has
   several chains to work on at once. Places differ from step to step, so that the compiler cannot merge them. */
#define STEP(k, a, b, c, x, y, z)                                                                                      \
    a += b ^ (k);                                                                                                      \
    b = b * 5 + (k);                                                                                                   \
    x += y * 0.25;                                                                                                     \
    c += pilot_integers[(37 * (k)) & 511];                                                                             \
    y = y * 0.5 + pilot_numbers[(29 * (k)) & 255];                                                                     \
    z -= pilot_numbers[(53 * (k)) & 255];                                                                              \
    if (a & (1u << ((k) & 7))) c += 3;                                                                                 \
    else z += 1.0;                                                                                                     \
    pilot_integers[(11 * (k)) & 511] = c;                                                                              \
    b ^= c >> 3;
#define FOUR_STEPS(k)                                                                                                  \
    STEP(k, a, b, c, p, q, r)                                                                                          \
    STEP((k) + 1, d, e, f, s, t, u)                                                                                    \
    STEP((k) + 2, b, c, d, v, w, p)                                                                                    \
    STEP((k) + 3, e, f, a, q, r, s)

static void core_work(int passes) {
    uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
    double p = 1.0, q = 1.0, r = 1.0, s = 1.0, t = 1.0, u = 1.0, v = 1.0, w = 1.0;
    int k, pass;
    for (k = 0; k < 512; k++) pilot_integers[k] = (uint64_t)k * 2654435761u;
    for (k = 0; k < 256; k++) pilot_numbers[k] = k * 0.001;
    for (pass = 0; pass < passes; pass++) {
        FOUR_STEPS(0) FOUR_STEPS(4) FOUR_STEPS(8) FOUR_STEPS(12)
    }
    pilot_result = p + q + r + s + t + u + v + w + (double)(a ^ b ^ c ^ d ^ e ^ f);
}

static void flush_work(const char *bytes, size_t count) {
#if defined(__SSE2__) || defined(_M_X64)
    size_t k;
    for (k = 0; k < count; k += LINE) _mm_clflush(bytes + k);
    _mm_mfence();
#else
    (void)bytes; /* no such instruction here: what others left of the cache decides, and the pilot is coarser */
    (void)count;
#endif
}

static void memory_work(const char *bytes, size_t count) {
    uint64_t a = 0, b = 0, c = 0, d = 0;
    size_t k;
    for (k = 0; k < count; k += 4 * LINE) {
        a += *(const uint64_t *)(bytes + k);
        b += *(const uint64_t *)(bytes + k + LINE);
        c += *(const uint64_t *)(bytes + k + 2 * LINE);
        d += *(const uint64_t *)(bytes + k + 3 * LINE);
    }
    pilot_result = (double)(a + b + c + d);
}
