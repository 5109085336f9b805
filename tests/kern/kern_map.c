/* Tests map of kern/kern.h: the accuracy of each function, conversions, shapes and strides, the
 * same bits for any width and number of threads, and the rule of errors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "../support/tap.h"

#include <float.h>
#include <math.h>

#include "kern/error.h"
#include "kern/isa.h"
#include "kern_data.h"

/* ---- one function, in double ---- */

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double gelu_twice_u(double x)
{
    return 2 * sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x);
}

/* The function in double, for ordinary operands; special ones have a test of their own. */
static double plain_fn(enum kern_fn fn, double x, double y, double scalar)
{
    double v = gelu_twice_u(x), s = sigmoid(x);

    switch (fn) {
    case KERN_COPY:
    case KERN_CONVERT:
        return x;
    case KERN_FINITE:
        return 1;
    case KERN_GATE:
        return y != 0 ? x : 0;
    case KERN_SELECT: /* the condition is x again */
        return x != 0 ? x : y;
    case KERN_SIN:
        return sin(x);
    case KERN_COS:
        return cos(x);
    case KERN_TAN:
        return tan(x);
    case KERN_EXP2:
        return exp2(x);
    case KERN_ATAN2:
        return atan2(x, y);
    case KERN_LOG1P:
        return log1p(x);
    case KERN_EXPM1:
        return expm1(x);
    case KERN_ERF:
        return erf(x);
    case KERN_ERFC:
        return erfc(x);
    case KERN_POW:
        return pow(x, y);
    case KERN_REM:
        return fmod(x, y);
    case KERN_ABS:
        return fabs(x);
    case KERN_SIGN:
        return (x > 0) - (x < 0);
    case KERN_FLOOR:
        return floor(x);
    case KERN_CEIL:
        return ceil(x);
    case KERN_ROUND:
        return rint(x);
    case KERN_LESS:
        return x < y;
    case KERN_LESS_EQUAL:
        return x <= y;
    case KERN_NOT_EQUAL:
        return x != y;
    case KERN_AND:
        return x != 0 && y != 0;
    case KERN_OR:
        return x != 0 || y != 0;
    case KERN_XOR:
        return (x != 0) != (y != 0);
    case KERN_NOT:
        return x == 0;
    case KERN_ADD:
        return x + y;
    case KERN_SUB:
        return x - y;
    case KERN_MUL:
        return x * y;
    case KERN_DIV:
        return x / y;
    case KERN_MAX:
        return fmax(x, y);
    case KERN_MIN:
        return fmin(x, y);
    case KERN_NEG:
        return -x;
    case KERN_EXP:
        return exp(x);
    case KERN_LOG:
        return log(x);
    case KERN_SQRT:
        return sqrt(x);
    case KERN_RSQRT:
        return 1 / sqrt(x);
    case KERN_TANH:
        return tanh(x);
    case KERN_RELU:
        return fmax(x, 0);
    case KERN_SIGMOID:
        return s;
    case KERN_GELU:
        return 0.5 * x * (1 + tanh(v / 2));
    case KERN_GELU_GRAD:
        return sigmoid(v) +
               x * 2 * sqrt(2 / acos(-1)) * (1 + 3 * 0.044715 * x * x) * sigmoid(v) * sigmoid(-v);
    case KERN_GELU_EXACT:
        return 0.5 * x * erfc(-x / sqrt(2));
    case KERN_GELU_EXACT_GRAD:
        return 0.5 * erfc(-x / sqrt(2)) + x * exp(-x * x / 2) / sqrt(2 * acos(-1));
    case KERN_QUICK_GELU:
        return x * sigmoid(1.702 * x);
    case KERN_QUICK_GELU_GRAD:
        return sigmoid(1.702 * x) + 1.702 * x * sigmoid(1.702 * x) * sigmoid(-1.702 * x);
    case KERN_RELU_SQUARED:
        return fmax(x, 0) * fmax(x, 0);
    case KERN_SILU:
        return x * s;
    case KERN_SILU_GRAD:
        return s + x * s * sigmoid(-x);
    case KERN_STEP:
        return x > 0;
    case KERN_EQUAL:
        return x == y;
    case KERN_SCALE:
        return x * scalar;
    case KERN_ADD_SCALAR:
        return x + scalar;
    default:
        return scalar;
    }
}

/* Run a map of one instruction over n contiguous elements. */
static void run_fn(enum kern_fn fn, enum shd_dtype dtype, int64_t n, const void *x, const void *y,
                   double scalar, void *out)
{
    struct kern_map m = {.dtype = dtype,
                         .in_dtype = {dtype, dtype},
                         .ndims = 1,
                         .extent = {n},
                         .out_stride = {1},
                         .ninputs = 2,
                         .in_stride = {{1}, {1}},
                         .ninstrs = 1,
                         .instrs = {{fn, {0, 1}, scalar}}};
    const void *inputs[] = {x, y};

    kern_map_run(&m, inputs, out, 1);
}

/* Functions of words of 32 bits have a test of their own. */
static bool is_of_words(enum kern_fn fn)
{
    return kern_fns[fn].takes == KERN_WHOLE;
}

static bool needs_positive(enum kern_fn fn)
{
    return fn == KERN_LOG || fn == KERN_SQRT || fn == KERN_RSQRT || fn == KERN_LOG1P ||
           fn == KERN_POW;
}

#define SWEEP 40000

/* The largest error over a dense sweep, relative to max(|result|, floor): the floor makes the bound
 * absolute near zeros that are products with a tiny factor. */
