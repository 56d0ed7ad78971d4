/* The sweeps over instructions, for W points at a time: forward_W, backward_W and, for W = 1, evaluate.
 *
 * No include guard: kernels.h includes this with W = 1, blocks.c with W = BLOCK. Gives the words of rules.h their
 * meaning, then lets rules.h fill the cases of each switch.
 *
 * With one point, a chain of operations is bound by the time a stored number needs to be loaded again. So forward_1
 * keeps the last value in a register, and backward_1 the adjoint that it needs next; without that a chain of
 * multiplications and additions took 1.5 times as long. Blocks are bound by throughput and do without. */

#define PASTE_(name, w) name##_##w
#define PASTE(name, w) PASTE_(name, w)

#if W == 1

#define EACH for (int k = 0; k < 1; k++)
#define MAP(function, out, in) (out)[0] = function((in)[0])
#define MAP2(function, out, in1, in2) (out)[0] = function((in1)[0], (in2)[0])
#define LIVE(contribution) (contribution) /* backward_1 skips zero adjoints before it looks at the opcode */
#define OPERAND(name, value) const double name[1] = {value};
#define VALUE_AT(index) values[index]
#define ADJOINT(name, index, room, first) double name[1] = {-0.0}; /* -0.0 + x is x, so no addition is left */
#define ADD_ADJOINT(name, index)                                                                                       \
    if ((index) == i - 1)                                                                                              \
        next += name[0];                                                                                               \
    else                                                                                                               \
        adjoints[index] += name[0];
/* Out of line: inlined into Tape.backward, GCC's code for the switch was mispredicted and took 2.5 times as long. */
#define SWEEP OUT_OF_LINE static

#else

/* Blocks are either the same or apart, so no point depends on another one's result. */
#define EACH _Pragma("GCC ivdep") for (int k = 0; k < W; k++)
#define MAP(function, out, in) block_##function(out, in)
#define MAP2(function, out, in1, in2) block_##function(out, in1, in2)
#define LIVE(contribution) (G[k] != 0.0 ? (contribution) : 0.0)
#define OPERAND(name, block) const double *name = block;
#define VALUE_AT(index) (values + (ptrdiff_t)(index) * W)
#define ADJOINT(name, index, room, first)                                                                              \
    double *name = adjoints + (ptrdiff_t)(room) * W;                                                                   \
    if (code->fresh[i] & first)                                                                                        \
        EACH name[k] = 0.0;
#define ADD_ADJOINT(name, index)
#define SWEEP INLINE

#endif

/* A constant operand as a block, for the functions of the C library. */
#define SPREAD(name, constant)                                                                                         \
    double name[W];                                                                                                    \
    {                                                                                                                  \
        const double c_ = (constant);                                                                                  \
        EACH name[k] = c_;                                                                                             \
    }

/* The three operands of a block, the first two either values or constants. */
#define EITHER_OPERANDS                                                                                                \
    double a_[W], b_[W];                                                                                               \
    const double *A = a_, *B = b_, *C = THIRD;                                                                         \
    if (OPERANDS[code->ops[i]] & LHS_VALUE)                                                                            \
        A = LHS;                                                                                                       \
    else                                                                                                               \
        EACH a_[k] = LHS_CONSTANT;                                                                                     \
    if (OPERANDS[code->ops[i]] & RHS_VALUE)                                                                            \
        B = RHS;                                                                                                       \
    else                                                                                                               \
        EACH b_[k] = RHS_CONSTANT;                                                                                     \
    (void)A, (void)B, (void)C;

#define REPAIR(condition, statement)                                                                                   \
    {                                                                                                                  \
        int odd = 0;                                                                                                   \
        EACH odd |= (condition);                                                                                       \
        if (UNLIKELY(odd))                                                                                             \
            for (int k = 0; k < W; k++)                                                                                \
                if (condition)                                                                                         \
                    statement;                                                                                         \
    }

#define UNUSED(a, b, v, g) (void)(a), (void)(b), (void)(v), (void)(g) /* not every rule needs all of them */

#define COMPARISON(OP, EXPRESSION) BINARY(OP, (EXPRESSION) ? 1.0 : 0.0, 0.0, 0.0)

