/* The interpreter that runs recorded instructions forward and backward.
 *
 * In: a `struct code` (instructions as a structure of arrays) and values. Out: values, adjoints.
 * evaluate, forward_1 and backward_1 work on one point (tapes, programs); forward_block and backward_block on BLOCK
 * points at once (program.batch). All come from sweeps.h, and through it from the one list of rules in rules.h. */
#ifndef TAPEGRAD_KERNELS_H
#define TAPEGRAD_KERNELS_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include "opcodes.h"

struct code {
    const uint8_t *ops;
    const int32_t *lhs, *rhs; /* index of a value, or of a constant where the opcode's form says so */
    const double *constants;
    /* Only for blocks: where the adjoints of value, lhs and rhs are kept, and which of the operands' are to be cleared
     * first (FRESH_LHS, FRESH_RHS). Rooms are reused, so that the adjoints of a block stay in the nearest cache. */
    const int32_t *room, *lhs_room, *rhs_room;
    const uint8_t *fresh;
};

enum fresh { FRESH_LHS = 1, FRESH_RHS = 2 };

#if defined(__GNUC__)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define INLINE static inline __attribute__((always_inline, unused))
#define OUT_OF_LINE __attribute__((noinline, unused))
#define RARE __attribute__((noinline, cold, unused)) /* so that what is rare costs the sweeps no registers */
#else
#define UNLIKELY(condition) (condition)
#define INLINE static inline
#define OUT_OF_LINE
#define RARE
#endif

INLINE int ordinary(double x) { return (fabs(x) >= DBL_MIN) & (fabs(x) <= DBL_MAX); }

/* a*a - s without rounding, where s = a*a rounded: Veltkamp's split and Dekker's product. */
INLINE double square_error(double a, double s)
{
    double c = 134217729.0 * a, high = c - (c - a), low = a - high;
    return ((high * high - s) + 2.0 * high * low) + low * low;
}

/* d(a**b)/da where v/a*b overflows, underflows or is not a number. */
RARE static double power_da(double a, double b, double v)
{
    if (b == 0.0)
        return 0.0;
    double r = v * b / a;
    if (ordinary(v) && ordinary(v * b) && ordinary(r))
        return r;
    r = b / a * v; /* a tiny exponent of a tiny base */
    if (ordinary(v) && ordinary(b / a) && ordinary(r))
        return r;
    /* c + error = b - 1 exactly (Knuth's two-sum); a**error is put back to first order */
    double c = b - 1.0, part = c - b, error = (b - (c - part)) + (-1.0 - part);
    r = b * pow(a, c);
    return error != 0.0 && a > 0.0 && ordinary(r) ? r + r * (error * log(a)) : r;
}

/* d(a**b)/db where v*log(a) is not the answer: 0**b is flat for b > 0, a negative base has no derivative. */
RARE static double power_db(double a, double v)
{
    if (a >= 0.0 && v == 0.0)
        return 0.0;
    return v * log(a);
}

/* Whether x / h / h, for the length h of a vector that x is a coordinate of, loses bits to underflow on the way. */
INLINE int shrunk(double x, double h)
{
    return (x != 0.0) & (h > 0.0) & (h <= DBL_MAX) & ((h < DBL_MIN) | (fabs(x / h) < DBL_MIN));
}

/* x / (a*a + b*b) for those: a and b are scaled by a power of two, which is exact, and so is the way back. */
RARE static double over_square(double x, double a, double b)
{
    int size, size_x;
    (void)frexp(fmax(fabs(a), fabs(b)), &size);
    double h = hypot(ldexp(a, -size), ldexp(b, -size)), scaled = frexp(x, &size_x);
    return ldexp(scaled / h / h, size_x - 2 * size);
}

#define W 1
#include "sweeps.h"
#undef W

/* Blocks of points, in blocks.c: the same sweeps with W = BLOCK. */
#define BLOCK 32
void forward_block(const struct code *code, double *values, ptrdiff_t begin, ptrdiff_t end);
void backward_block(const struct code *code, const double *values, double *adjoints, ptrdiff_t end);
const char *vector_maths(void);

/* erf of BLOCK numbers. */
void erf_block(double *out, const double *in);

#endif
