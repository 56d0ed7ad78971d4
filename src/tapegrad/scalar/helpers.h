/* Made from the rules in src/tapegrad/rules by setup.py; do not edit. */

/* Neither 0 nor subnormal nor infinite nor a nan. */
INLINE int ordinary(double a)
{
    const double t0 = fabs(a);
    return ((t0 >= 2.2250738585072014e-308) & (t0 <= 1.7976931348623157e+308));
}

/* a*a - b without rounding, for b = a*a rounded: Veltkamp's split and Dekker's product. */
INLINE double square_error(double a, double b)
{
    const double t0 = 134217729.0 * a;
    const double t1 = t0 - a;
    const double t2 = t0 - t1;
    const double t3 = a - t2;
    return t2 * t2 - b + 2.0 * t2 * t3 + t3 * t3;
}

/* d(a^b)/da where v/a*b overflows, underflows or is not a number. Last of all b*a^(b-1): Knuth's two-sum keeps
 * what the rounding of b - 1 lost, and a to that power is put back to first order. */
RARE static double power_da(double a, double b, double v)
{
    const double t0 = fabs(v);
    const double t1 = v * b;
    const double t2 = fabs(t1);
    const double t3 = t1 / a;
    const double t4 = fabs(t3);
    const double t5 = b / a;
    const double t6 = fabs(t5);
    const double t7 = t5 * v;
    const double t8 = fabs(t7);
    const double t9 = b - 1.0;
    const double t10 = t9 - b;
    const double t11 = t9 - t10;
    const double t12 = b - t11;
    const double t13 = -1.0 - t10;
    const double t14 = t12 + t13;
    const double t15 = pow(a, t9);
    const double t16 = b * t15;
    const double t17 = fabs(t16);
    return b == 0.0 ? 0.0 : t0 >= 2.2250738585072014e-308 && t0 <= 1.7976931348623157e+308 && (t2 >= 2.2250738585072014e-308 && t2 <= 1.7976931348623157e+308) && (t4 >= 2.2250738585072014e-308 && t4 <= 1.7976931348623157e+308) ? t3 : t0 >= 2.2250738585072014e-308 && t0 <= 1.7976931348623157e+308 && (t6 >= 2.2250738585072014e-308 && t6 <= 1.7976931348623157e+308) && (t8 >= 2.2250738585072014e-308 && t8 <= 1.7976931348623157e+308) ? t7 : t14 != 0.0 && a > 0.0 && (t17 >= 2.2250738585072014e-308 && t17 <= 1.7976931348623157e+308) ? t16 + t16 * (t14 * log(a)) : t16;
}

/* a^(b-1) where v/a does not give it; see power_da. */
RARE static double power_less(double a, double b)
{
    const double t0 = b - 1.0;
    const double t1 = t0 - b;
    const double t2 = t0 - t1;
    const double t3 = b - t2;
    const double t4 = -1.0 - t1;
    const double t5 = t3 + t4;
    const double t6 = pow(a, t0);
    const double t7 = fabs(t6);
    return t5 != 0.0 && a > 0.0 && (t7 >= 2.2250738585072014e-308 && t7 <= 1.7976931348623157e+308) ? t6 + t6 * (t5 * log(a)) : t6;
}

/* d(a^b)/db where v*log(a) is not the answer: 0^b is flat for b > 0, a negative base has no derivative. */
RARE static double power_db(double a, double v)
{
    return a >= 0.0 && v == 0.0 ? 0.0 : v * log(a);
}

/* Whether a / b / b, for the length b of a vector with the coordinate a, loses bits to underflow on the way. */
INLINE int shrunk(double a, double b)
{
    return ((((a != 0.0) & (b > 0.0)) & (b <= 1.7976931348623157e+308)) & ((b < 2.2250738585072014e-308) | (fabs(a / b) < 2.2250738585072014e-308)));
}

/* a / (a*a + b*b) for those: a and b are scaled by a power of two, which is exact, and so is the way back. */
RARE static double over_square_scaled(double a, double b)
{
    const double t0 = exponent(a);
    const double t1 = fabs(a);
    const double t2 = fabs(b);
    const double t3 = t1 < t2 ? t2 : t1;
    const double t4 = exponent(t3);
    const double t5 = -t4;
    const double t6 = scaled(a, t5);
    const double t7 = scaled(b, t5);
    const double t8 = hypot(t6, t7);
    return scaled(scaled(a, -t0) / t8 / t8, t0 - 2.0 * t4);
}
