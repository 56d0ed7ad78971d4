# Made from the rules in src/tapegrad/rules by setup.py; do not edit.
from libc.stdint cimport uint8_t

cdef extern from "opcodes.h" nogil:
    enum:
        VV, VC, CV, CC
        LHS_VALUE, RHS_VALUE, THIRD_VALUE
        INPUT, NEG, EXP, EXPM1, LOG, LOG1P, SQRT, SIGMOID
        SOFTPLUS, SIN, COS, TAN, ASIN, ACOS, ATAN, SINH
        COSH, TANH, ERF, ABS, RELU, ADD, SUB, MUL
        DIV, POW, ATAN2, HYPOT, MAXIMUM, MINIMUM, LT, LE
        EQ, NE, WHERE, CONSTANT, SIGMOID_SLOPE, UNIT_ROOT, ATAN_SLOPE, TANH_SLOPE
        ERF_SLOPE, ABS_SHARE, RELU_SHARE, POWER_SLOPE, POWER_BEFORE, POWER_LOG, OVER_SQUARE, DIRECTION
        LARGER_SHARE, SELECT, LIVE_MUL, LIVE_DIV, BOTH, MUL_ADD, MUL_SUB, LIVE_ADD
        LIVE_SUB, BOTH_ADD, BOTH_SUB, OPCODES
    const uint8_t OPERANDS[]
    const uint8_t BASES[]