static double sweep(enum kern_fn fn, enum shd_dtype dtype, double lo, double hi, double floor)
{
    static double x[SWEEP], y[SWEEP], out[SWEEP];
    double worst = 0;

    for (int64_t i = 0; i < SWEEP; i++) {
        set_elem(dtype, x, i, lo + (hi - lo) * (double)i / SWEEP);
        set_elem(dtype, y, i, 1.5 + (double)(i % 7));
    }
    run_fn(fn, dtype, SWEEP, x, y, 0.75, out);
    for (int64_t i = 0; i < SWEEP; i++) {
        double want = plain_fn(fn, get_elem(dtype, x, i), get_elem(dtype, y, i), 0.75);
        double error = fabs(get_elem(dtype, out, i) - want) / fmax(fabs(want), floor);

        worst = fmax(worst, isnan(error) ? INFINITY : error);
    }
    return worst;
}

static void test_accuracy(void)
{
    static const double eps[] = {
        [SHD_F32] = 4e-7, [SHD_F64] = 4e-15, [SHD_BF16] = 4e-3, [SHD_F16] = 6e-4};

    for (enum shd_dtype dtype = SHD_F32; dtype <= SHD_F16; dtype++) {
        for (enum kern_fn fn = 0; fn < KERN_NFNS; fn++) {
            double lo = needs_positive(fn) ? 1e-3 : -9, hi = fn == KERN_POW ? 3 : 9;
            double error = fmax(sweep(fn, dtype, lo, hi, 1), sweep(fn, dtype, lo / 90, 0.1, 0.1));

            ok(error <= eps[dtype] || is_of_words(fn), "%s, %s: error %.2g", kern_fns[fn].name,
               shd_dtype_name(dtype), error);
        }
    }
}

/* Ranges in which the float functions have a bounded relative error. */
static void test_relative(void)
{
    static const struct {
        enum kern_fn fn;
        double lo, hi;
    } rows[] = {
        {KERN_EXP, -87, 88.7},     {KERN_EXP, -1e-3, 1e-3},  {KERN_LOG, 1e-30, 1e-28},
        {KERN_LOG, 1e-38, 4e-38},  {KERN_LOG, 0.7, 1.5},     {KERN_LOG, 0.999, 1.001},
        {KERN_LOG, 1, 1e38},       {KERN_TANH, -1e-4, 1e-4}, {KERN_TANH, -2, 2},
        {KERN_TANH, -50, 50},      {KERN_SIGMOID, -87, 30},  {KERN_SILU, -80, 30},
        {KERN_RSQRT, 1e-3, 1e6},   {KERN_SIN, -1e-3, 1e-3},  {KERN_SIN, -3, 3},
        {KERN_SIN, -9e5, 9e5},     {KERN_SIN, 9e5, 3e38},    {KERN_COS, -3, 3},
        {KERN_COS, -9e5, 9e5},     {KERN_COS, 9e5, 3e38},    {KERN_LOG1P, -1e-6, 1e-6},
        {KERN_LOG1P, -0.99, 3},    {KERN_LOG1P, 1, 1e38},    {KERN_EXPM1, -1e-6, 1e-6},
        {KERN_EXPM1, -2, 2},       {KERN_EXPM1, -90, 88},    {KERN_ERF, -1e-3, 1e-3},
        {KERN_ERF, -2, 2},         {KERN_ERF, -50, 50},      {KERN_ERFC, -2, 2},
        {KERN_ERFC, -50, 9},       {KERN_POW, 1e-9, 1e-3},   {KERN_POW, 0.5, 2},
        {KERN_POW, 2, 100},        {KERN_REM, -1e6, 1e6},    {KERN_TAN, -1e-3, 1e-3},
        {KERN_TAN, -9e5, 9e5},     {KERN_TAN, 9e5, 3e38},    {KERN_EXP2, -125, 127},
        {KERN_ATAN2, -1e-3, 1e-3}, {KERN_ATAN2, -20, 20},    {KERN_ATAN2, -1e6, 1e6},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double error = sweep(rows[i].fn, SHD_F32, rows[i].lo, rows[i].hi, 1e-37);

        ok(error <= 4e-7, "%s over %g..%g: relative error %.2g", kern_fns[rows[i].fn].name,
           rows[i].lo, rows[i].hi, error);
    }
}

