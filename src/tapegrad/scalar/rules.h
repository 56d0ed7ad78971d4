/* Made from the rules in src/tapegrad/rules by setup.py; do not edit. */

/* -x: -1 */
UNARY(NEG, { EACH V[k] = -A[k]; }, { EACH GA[k] -= G[k]; })

/* e^x: e^x */
UNARY(EXP, { MAP(exp, V, A); }, { EACH GA[k] += LIVE(G[k] * V[k]); })

/* e^x - 1: e^x. Not v + 1, which cancels where v is near -1. */
UNARY(EXPM1, { MAP(expm1, V, A); }, { MAP(exp, S, A); EACH GA[k] += LIVE(G[k] * S[k]); })

/* ln x: 1/x */
UNARY(LOG, { MAP(log, V, A); }, { EACH GA[k] += LIVE(G[k] / A[k]); })

/* ln(1 + x): 1/(1 + x) */
UNARY(LOG1P, { MAP(log1p, V, A); }, { EACH GA[k] += LIVE(G[k] / (1.0 + A[k])); })

/* √x: 1/(2√x) */
UNARY(SQRT, { EACH V[k] = sqrt(A[k]); }, { EACH GA[k] += LIVE(0.5 * G[k] / V[k]); })

/* 1/(1 + e^-x): σ(1 - σ) */
UNARY(SIGMOID,
    { EACH S[k] = -fabs(A[k]); MAP(exp, S, S); EACH V[k] = (A[k] >= 0.0 ? 1.0 : S[k]) / (1.0 + S[k]); },
    { EACH S[k] = -fabs(A[k]); MAP(exp, S, S); EACH GA[k] += LIVE(G[k] * (S[k] / ((1.0 + S[k]) * (1.0 + S[k])))); })

/* ln(1 + e^x): 1/(1 + e^-x) */
UNARY(SOFTPLUS,
    { EACH S[k] = -fabs(A[k]); MAP(exp, S, S); MAP(log1p, T, S); EACH V[k] = (A[k] > 0.0 ? A[k] : 0.0) + T[k]; },
    { EACH S[k] = -fabs(A[k]); MAP(exp, S, S); EACH GA[k] += LIVE(G[k] * ((A[k] >= 0.0 ? 1.0 : S[k]) / (1.0 + S[k]))); })

/* sin x: cos x */
UNARY(SIN, { MAP(sin, V, A); }, { MAP(cos, S, A); EACH GA[k] += LIVE(G[k] * S[k]); })

/* cos x: -sin x */
UNARY(COS, { MAP(cos, V, A); }, { MAP(sin, S, A); EACH GA[k] -= LIVE(G[k] * S[k]); })

/* tan x: 1 + tan² x */
UNARY(TAN, { MAP(tan, V, A); }, { EACH GA[k] += LIVE(G[k] * (1.0 + V[k] * V[k])); })

/* asin x: 1/√(1 - x²) */
UNARY(ASIN, { MAP(asin, V, A); }, { EACH GA[k] += LIVE(G[k] / sqrt((1.0 - A[k]) * (1.0 + A[k]))); })

/* acos x: -1/√(1 - x²) */
UNARY(ACOS, { MAP(acos, V, A); }, { EACH GA[k] -= LIVE(G[k] / sqrt((1.0 - A[k]) * (1.0 + A[k]))); })

/* atan x: 1/(1 + x²) */
UNARY(ATAN,
    { MAP(atan, V, A); },
    { EACH GA[k] += LIVE(G[k] * (fabs(A[k]) > 100000000.0 ? 1.0 / A[k] / A[k] : 1.0 / (1.0 + A[k] * A[k]))); })

/* sinh x: cosh x */
UNARY(SINH, { MAP(sinh, V, A); }, { MAP(cosh, S, A); EACH GA[k] += LIVE(G[k] * S[k]); })

/* cosh x: sinh x */
UNARY(COSH, { MAP(cosh, V, A); }, { MAP(sinh, S, A); EACH GA[k] += LIVE(G[k] * S[k]); })

/* tanh x: 1/cosh² x */
UNARY(TANH,
    { MAP(tanh, V, A); },
    { EACH S[k] = -2.0 * fabs(A[k]); MAP(exp, S, S); EACH GA[k] += LIVE(G[k] * (4.0 * S[k] / ((1.0 + S[k]) * (1.0 + S[k])))); })

