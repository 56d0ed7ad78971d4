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

/* ---- values --------------------------------------------------------------------------------------------------- */

#define UNARY(OP, VALUE, COTANGENT)                                                                                    \
    case OP: { OPERAND(A, LHS) VALUE break; }
#define BINARY(OP, VALUE, DA, DB)                                                                                      \
    case OP: { OPERAND(A, LHS) OPERAND(B, RHS) EACH { const double a = A[k], b = B[k]; V[k] = (VALUE); } break; }      \
    case OP + VC: { OPERAND(A, LHS) const double b = RHS_CONSTANT; EACH { const double a = A[k]; V[k] = (VALUE); } break; } \
    case OP + CV: { OPERAND(B, RHS) const double a = LHS_CONSTANT; EACH { const double b = B[k]; V[k] = (VALUE); } break; }
#define BINARY_MAP(OP, FUNCTION, DA, DB)                                                                               \
    case OP: { OPERAND(A, LHS) OPERAND(B, RHS) MAP2(FUNCTION, V, A, B); break; }                                       \
    case OP + VC: { OPERAND(A, LHS) SPREAD(B, RHS_CONSTANT) MAP2(FUNCTION, V, A, B); break; }                          \
    case OP + CV: { SPREAD(A, LHS_CONSTANT) OPERAND(B, RHS) MAP2(FUNCTION, V, A, B); break; }
#define CHOICE(OP)                                                                                                     \
    case OP: { OPERAND(C, BEFORE) OPERAND(A, LHS) OPERAND(B, RHS) EACH V[k] = C[k] != 0.0 ? A[k] : B[k]; break; }      \
    case OP + VC: {                                                                                                    \
        OPERAND(C, BEFORE) OPERAND(A, LHS) const double b = RHS_CONSTANT;                                              \
        EACH V[k] = C[k] != 0.0 ? A[k] : b;                                                                            \
        break;                                                                                                         \
    }                                                                                                                  \
    case OP + CV: {                                                                                                    \
        OPERAND(C, BEFORE) OPERAND(B, RHS) const double a = LHS_CONSTANT;                                              \
        EACH V[k] = C[k] != 0.0 ? a : B[k];                                                                            \
        break;                                                                                                         \
    }                                                                                                                  \
    case OP + CC: {                                                                                                    \
        OPERAND(C, BEFORE) const double a = LHS_CONSTANT, b = RHS_CONSTANT;                                            \
        EACH V[k] = C[k] != 0.0 ? a : b;                                                                               \
        break;                                                                                                         \
    }

#if W == 1

#define LHS first
#define RHS second
#define LHS_CONSTANT first
#define RHS_CONSTANT second
#define BEFORE 1.0
/* The value of one operation; folds to the bare expression where the compiler knows op. A where gives its first. */
INLINE double evaluate(int op, double first, double second)
{
    double V[1] = {NAN}, T[1];
    switch (op) {
#include "rules.h"
    }
    (void)T;
    return V[0];
}
#undef LHS
#undef RHS
#undef LHS_CONSTANT
#undef RHS_CONSTANT
#undef BEFORE

/* A branch, not a select: predicted, it does not wait for the load. */
#define LHS (code->lhs[i] == i - 1 ? V[0] : values[code->lhs[i]])
#define RHS (code->rhs[i] == i - 1 ? V[0] : values[code->rhs[i]])
#define BEFORE V[0]
#else
#define LHS VALUE_AT(code->lhs[i])
#define RHS VALUE_AT(code->rhs[i])
#define BEFORE (V - W)
#endif

#define LHS_CONSTANT code->constants[code->lhs[i]]
#define RHS_CONSTANT code->constants[code->rhs[i]]

/* Values begin … end-1 from the ones before; inputs keep what they hold. */
SWEEP void PASTE(forward, W)(const struct code *code, double *values, ptrdiff_t begin, ptrdiff_t end)
{
    double T[W];
#if W == 1
    double V[1] = {begin > 0 ? values[begin - 1] : 0.0};
#endif
    for (ptrdiff_t i = begin; i < end; i++) {
#if W > 1
        double *V = values + i * W;
#endif
        switch (code->ops[i]) {
#include "rules.h"
        }
#if W == 1
        values[i] = V[0];
#endif
    }
}

