/* Tests reduce of kern/kern.h: values, empty sums, NaNs, accuracy, the same bits for any number of
 * threads, counts, and the rule of errors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "../support/tap.h"

#include <math.h>

#include "kern/error.h"
#include "kern/isa.h"
#include "kern_data.h"

static const enum shd_reduce_op ops[] = {SHD_SUM, SHD_MAX, SHD_MIN};
static const char *const op_names[] = {"sum", "max", "min"};

static double fold(enum shd_reduce_op op, double acc, double x)
{
    return op == SHD_SUM ? acc + x : op == SHD_MAX ? fmax(acc, x) : fmin(acc, x);
}

static double start(enum shd_reduce_op op)
{
    return op == SHD_SUM ? 0 : op == SHD_MAX ? -INFINITY : INFINITY;
}

/* A plain loop over all elements, which accumulates in doubles with the layout of `out`. */
static void plain(const struct kern_reduce *r, const void *in, int64_t nout, void *out)
{
    double *acc = malloc((size_t)nout * sizeof *acc);
    bool *touched = calloc((size_t)nout, 1);
    int64_t count = 1;

    for (uint32_t d = 0; d < r->ndims; d++)
        count *= r->extent[d];
    for (int64_t i = 0; i < nout; i++)
        acc[i] = start(r->op);
    for (int64_t n = 0; n < count; n++) {
        int64_t rest = n, from = 0, to = 0;

        for (uint32_t d = r->ndims; d-- > 0; rest /= r->extent[d]) {
            from += rest % r->extent[d] * r->in_stride[d];
            to += (r->out_has >> d & 1) ? rest % r->extent[d] * r->out_stride[d] : 0;
        }
        acc[to] = fold(r->op, acc[to], get_elem(r->dtype, in, from));
        touched[to] = true;
    }
    for (int64_t i = 0; i < nout; i++) {
        if (touched[i])
            set_elem(r->dtype, out, i, acc[i]);
    }
    free(acc);
    free(touched);
}

static bool once(enum shd_dtype dtype, enum shd_reduce_op op, int nthreads)
{
    struct kern_reduce r = {.dtype = dtype, .op = op, .ndims = random_below(6)};
    int64_t nin, nout;
    void *in, *got, *want;
    bool same = true;

    for (uint32_t d = 0; d < r.ndims; d++)
        r.extent[d] = 1 + random_below(random_below(5) ? 6 : 80);
    r.out_has = random_below(1u << r.ndims);
    nin = random_strides(r.ndims, r.extent, UINT32_MAX, r.in_stride);
    nout = random_strides(r.ndims, r.extent, r.out_has, r.out_stride);
    in = random_array(dtype, nin, 3);
    want = random_array(dtype, nout, 40);
    got = malloc((size_t)nout * 8);
    memcpy(got, want, (size_t)nout * shd_dtype_size(dtype));
    plain(&r, in, nout, want);
    same = kern_reduce_run(&r, in, got, nthreads) == kern_reduce_flops(&r);
    for (int64_t i = 0; i < nout && same; i++)
        same = get_elem(dtype, got, i) == get_elem(dtype, want, i);
    free(in);
    free(got);
    free(want);
    return same;
}

static void test_random(void)
{
    int nruns = random_count(150);

    DTYPES(dtype)
    {
        for (int o = 0; o < 3; o++) {
            int nbad = 0;

            for (int i = 0; i < nruns; i++)
                nbad += !once(dtype, ops[o], 1 + i % TEST_THREADS);
            ok(nbad == 0, "random %s: %s: %d of %d differ", op_names[o], shd_dtype_name(dtype),
               nbad, nruns);
        }
    }
}

/* A rows x cols matrix in row-major order, reduced to the dimensions in `kept`. */
static struct kern_reduce matrix(enum shd_dtype dtype, enum shd_reduce_op op, int64_t rows,
                                 int64_t cols, uint32_t kept)
{
    return (struct kern_reduce){.dtype = dtype,
                                .op = op,
                                .ndims = 2,
                                .extent = {rows, cols},
                                .in_stride = {cols, 1},
                                .out_has = kept,
                                .out_stride = {kept == 3 ? cols : 1, 1}};
}

static void test_empty(void)
{
    float in[1] = {5}, out[3] = {7, 7, 7};
    struct kern_reduce r = matrix(SHD_F32, SHD_SUM, 3, 0, 1);

    kern_reduce_run(&r, in, out, 1);
    ok(out[0] == 0 && out[1] == 0 && out[2] == 0, "the sum of nothing is 0");
    r = matrix(SHD_F32, SHD_MAX, 0, 3, 2);
    kern_reduce_run(&r, in, out, 1);
    ok(out[0] == -INFINITY && out[2] == -INFINITY, "the max of nothing is -inf");
    r = matrix(SHD_F32, SHD_MIN, 3, 0, 0);
    kern_reduce_run(&r, in, out, 1);
    ok(out[0] == INFINITY, "the min of nothing is inf");
    out[0] = 7;
    r = matrix(SHD_F32, SHD_SUM, 3, 0, 2);
    kern_reduce_run(&r, in, out, 1);
    ok(out[0] == 7, "no result is written where there is none");
}

