# The compiled kernels as Cython sees them: the sweeps over instructions.
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, uint8_t

cdef extern from "kernels.h" nogil:
    enum:
        FRESH_LHS, FRESH_RHS, FRESH_THIRD, BLOCK

    struct code:
        const uint8_t *ops
        const int32_t *lhs
        const int32_t *rhs
        const int32_t *third
        const double *constants
        const int32_t *room
        const int32_t *lhs_room
        const int32_t *rhs_room
        const int32_t *third_room
        const uint8_t *fresh

    double evaluate(int op, double a, double b)
    double evaluate_any(int op, double a, double b, double c)  # where TAPEGRAD_SLOPES is defined
    void forward_1(const code *program, double *values, ptrdiff_t begin, ptrdiff_t end)
    void backward_1(const code *program, const double *values, double *adjoints, ptrdiff_t end)
    void forward_block(const code *program, double *values, ptrdiff_t begin, ptrdiff_t end)
    void backward_block(const code *program, const double *values, double *adjoints, ptrdiff_t end)
    const char *vector_maths()
    void erf_block(double *out, const double *in_)