static void test_special(void)
{
    static const struct {
        enum kern_fn fn;
        double x, want;
    } rows[] = {
        {KERN_EXP, INFINITY, INFINITY},
        {KERN_EXP, -INFINITY, 0},
        {KERN_EXP, 1000, INFINITY},
        {KERN_EXP, -1000, 0},
        {KERN_EXP, 0, 1},
        {KERN_LOG, 0, -INFINITY},
        {KERN_LOG, -1, NAN},
        {KERN_LOG, INFINITY, INFINITY},
        {KERN_LOG, 1, 0},
        {KERN_SQRT, -1, NAN},
        {KERN_RSQRT, 0, INFINITY},
        {KERN_TANH, INFINITY, 1},
        {KERN_TANH, -INFINITY, -1},
        {KERN_TANH, 0, 0},
        {KERN_SIGMOID, INFINITY, 1},
        {KERN_SIGMOID, -INFINITY, 0},
        {KERN_GELU, 1e15, 1e15},
        {KERN_GELU, -1000, 0},
        {KERN_GELU, INFINITY, INFINITY},
        {KERN_GELU_GRAD, INFINITY, 1},
        {KERN_GELU_GRAD, -INFINITY, 0},
        {KERN_GELU_EXACT, 1e15, 1e15},
        {KERN_GELU_EXACT, -1000, 0},
        {KERN_GELU_EXACT, INFINITY, INFINITY},
        {KERN_GELU_EXACT_GRAD, INFINITY, 1},
        {KERN_GELU_EXACT_GRAD, -INFINITY, 0},
        {KERN_QUICK_GELU, INFINITY, INFINITY},
        {KERN_QUICK_GELU, -1000, 0},
        {KERN_QUICK_GELU_GRAD, INFINITY, 1},
        {KERN_QUICK_GELU_GRAD, -INFINITY, 0},
        {KERN_RELU_SQUARED, -INFINITY, 0},
        {KERN_RELU_SQUARED, NAN, NAN},
        {KERN_SILU, INFINITY, INFINITY},
        {KERN_SILU, -1000, 0},
        {KERN_SILU_GRAD, INFINITY, 1},
        {KERN_SILU_GRAD, -INFINITY, 0},
        {KERN_RELU, -INFINITY, 0},
        {KERN_STEP, 0, 0},
        {KERN_STEP, NAN, 0},
        {KERN_FINITE, NAN, 0},
        {KERN_FINITE, INFINITY, 0},
        {KERN_FINITE, -INFINITY, 0},
        {KERN_FINITE, FLT_MAX, 1},
        {KERN_SIN, INFINITY, NAN},
        {KERN_COS, -INFINITY, NAN},
        {KERN_TAN, INFINITY, NAN},
        {KERN_EXP2, INFINITY, INFINITY},
        {KERN_EXP2, -INFINITY, 0},
        {KERN_EXP2, -140, 0x1p-140},
        {KERN_EXP2, 10, 1024},
        {KERN_XOR, 0, 1},
        {KERN_XOR, NAN, 0},
        {KERN_LOG1P, -1, -INFINITY},
        {KERN_LOG1P, -2, NAN},
        {KERN_LOG1P, INFINITY, INFINITY},
        {KERN_EXPM1, -INFINITY, -1},
        {KERN_EXPM1, INFINITY, INFINITY},
        {KERN_EXPM1, 1000, INFINITY},
        {KERN_ERF, INFINITY, 1},
        {KERN_ERF, -INFINITY, -1},
        {KERN_ERFC, INFINITY, 0},
        {KERN_ERFC, -INFINITY, 2},
        {KERN_ABS, -INFINITY, INFINITY},
        {KERN_SIGN, -INFINITY, -1},
        {KERN_SIGN, NAN, NAN},
        {KERN_FLOOR, -INFINITY, -INFINITY},
        {KERN_FLOOR, -0x1p-140, -1},
        {KERN_FLOOR, 0x1.8p24, 0x1.8p24},
        {KERN_CEIL, 0x1p-140, 1},
        {KERN_CEIL, 8388607.5, 8388608},
        {KERN_ROUND, 2.5, 2},
        {KERN_ROUND, -3.5, -4},
        {KERN_ROUND, 4194304.5, 4194304},
        {KERN_ROUND, INFINITY, INFINITY},
        {KERN_NOT, NAN, 0},
        {KERN_LESS, NAN, 0},
        {KERN_LESS, -INFINITY, 1},
        {KERN_LESS, 1, 0},
        {KERN_LESS_EQUAL, 1, 1},
        {KERN_NOT_EQUAL, NAN, 1},
        {KERN_NOT_EQUAL, 1, 0},
        {KERN_AND, NAN, 1},
        {KERN_OR, 0, 1},
        {KERN_REM, INFINITY, NAN},
        {KERN_REM, -7.25, -0.25},
    };

    for (enum shd_dtype dtype = SHD_F32; dtype <= SHD_F64; dtype++) {
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            double x, y, out, got;

            set_elem(dtype, &x, 0, rows[i].x);
            set_elem(dtype, &y, 0, 1);
            run_fn(rows[i].fn, dtype, 1, &x, &y, 0, &out);
            got = get_elem(dtype, &out, 0);
            ok(got == rounded(dtype, rows[i].want) || (isnan(got) && isnan(rows[i].want)),
               "%s(%g) is %g, %s: %g", kern_fns[rows[i].fn].name, rows[i].x, rows[i].want,
               shd_dtype_name(dtype), got);
        }
    }
}

static bool drops_nan(enum kern_fn fn)
{
    return fn == KERN_STEP || fn == KERN_EQUAL || fn == KERN_FILL || fn == KERN_FINITE ||
           (fn >= KERN_LESS && fn <= KERN_NOT);
}

static void test_nan(void)
{
    for (enum shd_dtype dtype = SHD_F32; dtype <= SHD_F16; dtype++) {
        bool pass = true;

        for (enum kern_fn fn = 0; fn < KERN_NFNS; fn++) {
            double nan, one, out;

            set_elem(dtype, &nan, 0, NAN);
            set_elem(dtype, &one, 0, 1);
            run_fn(fn, dtype, 1, &nan, &one, 2, &out);
            pass = pass && (isnan(get_elem(dtype, &out, 0)) || drops_nan(fn) || is_of_words(fn));
            run_fn(fn, dtype, 1, &one, &nan, 2, &out);
            pass = pass && (isnan(get_elem(dtype, &out, 0)) || drops_nan(fn) || is_of_words(fn) ||
                            fn == KERN_GATE || fn == KERN_SELECT || fn == KERN_POW || /* 1^y is 1 */
                            kern_fns[fn].noperands < 2);
        }
        ok(pass, "NaN is handed on, %s", shd_dtype_name(dtype));
    }
}

