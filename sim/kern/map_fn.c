/* Elementwise functions on blocks of registers (kern/map_fn.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/map_fn.h"

#include <math.h>
#include <stdlib.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "kern/convert.h"
#include "kern/math32.h"
#include "kern/wide32.h"

const struct kern_fn_info kern_fns[KERN_NFNS] = {
    [KERN_COPY] = {"copy", 1, false, 0, KERN_LINEAR_IN_ALL, KERN_EXACT, KERN_NUMBERS, "$a"},
    [KERN_ADD] = {"add", 2, false, 1, KERN_LINEAR_IN_ALL, KERN_ROUNDED, KERN_NUMBERS, "$a + $b"},
    [KERN_SUB] = {"sub", 2, false, 1, KERN_LINEAR_IN_ALL, KERN_ROUNDED, KERN_NUMBERS, "$a - $b"},
    [KERN_MUL] = {"mul", 2, false, 1, KERN_LINEAR_IN_EACH, KERN_ROUNDED, KERN_NUMBERS, "$a * $b"},
    [KERN_DIV] = {"div", 2, false, 1, KERN_LINEAR_IN_FIRST, KERN_ROUNDED, KERN_NUMBERS, "$a / $b"},
    [KERN_MAX] = {"max", 2, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_NUMBERS,
                  "jnp.maximum($a, $b)"},
    [KERN_MIN] = {"min", 2, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_NUMBERS,
                  "jnp.minimum($a, $b)"},
    [KERN_NEG] = {"neg", 1, false, 1, KERN_LINEAR_IN_ALL, KERN_EXACT, KERN_NUMBERS, "-$a"},
    [KERN_EXP] = {"exp", 1, false, 1, KERN_NOT_LINEAR, KERN_CURVED, KERN_FRACTIONS, "jnp.exp($a)"},
    [KERN_LOG] = {"log", 1, false, 1, KERN_NOT_LINEAR, KERN_CURVED, KERN_FRACTIONS, "jnp.log($a)"},
    [KERN_SQRT] = {"sqrt", 1, false, 1, KERN_NOT_LINEAR, KERN_ROUNDED, KERN_FRACTIONS,
                   "jnp.sqrt($a)"},
    [KERN_RSQRT] = {"rsqrt", 1, false, 2, KERN_NOT_LINEAR, KERN_CURVED, KERN_FRACTIONS,
                    "jax.lax.rsqrt($a)"},
    [KERN_TANH] = {"tanh", 1, false, 1, KERN_NOT_LINEAR, KERN_CURVED, KERN_FRACTIONS,
                   "jnp.tanh($a)"},
    [KERN_RELU] = {"relu", 1, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_NUMBERS,
                   "jax.nn.relu($a)"},
    [KERN_SIGMOID] = {"sigmoid", 1, false, 4, KERN_NOT_LINEAR, KERN_CURVED, KERN_FRACTIONS,
                      "jax.nn.sigmoid($a)"},
    [KERN_GELU] = {"gelu", 1, false, 9, KERN_NOT_LINEAR, KERN_CURVED_INSIDE, KERN_FRACTIONS,
                   "jax.nn.gelu($a, approximate=True)"},
    [KERN_GELU_GRAD] = {"gelu_grad", 1, false, 17, KERN_NOT_LINEAR, KERN_CURVED_SUM, KERN_FRACTIONS,
                        "slope(lambda x: jax.nn.gelu(x, approximate=True), $a)"},
    [KERN_GELU_EXACT] = {"gelu_exact", 1, false, 9, KERN_NOT_LINEAR, KERN_CURVED_INSIDE,
                         KERN_FRACTIONS, "jax.nn.gelu($a, approximate=False)"},
    [KERN_GELU_EXACT_GRAD] = {"gelu_exact_grad", 1, false, 13, KERN_NOT_LINEAR, KERN_CURVED_SUM,
                              KERN_FRACTIONS,
                              "slope(lambda x: jax.nn.gelu(x, approximate=False), $a)"},
    [KERN_SILU] = {"silu", 1, false, 5, KERN_NOT_LINEAR, KERN_CURVED_INSIDE, KERN_FRACTIONS,
                   "jax.nn.silu($a)"},
    [KERN_SILU_GRAD] = {"silu_grad", 1, false, 8, KERN_NOT_LINEAR, KERN_CURVED_SUM, KERN_FRACTIONS,
                        "slope(jax.nn.silu, $a)"},
    [KERN_QUICK_GELU] = {"quick_gelu", 1, false, 6, KERN_NOT_LINEAR, KERN_CURVED_INSIDE,
                         KERN_FRACTIONS, "$a * jax.nn.sigmoid(1.702 * $a)"},
    [KERN_QUICK_GELU_GRAD] = {"quick_gelu_grad", 1, false, 10, KERN_NOT_LINEAR, KERN_CURVED_SUM,
                              KERN_FRACTIONS, "slope(lambda x: x * jax.nn.sigmoid(1.702 * x), $a)"},
    [KERN_RELU_SQUARED] = {"relu_squared", 1, false, 2, KERN_NOT_LINEAR, KERN_ROUNDED, KERN_NUMBERS,
                           "jax.nn.relu($a) ** 2"},
    [KERN_STEP] = {"step", 1, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_NUMBERS,
                   "($a > 0).astype($a.dtype)"},
    [KERN_EQUAL] = {"equal", 2, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_NUMBERS,
                    "($a == $b).astype($a.dtype)"},
    [KERN_SCALE] = {"scale", 1, true, 1, KERN_LINEAR_IN_ALL, KERN_ROUNDED, KERN_NUMBERS, "$a * $s"},
    [KERN_ADD_SCALAR] = {"add_scalar", 1, true, 1, KERN_NOT_LINEAR, KERN_ROUNDED, KERN_NUMBERS,
                         "$a + $s"},
    [KERN_FILL] = {"fill", 0, true, 0, KERN_NOT_LINEAR, KERN_ROUNDED, KERN_NUMBERS,
                   "jnp.full((), $s)"},
    [KERN_FINITE] = {"finite", 1, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_NUMBERS,
                     "jnp.isfinite($a).astype($a.dtype)"},
    [KERN_GATE] = {"gate", 2, false, 1, KERN_LINEAR_IN_FIRST, KERN_EXACT, KERN_NUMBERS,
                   "jnp.where($b != 0, $a, 0)"},
    [KERN_SIN] = {"sin", 1, false, 1, KERN_NOT_LINEAR, KERN_CURVED, KERN_FRACTIONS, "jnp.sin($a)"},
    [KERN_COS] = {"cos", 1, false, 1, KERN_NOT_LINEAR, KERN_CURVED, KERN_FRACTIONS, "jnp.cos($a)"},
    [KERN_TAN] = {"tan", 1, false, 1, KERN_NOT_LINEAR, KERN_CURVED, KERN_FRACTIONS, "jnp.tan($a)"},
    [KERN_EXP2] = {"exp2", 1, false, 1, KERN_NOT_LINEAR, KERN_CURVED, KERN_FRACTIONS,
                   "jnp.exp2($a)"},
    [KERN_LOG1P] = {"log1p", 1, false, 1, KERN_NOT_LINEAR, KERN_CURVED, KERN_FRACTIONS,
                    "jnp.log1p($a)"},
    [KERN_EXPM1] = {"expm1", 1, false, 1, KERN_NOT_LINEAR, KERN_CURVED, KERN_FRACTIONS,
                    "jnp.expm1($a)"},
    [KERN_ERF] = {"erf", 1, false, 1, KERN_NOT_LINEAR, KERN_CURVED, KERN_FRACTIONS,
                  "jax.lax.erf($a)"},
    [KERN_ERFC] = {"erfc", 1, false, 1, KERN_NOT_LINEAR, KERN_CURVED, KERN_FRACTIONS,
                   "jax.lax.erfc($a)"},
    [KERN_ATAN2] = {"atan2", 2, false, 1, KERN_NOT_LINEAR, KERN_CURVED, KERN_FRACTIONS,
                    "jnp.arctan2($a, $b)"},
    [KERN_POW] = {"pow", 2, false, 1, KERN_NOT_LINEAR, KERN_CURVED, KERN_FRACTIONS,
                  "jnp.power($a, $b)"},
    [KERN_REM] = {"rem", 2, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_NUMBERS,
                  "jax.lax.rem($a, $b)"},
    [KERN_ABS] = {"abs", 1, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_NUMBERS, "jnp.abs($a)"},
    [KERN_SIGN] = {"sign", 1, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_NUMBERS, "jnp.sign($a)"},
    [KERN_FLOOR] = {"floor", 1, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_NUMBERS,
                    "jnp.floor($a)"},
    [KERN_CEIL] = {"ceil", 1, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_NUMBERS, "jnp.ceil($a)"},
    [KERN_ROUND] = {"round", 1, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_NUMBERS,
                    "jnp.round($a)"},
    [KERN_LESS] = {"less", 2, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_NUMBERS,
                   "($a < $b).astype($a.dtype)"},
    [KERN_LESS_EQUAL] = {"less_equal", 2, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_NUMBERS,
                         "($a <= $b).astype($a.dtype)"},
    [KERN_NOT_EQUAL] = {"not_equal", 2, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_NUMBERS,
                        "($a != $b).astype($a.dtype)"},
    [KERN_AND] = {"and", 2, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_NUMBERS,
                  "(($a != 0) & ($b != 0)).astype($a.dtype)"},
    [KERN_OR] = {"or", 2, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_NUMBERS,
                 "(($a != 0) | ($b != 0)).astype($a.dtype)"},
    [KERN_XOR] = {"xor", 2, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_NUMBERS,
                  "(($a != 0) != ($b != 0)).astype($a.dtype)"},
    [KERN_NOT] = {"not", 1, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_NUMBERS,
                  "($a == 0).astype($a.dtype)"},
    [KERN_BIT_AND] = {"bit_and", 2, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_WHOLE, "$a & $b"},
    [KERN_BIT_OR] = {"bit_or", 2, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_WHOLE, "$a | $b"},
    [KERN_BIT_XOR] = {"bit_xor", 2, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_WHOLE, "$a ^ $b"},
    [KERN_BIT_NOT] = {"bit_not", 1, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_WHOLE, "~$a"},
    [KERN_SHIFT_LEFT] = {"shift_left", 2, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_WHOLE,
                         "jax.lax.shift_left($a, $b)"},
    [KERN_SHIFT_RIGHT] = {"shift_right", 2, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_WHOLE,
                          "jax.lax.shift_right_logical($a, $b)"},
    [KERN_SELECT] = {"select", 3, false, 1, KERN_NOT_LINEAR, KERN_EXACT, KERN_NUMBERS,
                     "jnp.where($c != 0, $a, $b)"},
    [KERN_CONVERT] = {"convert", 1, false, 0, KERN_LINEAR_IN_ALL, KERN_ROUNDED, KERN_NUMBERS, "$a"},
};

/* ---- float: whole groups of lanes ---- */

