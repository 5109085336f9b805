/* kern/math32.h - elementary functions of float without branches, so that loops vectorize.
 *
 * Relative errors are below 4e-7 (tests sweep them); NaN gives NaN, infinities what C's functions
 * give.  Polynomials interpolate at the Chebyshev nodes of their interval.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_MATH32_H
#define KERN_MATH32_H

#include <stdint.h>
#include <string.h>

#include "kern/isa.h"

KERN_BODY uint32_t kern_bits32(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

KERN_BODY float kern_float32(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* condition ? yes : no, by masks: gcc does not vectorize the operator, as comparisons may trap. */
KERN_BODY float kern_select32(int condition, float yes, float no)
{
    uint32_t mask = 0u - (uint32_t)condition;

    return kern_float32((kern_bits32(yes) & mask) | (kern_bits32(no) & ~mask));
}

KERN_BODY float kern_abs32(float x)
{
    return kern_float32(kern_bits32(x) & 0x7fffffffu);
}

/* The nearest whole number, ties to even; from 2^23 on every float is one. */
KERN_BODY float kern_round32(float x)
{
    float a = kern_abs32(x), whole = (a + 0x1p23f) - 0x1p23f;

    whole = kern_float32(kern_bits32(whole) | (kern_bits32(x) & 0x80000000u));
    return kern_select32(a < 0x1p23f, whole, x);
}

KERN_BODY float kern_floor32(float x)
{
    float near = kern_round32(x);

    return kern_select32(near > x, near - 1.0f, near);
}

/* e^x = 2^n e^r with |r| <= ln(2)/2; 2^n in two factors, for results near the ends of the range. */
KERN_BODY float kern_exp32(float x)
{
    const float shifter = 0x1.8p23f; /* adding it rounds to an integer, in the low bits */
    float t, n, r, p;
    uint32_t whole, half;

    x = kern_select32(x > 89.0f, 89.0f, x); /* both comparisons are false for NaN */
    x = kern_select32(x < -104.0f, -104.0f, x);
    t = x * 1.44269504f + shifter;
    n = t - shifter;
    r = x - n * 0.693359375f;    /* ln 2, the first 10 bits: exact */
    r = r - n * -2.12194440e-4f; /* the remaining bits */
    p = 1.98909810e-4f;
    p = p * r + 1.39336410e-3f;
    p = p * r + 8.33331093e-3f;
    p = p * r + 4.16664650e-2f;
    p = p * r + 1.66666667e-1f;
    p = p * r + 5.00000001e-1f;
    p = p * (r * r) + r + 1.0f;
    whole = kern_bits32(t) - 0x4b400000u + 512u; /* bias: shifted below as an unsigned number */
    half = whole >> 1;
    p *= kern_float32((half - 256u + 127u) << 23);
    return p * kern_float32((whole - half - 256u + 127u) << 23);
}