/* Functions of two operands as C's, for all pairs of special numbers. */
static void test_pairs(void)
{
    static const double x[] = {0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3e38, INFINITY, -INFINITY, NAN};
    static const double y[] = {0,    -0.0, 1,   -1,       2,         3,   -3,     0.5,
                               -0.5, 1e30, 9e9, INFINITY, -INFINITY, NAN, 8388609};
    static const enum kern_fn fns[] = {KERN_POW, KERN_ATAN2};

    for (size_t i = 0; i < 2 * sizeof x / sizeof x[0]; i++)
        for (size_t k = 0; k < sizeof y / sizeof y[0]; k++) {
            float a = (float)x[i / 2], b = (float)y[k], out;
            double want = i % 2 ? atan2((double)a, (double)b) : pow((double)a, (double)b);

            want = (double)(float)want;
            run_fn(fns[i % 2], SHD_F32, 1, &a, &b, 0, &out);
            ok(((double)out == want && !signbit(out) == !signbit(want)) ||
                   (isnan(out) && isnan(want)),
               "%s(%g, %g) is %g: %g", kern_fns[fns[i % 2]].name, x[i / 2], y[k], want,
               (double)out);
        }
}

static void test_select(void)
{
    static const enum shd_dtype types[] = {SHD_F32, SHD_F64, SHD_BF16, SHD_F16, SHD_I32};

    for (int pair = 0; pair < 25; pair++) {
        enum shd_dtype dtype = types[pair / 5], condition = types[pair % 5];
        struct kern_map m = {.dtype = dtype,
                             .in_dtype = {dtype, dtype, condition},
                             .ndims = 1,
                             .extent = {4},
                             .out_stride = {1},
                             .ninputs = 3,
                             .in_stride = {{1}, {1}, {1}},
                             .ninstrs = 1,
                             .instrs = {{KERN_SELECT, {0, 1, 2}, 0}}};
        double a[4], b[4], c[4], out[4];
        bool good = true;

        for (int i = 0; i < 4; i++) {
            set_elem(dtype, a, i, i + 1);
            set_elem(dtype, b, i, dtype == SHD_I32 ? -1 : NAN);
            set_elem(condition, c, i, (double[]){1, 0, -7, 0}[i]);
        }
        kern_map_run(&m, (const void *const[]){a, b, c}, out, 1);
        for (int i = 0; i < 4; i++) {
            double got = get_elem(dtype, out, i);

            good &= i % 2 ? isnan(got) || got == -1 : got == i + 1;
        }
        ok(good, "select: %s by a condition of %s", shd_dtype_name(dtype),
           shd_dtype_name(condition));
    }
}

static void test_gate(void)
{
    for (enum shd_dtype dtype = SHD_F32; dtype <= SHD_F16; dtype++) {
        double x[3], y[3], out[3];

        for (int i = 0; i < 3; i++) {
            set_elem(dtype, x, i, (double[]){NAN, INFINITY, 3}[i]);
            set_elem(dtype, y, i, i == 2 ? 1 : 0);
        }
        run_fn(KERN_GATE, dtype, 3, x, y, 0, out);
        ok(get_elem(dtype, out, 0) == 0 && get_elem(dtype, out, 1) == 0 &&
               get_elem(dtype, out, 2) == 3,
           "gate: what is shut out leaves 0, even where it is not finite, %s",
           shd_dtype_name(dtype));
    }
}

/* Conversion of each type to each other one: to nearest, ties to even; values that are too large
 * become infinite. */
static void test_convert(void)
{
    enum { N = 4099 };

    for (int pair = 0; pair < 16; pair++) {
        enum shd_dtype from = (enum shd_dtype)(pair / 4), to = (enum shd_dtype)(pair % 4);
        struct kern_map m = {.dtype = to,
                             .in_dtype = {from},
                             .ndims = 1,
                             .extent = {N},
                             .out_stride = {1},
                             .ninputs = 1,
                             .in_stride = {{1}},
                             .ninstrs = 1,
                             .instrs = {{KERN_CONVERT, {0, 0}, 0}}};
        void *x = random_fractions(from, N), *out = malloc(N * sizeof(double));
        bool exact = true, right = true;

        set_elem(from, x, 0, 70000);
        set_elem(from, x, 1, NAN);
        for (int i = 2; i < N; i++)
            set_elem(from, x, i, ldexp(get_elem(from, x, i), (int)random_below(28) - 14));
        kern_map_run(&m, (const void *const[]){x}, out, 1);
        for (int i = 0; i < N; i++) {
            double was = get_elem(from, x, i), is = get_elem(to, out, i);

            right = right && (is == rounded(to, was) || (isnan(is) && isnan(was)));
            exact = exact && (is == was || isnan(was));
        }
        ok(right, "%s to %s: each element is rounded once", shd_dtype_name(from),
           shd_dtype_name(to));
        ok(exact == kern_holds(to, from), "%s %s all values of %s", shd_dtype_name(to),
           exact ? "holds" : "does not hold", shd_dtype_name(from));
        free(x);
        free(out);
    }
}