/* `expr` uses x = a[i] and y = b[i].  Pointer steps and the inner loop's bounds are constants: gcc
 * vectorizes this shape at -O2. */
#define LANES(expr)                                                                       \
    for (; n > 0; n -= KERN_LANES, a += KERN_LANES, b += KERN_LANES, out += KERN_LANES) { \
        for (int j = 0; j < KERN_LANES; j++) {                                            \
            float x = a[j], y = b[j];                                                     \
            (void)x, (void)y;                                                             \
            out[j] = (expr);                                                              \
        }                                                                                 \
    }                                                                                     \
    break

/* Written by hand, as C's sqrtf sets errno and so does not vectorize. */
KERN_BODY void sqrt_lanes(size_t n, const float *restrict a, float *restrict out)
{
#ifdef __SSE2__
    for (size_t i = 0; i < n; i += 4)
        _mm_storeu_ps(out + i, _mm_sqrt_ps(_mm_loadu_ps(a + i)));
#else
    for (size_t i = 0; i < n; i++)
        out[i] = sqrtf(a[i]);
#endif
}

KERN_BODY void invert_lanes(size_t n, float *out)
{
    for (; n > 0; n -= KERN_LANES, out += KERN_LANES) {
        for (int j = 0; j < KERN_LANES; j++)
            out[j] = 1.0f / out[j];
    }
}

