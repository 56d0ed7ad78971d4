/* Made from the rules in src/tapegrad/rules by setup.py; do not edit. */

/* σ(1 - σ) is not used: it cancels where σ is near 1. Its own derivative -v·tanh(x/2) does not cancel near 0. */
UNARY(SIGMOID_SLOPE,
    { EACH S[k] = -fabs(A[k]); MAP(exp, S, S); EACH V[k] = S[k] / ((1.0 + S[k]) * (1.0 + S[k])); },
    { EACH S[k] = 0.5 * A[k]; MAP(tanh, S, S); EACH GA[k] -= LIVE(G[k] * (V[k] * S[k])); })

/* √(1 - x²), factored because 1 - x² cancels near 1. */
UNARY(UNIT_ROOT, { EACH V[k] = sqrt((1.0 - A[k]) * (1.0 + A[k])); }, { EACH GA[k] -= LIVE(G[k] * (A[k] / V[k])); })

/* Above 1e8, 1/(1 + x²) is 1/x² to the last bit, and x² may overflow. */
UNARY(ATAN_SLOPE,
    { EACH V[k] = fabs(A[k]) > 100000000.0 ? 1.0 / A[k] / A[k] : 1.0 / (1.0 + A[k] * A[k]); },
    { EACH GA[k] += LIVE(G[k] * (-2.0 * (A[k] * V[k] * V[k]))); })

/* Not 1 - tanh² x, which cancels where tanh x is near 1. */
UNARY(TANH_SLOPE,
    { EACH S[k] = -2.0 * fabs(A[k]); MAP(exp, S, S); EACH V[k] = 4.0 * S[k] / ((1.0 + S[k]) * (1.0 + S[k])); },
    { MAP(tanh, S, A); EACH GA[k] += LIVE(G[k] * (-2.0 * V[k] * S[k])); })

/* exp would magnify the rounding of x² by x², so x² = s + t is kept in two parts: e^(-s-t) = e^-s (1 - t).
 * Beyond 30 the result is 0 and the parts may overflow. */
UNARY(ERF_SLOPE,
    { EACH S[k] = -((fabs(A[k]) > 30.0 ? 30.0 : A[k]) * (fabs(A[k]) > 30.0 ? 30.0 : A[k])); MAP(exp, S, S); EACH V[k] = 1.1283791670955126 * (S[k] - S[k] * square_error(fabs(A[k]) > 30.0 ? 30.0 : A[k], (fabs(A[k]) > 30.0 ? 30.0 : A[k]) * (fabs(A[k]) > 30.0 ? 30.0 : A[k]))); },
    { EACH GA[k] += LIVE(G[k] * (-2.0 * (A[k] * V[k]))); })

/* What abs hands on of b: b, -b, or 0 at 0. */
BINARY(ABS_SHARE, a > 0.0 ? b : a < 0.0 ? -b : b != 0.0 ? a : 0.0, 0.0, a > 0.0 ? g : a < 0.0 ? -g : LIVE(a))

/* What relu hands on of b: b above 0, else 0. */
BINARY(RELU_SHARE, a > 0.0 ? b : a <= 0.0 ? 0.0 : b != 0.0 ? a : 0.0, 0.0, a > 0.0 ? g : a <= 0.0 ? 0.0 : LIVE(a))

/* b·a^(b-1), where c is a^b: from c where that neither overflows nor underflows. Not b*a^(b-1): the rounding
 * of b-1 would be magnified by log(a). c counts as known: all of the derivative is a's and b's. */
TERNARY(POWER_SLOPE,
    { EACH S[k] = C[k] / A[k] * B[k]; REPAIR(!(ordinary(C[k]) && ordinary(C[k] / A[k]) && ordinary(S[k])), S[k] = power_da(A[k], B[k], C[k])) EACH V[k] = S[k]; },
    { EACH S[k] = C[k] / A[k]; REPAIR(!(ordinary(C[k]) && ordinary(S[k])), S[k] = power_less(A[k], B[k])) EACH T[k] = S[k] / A[k] * (B[k] - 1.0); REPAIR(!(ordinary(S[k]) && ordinary(S[k] / A[k]) && ordinary(T[k])), T[k] = power_da(A[k], B[k] - 1.0, S[k])) EACH GA[k] += LIVE(G[k] * (B[k] != 0.0 ? B[k] * T[k] : 0.0)); },
    { EACH S[k] = C[k] / A[k]; REPAIR(!(ordinary(C[k]) && ordinary(S[k])), S[k] = power_less(A[k], B[k])) MAP(log, T, A); EACH U[k] = T[k] * S[k]; REPAIR(!(A[k] > 0.0 && S[k] > 0.0), U[k] = power_db(A[k], S[k])) EACH GB[k] += LIVE(G[k] * (S[k] + B[k] * U[k])); },
    {  })