/* How a switch finds its case: as C has it. Sweeps over one point do it otherwise, see below. */
#define CASE(OP) case OP:
#define CASE_VC(OP) case OP + VC:
#define CASE_CV(OP) case OP + CV:
#define CASE_CC(OP) case OP + CC:
#define DONE break;

/* ---- values --------------------------------------------------------------------------------------------------- */

#define UNARY(OP, VALUE, COTANGENT)                                                                                    \
    CASE(OP) { OPERAND(A, LHS) VALUE DONE }
#define BINARY(OP, VALUE, DA, DB)                                                                                      \
    CASE(OP) { OPERAND(A, LHS) OPERAND(B, RHS) EACH { const double a = A[k], b = B[k]; V[k] = (VALUE); } DONE }      \
    CASE_VC(OP) { OPERAND(A, LHS) const double b = RHS_CONSTANT; EACH { const double a = A[k]; V[k] = (VALUE); } DONE } \
    CASE_CV(OP) { OPERAND(B, RHS) const double a = LHS_CONSTANT; EACH { const double b = B[k]; V[k] = (VALUE); } DONE }
#define BINARY_BLOCK(OP, VALUE, DA, DB)                                                                                \
    CASE(OP) { OPERAND(A, LHS) OPERAND(B, RHS) VALUE DONE }                                                            \
    CASE_VC(OP) { OPERAND(A, LHS) SPREAD(B, RHS_CONSTANT) VALUE DONE }                                                 \
    CASE_CV(OP) { SPREAD(A, LHS_CONSTANT) OPERAND(B, RHS) VALUE DONE }
#if W == 1
#define TERNARY(OP, VALUE, DA, DB, DC)                                                                                 \
    CASE(OP) { OPERAND(A, LHS) OPERAND(B, RHS) OPERAND(C, THIRD) (void)A, (void)B; VALUE DONE }                        \
    CASE_VC(OP) { OPERAND(A, LHS) SPREAD(B, RHS_CONSTANT) OPERAND(C, THIRD) (void)A, (void)B; VALUE DONE }             \
    CASE_CV(OP) { SPREAD(A, LHS_CONSTANT) OPERAND(B, RHS) OPERAND(C, THIRD) (void)A, (void)B; VALUE DONE }             \
    CASE_CC(OP) {                                                                                                      \
        SPREAD(A, LHS_CONSTANT) SPREAD(B, RHS_CONSTANT) OPERAND(C, THIRD) (void)A, (void)B; VALUE DONE                 \
    }
#else
/* All forms in one case: what is decided once a block costs nothing, and the compiler has a quarter of the work. */
#define TERNARY(OP, VALUE, DA, DB, DC)                                                                                 \
    CASE(OP) CASE_VC(OP) CASE_CV(OP) CASE_CC(OP) { EITHER_OPERANDS VALUE DONE }
#endif
#define CHOICE(OP)                                                                                                     \
    CASE(OP) { OPERAND(C, BEFORE) OPERAND(A, LHS) OPERAND(B, RHS) EACH V[k] = C[k] != 0.0 ? A[k] : B[k]; DONE }      \
    CASE_VC(OP) {                                                                                                    \
        OPERAND(C, BEFORE) OPERAND(A, LHS) const double b = RHS_CONSTANT;                                              \
        EACH V[k] = C[k] != 0.0 ? A[k] : b;                                                                            \
        DONE                                                                                                         \
    }                                                                                                                  \
    CASE_CV(OP) {                                                                                                    \
        OPERAND(C, BEFORE) OPERAND(B, RHS) const double a = LHS_CONSTANT;                                              \
        EACH V[k] = C[k] != 0.0 ? a : B[k];                                                                            \
        DONE                                                                                                         \
    }                                                                                                                  \
    CASE_CC(OP) {                                                                                                    \
        OPERAND(C, BEFORE) const double a = LHS_CONSTANT, b = RHS_CONSTANT;                                            \
        EACH V[k] = C[k] != 0.0 ? a : b;                                                                               \
        DONE                                                                                                         \
    }

#if W == 1