/* a where c is not 0, else b */
KERN_BODY void select_lanes(size_t n, const float *restrict a, const float *restrict b,
                            const float *restrict c, float *restrict out)
{
    for (; n > 0;
         n -= KERN_LANES, a += KERN_LANES, b += KERN_LANES, c += KERN_LANES, out += KERN_LANES) {
        for (int j = 0; j < KERN_LANES; j++)
            out[j] = kern_select32(c[j] != 0.0f, a[j], b[j]);
    }
}

/* Cheap functions; max and min return a NaN of either operand. */
KERN_BODY void simple_body(enum kern_fn fn, size_t n, const float *restrict a,
                           const float *restrict b, const float *restrict c, float scalar,
                           float *restrict out)
{
    switch (fn) {
    case KERN_ADD:
        LANES(x + y);
    case KERN_SUB:
        LANES(x - y);
    case KERN_MUL:
        LANES(x * y);
    case KERN_DIV:
        LANES(x / y);
    case KERN_MAX:
        LANES(kern_select32((x > y) | (x != x), x, y));
    case KERN_MIN:
        LANES(kern_select32((x < y) | (x != x), x, y));
    case KERN_NEG:
        LANES(-x);
    case KERN_SQRT:
        sqrt_lanes(n, a, out);
        break;
    case KERN_RSQRT:
        sqrt_lanes(n, a, out);
        invert_lanes(n, out);
        break;
    case KERN_RELU:
        LANES(kern_select32(x <= 0.0f, 0.0f, x));
    case KERN_RELU_SQUARED:
        LANES(kern_select32(x <= 0.0f, 0.0f, x * x));
    case KERN_STEP:
        LANES(kern_select32(x > 0.0f, 1.0f, 0.0f));
    case KERN_EQUAL:
        LANES(kern_select32(x == y, 1.0f, 0.0f));
    case KERN_SCALE:
        LANES(x * scalar);
    case KERN_ADD_SCALAR:
        LANES(x + scalar);
    case KERN_FILL:
        LANES(scalar);
    case KERN_FINITE:
        LANES(kern_select32(x - x == 0.0f, 1.0f, 0.0f));
    case KERN_GATE:
        LANES(kern_select32(y != 0.0f, x, 0.0f));
    case KERN_REM:
        LANES(fmodf(x, y));
    case KERN_ABS:
        LANES(kern_abs32(x));
    case KERN_SIGN:
        LANES(kern_select32(x > 0.0f, 1.0f, kern_select32(x < 0.0f, -1.0f, x)));
    case KERN_FLOOR:
        LANES(kern_floor32(x));
    case KERN_CEIL:
        LANES(-kern_floor32(-x));
    case KERN_ROUND:
        LANES(kern_round32(x));
    case KERN_LESS:
        LANES(kern_select32(x < y, 1.0f, 0.0f));
    case KERN_LESS_EQUAL:
        LANES(kern_select32(x <= y, 1.0f, 0.0f));
    case KERN_NOT_EQUAL:
        LANES(kern_select32(x != y, 1.0f, 0.0f));
    case KERN_AND:
        LANES(kern_select32((x != 0.0f) & (y != 0.0f), 1.0f, 0.0f));
    case KERN_OR:
        LANES(kern_select32((x != 0.0f) | (y != 0.0f), 1.0f, 0.0f));
    case KERN_XOR:
        LANES(kern_select32((x != 0.0f) ^ (y != 0.0f), 1.0f, 0.0f));
    case KERN_NOT:
        LANES(kern_select32(x == 0.0f, 1.0f, 0.0f));
    case KERN_SELECT:
        select_lanes(n, a, b, c, out);
        break;
    default: /* KERN_COPY, KERN_CONVERT */
        LANES(x);
    }
}

