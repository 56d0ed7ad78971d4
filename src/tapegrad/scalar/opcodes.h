/* The opcodes of the scalar tape: one byte each.
 *
 * A binary operation has three: both operands on the tape (OP), the second an immediate constant (OP + VC), the first
 * one (OP + CV). `where` has a fourth, both constant (OP + CC). */
#ifndef TAPEGRAD_OPCODES_H
#define TAPEGRAD_OPCODES_H

enum form { VV = 0, VC = 1, CV = 2, CC = 3 };

enum opcode {
    INPUT, NEG, EXP, EXPM1, LOG, LOG1P, SQRT, SIGMOID, SOFTPLUS, SIN, COS, TAN, ASIN, ACOS, ATAN,
    SINH, COSH, TANH, ERF, ABS, RELU,
    ADD, SUB = ADD + 3, MUL = SUB + 3, DIV = MUL + 3, POW = DIV + 3, ATAN2 = POW + 3, HYPOT = ATAN2 + 3,
    MAXIMUM = HYPOT + 3, MINIMUM = MAXIMUM + 3,
    LT = MINIMUM + 3, LE = LT + 3, EQ = LE + 3, NE = EQ + 3, WHERE = NE + 3,
    OPCODES = WHERE + 4
};

#endif