/* erf x: 2/√π · e^(-x²) */
UNARY(ERF,
    { MAP(erf, V, A); },
    { EACH S[k] = -((fabs(A[k]) > 30.0 ? 30.0 : A[k]) * (fabs(A[k]) > 30.0 ? 30.0 : A[k])); MAP(exp, S, S); EACH GA[k] += LIVE(G[k] * (1.1283791670955126 * (S[k] - S[k] * square_error(fabs(A[k]) > 30.0 ? 30.0 : A[k], (fabs(A[k]) > 30.0 ? 30.0 : A[k]) * (fabs(A[k]) > 30.0 ? 30.0 : A[k]))))); })

/* abs x: sign x */
UNARY(ABS, { EACH V[k] = fabs(A[k]); }, { EACH GA[k] += A[k] > 0.0 ? G[k] : A[k] < 0.0 ? -G[k] : LIVE(A[k]); })

/* max(x, 0): 1 if x > 0 else 0. A nan stays a nan. */
UNARY(RELU,
    { EACH V[k] = A[k] > 0.0 ? A[k] : A[k] <= 0.0 ? 0.0 : A[k]; },
    { EACH GA[k] += A[k] > 0.0 ? G[k] : A[k] <= 0.0 ? 0.0 : LIVE(A[k]); })

/* x + y: 1, 1 */
BINARY(ADD, a + b, g, g)

/* x - y: 1, -1 */
BINARY(SUB, a - b, g, -g)

/* x · y: y, x */
BINARY(MUL, a * b, LIVE(g * b), LIVE(g * a))

/* x / y: 1/y, -x/y². Not (g/b)*v: 1/b may overflow where v/b does not. */
BINARY(DIV, a / b, LIVE(g / b), LIVE(-g * (v / b)))

/* x^y: y·x^(y-1), x^y·ln x. An exponent of 2 is recorded as x * x. */
BINARY_BLOCK(POW,
    { MAP2(pow, V, A, B); },
    { EACH S[k] = V[k] / A[k] * B[k]; REPAIR(!(ordinary(V[k]) && ordinary(V[k] / A[k]) && ordinary(S[k])), S[k] = power_da(A[k], B[k], V[k])) EACH GA[k] += LIVE(G[k] * S[k]); },
    { MAP(log, S, A); EACH T[k] = S[k] * V[k]; REPAIR(!(A[k] > 0.0 && V[k] > 0.0), T[k] = power_db(A[k], V[k])) EACH GB[k] += LIVE(G[k] * T[k]); })

/* angle of (y, x): atan2(x, y): y/(x² + y²), -x/(x² + y²) */
BINARY_BLOCK(ATAN2,
    { MAP2(atan2, V, A, B); },
    { MAP2(hypot, S, B, A); EACH T[k] = B[k] / S[k] / S[k]; REPAIR(shrunk(B[k], S[k]), T[k] = over_square_scaled(B[k], A[k])) EACH GA[k] += LIVE(G[k] * T[k]); },
    { MAP2(hypot, S, A, B); EACH T[k] = A[k] / S[k] / S[k]; REPAIR(shrunk(A[k], S[k]), T[k] = over_square_scaled(A[k], B[k])) EACH GB[k] -= LIVE(G[k] * T[k]); })

/* √(x² + y²): x/v, y/v */
BINARY_BLOCK(HYPOT,
    { MAP2(hypot, V, A, B); },
    { EACH GA[k] += LIVE(G[k] * (A[k] / V[k])); },
    { EACH GB[k] += LIVE(G[k] * (B[k] / V[k])); })

/* max(x, y): 1 for the larger, ½ each at a tie. A nan stays a nan. */
BINARY(MAXIMUM,
    a > b || a != a ? a : b,
    a > b ? g : a < b ? 0.0 : a == b ? 0.5 * g : LIVE(NAN),
    b > a ? g : b < a ? 0.0 : b == a ? 0.5 * g : LIVE(NAN))

/* min(x, y): 1 for the smaller, ½ each at a tie. A nan stays a nan. */
BINARY(MINIMUM,
    a < b || a != a ? a : b,
    b > a ? g : b < a ? 0.0 : b == a ? 0.5 * g : LIVE(NAN),
    a > b ? g : a < b ? 0.0 : a == b ? 0.5 * g : LIVE(NAN))

/* a < b */
COMPARISON(LT, a < b)

/* a <= b */
COMPARISON(LE, a <= b)

/* a == b */
COMPARISON(EQ, a == b)

/* a != b */
COMPARISON(NE, a != b)

/* where(c, a, b): to the chosen one. The condition c is always the value recorded just before. */
CHOICE(WHERE)