static void test_nan(void)
{
    for (int o = 0; o < 3; o++) {
        float in[100], out[1];
        struct kern_reduce r = matrix(SHD_F32, ops[o], 1, 100, 0);

        for (int i = 0; i < 100; i++)
            in[i] = (float)i;
        in[37] = NAN;
        kern_reduce_run(&r, in, out, 1);
        ok(isnan(out[0]), "%s: a NaN stays, along a line", op_names[o]);
        r = matrix(SHD_F32, ops[o], 50, 2, 2);
        kern_reduce_run(&r, in, in + 2, 1);
        ok(isnan(in[3]), "%s: a NaN stays, along columns", op_names[o]);
    }
}

static void test_int(void)
{
    int32_t in[3] = {INT32_MAX, INT32_MAX, 5}, out[1];
    struct kern_reduce r = matrix(SHD_I32, SHD_SUM, 1, 3, 0);

    kern_reduce_run(&r, in, out, 1);
    ok(out[0] == 3, "int32 sums wrap");
    r.op = SHD_MAX;
    kern_reduce_run(&r, in, out, 1);
    ok(out[0] == INT32_MAX, "int32 max");
}

/* A million times 0.1f: the error is that of a single rounding. */
static void test_accuracy(void)
{
    enum { N = 1 << 20 };
    float *in = malloc(N * sizeof *in), out[1];
    struct kern_reduce r = matrix(SHD_F32, SHD_SUM, 1, N, 0);
    double want = (double)0.1f * N;

    for (int i = 0; i < N; i++)
        in[i] = 0.1f;
    kern_reduce_run(&r, in, out, 1);
    ok(fabs(out[0] - want) <= want * 6e-8, "a long sum is rounded once");
    r = matrix(SHD_F32, SHD_SUM, N, 1, 2);
    kern_reduce_run(&r, in, out, 1);
    ok(fabs(out[0] - want) <= want * 6e-8, "a long sum along the other dimension is rounded once");
    free(in);
}

static void test_bits(void)
{
    enum { ROWS = 301, COLS = 777 };
    double *in = random_fractions(SHD_F64, ROWS * COLS), one[COLS], two[COLS];

    for (uint32_t kept = 0; kept < 3; kept++) {
        struct kern_reduce r = matrix(SHD_F64, SHD_SUM, ROWS, COLS, kept);
        size_t n = kept == 0 ? 1 : kept == 1 ? ROWS : COLS;
        bool same = true;

        kern_isa_limit(KERN_ISA_BASE);
        kern_reduce_run(&r, in, one, 1);
        for (enum kern_isa isa = KERN_ISA_AVX2; isa <= KERN_NISAS; isa++) {
            kern_isa_limit(isa);
            kern_reduce_run(&r, in, two, TEST_THREADS);
            same = same && memcmp(one, two, n * sizeof *one) == 0;
        }
        ok(same, "same bits at every width and number of threads, keeping %u", (unsigned)kept);
    }
    free(in);
}

static void test_counts(void)
{
    struct kern_reduce r = matrix(SHD_F64, SHD_SUM, 3, 5, 1);

    ok(kern_reduce_flops(&r) == 15, "flops: one per element");
    ok(kern_reduce_bytes(&r) == 8 * (15 + 3), "bytes: read once, written once");
    r = matrix(SHD_F64, SHD_SUM, INT64_MAX, 1, 1);
    r.extent[1] = INT64_MAX;
    ok(kern_reduce_flops(&r) == UINT64_MAX, "flops: stop at the largest count");
    ok(kern_reduce_bytes(&r) == UINT64_MAX, "bytes: stop at the largest count");
}

/* The error of a maximum is the variance of the element that surely is the maximum, or twice the
 * largest variance of those that may be. */
static void test_error(void)
{
    static const double values[3] = {1, -1, 1.25}, variances[3] = {1e-6, 4e-6, 9e-6};
    static const double uncertain[3] = {1e-6, 4e-6, 1};
    union kern_desc desc = {.reduce = matrix(SHD_F64, SHD_MAX, 1, 3, 0)};
    const void *in[] = {values};
    const double *given[] = {variances};
    double result, out = 0, *outs[] = {&out};
    const struct kern_args args = {in, (void *[]){&result}, NULL, NULL, 1};
    struct kern_error error = {.args = &args, .variances = given, .out = outs, .type = SHD_F64};

    ok(kern_reduce_error(&desc, &error) && out == 9e-6, "error: of the one largest: %g", out);
    out = 0;
    desc.reduce.op = SHD_MIN;
    ok(kern_reduce_error(&desc, &error) && out == 4e-6, "error: of the one least: %g", out);
    out = 0;
    given[0] = uncertain;
    ok(kern_reduce_error(&desc, &error) && out == 2, "error: where it may be another: %g", out);
}

int main(void)
{
    plan(0);
    diag("seed %llu", (unsigned long long)random_state);
    test_random();
    test_empty();
    test_nan();
    test_int();
    test_accuracy();
    test_bits();
    test_counts();
    test_error();
    return done();
}
