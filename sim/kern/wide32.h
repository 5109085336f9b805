/* kern/wide32.h - functions of float that are computed in double without branches and rounded once,
 * so that neither cancellation nor a rounded argument shows in the result.
 *
 * Relative errors before the rounding are below 1e-9; NaN gives NaN, infinities what C's functions
 * give.  Series are Taylor's unless they say otherwise.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_WIDE32_H
#define KERN_WIDE32_H

#include "kern/math32.h"

KERN_BODY uint64_t kern_bits64(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

KERN_BODY double kern_float64(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

KERN_BODY double kern_select64(int condition, double yes, double no)
{
    uint64_t mask = 0u - (uint64_t)condition;

    return kern_float64((kern_bits64(yes) & mask) | (kern_bits64(no) & ~mask));
}

KERN_BODY double kern_abs64(double x)
{
    return kern_float64(kern_bits64(x) & 0x7fffffffffffffffu);
}

/* x with the sign of y */
KERN_BODY double kern_signed64(double x, double y)
{
    return kern_float64((kern_bits64(x) & 0x7fffffffffffffffu) |
                        (kern_bits64(y) & 0x8000000000000000u));
}

/* The nearest whole number, ties to even, as its own double and in the low bits of `shifted`; below
 * 2^51. */
struct kern_nearest64 {
    double shifted;
    double whole;
};

KERN_BODY struct kern_nearest64 kern_nearest64(double x)
{
    double shifted = x + 0x1.8p52;

    return (struct kern_nearest64){shifted, shifted - 0x1.8p52};
}

/* e^x = 2^n (1 + p) with |r| <= ln(2)/2 and p = e^r - 1, for |x| of at most 300: every float result
 * that is neither 0 nor infinite comes from |x| below 104. */
struct kern_power64 {
    double scale;
    double p;
};

KERN_BODY struct kern_power64 kern_power64(double x)
{
    double c = kern_select64(x > 300.0, 300.0, x), r, p = 1.0 / 3628800;
    struct kern_nearest64 n;

    c = kern_select64(c < -300.0, -300.0, c);
    n = kern_nearest64(c * 1.4426950408889634);
    r = c - n.whole * 0.69314718055994531;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * (r * r) + r;
    return (struct kern_power64){kern_float64((kern_bits64(n.shifted) + 1023) << 52), p};
}

KERN_BODY double kern_exp64(double x)
{
    struct kern_power64 e = kern_power64(x);

    return e.scale + e.scale * e.p;
}

KERN_BODY float kern_expm1_32(float x)
{
    struct kern_power64 e = kern_power64((double)x);

    return (float)(e.scale * e.p + (e.scale - 1.0));
}