#define LHS first
#define RHS second
#define LHS_CONSTANT first
#define RHS_CONSTANT second
#define BEFORE 1.0
#define THIRD third
/* The value of one operation; folds to the bare expression where the compiler knows op. A where gives its first. */
INLINE double evaluate(int op, double first, double second)
{
    double V[1] = {NAN}, S[1], T[1];
    switch (op) {
#include "rules.h"
    }
    (void)S, (void)T;
    return V[0];
}
#if TAPEGRAD_SLOPES
/* The same for every operation, and for three operands. */
OUT_OF_LINE static double evaluate_any(int op, double first, double second, double third)
{
    double V[1] = {NAN}, S[1], T[1];
    switch (op) {
#include "rules.h"
#include "slopes.h"
    }
    (void)S, (void)T;
    return V[0];
}
#endif
#undef LHS
#undef RHS
#undef THIRD
#undef LHS_CONSTANT
#undef RHS_CONSTANT
#undef BEFORE

/* Every case jumps to the next instruction's by itself, where the compiler can: with one jump for all of them, two
 * operations in turn took two to four times as long where the addresses of their code misled the branch predictor. */
#if defined(__GNUC__)
#define THREADED 1
#undef CASE
#undef CASE_VC
#undef CASE_CV
#undef CASE_CC
#undef DONE
#define CASE(OP) do_##OP:
#define CASE_VC(OP) do_##OP##_VC:
#define CASE_CV(OP) do_##OP##_CV:
#define CASE_CC(OP) do_##OP##_CC:
#define DONE ADVANCE
#else
#define THREADED 0
#endif

/* A branch, not a select: predicted, it does not wait for the load. */
#define LHS (code->lhs[i] == i - 1 ? V[0] : values[code->lhs[i]])
#define RHS (code->rhs[i] == i - 1 ? V[0] : values[code->rhs[i]])
#define THIRD (code->third[i] == i - 1 ? V[0] : values[code->third[i]])
#define BEFORE V[0]
#else
#define LHS VALUE_AT(code->lhs[i])
#define RHS VALUE_AT(code->rhs[i])
#define THIRD VALUE_AT(code->third[i])
#define BEFORE (V - W)
#endif

#define LHS_CONSTANT code->constants[code->lhs[i]]
#define RHS_CONSTANT code->constants[code->rhs[i]]

/* Values begin … end-1 from the ones before; inputs keep what they hold. */
SWEEP void PASTE(forward, W)(const struct code *code, double *values, ptrdiff_t begin, ptrdiff_t end)
{
    double S[W], T[W];
#if W == 1 && THREADED
    static const void *const places[] = {
#include "places.h"
    };
    double V[1] = {begin > 0 ? values[begin - 1] : 0.0};
    ptrdiff_t i = begin;
#define ADVANCE                                                                                                        \
    values[i] = V[0];                                                                                                  \
    if (++i >= end)                                                                                                    \
        return;                                                                                                        \
    goto *places[code->ops[i]];
    if (i >= end)
        return;
    goto *places[code->ops[i]];
do_nothing:
    ADVANCE
#include "rules.h"
#if TAPEGRAD_SLOPES
    CASE(CONSTANT) { EACH V[k] = LHS_CONSTANT; DONE }
#include "slopes.h"
#endif
#undef ADVANCE
#else
#if W == 1
    double V[1] = {begin > 0 ? values[begin - 1] : 0.0};
#endif
    for (ptrdiff_t i = begin; i < end; i++) {
#if W > 1
        double *V = values + i * W;
#endif
        switch (code->ops[i]) {
#include "rules.h"
#if TAPEGRAD_SLOPES
    CASE(CONSTANT) { EACH V[k] = LHS_CONSTANT; DONE }
#include "slopes.h"
#endif
        }
#if W == 1
        values[i] = V[0];
#endif
    }
#endif
    (void)S, (void)T;
}

#undef UNARY
#undef BINARY
#undef BINARY_BLOCK
#undef TERNARY
#undef CHOICE
#undef LHS
#undef RHS
#undef THIRD
#undef BEFORE

/* ---- cotangents ----------------------------------------------------------------------------------------------- */

#define LHS VALUE_AT(code->lhs[i])
#define RHS VALUE_AT(code->rhs[i])
#define THIRD VALUE_AT(code->third[i])
#define BEFORE VALUE_AT(i - 1)

