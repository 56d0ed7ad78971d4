/* The place of every opcode's case, by opcode, for the sweeps that jump from case to case (sweeps.h). */
#pragma push_macro("UNARY")
#pragma push_macro("BINARY")
#pragma push_macro("BINARY_BLOCK")
#pragma push_macro("TERNARY")
#pragma push_macro("CHOICE")
#pragma push_macro("COMPARISON")
#undef UNARY
#undef BINARY
#undef BINARY_BLOCK
#undef TERNARY
#undef CHOICE
#undef COMPARISON
#define UNARY(OP, VALUE, COTANGENT) [OP] = &&do_##OP,
#define BINARY(OP, VALUE, DA, DB) [OP] = &&do_##OP, [OP + VC] = &&do_##OP##_VC, [OP + CV] = &&do_##OP##_CV,
#define BINARY_BLOCK BINARY
#define TERNARY(OP, VALUE, DA, DB, DC) CHOICE(OP)
#define CHOICE(OP) [OP] = &&do_##OP, [OP + VC] = &&do_##OP##_VC, [OP + CV] = &&do_##OP##_CV, [OP + CC] = &&do_##OP##_CC,
#define COMPARISON(OP, EXPRESSION) BINARY(OP, , , )
[INPUT] = &&do_nothing,
#include "rules.h"
#if TAPEGRAD_SLOPES
[CONSTANT] = &&do_CONSTANT,
#include "slopes.h"
#endif
#pragma pop_macro("UNARY")
#pragma pop_macro("BINARY")
#pragma pop_macro("BINARY_BLOCK")
#pragma pop_macro("TERNARY")
#pragma pop_macro("CHOICE")
#pragma pop_macro("COMPARISON")
