/* Functions that the error rules of several kernels share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/error.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

double kern_store_roundoff(enum shd_dtype dtype)
{
    static const double roundoff[SHD_NDTYPES] = {
        [SHD_F32] = 0x1p-24,   [SHD_F64] = 0x1p-52,   [SHD_BF16] = 0x1p-8,  [SHD_F16] = 0x1p-11,
        [SHD_F8E4M3] = 0x1p-4, [SHD_F8E5M2] = 0x1p-3, [SHD_F4E2M1] = 0x1p-2};

    return roundoff[dtype];
}

double kern_compute_roundoff(enum shd_dtype dtype)
{
    return dtype == SHD_F64 ? kern_store_roundoff(SHD_F64) : kern_store_roundoff(SHD_F32);
}

/* The largest value of a type, and its smallest normal value: a smaller one loses up to as much as
 * that one, or everything in hardware that flushes to zero. */
static const struct {
    double largest, least;
} ranges[SHD_NDTYPES] = {
    [SHD_F32] = {FLT_MAX, FLT_MIN},
    [SHD_F64] = {DBL_MAX, 0x1p-511}, /* the variance of a smaller loss would be 0 */
    [SHD_BF16] = {0x1.fep127, FLT_MIN},
    [SHD_F16] = {65504, 0x1p-25}, /* rounded by integer arithmetic, with subnormals: half of the
                                     least */
    [SHD_F8E4M3] = {INFINITY, 0x1p-10}, /* codes saturate (coded.h) */
    [SHD_F8E5M2] = {INFINITY, 0x1p-17},
    [SHD_F4E2M1] = {INFINITY, 0x1p-2},
    [SHD_I32] = {0x1p31, 0}, /* exact, unless it is chosen by what is not */
    [SHD_I8] = {0x1p7, 0},
    [SHD_U8] = {0x1p8, 0},
};

double kern_largest(enum shd_dtype dtype)
{
    return ranges[dtype].largest;
}

double kern_store_loss(enum shd_dtype dtype, double value)
{
    return kern_store_roundoff(dtype) * fabs(value) + ranges[dtype].least;
}

double kern_stored_variance(enum shd_dtype dtype, bool kept, double value, double variance)
{
    double lost = kern_store_loss(dtype, value);

    if (variance < 0)
        return INFINITY;
    if (!isfinite(value))
        return 0; /* compared for equality */
    if (!kept)
        variance += lost * lost;
    if (fabs(value) + KERN_ERROR_ALLOWED * sqrt(variance) <= ranges[dtype].largest)
        return variance;
    return INFINITY; /* also for NaN */
}

double kern_mean_square(const double *values, uint64_t n)
{
    double sum = 0;
    uint64_t nfinite = 0;

    for (uint64_t i = 0; i < n; i++) {
        if (!isfinite(values[i]))
            continue;
        sum += values[i] * values[i];
        nfinite++;
    }
    return nfinite > 0 ? sum / (double)nfinite : 0;
}

uint8_t kern_marks(const double *values, const double *variances, uint64_t n)
{
    uint32_t marks = variances ? KERN_MARK_INEXACT : 0;

    for (uint64_t i = 0; i < n && values; i++)
        if (!isfinite(values[i]))
            marks |= values[i] == -INFINITY ? KERN_MARK_MINUS_INFINITY : KERN_MARK_NOT_FINITE;
    for (uint64_t i = 0; i < n && variances; i++)
        if (!isfinite(variances[i]))
            marks |= isnan(variances[i]) ? KERN_MARK_BROKEN : KERN_MARK_OPEN;
    return (uint8_t)marks;
}

double *kern_squared(const double *values, uint64_t n)
{
    double *out = malloc((size_t)(n + 1) * sizeof *out);

    if (!out)
        return NULL;
    for (uint64_t i = 0; i < n; i++)
        out[i] = values[i] * values[i];
    out[n] = 0;
    return out;
}

void *kern_zeroed(uint64_t n, size_t size)
{
    void *memory = n < SIZE_MAX / size ? malloc((size_t)(n + 1) * size) : NULL;

    if (memory)
        memset(memory, 0, (size_t)n * size); /* not all of it: compilers would turn that into
                                                calloc() */
    return memory;
}

/* Run a kernel with operand `at` replaced. */
static void run_on(const struct kern_kernel *kernel, const union kern_desc *desc,
                   const struct kern_args *args, uint32_t noperands, uint32_t at,
                   const double *operand, double *out)
{
    const void *in[KERN_MAP_INPUTS_MAX];
    void *outs[1] = {out};
    struct kern_args other = *args;

    for (uint32_t k = 0; k < noperands; k++)
        in[k] = k == at ? operand : args->in[k];
    other.in = in;
    other.out = outs;
    kernel->run(desc, &other);
}

bool kern_error_moved(const struct kern_kernel *kernel, const union kern_desc *desc,
                      struct kern_error *e, uint32_t moved, uint32_t noperands)
{
    union kern_desc floats = *desc;

    e->kept = true;
    if (kern_is_whole(desc->map.dtype))
        floats.map.dtype = SHD_F64; /* of variances; every description begins with its type */
    if (e->variances[moved])
        run_on(kernel, &floats, e->args, noperands, moved, e->variances[moved], e->out[0]);
    return true;
}

bool kern_error_added(const struct kern_kernel *kernel, const union kern_desc *desc,
                      const struct kern_error *e, uint32_t added, uint64_t nin, uint64_t nout,
                      double n, double compute)
{
    const double *x = e->args->in[added], *total = e->args->out[0];
    double *x2 = kern_squared(x, nin), *squares = malloc((size_t)(nout + 1) * sizeof *squares);
    bool done = x2 && squares;

    if (done) {
        run_on(kernel, desc, e->args, added + 1, added, x2, squares);
        for (uint64_t i = 0; i < nin && e->variances[added]; i++)
            x2[i] = sqrt(e->variances[added][i]);
        if (e->variances[added])
            run_on(kernel, desc, e->args, added + 1, added, x2, e->out[0]);
        for (uint64_t i = 0; i < nout; i++)
            e->out[0][i] = e->out[0][i] * e->out[0][i] +
                           kern_sum_variance(e, compute, n, squares[i], total[i]);
    }
    free(x2);
    free(squares);
    return done;
}