/* One operand's share, as a statement in rules.h's words, or as an expression of a, b, v and g. */
#define TO_LHS(STATEMENT) { ADJOINT(GA, code->lhs[i], code->lhs_room[i], FRESH_LHS) STATEMENT ADD_ADJOINT(GA, code->lhs[i]) }
#define TO_RHS(STATEMENT) { ADJOINT(GB, code->rhs[i], code->rhs_room[i], FRESH_RHS) STATEMENT ADD_ADJOINT(GB, code->rhs[i]) }
#define TO_THIRD(STATEMENT) { ADJOINT(GC, code->third[i], code->third_room[i], FRESH_THIRD) STATEMENT ADD_ADJOINT(GC, code->third[i]) }
#define SHARE(INTO, FIRST, SECOND, EXPRESSION)                                                                         \
    EACH {                                                                                                             \
        const double a = FIRST, b = SECOND, v = V[k], g = G[k];                                                        \
        UNUSED(a, b, v, g);                                                                                            \
        INTO[k] += (EXPRESSION);                                                                                       \
    }

#define UNARY(OP, VALUE, COTANGENT)                                                                                    \
    CASE(OP) { OPERAND(A, LHS) (void)A; TO_LHS(COTANGENT) DONE }
#define BINARY(OP, VALUE, DA, DB)                                                                                      \
    CASE(OP) {                                                                                                         \
        OPERAND(A, LHS) OPERAND(B, RHS)                                                                                \
        TO_LHS(SHARE(GA, A[k], B[k], DA)) TO_RHS(SHARE(GB, A[k], B[k], DB))                                            \
        DONE                                                                                                         \
    }                                                                                                                  \
    CASE_VC(OP) { OPERAND(A, LHS) const double c_ = RHS_CONSTANT; TO_LHS(SHARE(GA, A[k], c_, DA)) DONE }           \
    CASE_CV(OP) { OPERAND(B, RHS) const double c_ = LHS_CONSTANT; TO_RHS(SHARE(GB, c_, B[k], DB)) DONE }
#define BINARY_BLOCK(OP, VALUE, DA, DB)                                                                                \
    CASE(OP) { OPERAND(A, LHS) OPERAND(B, RHS) TO_LHS(DA) TO_RHS(DB) DONE }                                          \
    CASE_VC(OP) { OPERAND(A, LHS) SPREAD(B, RHS_CONSTANT) (void)B; TO_LHS(DA) DONE }                               \
    CASE_CV(OP) { SPREAD(A, LHS_CONSTANT) OPERAND(B, RHS) (void)A, (void)B; TO_RHS(DB) DONE }
#if W == 1
#define TERNARY(OP, VALUE, DA, DB, DC)                                                                                 \
    CASE(OP) {                                                                                                         \
        OPERAND(A, LHS) OPERAND(B, RHS) OPERAND(C, THIRD) (void)A, (void)B, (void)C;                                   \
        TO_LHS(DA) TO_RHS(DB) TO_THIRD(DC)                                                                             \
        DONE                                                                                                           \
    }                                                                                                                  \
    CASE_VC(OP) {                                                                                                      \
        OPERAND(A, LHS) SPREAD(B, RHS_CONSTANT) OPERAND(C, THIRD) (void)A, (void)B, (void)C;                           \
        TO_LHS(DA) TO_THIRD(DC)                                                                                        \
        DONE                                                                                                           \
    }                                                                                                                  \
    CASE_CV(OP) {                                                                                                      \
        SPREAD(A, LHS_CONSTANT) OPERAND(B, RHS) OPERAND(C, THIRD) (void)A, (void)B, (void)C;                           \
        TO_RHS(DB) TO_THIRD(DC)                                                                                        \
        DONE                                                                                                           \
    }                                                                                                                  \
    CASE_CC(OP) {                                                                                                      \
        SPREAD(A, LHS_CONSTANT) SPREAD(B, RHS_CONSTANT) OPERAND(C, THIRD) (void)A, (void)B, (void)C;                   \
        TO_THIRD(DC)                                                                                                   \
        DONE                                                                                                           \
    }