static void test_subnormal(void)
{
    float x[2] = {-95, 0x1p-140f}, y[2] = {1, 1}, out[2];

    run_fn(KERN_EXP, SHD_F32, 1, x, y, 0, out);
    ok(fabs((double)out[0] - exp(-95)) <= 0x1p-149, "exp: subnormal result");
    run_fn(KERN_LOG, SHD_F32, 1, x + 1, y, 0, out);
    ok(fabs((double)out[0] / (-140 * log(2)) - 1) < 4e-7, "log: subnormal operand");
}

static void test_int(void)
{
    static const struct {
        enum kern_fn fn;
        int32_t x, y;
        double scalar;
        int32_t want;
    } rows[] = {
        {KERN_ADD, INT32_MAX, 1, 0, INT32_MIN},
        {KERN_SUB, INT32_MIN, 1, 0, INT32_MAX},
        {KERN_MUL, 65537, 65539, 0, 131072 + 2 * 65536 + 3 - 2 * 65536 + 131072},
        {KERN_NEG, INT32_MIN, 0, 0, INT32_MIN},
        {KERN_DIV, -7, 2, 0, -3},
        {KERN_DIV, 7, 0, 0, -1},
        {KERN_DIV, INT32_MIN, -1, 0, INT32_MIN},
        {KERN_REM, -7, 2, 0, -1},
        {KERN_REM, 7, 0, 0, 7},
        {KERN_REM, INT32_MIN, -1, 0, 0},
        {KERN_ABS, INT32_MIN, 0, 0, INT32_MIN},
        {KERN_SIGN, -9, 0, 0, -1},
        {KERN_LESS, 3, 4, 0, 1},
        {KERN_LESS_EQUAL, 4, 4, 0, 1},
        {KERN_NOT_EQUAL, 4, 4, 0, 0},
        {KERN_AND, 2, 1, 0, 1},
        {KERN_OR, 0, 0, 0, 0},
        {KERN_NOT, 5, 0, 0, 0},
        {KERN_SELECT, 0, 4, 0, 4},
        {KERN_XOR, 5, 0, 0, 1},
        {KERN_BIT_AND, -1, 0x0f0f, 0, 0x0f0f},
        {KERN_BIT_OR, INT32_MIN, 5, 0, INT32_MIN + 5},
        {KERN_BIT_XOR, -1, 5, 0, -6},
        {KERN_BIT_NOT, 0, 0, 0, -1},
        {KERN_SHIFT_LEFT, 3, 31, 0, INT32_MIN},
        {KERN_SHIFT_LEFT, 3, 32, 0, 0},
        {KERN_SHIFT_RIGHT, -1, 28, 0, 15},
        {KERN_SHIFT_RIGHT, -1, -1, 0, 0},
        {KERN_ADD_SCALAR, INT32_MAX, 0, 1, INT32_MIN},
        {KERN_MAX, -3, 4, 0, 4},
        {KERN_MIN, -3, 4, 0, -3},
        {KERN_SCALE, 1 << 30, 0, 4, 0},
        {KERN_EQUAL, 5, 5, 0, 1},
        {KERN_SQRT, 17, 0, 0, 4},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int32_t got, want = rows[i].want;

        if (rows[i].fn == KERN_MUL)
            want = (int32_t)((uint32_t)rows[i].x * (uint32_t)rows[i].y);
        run_fn(rows[i].fn, SHD_I32, 1, &rows[i].x, &rows[i].y, rows[i].scalar, &got);
        ok(got == want, "int32 %s(%d, %d) is %d: %d", kern_fns[rows[i].fn].name, (int)rows[i].x,
           (int)rows[i].y, (int)want, (int)got);
    }
}

/* ---- shapes ---- */

/* ((x + y) * z) - x on small integers, which is exact. */
static void set_expression(struct kern_map *m)
{
    static const struct kern_instr instrs[] = {
        {KERN_ADD, {0, 1}, 0}, {KERN_MUL, {3, 2}, 0}, {KERN_SUB, {4, 0}, 0}};

    m->ninputs = 3;
    m->ninstrs = 3;
    memcpy(m->instrs, instrs, sizeof instrs);
}

/* The type of an operand, which may differ from the result's unless that is an integer. */
static enum shd_dtype operand_type(enum shd_dtype dtype)
{
    static const enum shd_dtype types[] = {SHD_F32, SHD_F64, SHD_BF16, SHD_F16};

    return dtype == SHD_I32 || random_below(2) ? dtype : types[random_below(4)];
}

static bool shape_once(enum shd_dtype dtype, bool in_place, int nthreads)
{
    struct kern_map m = {.dtype = dtype, .ndims = random_below(6)};
    void *in[3], *out, *want;
    int64_t index[KERN_DIMS_MAX] = {0}, span, count = 1, nout;
    bool same = true;

    set_expression(&m);
    for (uint32_t d = 0; d < m.ndims; d++) {
        m.extent[d] = random_below(25) == 0 ? 0 : 1 + random_below(random_below(6) ? 6 : 70);
        count *= m.extent[d];
    }
    nout = random_strides(m.ndims, m.extent, UINT32_MAX, m.out_stride);
    for (int i = 0; i < 3; i++) {
        uint32_t has = random_below(3) ? UINT32_MAX : random_below(1u << m.ndims);

        m.in_dtype[i] = in_place && i == 0 ? dtype : operand_type(dtype);
        span = random_strides(m.ndims, m.extent, has, m.in_stride[i]);
        if (in_place && i == 0) {
            memcpy(m.in_stride[0], m.out_stride, sizeof m.out_stride);
            span = nout;
        }
        in[i] = random_array(m.in_dtype[i], span, 4);
    }
    out = in_place ? in[0] : random_array(dtype, nout, 9);
    want = malloc((size_t)nout * 8);
    memcpy(want, out, (size_t)nout * shd_dtype_size(dtype));
    for (int64_t n = 0; n < count; n++) {
        double x[3];
        int64_t to = 0, rest = n;

        for (uint32_t d = m.ndims; d-- > 0; rest /= m.extent[d]) {
            index[d] = rest % m.extent[d];
            to += index[d] * m.out_stride[d];
        }
        for (int i = 0; i < 3; i++) {
            int64_t from = 0;

            for (uint32_t d = 0; d < m.ndims; d++)
                from += index[d] * m.in_stride[i][d];
            x[i] = get_elem(m.in_dtype[i], in[i], from);
        }
        set_elem(dtype, want, to, (x[0] + x[1]) * x[2] - x[0]);
    }
    same = kern_map_run(&m, (const void *const *)in, out, nthreads) == kern_map_flops(&m);
    for (int64_t i = 0; i < nout && same; i++)
        same = get_elem(dtype, out, i) == get_elem(dtype, want, i);
    if (!in_place)
        free(in[0]);
    free(in[1]);
    free(in[2]);
    free(out);
    free(want);
    return same;
}