/* a^(b-1), where c is a^b. */
TERNARY(POWER_BEFORE,
    { EACH S[k] = C[k] / A[k]; REPAIR(!(ordinary(C[k]) && ordinary(S[k])), S[k] = power_less(A[k], B[k])) EACH V[k] = S[k]; },
    { EACH S[k] = V[k] / A[k] * (B[k] - 1.0); REPAIR(!(ordinary(V[k]) && ordinary(V[k] / A[k]) && ordinary(S[k])), S[k] = power_da(A[k], B[k] - 1.0, V[k])) EACH GA[k] += LIVE(G[k] * S[k]); },
    { MAP(log, S, A); EACH T[k] = S[k] * V[k]; REPAIR(!(A[k] > 0.0 && V[k] > 0.0), T[k] = power_db(A[k], V[k])) EACH GB[k] += LIVE(G[k] * T[k]); },
    {  })

/* a^b·log(a), where c is a^b. */
TERNARY(POWER_LOG,
    { MAP(log, S, A); EACH T[k] = S[k] * C[k]; REPAIR(!(A[k] > 0.0 && C[k] > 0.0), T[k] = power_db(A[k], C[k])) EACH V[k] = T[k]; },
    { EACH S[k] = C[k] / A[k]; REPAIR(!(ordinary(C[k]) && ordinary(S[k])), S[k] = power_less(A[k], B[k])) MAP(log, T, A); EACH U[k] = T[k] * S[k]; REPAIR(!(A[k] > 0.0 && S[k] > 0.0), U[k] = power_db(A[k], S[k])) EACH GA[k] += LIVE(G[k] * (S[k] + B[k] * U[k])); },
    { MAP(log, S, A); EACH GB[k] += LIVE(G[k] * (V[k] * S[k])); },
    {  })

/* a/(a² + b²): divided twice by hypot(a, b), because its square may overflow.
 * Its derivative by a is (b² - a²)/(a² + b²)², factored because the difference of squares cancels. */
BINARY_BLOCK(OVER_SQUARE,
    { MAP2(hypot, S, A, B); EACH T[k] = A[k] / S[k] / S[k]; REPAIR(shrunk(A[k], S[k]), T[k] = over_square_scaled(A[k], B[k])) EACH V[k] = T[k]; },
    { MAP2(hypot, S, A, B); EACH GA[k] += LIVE(G[k] * ((B[k] - A[k]) / S[k] * ((B[k] + A[k]) / S[k]) / S[k] / S[k])); },
    { MAP2(hypot, S, A, B); EACH T[k] = A[k] / S[k] / S[k]; REPAIR(shrunk(A[k], S[k]), T[k] = over_square_scaled(A[k], B[k])) MAP2(hypot, U, B, A); EACH Z[k] = B[k] / U[k] / U[k]; REPAIR(shrunk(B[k], U[k]), Z[k] = over_square_scaled(B[k], A[k])) EACH GB[k] -= LIVE(G[k] * (2.0 * T[k] * Z[k])); })

/* a/hypot(a, b), where c is that length. Its derivative is not (1 - (a/c)²)/c, which cancels where b is small. */
TERNARY(DIRECTION,
    { EACH V[k] = A[k] / C[k]; },
    { EACH GA[k] += LIVE(G[k] * (B[k] / C[k] * (B[k] / C[k] / C[k]))); },
    { EACH GB[k] -= LIVE(G[k] * (A[k] / C[k] * (B[k] / C[k] / C[k]))); },
    {  })