KERN_BODY void curved_body(enum kern_fn fn, size_t n, const float *restrict a, float *restrict out)
{
    const float *b = a;

    switch (fn) {
    case KERN_EXP:
        LANES(kern_exp32(x));
    case KERN_LOG:
        LANES(kern_log32(x));
    case KERN_TANH:
        LANES(kern_tanh32(x));
    case KERN_SIGMOID:
        LANES(kern_sigmoid32(x));
    case KERN_GELU:
        LANES(kern_gelu32(x));
    case KERN_GELU_GRAD:
        LANES(kern_gelu_grad32(x));
    case KERN_GELU_EXACT:
        LANES(kern_gelu_exact32(x));
    case KERN_GELU_EXACT_GRAD:
        LANES(kern_gelu_exact_grad32(x));
    case KERN_QUICK_GELU:
        LANES(kern_quick_gelu32(x));
    case KERN_QUICK_GELU_GRAD:
        LANES(kern_quick_gelu_grad32(x));
    case KERN_SILU:
        LANES(kern_silu32(x));
    default: /* KERN_SILU_GRAD */
        LANES(kern_silu_grad32(x));
    }
}

KERN_BODY void wide_body(enum kern_fn fn, size_t n, const float *restrict a,
                         const float *restrict b, float *restrict out)
{
    switch (fn) {
    case KERN_SIN:
        LANES(kern_sine32(x, 0));
    case KERN_COS:
        LANES(kern_sine32(x, 1));
    case KERN_TAN:
        LANES(kern_tan32(x));
    case KERN_EXP2:
        LANES(kern_exp2_32(x));
    case KERN_ATAN2:
        LANES(kern_atan2_32(x, y));
    case KERN_LOG1P:
        LANES(kern_log1p32(x));
    case KERN_EXPM1:
        LANES(kern_expm1_32(x));
    case KERN_ERF:
        LANES(kern_erf32(x));
    case KERN_ERFC:
        LANES(kern_erfc32(x));
    default: /* KERN_POW */
        LANES(kern_pow32(x, y));
    }
}