/* ln(x), where `less` is x - 1 (which x may have lost): for positive normal x. */
KERN_BODY double kern_log_of64(double x, double less)
{
    /* Mantissa in [sqrt(1/2), sqrt(2)): counts the exponent from sqrt(1/2). */
    uint64_t above = kern_bits64(x) - 0x3fe6a09e667f3bcdu + ((uint64_t)1023 << 52);
    double e = kern_float64(0x4330000000000000u + (above >> 52)) - (0x1p52 + 1023);
    double f = kern_float64((above & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1.0;
    double s, z, p = 1.0 / 15;

    f = kern_select64(e == 0.0, less, f);
    s = f / (2.0 + f); /* ln(1+f) = 2 artanh(s), |s| < 0.172 */
    z = s * s;
    p = p * z + 1.0 / 13;
    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3;
    return e * 0.69314718055994531 + (2.0 * s + 2.0 * s * (z * p));
}

/* ln(x) of any x, whose `less` is x - 1. */
KERN_BODY double kern_log64(double x, double less)
{
    double y = kern_log_of64(x, less);

    y = kern_select64(x == 0.0, -__builtin_inf(), y);
    y = kern_select64(x < 0.0, __builtin_nan(""), y);
    return kern_select64((x == __builtin_inf()) | (x != x), x, y);
}

KERN_BODY float kern_log1p32(float x)
{
    return (float)kern_log64(1.0 + (double)x, (double)x);
}

/* x^y as e^(y ln|x|), with C's exceptions. */
KERN_BODY float kern_pow32(float x, float y)
{
    double a = kern_abs64((double)x), power = (double)y, half = 0.5 * power, z;
    int even, whole, large = kern_abs64(power) >= 0x1p51; /* From 2^51 on every y is even. */

    whole = (kern_nearest64(power).whole == power) | large;
    even = (kern_nearest64(half).whole == half) | large;
    z = kern_exp64(power * kern_log64(a, a - 1.0));
    z = kern_select64((power == 0.0) | ((a == 1.0) & (whole | (x > 0.0f))), 1.0, z);
    z = kern_select64((x < 0.0f) & !whole & (a != __builtin_inf()), __builtin_nan(""), z);
    return (float)kern_select64(whole & !even, kern_signed64(z, (double)x), z);
}

KERN_BODY float kern_exp2_32(float x)
{
    return (float)kern_exp64((double)x * 0.69314718055994531);
}

/* Sine and cosine of what is left of x, for |x| of at most KERN_TURN_MAX, after quarters of a turn,
 * whose number is in the low bits of `quarters`: pi/2 is subtracted in two parts, the first of 33
 * bits. */
#define KERN_TURN_MAX 1e6f
struct kern_turn64 {
    uint64_t quarters;
    double sine;
    double cosine;
};

KERN_BODY struct kern_turn64 kern_turn32(float x)
{
    struct kern_nearest64 n = kern_nearest64((double)x * 0.63661977236758134);
    double r = (double)x - n.whole * 0x1.921fb544p0 - n.whole * 6.0771005065061922e-11;
    double z = r * r, s = -1.0 / 39916800, c = -1.0 / 3628800;

    s = s * z + 1.0 / 362880;
    s = s * z - 1.0 / 5040;
    s = s * z + 1.0 / 120;
    s = s * z - 1.0 / 6;
    s = s * z * r + r;
    c = c * z + 1.0 / 40320;
    c = c * z - 1.0 / 720;
    c = c * z + 1.0 / 24;
    c = c * z - 0.5;
    c = c * z + 1.0;
    return (struct kern_turn64){kern_bits64(n.shifted), s, c};
}

/* The sine of x + quarters * pi/2. */
KERN_BODY float kern_sine32(float x, uint64_t quarters)
{
    struct kern_turn64 t = kern_turn32(x);
    double y;

    quarters += t.quarters;
    y = kern_select64((quarters & 1) != 0, t.cosine, t.sine);
    return (float)kern_float64(kern_bits64(y) ^ (quarters & 2) << 62);
}

KERN_BODY float kern_tan32(float x)
{
    struct kern_turn64 t = kern_turn32(x);
    int odd = (t.quarters & 1) != 0;

    return (float)(kern_select64(odd, -t.cosine, t.sine) / kern_select64(odd, t.sine, t.cosine));
}

/* The angle of (x, y).  In the first eighth of the circle it is atan(z) of z up to 1, of which
 * what exceeds tan(pi/8) is turned back by pi/4; atan is z times a polynomial in z^2, interpolated:
 * relative error 3e-14. */
KERN_BODY float kern_atan2_32(float y, float x)
{
    double a = kern_abs64((double)y), b = kern_abs64((double)x), z, z2, p, angle;
    double low = kern_select64(a < b, a, b), high = kern_select64(a < b, b, a);
    int far;

    z = kern_select64(low == high, kern_select64(low == 0.0, 0.0, 1.0), low / high);
    far = z > 0.41421356237309505;
    z = kern_select64(far, (z - 1.0) / (z + 1.0), z);
    z2 = z * z;
    p = 3.066182892192732e-2;
    p = p * z2 - 5.874452965828108e-2;
    p = p * z2 + 7.563686006753942e-2;
    p = p * z2 - 9.078389128419334e-2;
    p = p * z2 + 1.1110384779058013e-1;
    p = p * z2 - 1.4285690410881105e-1;
    p = p * z2 + 1.9999999604578206e-1;
    p = p * z2 - 3.333333333080015e-1;
    p = p * z2 + 0.9999999999999736;
    angle = z * p + kern_select64(far, 0.78539816339744831, 0.0);
    angle = kern_select64(a > b, 1.5707963267948966 - angle, angle);
    angle = kern_select64((kern_bits32(x) >> 31) != 0, 3.1415926535897932 - angle, angle);
    return (float)kern_signed64(angle, (double)y);
}

/* erf(x) up to 1 on either side is x times a polynomial in x^2, interpolated: relative error 1e-12.
 * Beyond, erfc(|x|) is exp(-x^2) t times a polynomial in t = 1/(1+0.4|x|), interpolated up to 10.5,
 * where float is 0: relative error 4e-10. */
struct kern_erfs64 {
    double near; /* erf(x) */
    double tail; /* erfc(|x|) */
};

KERN_BODY struct kern_erfs64 kern_erfs64(float x)
{
    double a = kern_abs64((double)x), c = kern_select64(a > 10.5, 10.5, a), z = c * c;
    double t = 1.0 / (1.0 + 0.4 * c), p = 2.3268514281146783e-2, q = 1.0589403727235517e-6;

    p = p * t - 1.6913380582665863e-1;
    p = p * t + 5.112481707246512e-1;
    p = p * t - 8.059518180775318e-1;
    p = p * t + 7.023975237668352e-1;
    p = p * t - 4.242709137063979e-1;
    p = p * t + 2.573279636369922e-1;
    p = p * t + 6.42025734653296e-2;
    p = p * t + 1.83429561125043e-1;
    p = p * t + 2.0600639625973477e-1;
    p = p * t + 2.2580456378540656e-1;
    p = p * t + 2.2567127058999797e-1;
    q = q * z - 1.3909348806534041e-5;
    q = q * z + 1.1956563926227416e-4;
    q = q * z - 8.542638106531471e-4;
    q = q * z + 5.223783482096831e-3;
    q = q * z - 2.6866133236306742e-2;
    q = q * z + 1.1283791308619866e-1;
    q = q * z - 3.7612638889636135e-1;
    q = q * z + 1.128379167094677;
    return (struct kern_erfs64){(double)x * q, kern_exp64(-z) * (p * t)};
}

KERN_BODY float kern_erf32(float x)
{
    struct kern_erfs64 e = kern_erfs64(x);

    return (float)kern_select64(kern_abs32(x) < 1.0f, e.near,
                                kern_signed64(1.0 - e.tail, (double)x));
}

KERN_BODY float kern_erfc32(float x)
{
    struct kern_erfs64 e = kern_erfs64(x);
    double far = kern_select64(x < 0.0f, 2.0 - e.tail, e.tail);

    return (float)kern_select64(kern_abs32(x) < 1.0f, 1.0 - e.near, far);
}

#endif /* KERN_WIDE32_H */