static void test_shapes(void)
{
    int nruns = random_count(200);

    DTYPES(dtype)
    {
        int nbad = 0;

        for (int i = 0; i < nruns; i++)
            nbad += !shape_once(dtype, i % 4 == 0, 1 + i % TEST_THREADS);
        ok(nbad == 0, "random shapes: %s: %d of %d differ", shd_dtype_name(dtype), nbad, nruns);
    }
}

/* ---- the same bits whatever the width and the threads ---- */

static void test_bits(void)
{
    enum { N = 50021 };
    struct kern_map m = {.dtype = SHD_F32,
                         .in_dtype = {SHD_F32},
                         .ndims = 1,
                         .extent = {N},
                         .out_stride = {1},
                         .ninputs = 1,
                         .in_stride = {{1}},
                         .ninstrs = 1};
    float *x = random_fractions(SHD_F32, N), *one = malloc(N * 4), *two = malloc(N * 4);
    const void *inputs[] = {x};

    for (enum kern_fn fn = 0; fn < KERN_NFNS; fn++) {
        bool same = true;

        m.instrs[0] = (struct kern_instr){fn, {0, 0}, 1.7};
        kern_isa_limit(KERN_ISA_BASE);
        kern_map_run(&m, inputs, one, 1);
        for (enum kern_isa isa = KERN_ISA_AVX2; isa <= KERN_NISAS; isa++) {
            kern_isa_limit(isa);
            kern_map_run(&m, inputs, two, TEST_THREADS);
            for (int i = 0; i < N; i++)
                same =
                    same && (memcmp(&one[i], &two[i], 4) == 0 || (isnan(one[i]) && isnan(two[i])));
        }
        ok(same, "%s: same bits at every width and number of threads", kern_fns[fn].name);
    }
    free(x);
    free(one);
    free(two);
}

static void test_counts(void)
{
    struct kern_map m = {.dtype = SHD_BF16,
                         .in_dtype = {SHD_BF16, SHD_BF16, SHD_BF16},
                         .ndims = 2,
                         .extent = {3, 5},
                         .out_stride = {5, 1},
                         .in_stride = {{5, 1}, {0, 1}, {0, 0}}};

    set_expression(&m);
    ok(kern_map_flops(&m) == 45, "flops: three functions of one flop");
    ok(kern_map_bytes(&m) == 2 * (15 + 15 + 5 + 1), "bytes: broadcast inputs are read once");
    m.extent[0] = m.extent[1] = INT64_MAX;
    ok(kern_map_flops(&m) == UINT64_MAX, "flops: stop at the largest count");
    ok(kern_map_bytes(&m) == UINT64_MAX, "bytes: stop at the largest count");
    m.extent[1] = 0;
    ok(kern_map_flops(&m) == 0 && kern_map_bytes(&m) == 0, "an empty map counts nothing");
    for (enum kern_fn fn = 0; fn < KERN_NFNS; fn++)
        ok(kern_fns[fn].name && kern_fns[fn].noperands <= KERN_OPERANDS_MAX,
           "function %d has a name: %s", (int)fn, kern_fns[fn].name);
}

/* ---- what a result may be off ---- */

#define NERRORS 2

/* Ask the rule of errors of an expression, whose operands each have the elements 3 and -1. */
static void ask_rule(const struct kern_map *m, double parts, const double *variance, double *out)
{
    static const double values[NERRORS] = {3, -1};
    const union kern_desc desc = {.map = *m};
    const void *in[KERN_MAP_INPUTS_MAX];
    const double *variances[KERN_MAP_INPUTS_MAX];
    double result[NERRORS], *outs[] = {out};
    const struct kern_args args = {in, (void *[]){result}, NULL, NULL, 1};
    struct kern_error error = {
        .args = &args, .variances = variances, .out = outs, .type = SHD_BF16, .parts = parts};

    for (uint32_t i = 0; i < m->ninputs; i++) {
        in[i] = values;
        variances[i] = variance;
    }
    kern_map_error(&desc, &error);
}

/* Two devices may each have stored a part of the converted value, with the root mean square of the
 * array as its size. */
