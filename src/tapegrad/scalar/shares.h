/* Made from the rules in src/tapegrad/rules by setup.py; do not edit. */
#ifndef TAPEGRAD_SHARES_H
#define TAPEGRAD_SHARES_H

#include "opcodes.h"

struct step {
    uint8_t op, x, y, z;
};
struct span {
    uint16_t start, count;
};

static const double STEP_NUMBERS[] = {1.0, 0.5, -2.0, 2.0, 0.0};

static const struct step STEPS[] = {
    /* neg, a */
    {NEG, 4, 0, 0},
    /* exp, a */
    {LIVE_MUL, 4, 3, 0},
    /* expm1, a */
    {EXP, 0, 0, 0},
    {LIVE_MUL, 4, 5, 0},
    /* log, a */
    {LIVE_DIV, 4, 0, 0},
    /* log1p, a */
    {CONSTANT, 0, 0, 0},
    {ADD, 5, 0, 0},
    {LIVE_DIV, 4, 6, 0},
    /* sqrt, a */
    {CONSTANT, 1, 0, 0},
    {MUL, 5, 4, 0},
    {LIVE_DIV, 6, 3, 0},
    /* sigmoid, a */
    {SIGMOID_SLOPE, 0, 0, 0},
    {LIVE_MUL, 4, 5, 0},
    /* sigmoid_slope, a */
    {CONSTANT, 1, 0, 0},
    {MUL, 5, 0, 0},
    {TANH, 6, 0, 0},
    {MUL, 3, 7, 0},
    {LIVE_MUL, 4, 8, 0},
    {NEG, 9, 0, 0},
    /* softplus, a */
    {SIGMOID, 0, 0, 0},
    {LIVE_MUL, 4, 5, 0},
    /* sin, a */
    {COS, 0, 0, 0},
    {LIVE_MUL, 4, 5, 0},
    /* cos, a */
    {SIN, 0, 0, 0},
    {LIVE_MUL, 4, 5, 0},
    {NEG, 6, 0, 0},
    /* tan, a */
    {CONSTANT, 0, 0, 0},
    {MUL, 3, 3, 0},
    {ADD, 5, 6, 0},
    {LIVE_MUL, 4, 7, 0},
    /* asin, a */
    {UNIT_ROOT, 0, 0, 0},
    {LIVE_DIV, 4, 5, 0},
    /* acos, a */
    {UNIT_ROOT, 0, 0, 0},
    {LIVE_DIV, 4, 5, 0},
    {NEG, 6, 0, 0},
    /* unit_root, a */
    {DIV, 0, 3, 0},
    {LIVE_MUL, 4, 5, 0},
    {NEG, 6, 0, 0},
    /* atan, a */
    {ATAN_SLOPE, 0, 0, 0},
    {LIVE_MUL, 4, 5, 0},
    /* atan_slope, a */
    {CONSTANT, 2, 0, 0},
    {MUL, 0, 3, 0},
    {MUL, 6, 3, 0},
    {MUL, 5, 7, 0},
    {LIVE_MUL, 4, 8, 0},
    /* sinh, a */
    {COSH, 0, 0, 0},
    {LIVE_MUL, 4, 5, 0},
    /* cosh, a */
    {SINH, 0, 0, 0},
    {LIVE_MUL, 4, 5, 0},
    /* tanh, a */
    {TANH_SLOPE, 0, 0, 0},
    {LIVE_MUL, 4, 5, 0},
    /* tanh_slope, a */
    {CONSTANT, 2, 0, 0},
    {MUL, 5, 3, 0},
    {TANH, 0, 0, 0},
    {MUL, 6, 7, 0},
    {LIVE_MUL, 4, 8, 0},
    /* erf, a */
    {ERF_SLOPE, 0, 0, 0},
    {LIVE_MUL, 4, 5, 0},
    /* erf_slope, a */
    {CONSTANT, 2, 0, 0},
    {MUL, 0, 3, 0},
    {MUL, 5, 6, 0},
    {LIVE_MUL, 4, 7, 0},
    /* abs, a */
    {ABS_SHARE, 0, 4, 0},
    /* abs_share, b */
    {ABS_SHARE, 0, 4, 0},
    /* relu, a */
    {RELU_SHARE, 0, 4, 0},
    /* relu_share, b */
    {RELU_SHARE, 0, 4, 0},
    /* add, a */
    {INPUT, 4, 0, 0},
    /* add, b */
    {INPUT, 4, 0, 0},
    /* sub, a */
    {INPUT, 4, 0, 0},
    /* sub, b */
    {NEG, 4, 0, 0},
    /* mul, a */
    {LIVE_MUL, 4, 1, 0},
    /* mul, b */
    {LIVE_MUL, 4, 0, 0},
    /* div, a */
    {LIVE_DIV, 4, 1, 0},
    /* div, b */
    {NEG, 4, 0, 0},
    {DIV, 3, 1, 0},
    {LIVE_MUL, 5, 6, 0},
    /* pow, a */
    {POWER_SLOPE, 0, 1, 3},
    {LIVE_MUL, 4, 5, 0},
    /* pow, b */
    {POWER_LOG, 0, 1, 3},
    {LIVE_MUL, 4, 5, 0},
    /* power_slope, a */
    {CONSTANT, 0, 0, 0},
    {SUB, 1, 5, 0},
    {POWER_BEFORE, 0, 1, 2},
    {POWER_SLOPE, 0, 6, 7},
    {LIVE_MUL, 1, 8, 0},
    {LIVE_MUL, 4, 9, 0},
    /* power_slope, b */
    {POWER_BEFORE, 0, 1, 2},
    {CONSTANT, 0, 0, 0},
    {SUB, 1, 6, 0},
    {POWER_LOG, 0, 7, 5},
    {MUL, 1, 8, 0},
    {ADD, 5, 9, 0},
    {LIVE_MUL, 4, 10, 0},
    /* power_before, a */
    {CONSTANT, 0, 0, 0},
    {SUB, 1, 5, 0},
    {POWER_SLOPE, 0, 6, 3},
    {LIVE_MUL, 4, 7, 0},
    /* power_before, b */
    {CONSTANT, 0, 0, 0},
    {SUB, 1, 5, 0},
    {POWER_LOG, 0, 6, 3},
    {LIVE_MUL, 4, 7, 0},
    /* power_log, a */
    {POWER_BEFORE, 0, 1, 2},
    {CONSTANT, 0, 0, 0},
    {SUB, 1, 6, 0},
    {POWER_LOG, 0, 7, 5},
    {MUL, 1, 8, 0},
    {ADD, 5, 9, 0},
    {LIVE_MUL, 4, 10, 0},
    /* power_log, b */
    {LOG, 0, 0, 0},
    {MUL, 3, 5, 0},
    {LIVE_MUL, 4, 6, 0},
    /* atan2, a */
    {OVER_SQUARE, 1, 0, 0},
    {LIVE_MUL, 4, 5, 0},
    /* atan2, b */
    {OVER_SQUARE, 0, 1, 0},
    {LIVE_MUL, 4, 5, 0},
    {NEG, 6, 0, 0},
    /* over_square, a */
    {SUB, 1, 0, 0},
    {HYPOT, 0, 1, 0},
    {DIV, 5, 6, 0},
    {ADD, 1, 0, 0},
    {DIV, 8, 6, 0},
    {MUL, 7, 9, 0},
    {DIV, 10, 6, 0},
    {DIV, 11, 6, 0},
    {LIVE_MUL, 4, 12, 0},
    /* over_square, b */
    {CONSTANT, 3, 0, 0},
    {OVER_SQUARE, 0, 1, 0},
    {MUL, 5, 6, 0},
    {OVER_SQUARE, 1, 0, 0},
    {MUL, 7, 8, 0},
    {LIVE_MUL, 4, 9, 0},
    {NEG, 10, 0, 0},
    /* hypot, a */
    {DIRECTION, 0, 1, 3},
    {LIVE_MUL, 4, 5, 0},
    /* hypot, b */
    {DIRECTION, 1, 0, 3},
    {LIVE_MUL, 4, 5, 0},
    /* direction, a */
    {DIRECTION, 1, 0, 2},
    {DIV, 5, 2, 0},
    {MUL, 5, 6, 0},
    {LIVE_MUL, 4, 7, 0},
    /* direction, b */
    {DIRECTION, 0, 1, 2},
    {DIRECTION, 1, 0, 2},
    {DIV, 6, 2, 0},
    {MUL, 5, 7, 0},
    {LIVE_MUL, 4, 8, 0},
    {NEG, 9, 0, 0},
    /* maximum, a */
    {LARGER_SHARE, 0, 1, 4},
    /* maximum, b */
    {LARGER_SHARE, 1, 0, 4},
    /* minimum, a */
    {LARGER_SHARE, 1, 0, 4},
    /* minimum, b */
    {LARGER_SHARE, 0, 1, 4},
    /* larger_share, c */
    {LARGER_SHARE, 0, 1, 4},
    /* select, a */
    {CONSTANT, 4, 0, 0},
    {SELECT, 4, 5, 2},
    /* select, b */
    {CONSTANT, 4, 0, 0},
    {SELECT, 5, 4, 2},
    /* live_mul, a */
    {LIVE_MUL, 4, 1, 0},
    /* live_mul, b */
    {BOTH, 4, 0, 0},
    /* live_div, a */
    {LIVE_DIV, 4, 1, 0},
    /* live_div, b */
    {LIVE_DIV, 3, 1, 0},
    {BOTH, 4, 5, 0},
    {NEG, 6, 0, 0},
    /* both, a */
    {BOTH, 4, 1, 0},
    /* both, b */
    {BOTH, 4, 0, 0},
    /* mul_add, a */
    {LIVE_MUL, 4, 1, 0},
    /* mul_add, b */
    {LIVE_MUL, 4, 0, 0},
    /* mul_add, c */
    {INPUT, 4, 0, 0},
    /* mul_sub, a */
    {NEG, 4, 0, 0},
    {LIVE_MUL, 5, 1, 0},
    /* mul_sub, b */
    {NEG, 4, 0, 0},
    {LIVE_MUL, 5, 0, 0},
    /* mul_sub, c */
    {INPUT, 4, 0, 0},
    /* live_add, a */
    {LIVE_MUL, 4, 1, 0},
    /* live_add, b */
    {BOTH, 4, 0, 0},
    /* live_add, c */
    {INPUT, 4, 0, 0},
    /* live_sub, a */
    {NEG, 4, 0, 0},
    {LIVE_MUL, 5, 1, 0},
    /* live_sub, b */
    {BOTH, 4, 0, 0},
    {NEG, 5, 0, 0},
    /* live_sub, c */
    {INPUT, 4, 0, 0},
    /* both_add, a */
    {BOTH, 4, 1, 0},
    /* both_add, b */
    {BOTH, 4, 0, 0},
    /* both_add, c */
    {INPUT, 4, 0, 0},
    /* both_sub, a */
    {BOTH, 4, 1, 0},
    {NEG, 5, 0, 0},
    /* both_sub, b */
    {BOTH, 4, 0, 0},
    {NEG, 5, 0, 0},
    /* both_sub, c */
    {INPUT, 4, 0, 0},
};

