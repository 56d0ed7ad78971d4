/* The interpreter that runs recorded instructions forward and backward.
 *
 * In: a `struct code` (instructions as a structure of arrays) and values. Out: values, adjoints.
 * evaluate, forward_1 and backward_1 work on one point (tapes, programs); forward_block and backward_block on BLOCK
 * points at once (program.batch). All come from sweeps.h, and through it from the one list of rules in src/tapegrad/rules.
 * Where TAPEGRAD_SLOPES is defined they know the operations of derivative programs too. */
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
    const int32_t *third; /* index of a value; only derivative programs have operations with three operands */
    const double *constants;
    /* Only for blocks: where the adjoints of the value and of the operands are kept, and which of the operands' are to be
     * cleared first. Rooms are reused, so that the adjoints of a block stay in the nearest cache. */
    const int32_t *room, *lhs_room, *rhs_room, *third_room;
    const uint8_t *fresh;
};

enum fresh { FRESH_LHS = 1, FRESH_RHS = 2, FRESH_THIRD = 4 };

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

/* The exponent of x as frexp gives it, and x * 2^y: exact. */
INLINE double exponent(double x)
{
    int size;
    (void)frexp(x, &size);
    return size;
}
INLINE double scaled(double x, double y) { return ldexp(x, (int)y); }

#include "helpers.h"

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
