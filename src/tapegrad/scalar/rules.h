/* The rules: value and cotangents of every scalar operation, each written once.
 *
 * No include guard: sweeps.h includes this file inside a `switch (op)`, once for values and once for cotangents, and
 * that for W = 1 point (a tape, a program at one point) and for W = 32 (a block of a batch). It defines the words:
 *
 *   A B V      blocks of W doubles: first operand, second operand, value
 *   G GA GB    the adjoint of the value (read) and of the operands (added to)
 *   S T        scratch blocks
 *   EACH       for every point k of the block
 *   MAP MAP2   a function of the C library over a block
 *   REPAIR     redoes the points for which a condition holds, which is rare
 *   LIVE       drops the contribution where the adjoint is zero, so that 0 * inf does not make a nan
 *
 * In the expressions of BINARY, a, b, v and g are the doubles of point k.
 */

/* ---- arithmetic ---------------------------------------------------------------------------------------------- */

/* -a: -1 */
UNARY(NEG, { EACH V[k] = -A[k]; }, { EACH GA[k] -= G[k]; })

/* a + b: 1, 1 */
BINARY(ADD, a + b, g, g)

/* a - b: 1, -1 */
BINARY(SUB, a - b, g, -g)

/* a * b: b, a */
BINARY(MUL, a * b, LIVE(g * b), LIVE(g * a))

/* a / b: 1/b, -v/b. Not (g/b)*v: 1/b may overflow where v/b does not. */
BINARY(DIV, a / b, LIVE(g / b), LIVE(-g * (v / b)))

/* a ** b: v/a*b where that neither overflows nor underflows, and v*log(a); else power_da and power_db (kernels.h).
 * Not b*a**(b-1): the rounding of b-1 would be magnified by log(a). An exponent of 2 is recorded as a * a. */
BINARY_MAP(POW, pow,
           { EACH S[k] = V[k] / A[k] * B[k];
             REPAIR(!(ordinary(V[k]) && ordinary(V[k] / A[k]) && ordinary(S[k])), S[k] = power_da(A[k], B[k], V[k]))
             EACH GA[k] += LIVE(G[k] * S[k]); },
           { MAP(log, S, A);
             EACH S[k] *= V[k];
             REPAIR(!(A[k] > 0.0 && V[k] > 0.0), S[k] = power_db(A[k], V[k]))
             EACH GB[k] += LIVE(G[k] * S[k]); })

/* ---- exponentials and logarithms ------------------------------------------------------------------------------ */

/* exp(a): v */
UNARY(EXP, { MAP(exp, V, A); }, { EACH GA[k] += LIVE(G[k] * V[k]); })

/* exp(a) - 1: exp(a). Not v + 1, which cancels where v is near -1. */
UNARY(EXPM1, { MAP(expm1, V, A); }, { MAP(exp, T, A); EACH GA[k] += LIVE(G[k] * T[k]); })

/* log(a): 1/a */
UNARY(LOG, { MAP(log, V, A); }, { EACH GA[k] += LIVE(G[k] / A[k]); })

/* log(1 + a): 1/(1 + a) */
UNARY(LOG1P, { MAP(log1p, V, A); }, { EACH GA[k] += LIVE(G[k] / (1.0 + A[k])); })

/* sqrt(a): 1/(2v) */
UNARY(SQRT, { EACH V[k] = sqrt(A[k]); }, { EACH GA[k] += LIVE(0.5 * G[k] / V[k]); })

/* 1/(1 + exp(-a)), with e = exp(-|a|), which never overflows: e/(1 + e)^2. Not v(1 - v), which cancels near 1. */
UNARY(SIGMOID,
      { EACH T[k] = -fabs(A[k]);
        MAP(exp, T, T);
        EACH V[k] = (A[k] >= 0.0 ? 1.0 : T[k]) / (1.0 + T[k]); },
      { EACH T[k] = -fabs(A[k]);
        MAP(exp, T, T);
        EACH GA[k] += LIVE(G[k] * (T[k] / ((1.0 + T[k]) * (1.0 + T[k])))); })

/* log(1 + exp(a)) = max(a, 0) + log1p(exp(-|a|)): sigmoid(a) */
UNARY(SOFTPLUS,
      { EACH T[k] = -fabs(A[k]);
        MAP(exp, T, T);
        MAP(log1p, T, T);
        EACH V[k] = (A[k] > 0.0 ? A[k] : 0.0) + T[k]; },
      { EACH T[k] = -fabs(A[k]);
        MAP(exp, T, T);
        EACH GA[k] += LIVE(G[k] * ((A[k] >= 0.0 ? 1.0 : T[k]) / (1.0 + T[k]))); })

/* ---- trigonometry --------------------------------------------------------------------------------------------- */

/* sin(a): cos(a) */
UNARY(SIN, { MAP(sin, V, A); }, { MAP(cos, T, A); EACH GA[k] += LIVE(G[k] * T[k]); })

/* cos(a): -sin(a) */
UNARY(COS, { MAP(cos, V, A); }, { MAP(sin, T, A); EACH GA[k] -= LIVE(G[k] * T[k]); })

/* tan(a): 1 + v^2 */
UNARY(TAN, { MAP(tan, V, A); }, { EACH GA[k] += LIVE(G[k] * (1.0 + V[k] * V[k])); })