KERN_VARIANTS(static, simple,
              (enum kern_fn fn, size_t n, const float *restrict a, const float *restrict b,
               const float *restrict c, float scalar, float *restrict out),
              (fn, n, a, b, c, scalar, out))
KERN_VARIANTS(static, wide,
              (enum kern_fn fn, size_t n, const float *restrict a, const float *restrict b,
               float *restrict out),
              (fn, n, a, b, out))
KERN_VARIANTS(static, curved,
              (enum kern_fn fn, size_t n, const float *restrict a, float *restrict out),
              (fn, n, a, out))

/* RSQRT is the root's inverse, which the processor has. */
static bool is_curved(enum kern_fn fn)
{
    return kern_fns[fn].rounding >= KERN_CURVED && fn != KERN_RSQRT;
}

static bool is_wide(enum kern_fn fn)
{
    return fn >= KERN_SIN && fn <= KERN_POW;
}

/* Sine, cosine and tangent of angles that are too many turns for kern_turn32(). */
static void turn_far(enum kern_fn fn, size_t n, const float *a, float *out)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] > KERN_TURN_MAX || a[i] < -KERN_TURN_MAX)
            out[i] = (float)(fn == KERN_SIN   ? sin((double)a[i])
                             : fn == KERN_COS ? cos((double)a[i])
                                              : tan((double)a[i]));
}

void kern_fn_f32(enum kern_fn fn, size_t n, const float *const *in, float scalar, float *out)
{
    if (is_wide(fn))
        wide(fn, n, in[0], in[1], out);
    else if (is_curved(fn))
        curved(fn, n, in[0], out);
    else
        simple(fn, n, in[0], in[1], in[2], scalar, out);
    if (fn >= KERN_SIN && fn <= KERN_TAN)
        turn_far(fn, n, in[0], out);
}

/* ---- double: libm ---- */