/* What the larger of a and b hands on of c to a. */
TERNARY(LARGER_SHARE,
    { EACH V[k] = A[k] > B[k] ? C[k] : A[k] < B[k] ? 0.0 : A[k] == B[k] ? 0.5 * C[k] : C[k] != 0.0 ? NAN : 0.0; },
    {  },
    {  },
    { EACH GC[k] += A[k] > B[k] ? G[k] : A[k] < B[k] ? 0.0 : A[k] == B[k] ? 0.5 * G[k] : LIVE(NAN); })

/* where in derivatives: the condition may be any value. On a tape it is the value recorded just before. */
TERNARY(SELECT,
    { EACH V[k] = C[k] != 0.0 ? A[k] : B[k]; },
    { EACH GA[k] += C[k] != 0.0 ? G[k] : 0.0; },
    { EACH GB[k] += C[k] != 0.0 ? 0.0 : G[k]; },
    {  })

/* a * b, and 0 where a is 0, even if b is not finite. */
BINARY(LIVE_MUL, a != 0.0 ? a * b : 0.0, LIVE(g * b), g != 0.0 && a != 0.0 ? g * a : 0.0)

/* a / b, and 0 where a is 0, even if b is 0 too. */
BINARY(LIVE_DIV,
    a != 0.0 ? a / b : 0.0,
    LIVE(g / b),
    -(g != 0.0 && (v != 0.0 ? v / b : 0.0) != 0.0 ? g * (v != 0.0 ? v / b : 0.0) : 0.0))

/* a * b, and 0 where a or b is 0. */
BINARY(BOTH, a != 0.0 && b != 0.0 ? a * b : 0.0, g != 0.0 && b != 0.0 ? g * b : 0.0, g != 0.0 && a != 0.0 ? g * a : 0.0)

/* c + a * b, rounded twice as the two of them would be. */
TERNARY(MUL_ADD,
    { EACH V[k] = C[k] + A[k] * B[k]; },
    { EACH GA[k] += LIVE(G[k] * B[k]); },
    { EACH GB[k] += LIVE(G[k] * A[k]); },
    { EACH GC[k] += G[k]; })

/* c - a * b, likewise. */
TERNARY(MUL_SUB,
    { EACH V[k] = C[k] - A[k] * B[k]; },
    { EACH GA[k] += LIVE(-G[k] * B[k]); },
    { EACH GB[k] += LIVE(-G[k] * A[k]); },
    { EACH GC[k] += G[k]; })

/* c + live_mul(a, b). */
TERNARY(LIVE_ADD,
    { EACH V[k] = C[k] + (A[k] != 0.0 ? A[k] * B[k] : 0.0); },
    { EACH GA[k] += LIVE(G[k] * B[k]); },
    { EACH GB[k] += G[k] != 0.0 && A[k] != 0.0 ? G[k] * A[k] : 0.0; },
    { EACH GC[k] += G[k]; })

/* c - live_mul(a, b). */
TERNARY(LIVE_SUB,
    { EACH V[k] = C[k] - (A[k] != 0.0 ? A[k] * B[k] : 0.0); },
    { EACH GA[k] += LIVE(-G[k] * B[k]); },
    { EACH GB[k] -= G[k] != 0.0 && A[k] != 0.0 ? G[k] * A[k] : 0.0; },
    { EACH GC[k] += G[k]; })

/* c + both(a, b). */
TERNARY(BOTH_ADD,
    { EACH V[k] = C[k] + (A[k] != 0.0 && B[k] != 0.0 ? A[k] * B[k] : 0.0); },
    { EACH GA[k] += G[k] != 0.0 && B[k] != 0.0 ? G[k] * B[k] : 0.0; },
    { EACH GB[k] += G[k] != 0.0 && A[k] != 0.0 ? G[k] * A[k] : 0.0; },
    { EACH GC[k] += G[k]; })

/* c - both(a, b). */
TERNARY(BOTH_SUB,
    { EACH V[k] = C[k] - (A[k] != 0.0 && B[k] != 0.0 ? A[k] * B[k] : 0.0); },
    { EACH GA[k] -= G[k] != 0.0 && B[k] != 0.0 ? G[k] * B[k] : 0.0; },
    { EACH GB[k] -= G[k] != 0.0 && A[k] != 0.0 ? G[k] * A[k] : 0.0; },
    { EACH GC[k] += G[k]; })