/* asin(a): 1/sqrt(1 - a^2), factored because 1 - a^2 cancels near 1 */
UNARY(ASIN, { MAP(asin, V, A); }, { EACH GA[k] += LIVE(G[k] / sqrt((1.0 - A[k]) * (1.0 + A[k]))); })

/* acos(a): -1/sqrt(1 - a^2) */
UNARY(ACOS, { MAP(acos, V, A); }, { EACH GA[k] -= LIVE(G[k] / sqrt((1.0 - A[k]) * (1.0 + A[k]))); })

/* atan(a): 1/(1 + a^2); above 1e8 it is 1/a^2 to the last bit, and a^2 may overflow */
UNARY(ATAN, { MAP(atan, V, A); },
      { EACH GA[k] += LIVE(G[k] * (fabs(A[k]) > 1e8 ? 1.0 / A[k] / A[k] : 1.0 / (1.0 + A[k] * A[k]))); })

/* atan2(a, b), h = hypot(a, b): b/h^2, -a/h^2, divided twice because h^2 may overflow */
BINARY_MAP(ATAN2, atan2,
           { MAP2(hypot, S, A, B);
             EACH T[k] = B[k] / S[k] / S[k];
             REPAIR(shrunk(B[k], S[k]), T[k] = over_square(B[k], A[k], B[k]))
             EACH GA[k] += LIVE(G[k] * T[k]); },
           { MAP2(hypot, S, A, B);
             EACH T[k] = A[k] / S[k] / S[k];
             REPAIR(shrunk(A[k], S[k]), T[k] = over_square(A[k], A[k], B[k]))
             EACH GB[k] -= LIVE(G[k] * T[k]); })

/* sqrt(a^2 + b^2): a/v, b/v */
BINARY_MAP(HYPOT, hypot,
           { EACH GA[k] += LIVE(G[k] * (A[k] / V[k])); },
           { EACH GB[k] += LIVE(G[k] * (B[k] / V[k])); })

/* ---- hyperbolic functions and erf ----------------------------------------------------------------------------- */

/* sinh(a): cosh(a) */
UNARY(SINH, { MAP(sinh, V, A); }, { MAP(cosh, T, A); EACH GA[k] += LIVE(G[k] * T[k]); })

/* cosh(a): sinh(a) */
UNARY(COSH, { MAP(cosh, V, A); }, { MAP(sinh, T, A); EACH GA[k] += LIVE(G[k] * T[k]); })

/* tanh(a), with e = exp(-2|a|): 4e/(1 + e)^2. Not 1 - v^2, which cancels where v is near 1. */
UNARY(TANH, { MAP(tanh, V, A); },
      { EACH T[k] = -2.0 * fabs(A[k]);
        MAP(exp, T, T);
        EACH GA[k] += LIVE(G[k] * (4.0 * T[k] / ((1.0 + T[k]) * (1.0 + T[k])))); })

/* erf(a): 2/sqrt(pi) exp(-a^2). exp would magnify the rounding of a^2 by a^2, so a^2 = S + T is kept in two parts and
 * exp(-S - T) = exp(-S)(1 - T). Beyond 30 the result is 0 and the parts may overflow. */
UNARY(ERF, { MAP(erf, V, A); },
      { EACH {
            double a = fabs(A[k]) > 30.0 ? 30.0 : A[k];
            S[k] = a * a;
            T[k] = square_error(a, S[k]);
            S[k] = -S[k];
        }
        MAP(exp, S, S);
        EACH GA[k] += LIVE(G[k] * (1.1283791670955126 * (S[k] - S[k] * T[k]))); })

/* ---- pieces --------------------------------------------------------------------------------------------------- */

/* |a|: sign(a), 0 at 0 */
UNARY(ABS, { EACH V[k] = fabs(A[k]); },
      { EACH GA[k] += A[k] > 0.0 ? G[k] : A[k] < 0.0 ? -G[k] : LIVE(A[k]); })

/* max(a, 0): 1 above 0, else 0; a nan stays a nan */
UNARY(RELU, { EACH V[k] = A[k] > 0.0 ? A[k] : A[k] <= 0.0 ? 0.0 : A[k]; },
      { EACH GA[k] += A[k] > 0.0 ? G[k] : A[k] <= 0.0 ? 0.0 : LIVE(A[k]); })

/* max(a, b): 1 for the larger, 1/2 each at a tie; a nan stays a nan */
BINARY(MAXIMUM, a > b || a != a ? a : b,
       a > b ? g : a < b ? 0.0 : a == b ? 0.5 * g : LIVE(NAN),
       b > a ? g : b < a ? 0.0 : a == b ? 0.5 * g : LIVE(NAN))

/* min(a, b): 1 for the smaller, 1/2 each at a tie; a nan stays a nan */
BINARY(MINIMUM, a < b || a != a ? a : b,
       a < b ? g : a > b ? 0.0 : a == b ? 0.5 * g : LIVE(NAN),
       b < a ? g : b > a ? 0.0 : a == b ? 0.5 * g : LIVE(NAN))

/* comparisons, 1.0 or 0.0: derivative 0. Used by where and by guards. */
COMPARISON(LT, a < b)
COMPARISON(LE, a <= b)
COMPARISON(EQ, a == b)
COMPARISON(NE, a != b)

/* where(c, a, b): to the chosen one. The condition c is always the value recorded just before. */
CHOICE(WHERE)