static const struct span SHARES[OPCODES][3] = {
    [NEG] = {{0, 1}},
    [EXP] = {{1, 1}},
    [EXPM1] = {{2, 2}},
    [LOG] = {{4, 1}},
    [LOG1P] = {{5, 3}},
    [SQRT] = {{8, 3}},
    [SIGMOID] = {{11, 2}},
    [SIGMOID_SLOPE] = {{13, 6}},
    [SOFTPLUS] = {{19, 2}},
    [SIN] = {{21, 2}},
    [COS] = {{23, 3}},
    [TAN] = {{26, 4}},
    [ASIN] = {{30, 2}},
    [ACOS] = {{32, 3}},
    [UNIT_ROOT] = {{35, 3}},
    [ATAN] = {{38, 2}},
    [ATAN_SLOPE] = {{40, 5}},
    [SINH] = {{45, 2}},
    [COSH] = {{47, 2}},
    [TANH] = {{49, 2}},
    [TANH_SLOPE] = {{51, 5}},
    [ERF] = {{56, 2}},
    [ERF_SLOPE] = {{58, 4}},
    [ABS] = {{62, 1}},
    [ABS_SHARE] = {{63, 0}, {63, 1}},
    [RELU] = {{64, 1}},
    [RELU_SHARE] = {{65, 0}, {65, 1}},
    [ADD] = {{66, 1}, {67, 1}},
    [SUB] = {{68, 1}, {69, 1}},
    [MUL] = {{70, 1}, {71, 1}},
    [DIV] = {{72, 1}, {73, 3}},
    [POW] = {{76, 2}, {78, 2}},
    [POWER_SLOPE] = {{80, 6}, {86, 7}, {93, 0}},
    [POWER_BEFORE] = {{93, 4}, {97, 4}, {101, 0}},
    [POWER_LOG] = {{101, 7}, {108, 3}, {111, 0}},
    [ATAN2] = {{111, 2}, {113, 3}},
    [OVER_SQUARE] = {{116, 9}, {125, 7}},
    [HYPOT] = {{132, 2}, {134, 2}},
    [DIRECTION] = {{136, 4}, {140, 6}, {146, 0}},
    [MAXIMUM] = {{146, 1}, {147, 1}},
    [MINIMUM] = {{148, 1}, {149, 1}},
    [LARGER_SHARE] = {{150, 0}, {150, 0}, {150, 1}},
    [SELECT] = {{151, 2}, {153, 2}, {155, 0}},
    [LIVE_MUL] = {{155, 1}, {156, 1}},
    [LIVE_DIV] = {{157, 1}, {158, 3}},
    [BOTH] = {{161, 1}, {162, 1}},
    [MUL_ADD] = {{163, 1}, {164, 1}, {165, 1}},
    [MUL_SUB] = {{166, 2}, {168, 2}, {170, 1}},
    [LIVE_ADD] = {{171, 1}, {172, 1}, {173, 1}},
    [LIVE_SUB] = {{174, 2}, {176, 2}, {178, 1}},
    [BOTH_ADD] = {{179, 1}, {180, 1}, {181, 1}},
    [BOTH_SUB] = {{182, 2}, {184, 2}, {186, 1}},
};

#endif