static void test_error_of_parts(void)
{
    const struct kern_map m = {.dtype = SHD_F64,
                               .in_dtype = {SHD_F64},
                               .ndims = 1,
                               .extent = {NERRORS},
                               .out_stride = {1},
                               .ninputs = 1,
                               .in_stride = {{1}},
                               .ninstrs = 1,
                               .instrs = {{KERN_CONVERT, {0, 0}, 0}}};
    double whole[NERRORS], parts[NERRORS], store = kern_store_roundoff(SHD_BF16);

    ask_rule(&m, 1, NULL, whole);
    ask_rule(&m, 2, NULL, parts);
    for (int i = 0; i < NERRORS; i++) {
        double least = 2 * store * store * ((i ? 1 : 9) + 5);

        ok(whole[i] < least / 1000 && parts[i] >= least && parts[i] < 1.01 * least,
           "error: of a sum, and of one that two devices store parts of (%d)", i);
    }
}

/* Functions that jump are open where the operand's error reaches a jump, and exact elsewhere.  The
 * operand is 3 with a deviation of 0.1, examined up to 0.4 on either side; `by` is added first. */
static void test_error_of_jumps(void)
{
    static const struct {
        enum kern_fn fn;
        double by;
        bool with_first; /* the other operand is the operand before the addition; else a number */
        double number;
        double low, high; /* of the variance */
    } rows[] = {
        {KERN_LESS, 0.5, true, 0, 0.25, 0.25},
        {KERN_LESS, 1.5, true, 0, 0, 0},
        {KERN_LESS, 0, false, 3.2, 0.25, 0.25},
        {KERN_LESS_EQUAL, 0, false, 3.2, 0.25, 0.25},
        {KERN_LESS_EQUAL, 0, false, 4, 0, 0},
        {KERN_EQUAL, 0, false, 3, 0.25, 0.25},
        {KERN_NOT_EQUAL, 0, false, 2.7, 0.25, 0.25},
        {KERN_NOT_EQUAL, 0, false, 2, 0, 0},
        {KERN_AND, -3, false, 1, 0.25, 0.25},
        {KERN_AND, -3, false, 0, 0, 0},
        {KERN_AND, 0, false, 1, 0, 0},
        {KERN_OR, -3, false, 1, 0, 0},
        {KERN_OR, -3, false, 0, 0.25, 0.25},
        {KERN_XOR, -3, false, 1, 0.25, 0.25},
        {KERN_NOT, -3, false, 0, 0.25, 0.25},
        {KERN_NOT, 0, false, 0, 0, 0},
        {KERN_SIGN, -3, false, 0, 0.25, 0.25},
        {KERN_SIGN, 0, false, 0, 0, 0},
        {KERN_FLOOR, 0, false, 0, 0.25, 0.25},
        {KERN_FLOOR, 0.5, false, 0, 0, 0},
        {KERN_CEIL, 0, false, 0, 0.25, 0.25},
        {KERN_ROUND, 0, false, 0, 0, 0},
        {KERN_ROUND, 0.5, false, 0, 0.25, 0.25},
        {KERN_ABS, 0, false, 0, 0.009, 0.03},
        {KERN_SIN, 0, false, 0, 0.012, 0.03},
        {KERN_COS, 0, false, 0, 0.001, 0.003},
        {KERN_TAN, 0, false, 0, 0.005, 0.03},
        {KERN_TAN, -1.5, false, 0, -1, -1},
        {KERN_POW, 0, false, 2, 0.4, 0.6},
        {KERN_POW, -3, false, 2, 0.001, 0.003},
        {KERN_POW, -3, false, 0.5, -1, -1},
        {KERN_REM, 0, false, 2, 0.009, 0.03},
        {KERN_REM, 0, false, 3, 2, 3},
        {KERN_ATAN2, 0, false, 2, 0.0005, 0.003},
        {KERN_ATAN2, -3, false, -2, 9, 11},
        {KERN_ATAN2, -3, false, 0, 9, 11},
        {KERN_GATE, -3, false, 1, 0.01, 0.1},
    };
    static const double variance[NERRORS] = {0.01, 0.01};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct kern_map m = {.dtype = SHD_F64,
                             .in_dtype = {SHD_F64},
                             .ndims = 1,
                             .extent = {NERRORS},
                             .out_stride = {1},
                             .ninputs = 1,
                             .in_stride = {{1}},
                             .ninstrs = 3,
                             .instrs = {{KERN_ADD_SCALAR, {0}, rows[i].by},
                                        {KERN_FILL, {0}, rows[i].number},
                                        {rows[i].fn, {1, rows[i].with_first ? 0 : 2}, 0}}};
        double out[NERRORS];

        ask_rule(&m, 1, variance, out);
        ok(out[0] >= rows[i].low && out[0] <= rows[i].high,
           "error: %s of 3 + %g and %g: variance %g", kern_fns[rows[i].fn].name, rows[i].by,
           rows[i].number, out[0]);
    }
}

/* An element is as large as the extreme of which it is the only candidate, which equal errors tell;
 * errors that are not known tell nothing. */
static void test_error_of_ties(void)
{
    static const enum kern_fn fns[] = {KERN_EQUAL, KERN_NOT_EQUAL, KERN_LESS, KERN_LESS_EQUAL};
    static const double known[NERRORS] = {0.01, 0.01}, open[NERRORS] = {INFINITY, INFINITY};

    for (size_t i = 0; i < sizeof fns / sizeof fns[0]; i++) {
        struct kern_map m = {.dtype = SHD_F64,
                             .in_dtype = {SHD_F64, SHD_F64},
                             .ndims = 1,
                             .extent = {NERRORS},
                             .out_stride = {1},
                             .ninputs = 2,
                             .in_stride = {{1}, {1}},
                             .ninstrs = 1,
                             .instrs = {{fns[i], {0, 1}, 0}}};
        double out[NERRORS];

        ask_rule(&m, 1, known, out);
        ok(out[0] == 0, "error: %s of an element and itself is exact", kern_fns[fns[i]].name);
        ask_rule(&m, 1, open, out);
        ok(out[0] == 0.25, "error: %s of equal numbers of which nothing is known: variance %g",
           kern_fns[fns[i]].name, out[0]);
    }
}

