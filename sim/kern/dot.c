/* Einsums that are no matrix product: sums of a[i] * b[i] in which neither operand has a dimension
 * of its own (norms and their gradients).  They run at memory speed; sums are in double.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/convert.h"
#include "kern/gemm.h"
#include "kern/isa.h"

#define CHUNK 512 /* results summed in parallel: 4 KiB of the stack */
#define LINES 64  /* results in a task if each is a sum along memory */

struct dot {
    const struct kern_gemm *g;
    const char *a, *b;
    char *c;
    size_t size;
    int64_t nresults, nterms;
};

/* acc[j] += a[..] * b[..] over whole groups of lanes. */
#define DOT                                                          \
    for (; n > 0; n -= KERN_LANES, a += KERN_LANES, b += KERN_LANES) \
        for (int j = 0; j < KERN_LANES; j++)                         \
    acc[j] += (double)a[j] * (double)b[j]

KERN_BODY void dot32_body(size_t n, const float *restrict a, const float *restrict b,
                          double *restrict acc)
{
    DOT;
}

KERN_BODY void dot64_body(size_t n, const double *restrict a, const double *restrict b,
                          double *restrict acc)
{
    DOT;
}

/* acc[i] += a[i] * b[i] */
#define MAC                                                                             \
    for (; n > 0; n -= KERN_LANES, a += KERN_LANES, b += KERN_LANES, acc += KERN_LANES) \
        for (int j = 0; j < KERN_LANES; j++)                                            \
    acc[j] += (double)a[j] * (double)b[j]

KERN_BODY void mac32_body(size_t n, const float *restrict a, const float *restrict b,
                          double *restrict acc)
{
    MAC;
}

KERN_BODY void mac64_body(size_t n, const double *restrict a, const double *restrict b,
                          double *restrict acc)
{
    MAC;
}

KERN_VARIANTS(static, dot32,
              (size_t n, const float *restrict a, const float *restrict b, double *restrict acc),
              (n, a, b, acc))
KERN_VARIANTS(static, dot64,
              (size_t n, const double *restrict a, const double *restrict b, double *restrict acc),
              (n, a, b, acc))
KERN_VARIANTS(static, mac32,
              (size_t n, const float *restrict a, const float *restrict b, double *restrict acc),
              (n, a, b, acc))
KERN_VARIANTS(static, mac64,
              (size_t n, const double *restrict a, const double *restrict b, double *restrict acc),
              (n, a, b, acc))

static double at(const struct dot *d, const char *x, int64_t i)
{
    return d->size == sizeof(float) ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

static void put(const struct dot *d, int64_t i, double value)
{
    if (d->size == sizeof(float))
        ((float *)d->c)[i] = (float)value;
    else
        ((double *)d->c)[i] = value;
}

static const char *shifted(const struct dot *d, const char *x, int64_t i)
{
    return x + i * (int64_t)d->size;
}

/* ---- each result is a sum along memory ---- */

static double sum_along(const struct dot *d, const char *a, const char *b, uint64_t *flops)
{
    double acc[KERN_LANES] = {0}, sum = 0;
    int64_t left = d->nterms;
    struct kern_walk walk;

    kern_walk_init(&walk, &d->g->k, 0);
    while (left > 0) {
        int64_t n = kern_walk_run(&walk), whole = n - n % KERN_LANES;
        const char *x = shifted(d, a, walk.offset[0]), *y = shifted(d, b, walk.offset[1]);

        if (d->size == sizeof(float))
            dot32((size_t)whole, (const float *)x, (const float *)y, acc);
        else
            dot64((size_t)whole, (const double *)x, (const double *)y, acc);
        for (int64_t i = whole; i < n; i++)
            sum += at(d, x, i) * at(d, y, i);
        *flops += 2 * (uint64_t)n;
        kern_walk_advance(&walk, n);
        left -= n;
    }
    for (int j = 0; j < KERN_LANES; j++)
        sum += acc[j];
    return sum;
}

static uint64_t along_task(void *arg, int64_t task)
{
    const struct dot *d = arg;
    int64_t first = task * LINES, last = first + LINES;
    struct kern_walk walk;
    uint64_t flops = 0;

    last = last < d->nresults ? last : d->nresults;
    kern_walk_init(&walk, &d->g->batch, first);
    for (int64_t i = first; i < last; i++) {
        put(d, walk.offset[2],
            sum_along(d, shifted(d, d->a, walk.offset[0]), shifted(d, d->b, walk.offset[1]),
                      &flops));
        kern_walk_advance(&walk, 1);
    }
    return flops;
}

/* ---- many results in parallel ---- */

static void add_across(const struct dot *d, const char *a, const char *b, int64_t n, double *acc)
{
    int64_t whole = n - n % KERN_LANES;

    if (d->size == sizeof(float))
        mac32((size_t)whole, (const float *)a, (const float *)b, acc);
    else
        mac64((size_t)whole, (const double *)a, (const double *)b, acc);
    for (int64_t i = whole; i < n; i++)
        acc[i] += at(d, a, i) * at(d, b, i);
}

/* Compute chunk `task` of the innermost dimensions of all results. */
static uint64_t across_task(void *arg, int64_t task)
{
    const struct dot *d = arg;
    int64_t row = d->g->batch.extent[d->g->batch.ndims - 1];
    int64_t nchunks = (row + CHUNK - 1) / CHUNK, column = task % nchunks * CHUNK;
    int64_t n = row - column < CHUNK ? row - column : CHUNK;
    double acc[CHUNK] = {0};
    struct kern_walk results, terms;
    uint64_t flops = 0;

    kern_walk_init(&results, &d->g->batch, task / nchunks * row + column);
    kern_walk_init(&terms, &d->g->k, 0);
    for (int64_t i = 0; i < d->nterms; i++) {
        add_across(d, shifted(d, d->a, results.offset[0] + terms.offset[0]),
                   shifted(d, d->b, results.offset[1] + terms.offset[1]), n, acc);
        flops += 2 * (uint64_t)n;
        kern_walk_advance(&terms, 1);
    }
    for (int64_t i = 0; i < n; i++)
        put(d, results.offset[2] + i, acc[i]);
    return flops;
}

/* Whether arrays 0..narrays-1 are contiguous along the innermost dimension. */
static bool in_rows(const struct kern_nest *nest, uint32_t narrays)
{
    for (uint32_t i = 0; i < narrays; i++)
        if (nest->ndims == 0 || nest->stride[i][nest->ndims - 1] != 1)
            return false;
    return true;
}

bool kern_gemm_dot(const struct kern_gemm *g, const void *a, const void *b, void *c, int nthreads,
                   uint64_t *flops)
{
    struct dot d = {
        g, a, b, c, kern_size(g->dtype), kern_nest_count(&g->batch), kern_nest_count(&g->k)};

    if ((g->dtype != SHD_F32 && g->dtype != SHD_F64) || g->m.ndims || g->n.ndims || d.nterms == 0)
        return false;
    if (in_rows(&g->k, 2)) {
        *flops = kern_parallel(along_task, &d, (d.nresults + LINES - 1) / LINES, nthreads);
        return true;
    }
    if (in_rows(&g->batch, 3)) {
        int64_t row = g->batch.extent[g->batch.ndims - 1];

        *flops = kern_parallel(across_task, &d, d.nresults / row * ((row + CHUNK - 1) / CHUNK),
                               nthreads);
        return true;
    }
    return false;
}