KERN_BODY float kern_log32(float x)
{
    float scaled = kern_select32(x < 0x1p-126f, x * 0x1p23f, x); /* subnormals */
    float bias = kern_select32(x < 0x1p-126f, 23.0f, 0.0f);
    uint32_t bits = kern_bits32(scaled);
    /* Mantissa in [sqrt(1/2), sqrt(2)): counts the exponent from sqrt(1/2). */
    uint32_t above = bits - 0x3f3504f3u;
    float e = (float)((int32_t)(above + (128u << 23)) >> 23) - 128.0f - bias;
    float f = kern_float32((above & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    float p = -7.90281578e-2f;
    float y;

    p = p * f + 1.26224183e-1f;
    p = p * f - 1.29982032e-1f;
    p = p * f + 1.42144862e-1f;
    p = p * f - 1.66412792e-1f;
    p = p * f + 2.00010453e-1f;
    p = p * f - 2.50003063e-1f;
    p = p * f + 3.33333307e-1f;
    p = p * f * (f * f) + e * -2.12194440e-4f;
    y = e * 0.693359375f + (f + (p - 0.5f * (f * f)));
    y = kern_select32(x == 0.0f, -__builtin_inff(), y);
    y = kern_select32(x < 0.0f, __builtin_nanf(""), y);
    y = kern_select32(x == __builtin_inff(), x, y);
    return kern_select32(x != x, x, y);
}

/* 1/(1+e^-|x|) and e^-|x|/(1+e^-|x|): the sigmoid at |x| and at -|x|, neither by cancellation. */
struct kern_sigmoids32 {
    float above;
    float below;
};

KERN_BODY struct kern_sigmoids32 kern_sigmoids32(float x)
{
    float e = kern_exp32(-kern_abs32(x));
    float inverse = 1.0f / (1.0f + e);

    return (struct kern_sigmoids32){inverse, e * inverse};
}

KERN_BODY float kern_sigmoid32(float x)
{
    struct kern_sigmoids32 s = kern_sigmoids32(x);

    return kern_select32(x < 0.0f, s.below, s.above);
}

KERN_BODY float kern_tanh32(float x)
{
    float a = kern_abs32(x);
    float z = x * x;
    float large = 1.0f - 2.0f / (kern_exp32(2.0f * a) + 1.0f);
    float p = -6.09671417e-3f;

    p = p * z + 2.09971790e-2f;
    p = p * z - 5.38509096e-2f;
    p = p * z + 1.33327698e-1f;
    p = p * z - 3.33333289e-1f;
    p = p * z * x + x;
    large = kern_float32(kern_bits32(large) | (kern_bits32(x) & 0x80000000u));
    return kern_select32(a < 0.625f, p, large);
}

/* 2 sqrt(2/pi) (x + 0.044715 x^3): 0.5(1+tanh(u)) is sigmoid(2u), which does not cancel. */
KERN_BODY float kern_gelu_twice_u32(float x)
{
    return x * (1.59576912f + 0.0713548163f * (x * x));
}

KERN_BODY float kern_gelu32(float x)
{
    return x * kern_sigmoid32(kern_gelu_twice_u32(x));
}

KERN_BODY float kern_clamp32(float x, float most)
{
    x = kern_select32(x > most, most, x);
    return kern_select32(x < -most, -most, x);
}

KERN_BODY float kern_gelu_grad32(float x)
{
    float c = kern_clamp32(x, 30.0f); /* 0 or 1 beyond; keeps inf * 0 out */
    float v = kern_gelu_twice_u32(c);
    struct kern_sigmoids32 s = kern_sigmoids32(v);
    float slope = 1.59576912f + 0.214064449f * (c * c);

    return kern_select32(v < 0.0f, s.below, s.above) + c * slope * (s.above * s.below);
}

KERN_BODY float kern_silu32(float x)
{
    return x * kern_sigmoid32(x);
}

KERN_BODY float kern_silu_grad32(float x)
{
    float c = kern_clamp32(x, 200.0f);
    struct kern_sigmoids32 s = kern_sigmoids32(c);

    return kern_select32(c < 0.0f, s.below, s.above) + c * (s.above * s.below);
}

/* x * sigmoid(1.702 x), an approximation of gelu. */
KERN_BODY float kern_quick_gelu32(float x)
{
    return x * kern_sigmoid32(1.702f * x);
}

KERN_BODY float kern_quick_gelu_grad32(float x)
{
    float c = kern_clamp32(x, 100.0f);
    struct kern_sigmoids32 s = kern_sigmoids32(1.702f * c);

    return kern_select32(c < 0.0f, s.below, s.above) + 1.702f * c * (s.above * s.below);
}

/* The cumulative function of the normal distribution at x, and exp(-x^2/2). */
struct kern_normal32 {
    float below;
    float bell;
};

/* Up to 1 on either side 1/2 plus an odd polynomial, whose relative error is 7e-10.  Beyond, the
 * smaller tail is exp(-x^2/2) erfcx(|x|/sqrt(2)) / 2, which does not cancel; erfcx(z) is t times a
 * polynomial in t = 1/(1+0.4z), fitted for z of 0 to 10: relative error 8e-9. */
KERN_BODY struct kern_normal32 kern_normal32(float x)
{
    float c = kern_clamp32(x, 30.0f), a = kern_abs32(c);
    float t = 1.0f / (1.0f + 0.282842712f * a);
    float square = a * a, bell = kern_exp32(-0.5f * square);
    float p = -2.95943381e-2f, near = -7.65420750e-6f, tail;

    p = p * t + 1.98013219e-1f;
    p = p * t - 4.98811502e-1f;
    p = p * t + 5.47435451e-1f;
    p = p * t - 2.84366692e-1f;
    p = p * t + 2.72066236e-1f;
    p = p * t + 1.29679603e-1f;
    p = p * t + 2.14919101e-1f;
    p = p * t + 2.24952022e-1f;
    p = p * t + 2.25706909e-1f;
    near = near * square + 1.13486370e-4f;
    near = near * square - 1.18632994e-3f;
    near = near * square + 9.97332341e-3f;
    near = near * square - 6.64903599e-2f;
    near = near * square + 3.98942280e-1f;
    tail = 0.5f * bell * (p * t);
    tail = kern_select32(c < 0.0f, tail, 1.0f - tail);
    return (struct kern_normal32){kern_select32(a < 1.0f, 0.5f + c * near, tail), bell};
}

KERN_BODY float kern_gelu_exact32(float x)
{
    return x * kern_normal32(x).below;
}

KERN_BODY float kern_gelu_exact_grad32(float x)
{
    struct kern_normal32 n = kern_normal32(x);

    return n.below + kern_clamp32(x, 30.0f) * 0.398942280f * n.bell;
}

#endif /* KERN_MATH32_H */