#undef UNARY
#undef BINARY
#undef BINARY_MAP
#undef CHOICE
#undef LHS
#undef RHS
#undef BEFORE

/* ---- cotangents ----------------------------------------------------------------------------------------------- */

#define LHS VALUE_AT(code->lhs[i])
#define RHS VALUE_AT(code->rhs[i])
#define BEFORE VALUE_AT(i - 1)

/* One operand's share, as a statement in rules.h's words, or as an expression of a, b, v and g. */
#define TO_LHS(STATEMENT) { ADJOINT(GA, code->lhs[i], code->lhs_room[i], FRESH_LHS) STATEMENT ADD_ADJOINT(GA, code->lhs[i]) }
#define TO_RHS(STATEMENT) { ADJOINT(GB, code->rhs[i], code->rhs_room[i], FRESH_RHS) STATEMENT ADD_ADJOINT(GB, code->rhs[i]) }
#define SHARE(INTO, FIRST, SECOND, EXPRESSION)                                                                         \
    EACH {                                                                                                             \
        const double a = FIRST, b = SECOND, v = V[k], g = G[k];                                                        \
        UNUSED(a, b, v, g);                                                                                            \
        INTO[k] += (EXPRESSION);                                                                                       \
    }

#define UNARY(OP, VALUE, COTANGENT)                                                                                    \
    case OP: { OPERAND(A, LHS) (void)A; TO_LHS(COTANGENT) break; }
#define BINARY(OP, VALUE, DA, DB)                                                                                      \
    case OP: {                                                                                                         \
        OPERAND(A, LHS) OPERAND(B, RHS)                                                                                \
        TO_LHS(SHARE(GA, A[k], B[k], DA)) TO_RHS(SHARE(GB, A[k], B[k], DB))                                            \
        break;                                                                                                         \
    }                                                                                                                  \
    case OP + VC: { OPERAND(A, LHS) const double c_ = RHS_CONSTANT; TO_LHS(SHARE(GA, A[k], c_, DA)) break; }           \
    case OP + CV: { OPERAND(B, RHS) const double c_ = LHS_CONSTANT; TO_RHS(SHARE(GB, c_, B[k], DB)) break; }
#define BINARY_MAP(OP, FUNCTION, DA, DB)                                                                               \
    case OP: { OPERAND(A, LHS) OPERAND(B, RHS) TO_LHS(DA) TO_RHS(DB) break; }                                          \
    case OP + VC: { OPERAND(A, LHS) SPREAD(B, RHS_CONSTANT) (void)B; TO_LHS(DA) break; }                               \
    case OP + CV: { SPREAD(A, LHS_CONSTANT) OPERAND(B, RHS) (void)A, (void)B; TO_RHS(DB) break; }
#define CHOICE(OP)                                                                                                     \
    case OP: {                                                                                                         \
        OPERAND(C, BEFORE)                                                                                             \
        TO_LHS(EACH GA[k] += C[k] != 0.0 ? G[k] : 0.0;) TO_RHS(EACH GB[k] += C[k] != 0.0 ? 0.0 : G[k];)                \
        break;                                                                                                         \
    }                                                                                                                  \
    case OP + VC: { OPERAND(C, BEFORE) TO_LHS(EACH GA[k] += C[k] != 0.0 ? G[k] : 0.0;) break; }                        \
    case OP + CV: { OPERAND(C, BEFORE) TO_RHS(EACH GB[k] += C[k] != 0.0 ? 0.0 : G[k];) break; }

/* Adjoints of everything that instructions end-1 … 0 depend on. One point: added to what `adjoints` holds at the index
 * of each value. Blocks: in the rooms that the code gives them, those of the inputs cleared by the caller. */
SWEEP void PASTE(backward, W)(const struct code *code, const double *values, double *adjoints, ptrdiff_t end)
{
    double S[W], T[W];
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
        }
    }
}

#undef LHS
#undef RHS
#undef BEFORE
#undef LHS_CONSTANT
#undef RHS_CONSTANT
#undef TO_LHS
#undef TO_RHS
#undef SHARE
#undef UNARY
#undef BINARY
#undef BINARY_MAP
#undef CHOICE
#undef COMPARISON
#undef UNUSED
#undef REPAIR
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
#undef PASTE
#undef PASTE_