static double sigmoid(double x)
{
    double e = exp(-fabs(x));

    return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

static double clamp(double x, double most)
{
    x = x > most ? most : x;
    return x < -most ? -most : x;
}

/* 2 sqrt(2/pi) (x + 0.044715 x^3), see math32.h */
static double gelu_twice_u(double x)
{
    return 1.5957691216057308 * (x + 0.044715 * x * x * x);
}

static double gelu_grad(double x)
{
    double c = clamp(x, 60), v = gelu_twice_u(c);

    return sigmoid(v) +
           c * 1.5957691216057308 * (1 + 0.134145 * c * c) * (sigmoid(v) * sigmoid(-v));
}

static double silu_grad(double x)
{
    double c = clamp(x, 1500);

    return sigmoid(c) + c * (sigmoid(c) * sigmoid(-c));
}

static double quick_gelu_grad(double x)
{
    double c = clamp(x, 900), s = sigmoid(1.702 * c);

    return s + 1.702 * c * (s * sigmoid(-1.702 * c));
}

/* The cumulative function of the normal distribution. */
static double normal(double x)
{
    return 0.5 * erfc(-0.70710678118654752 * x);
}

static double gelu_exact_grad(double x)
{
    double c = clamp(x, 60);

    return normal(c) + c * 0.39894228040143268 * exp(-0.5 * c * c);
}

static double curved_f64(enum kern_fn fn, double x)
{
    switch (fn) {
    case KERN_EXP:
        return exp(x);
    case KERN_LOG:
        return log(x);
    case KERN_TANH:
        return tanh(x);
    case KERN_SIGMOID:
        return sigmoid(x);
    case KERN_GELU:
        return x * sigmoid(gelu_twice_u(x));
    case KERN_GELU_GRAD:
        return gelu_grad(x);
    case KERN_GELU_EXACT:
        return x * normal(x);
    case KERN_GELU_EXACT_GRAD:
        return gelu_exact_grad(x);
    case KERN_QUICK_GELU:
        return x * sigmoid(1.702 * x);
    case KERN_QUICK_GELU_GRAD:
        return quick_gelu_grad(x);
    case KERN_SILU:
        return x * sigmoid(x);
    case KERN_SIN:
        return sin(x);
    case KERN_COS:
        return cos(x);
    case KERN_TAN:
        return tan(x);
    case KERN_EXP2:
        return exp2(x);
    case KERN_LOG1P:
        return log1p(x);
    case KERN_EXPM1:
        return expm1(x);
    case KERN_ERF:
        return erf(x);
    case KERN_ERFC:
        return erfc(x);
    default: /* KERN_SILU_GRAD */
        return silu_grad(x);
    }
}

#define EACH(expr)                 \
    for (size_t i = 0; i < n; i++) \
        out[i] = (expr);           \
    break

void kern_fn_f64(enum kern_fn fn, size_t n, const double *const *in, double scalar, double *out)
{
    const double *a = in[0], *b = in[1], *c = in[2];

    switch (fn) {
    case KERN_COPY:
    case KERN_CONVERT:
        EACH(a[i]);
    case KERN_ADD:
        EACH(a[i] + b[i]);
    case KERN_SUB:
        EACH(a[i] - b[i]);
    case KERN_MUL:
        EACH(a[i] * b[i]);
    case KERN_DIV:
        EACH(a[i] / b[i]);
    case KERN_MAX:
        EACH(a[i] > b[i] || a[i] != a[i] ? a[i] : b[i]);
    case KERN_MIN:
        EACH(a[i] < b[i] || a[i] != a[i] ? a[i] : b[i]);
    case KERN_NEG:
        EACH(-a[i]);
    case KERN_SQRT:
        EACH(sqrt(a[i]));
    case KERN_RSQRT:
        EACH(1 / sqrt(a[i]));
    case KERN_RELU:
        EACH(a[i] <= 0 ? 0 : a[i]);
    case KERN_RELU_SQUARED:
        EACH(a[i] <= 0 ? 0 : a[i] * a[i]);
    case KERN_STEP:
        EACH(a[i] > 0 ? 1 : 0);
    case KERN_EQUAL:
        EACH(a[i] == b[i] ? 1 : 0);
    case KERN_SCALE:
        EACH(a[i] * scalar);
    case KERN_ADD_SCALAR:
        EACH(a[i] + scalar);
    case KERN_FILL:
        EACH(scalar);
    case KERN_FINITE:
        EACH(isfinite(a[i]) ? 1 : 0);
    case KERN_GATE:
        EACH(b[i] != 0 ? a[i] : 0);
    case KERN_ATAN2:
        EACH(atan2(a[i], b[i]));
    case KERN_POW:
        EACH(pow(a[i], b[i]));
    case KERN_REM:
        EACH(fmod(a[i], b[i]));
    case KERN_ABS:
        EACH(fabs(a[i]));
    case KERN_SIGN:
        EACH(a[i] > 0 ? 1 : a[i] < 0 ? -1 : a[i]);
    case KERN_FLOOR:
        EACH(floor(a[i]));
    case KERN_CEIL:
        EACH(ceil(a[i]));
    case KERN_ROUND:
        EACH(nearbyint(a[i]));
    case KERN_LESS:
        EACH(a[i] < b[i] ? 1 : 0);
    case KERN_LESS_EQUAL:
        EACH(a[i] <= b[i] ? 1 : 0);
    case KERN_NOT_EQUAL:
        EACH(a[i] != b[i] ? 1 : 0);
    case KERN_AND:
        EACH(a[i] != 0 && b[i] != 0 ? 1 : 0);
    case KERN_OR:
        EACH(a[i] != 0 || b[i] != 0 ? 1 : 0);
    case KERN_XOR:
        EACH((a[i] != 0) != (b[i] != 0) ? 1 : 0);
    case KERN_NOT:
        EACH(a[i] == 0 ? 1 : 0);
    case KERN_SELECT:
        EACH(c[i] != 0 ? a[i] : b[i]);
    default:
        EACH(curved_f64(fn, a[i]));
    }
}

/* ---- int32 in double ---- */

static double wrap(int64_t x)
{
    uint32_t low = (uint32_t)x;
    int32_t value;

    memcpy(&value, &low, sizeof value);
    return value;
}

/* The 32 bits of a whole number. */
static uint32_t word(double x)
{
    return (uint32_t)(int32_t)x;
}

static uint32_t shifted(uint32_t x, double by, bool left)
{
    if (by < 0 || by >= 32)
        return 0;
    return left ? x << (uint32_t)by : x >> (uint32_t)by;
}

/* Division as XLA's: by zero it gives -1. */
static double divided(double a, double b)
{
    return b == 0 ? -1 : wrap((int64_t)a / (int64_t)b);
}

void kern_fn_i32(enum kern_fn fn, size_t n, const double *const *in, double scalar, double *out)
{
    const double *a = in[0], *b = in[1];

    switch (fn) {
    case KERN_ADD:
        EACH(wrap((int64_t)a[i] + (int64_t)b[i]));
    case KERN_SUB:
        EACH(wrap((int64_t)a[i] - (int64_t)b[i]));
    case KERN_MUL:
        EACH(wrap((int64_t)a[i] * (int64_t)b[i]));
    case KERN_DIV:
        EACH(divided(a[i], b[i]));
    case KERN_REM:
        EACH(b[i] == 0 ? a[i] : fmod(a[i], b[i]));
    case KERN_NEG:
        EACH(wrap(-(int64_t)a[i]));
    case KERN_ABS:
        EACH(wrap(llabs((int64_t)a[i])));
    case KERN_RELU_SQUARED:
        EACH(a[i] <= 0 ? 0 : wrap((int64_t)a[i] * (int64_t)a[i]));
    case KERN_BIT_AND:
        EACH(wrap(word(a[i]) & word(b[i])));
    case KERN_BIT_OR:
        EACH(wrap(word(a[i]) | word(b[i])));
    case KERN_BIT_XOR:
        EACH(wrap(word(a[i]) ^ word(b[i])));
    case KERN_BIT_NOT:
        EACH(wrap(~word(a[i])));
    case KERN_SHIFT_LEFT:
        EACH(wrap(shifted(word(a[i]), b[i], true)));
    case KERN_SHIFT_RIGHT:
        EACH(wrap(shifted(word(a[i]), b[i], false)));
    case KERN_SCALE:
        EACH(wrap((int64_t)a[i] * kern_i32_of_f64(scalar)));
    case KERN_ADD_SCALAR:
        EACH(wrap((int64_t)a[i] + kern_i32_of_f64(scalar)));
    default: /* exact in double; conversions are truncated */
        kern_fn_f64(fn, n, in, scalar, out);
        for (size_t i = 0; i < n; i++)
            out[i] = kern_i32_of_f64(out[i]);
    }
}
