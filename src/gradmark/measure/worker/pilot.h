/* The work of the pilots. Always the same: what it takes says how fast the machine is, and nothing else.

   core_work   many independent operations on integers and floating-point numbers, loads and stores that hit the first
               cache, and branches. It keeps the core as busy as an interpreter or compiled code does, so that a
               neighbour on the other half of a physical core makes it slower by as much (1.4 to 1.9 times). Tried and
               rejected: chains of dependent operations, which a neighbour slows by only 1.2, and branches that a
               predictor learns, which take longer after other code has run.
   memory_work reads, in order, as much as the second cache holds, and every second time the same. So it finds nothing
               there: it shows what neighbours leave of the last cache, which all cores share, and of the memory. Tried
               and rejected: reading what was flushed out of all caches. It took the same 10 us while copies on
               another core made a sum of matrices take 1.4 times as long or more; this takes 1.8 times as long. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
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

/* The work of a calibration: one kind of load each, several chains of it at once. It has no say in what a block took. */

static void integer_work(int passes) {
    uint64_t a = 1, b = 2, c = 3, d = 4;
    int pass;
    for (pass = 0; pass < passes; pass++) {
        a = a * 6364136223846793005u + 1442695040888963407u;
        b ^= b << 13, b ^= b >> 7, b ^= b << 17;
        c += (a >> 33) % ((b & 1023) + 3);
        if (c & 16) d += c;
        else d ^= a;
    }
    pilot_result = (double)(a ^ b ^ c ^ d);
}

static void floating_work(int passes) {
    double p = 1.0, q = 1.5, r = 2.0, s = 2.5;
    int pass;
    for (pass = 0; pass < passes; pass++) {
        p = p * 0.999999 + 0.25;
        q = q * 0.5 + p * 0.125;
        r = r / (1.0 + 0.001 * q) + 1.0;
        s = s * 0.75 + r * q;
    }
    pilot_result = p + q + r + s;
}

#define SLOTS 256
static void allocation_work(int passes) {
    static void *slots[SLOTS];
    uint64_t a = 1;
    int pass, k;
    for (pass = 0; pass < passes; pass++) {
        a = a * 6364136223846793005u + 1442695040888963407u;
        k = (int)((a >> 33) & (SLOTS - 1));
        free(slots[k]);
        slots[k] = malloc(16 + ((a >> 41) & 2047));
        if (slots[k]) *(volatile char *)slots[k] = 1;
    }
    for (k = 0; k < SLOTS; k++) {
        free(slots[k]);
        slots[k] = 0;
    }
}

/* Bytes of the second cache of a core, within reason where the system says otherwise; 1 MiB where it does not say. */
static size_t second_cache_bytes(void) {
    long bytes = 0;
#ifdef _SC_LEVEL2_CACHE_SIZE
    bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    if (bytes <= 0) return (size_t)1 << 20;
    return bytes < (1 << 18) ? (size_t)1 << 18 : bytes > (1 << 21) ? (size_t)1 << 21 : (size_t)bytes;
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
