/* Made from the rules in src/tapegrad/rules by setup.py; do not edit. */
#ifndef TAPEGRAD_OPCODES_H
#define TAPEGRAD_OPCODES_H

#include <stdint.h>

enum form { VV = 0, VC = 1, CV = 2, CC = 3 };

enum opcode {
    INPUT = 0,
    NEG = 1,
    EXP = 2,
    EXPM1 = 3,
    LOG = 4,
    LOG1P = 5,
    SQRT = 6,
    SIGMOID = 7,
    SOFTPLUS = 8,
    SIN = 9,
    COS = 10,
    TAN = 11,
    ASIN = 12,
    ACOS = 13,
    ATAN = 14,
    SINH = 15,
    COSH = 16,
    TANH = 17,
    ERF = 18,
    ABS = 19,
    RELU = 20,
    ADD = 21,
    SUB = 24,
    MUL = 27,
    DIV = 30,
    POW = 33,
    ATAN2 = 36,
    HYPOT = 39,
    MAXIMUM = 42,
    MINIMUM = 45,
    LT = 48,
    LE = 51,
    EQ = 54,
    NE = 57,
    WHERE = 60,
    CONSTANT = 64,
    SIGMOID_SLOPE = 65,
    UNIT_ROOT = 66,
    ATAN_SLOPE = 67,
    TANH_SLOPE = 68,
    ERF_SLOPE = 69,
    ABS_SHARE = 70,
    RELU_SHARE = 73,
    POWER_SLOPE = 76,
    POWER_BEFORE = 80,
    POWER_LOG = 84,
    OVER_SQUARE = 88,
    DIRECTION = 91,
    LARGER_SHARE = 95,
    SELECT = 99,
    LIVE_MUL = 103,
    LIVE_DIV = 106,
    BOTH = 109,
    MUL_ADD = 112,
    MUL_SUB = 116,
    LIVE_ADD = 120,
    LIVE_SUB = 124,
    BOTH_ADD = 128,
    BOTH_SUB = 132,
    OPCODES = 136,
};

/* Which operands of an instruction are values: 1 the first, 2 the second, 4 the third. */
enum operand { LHS_VALUE = 1, RHS_VALUE = 2, THIRD_VALUE = 4 };
static const uint8_t OPERANDS[OPCODES] = {
    0, /* INPUT */
    1, /* NEG */
    1, /* EXP */
    1, /* EXPM1 */
    1, /* LOG */
    1, /* LOG1P */
    1, /* SQRT */
    1, /* SIGMOID */
    1, /* SOFTPLUS */
    1, /* SIN */
    1, /* COS */
    1, /* TAN */
    1, /* ASIN */
    1, /* ACOS */
    1, /* ATAN */
    1, /* SINH */
    1, /* COSH */
    1, /* TANH */
    1, /* ERF */
    1, /* ABS */
    1, /* RELU */
    3, 1, 2, /* ADD */
    3, 1, 2, /* SUB */
    3, 1, 2, /* MUL */
    3, 1, 2, /* DIV */
    3, 1, 2, /* POW */
    3, 1, 2, /* ATAN2 */
    3, 1, 2, /* HYPOT */
    3, 1, 2, /* MAXIMUM */
    3, 1, 2, /* MINIMUM */
    3, 1, 2, /* LT */
    3, 1, 2, /* LE */
    3, 1, 2, /* EQ */
    3, 1, 2, /* NE */
    3, 1, 2, 0, /* WHERE */
    0, /* CONSTANT */
    1, /* SIGMOID_SLOPE */
    1, /* UNIT_ROOT */
    1, /* ATAN_SLOPE */
    1, /* TANH_SLOPE */
    1, /* ERF_SLOPE */
    3, 1, 2, /* ABS_SHARE */
    3, 1, 2, /* RELU_SHARE */
    7, 5, 6, 4, /* POWER_SLOPE */
    7, 5, 6, 4, /* POWER_BEFORE */
    7, 5, 6, 4, /* POWER_LOG */
    3, 1, 2, /* OVER_SQUARE */
    7, 5, 6, 4, /* DIRECTION */
    7, 5, 6, 4, /* LARGER_SHARE */
    7, 5, 6, 4, /* SELECT */
    3, 1, 2, /* LIVE_MUL */
    3, 1, 2, /* LIVE_DIV */
    3, 1, 2, /* BOTH */
    7, 5, 6, 4, /* MUL_ADD */
    7, 5, 6, 4, /* MUL_SUB */
    7, 5, 6, 4, /* LIVE_ADD */
    7, 5, 6, 4, /* LIVE_SUB */
    7, 5, 6, 4, /* BOTH_ADD */
    7, 5, 6, 4, /* BOTH_SUB */
};
/* The first code of an instruction's operation. */
static const uint8_t BASES[OPCODES] = {
    INPUT,
    NEG,
    EXP,
    EXPM1,
    LOG,
    LOG1P,
    SQRT,
    SIGMOID,
    SOFTPLUS,
    SIN,
    COS,
    TAN,
    ASIN,
    ACOS,
    ATAN,
    SINH,
    COSH,
    TANH,
    ERF,
    ABS,
    RELU,
    ADD, ADD, ADD,
    SUB, SUB, SUB,
    MUL, MUL, MUL,
    DIV, DIV, DIV,
    POW, POW, POW,
    ATAN2, ATAN2, ATAN2,
    HYPOT, HYPOT, HYPOT,
    MAXIMUM, MAXIMUM, MAXIMUM,
    MINIMUM, MINIMUM, MINIMUM,
    LT, LT, LT,
    LE, LE, LE,
    EQ, EQ, EQ,
    NE, NE, NE,
    WHERE, WHERE, WHERE, WHERE,
    CONSTANT,
    SIGMOID_SLOPE,
    UNIT_ROOT,
    ATAN_SLOPE,
    TANH_SLOPE,
    ERF_SLOPE,
    ABS_SHARE, ABS_SHARE, ABS_SHARE,
    RELU_SHARE, RELU_SHARE, RELU_SHARE,
    POWER_SLOPE, POWER_SLOPE, POWER_SLOPE, POWER_SLOPE,
    POWER_BEFORE, POWER_BEFORE, POWER_BEFORE, POWER_BEFORE,
    POWER_LOG, POWER_LOG, POWER_LOG, POWER_LOG,
    OVER_SQUARE, OVER_SQUARE, OVER_SQUARE,
    DIRECTION, DIRECTION, DIRECTION, DIRECTION,
    LARGER_SHARE, LARGER_SHARE, LARGER_SHARE, LARGER_SHARE,
    SELECT, SELECT, SELECT, SELECT,
    LIVE_MUL, LIVE_MUL, LIVE_MUL,
    LIVE_DIV, LIVE_DIV, LIVE_DIV,
    BOTH, BOTH, BOTH,
    MUL_ADD, MUL_ADD, MUL_ADD, MUL_ADD,
    MUL_SUB, MUL_SUB, MUL_SUB, MUL_SUB,
    LIVE_ADD, LIVE_ADD, LIVE_ADD, LIVE_ADD,
    LIVE_SUB, LIVE_SUB, LIVE_SUB, LIVE_SUB,
    BOTH_ADD, BOTH_ADD, BOTH_ADD, BOTH_ADD,
    BOTH_SUB, BOTH_SUB, BOTH_SUB, BOTH_SUB,
};

#endif