#else
#define TERNARY(OP, VALUE, DA, DB, DC)                                                                                 \
    CASE(OP) CASE_VC(OP) CASE_CV(OP) CASE_CC(OP) {                                                                     \
        EITHER_OPERANDS                                                                                                \
        if (OPERANDS[code->ops[i]] & LHS_VALUE)                                                                        \
            TO_LHS(DA)                                                                                                 \
        if (OPERANDS[code->ops[i]] & RHS_VALUE)                                                                        \
            TO_RHS(DB)                                                                                                 \
        TO_THIRD(DC)                                                                                                   \
        DONE                                                                                                           \
    }
#endif
#define CHOICE(OP)                                                                                                     \
    CASE(OP) {                                                                                                         \
        OPERAND(C, BEFORE)                                                                                             \
        TO_LHS(EACH GA[k] += C[k] != 0.0 ? G[k] : 0.0;) TO_RHS(EACH GB[k] += C[k] != 0.0 ? 0.0 : G[k];)                \
        DONE                                                                                                         \
    }                                                                                                                  \
    CASE_VC(OP) { OPERAND(C, BEFORE) TO_LHS(EACH GA[k] += C[k] != 0.0 ? G[k] : 0.0;) DONE }                        \
    CASE_CV(OP) { OPERAND(C, BEFORE) TO_RHS(EACH GB[k] += C[k] != 0.0 ? 0.0 : G[k];) DONE }

/* Adjoints of everything that instructions end-1 … 0 depend on. One point: added to what `adjoints` holds at the index
 * of each value. Blocks: in the rooms that the code gives them, those of the inputs cleared by the caller. */
SWEEP void PASTE(backward, W)(const struct code *code, const double *values, double *adjoints, ptrdiff_t end)
{
    double S[W], T[W], U[W], Z[W];
#if W == 1 && THREADED
    static const void *const places[] = {
#include "places.h"
    };
    double next = adjoints[end - 1], G[1], V[1];
    ptrdiff_t i = end;
#define ADVANCE                                                                                                        \
    do {                                                                                                               \
        if (--i < 0)                                                                                                   \
            return;                                                                                                    \
        G[0] = next;                                                                                                   \
        next = i > 0 ? adjoints[i - 1] : 0.0;                                                                          \
        adjoints[i] = G[0]; /* even a zero: what was there may have been cancelled in the register */                  \
    } while (G[0] == 0.0);                                                                                             \
    V[0] = values[i];                                                                                                  \
    goto *places[code->ops[i]];
do_nothing:
do_WHERE_CC:
#if TAPEGRAD_SLOPES
do_CONSTANT:
#endif
    ADVANCE
#include "rules.h"
#if TAPEGRAD_SLOPES
#include "slopes.h"
#endif
#undef ADVANCE
#else
#if W == 1
    double next = adjoints[end - 1];
    for (ptrdiff_t i = end - 1; i >= 0; i--) {
        const double G[1] = {next}, V[1] = {values[i]};
        next = i > 0 ? adjoints[i - 1] : 0.0;
        adjoints[i] = G[0]; /* even a zero: what was there may have been cancelled in the register */
        if (G[0] == 0.0)
            continue;
#else
    for (ptrdiff_t i = end - 1; i >= 0; i--) {
        if (code->room[i] < 0) /* needed by a guard only */
            continue;
        const double *G = adjoints + (ptrdiff_t)code->room[i] * W, *V = values + i * W;
#endif
        switch (code->ops[i]) {
#include "rules.h"
#if TAPEGRAD_SLOPES
#include "slopes.h"
#endif
        }
    }
#endif
    (void)S, (void)T, (void)U, (void)Z;
}

#undef LHS
#undef RHS
#undef THIRD
#undef BEFORE
#undef LHS_CONSTANT
#undef RHS_CONSTANT
#undef TO_LHS
#undef TO_RHS
#undef TO_THIRD
#undef SHARE
#undef UNARY
#undef BINARY
#undef BINARY_BLOCK
#undef TERNARY
#undef CHOICE
#undef COMPARISON
#undef UNUSED
#undef REPAIR
#undef EITHER_OPERANDS
#undef SPREAD
#undef SWEEP
#undef ADD_ADJOINT
#undef ADJOINT
#undef VALUE_AT
#undef OPERAND
#undef LIVE
#undef MAP2
#undef MAP
#undef EACH
#undef CASE
#undef CASE_VC
#undef CASE_CV
#undef CASE_CC
#undef DONE
#undef THREADED
#undef PASTE
#undef PASTE_