/* A selection is as exact as what is chosen, unless the condition is open. */
static void test_error_of_choices(void)
{
    static const struct {
        double from, low, high; /* the condition is x - from */
    } rows[] = {{0, 0.009, 0.011}, {3, 6.25, 16}, {3.1, 6.25, 16}, {8, 0.009, 0.011}};
    static const double variance[NERRORS] = {0.01, 0.01};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct kern_map m = {.dtype = SHD_F64,
                             .in_dtype = {SHD_F64},
                             .ndims = 1,
                             .extent = {NERRORS},
                             .out_stride = {1},
                             .ninputs = 1,
                             .in_stride = {{1}},
                             .ninstrs = 3,
                             .instrs = {{KERN_ADD_SCALAR, {0}, -rows[i].from},
                                        {KERN_FILL, {0}, -2},
                                        {KERN_SELECT, {0, 2, 1}, 0}}};
        double out[NERRORS];

        ask_rule(&m, 1, variance, out);
        ok(out[0] >= rows[i].low && out[0] <= rows[i].high,
           "error: 3 or -2, by a condition of %g: variance %g", 3 - rows[i].from, out[0]);
    }
}

/* Deviations of the operands may be correlated, so they add up. */
static void test_error_of_many(void)
{
    struct kern_map m = {.dtype = SHD_F64,
                         .ndims = 1,
                         .extent = {NERRORS},
                         .out_stride = {1},
                         .ninputs = KERN_MAP_INPUTS_MAX,
                         .ninstrs = KERN_MAP_INPUTS_MAX - 1};
    const double variance[NERRORS] = {0.01, 0};
    double out[NERRORS], least = variance[0] * KERN_MAP_INPUTS_MAX * KERN_MAP_INPUTS_MAX;

    for (uint32_t i = 0; i < m.ninputs; i++) {
        m.in_dtype[i] = SHD_F64;
        m.in_stride[i][0] = 1;
    }
    for (uint32_t i = 0; i < m.ninstrs; i++)
        m.instrs[i] = (struct kern_instr){KERN_ADD, {i ? m.ninputs + i - 1 : 0, i + 1}, 0};
    ask_rule(&m, 1, variance, out);
    ok(out[0] >= least && out[0] < 1.1 * least && out[1] < least / 100,
       "error: of the sum of the maximum number of operands");
}

/* ---- linearity ---- */

/* fn(a, b) of numbers. */
static double applied(enum kern_fn fn, double a, double b)
{
    struct kern_map m = {.dtype = SHD_F64, .ninputs = 2, .ninstrs = 1};
    const void *in[2] = {&a, &b};
    double out;

    m.in_dtype[0] = m.in_dtype[1] = SHD_F64;
    m.instrs[0] = (struct kern_instr){
        .fn = fn == KERN_CONVERT ? KERN_COPY : fn, .src = {0, 1}, .scalar = 0.75};
    kern_map_run(&m, in, &out, 1);
    return out;
}

/* What numbers tell of fn: whether it keeps sums of its first operand, its second, and of both. */
static enum kern_linear seen_linear(enum kern_fn fn)
{
    static const double x[] = {1.5, -0.5, 1.5, -1.5, 3, 0.25}; /* equal ones, and opposite ones */
    bool first = true, second = kern_fns[fn].noperands == 2, both = true;

    for (int i = 0; i + 3 < 6; i++) {
        double a = x[i], c = x[i + 1], b = x[i + 2], d = x[i + 3];

        first &= fabs(applied(fn, a, b) + applied(fn, c, b) - applied(fn, a + c, b)) < 1e-12;
        second &= fabs(applied(fn, a, b) + applied(fn, a, d) - applied(fn, a, b + d)) < 1e-12;
        both &= fabs(applied(fn, a, b) + applied(fn, c, d) - applied(fn, a + c, b + d)) < 1e-12;
    }
    if (both && kern_fns[fn].noperands > 0)
        return KERN_LINEAR_IN_ALL;
    return first && second ? KERN_LINEAR_IN_EACH : first ? KERN_LINEAR_IN_FIRST : KERN_NOT_LINEAR;
}

static void test_linear(void)
{
    for (int fn = 0; fn < KERN_NFNS; fn++)
        ok(is_of_words((enum kern_fn)fn) || seen_linear((enum kern_fn)fn) == kern_fns[fn].linear,
           "linear as its row says: %s", kern_fns[fn].name);
}

int main(void)
{
    plan(0);
    diag("seed %llu", (unsigned long long)random_state);
    test_accuracy();
    test_relative();
    test_special();
    test_nan();
    test_pairs();
    test_select();
    test_gate();
    test_convert();
    test_subnormal();
    test_int();
    test_shapes();
    test_bits();
    test_counts();
    test_error_of_parts();
    test_error_of_jumps();
    test_error_of_ties();
    test_error_of_choices();
    test_error_of_many();
    test_linear();
    return done();
}
