/* Reductions.  All accumulate in double: floats are rounded once, int32 sums are exact and wrapped
 * before they could become inexact.  The order of additions depends only on the shape and strides.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/kern.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kern/convert.h"
#include "kern/nest.h"

#define BLOCK 256 /* elements read, or results summed in parallel, at a time */
#define LINES 16 /* results in a task that sums along the reduced dimensions */

struct reduce_run {
    const struct kern_reduce *reduce;
    const char *in;
    char *out;
    struct kern_nest kept; /* arrays in, out */
    struct kern_nest gone; /* array in */
    int64_t nkept;
    int64_t ngone;
};

static double identity(enum shd_reduce_op op)
{
    return op == SHD_MAX ? -INFINITY : op == SHD_MIN ? INFINITY : 0;
}

/* condition ? yes : no, by masks: see kern_select32(). */
KERN_BODY double select64(int condition, double yes, double no)
{
    uint64_t y, n, mask = 0u - (uint64_t)condition;
    double x;

    memcpy(&y, &yes, sizeof y);
    memcpy(&n, &no, sizeof n);
    y = (y & mask) | (n & ~mask);
    memcpy(&x, &y, sizeof x);
    return x;
}

#define LANES(expr)                                                      \
    for (; n > 0; n -= KERN_LANES, x += KERN_LANES, acc += KERN_LANES) { \
        for (int j = 0; j < KERN_LANES; j++)                             \
            acc[j] = (expr);                                             \
    }                                                                    \
    break

/* acc[i] = acc[i] op x[i]; n is a multiple of KERN_LANES.  NaNs stay. */
KERN_BODY void fold_body(enum shd_reduce_op op, size_t n, const double *restrict x,
                         double *restrict acc)
{
    switch (op) {
    case SHD_MAX:
        LANES(select64((x[j] > acc[j]) | (x[j] != x[j]), x[j], acc[j]));
    case SHD_MIN:
        LANES(select64((x[j] < acc[j]) | (x[j] != x[j]), x[j], acc[j]));
    default:
        LANES(acc[j] + x[j]);
    }
}

KERN_VARIANTS(static, fold,
              (enum shd_reduce_op op, size_t n, const double *restrict x, double *restrict acc),
              (op, n, x, acc))

static double fold_two(enum shd_reduce_op op, double a, double x)
{
    if (op == SHD_SUM || op == SHD_MEAN)
        return a + x;
    if (x != x)
        return x;
    return (op == SHD_MAX ? x > a : x < a) ? x : a;
}

#define WRAP_EVERY (1 << 20) /* the sum of this many int32 is below 2^53: exact in a double */

/* Wrap sums of int32 to 32 bits. */
static void wrap(const struct reduce_run *run, size_t n, double *acc)
{
    if (run->reduce->dtype != SHD_I32 || run->reduce->op == SHD_MAX || run->reduce->op == SHD_MIN)
        return;
    for (size_t i = 0; i < n; i++) {
        uint32_t low = (uint32_t)(int64_t)acc[i];
        int32_t value;

        memcpy(&value, &low, sizeof value);
        acc[i] = value;
    }
}

static size_t round_up(size_t n)
{
    return (n + KERN_LANES - 1) / KERN_LANES * KERN_LANES;
}

/* Load n elements from the walk's position, in runs, padded to whole lanes with `rest`; advances
 * the walk. */
static void load(const struct reduce_run *run, const char *base, struct kern_walk *walk, size_t n,
                 double rest, double *out)
{
    enum shd_dtype dtype = run->reduce->dtype;
    const struct kern_nest *nest = walk->nest;
    int64_t stride = nest->ndims ? nest->stride[0][nest->ndims - 1] : 1;

    for (size_t at = 0; at < n;) {
        int64_t left = kern_walk_run(walk);
        size_t length = (size_t)left < n - at ? (size_t)left : n - at;

        kern_load_f64(dtype, base + walk->offset[0] * (int64_t)kern_size(dtype), stride, length,
                      out + at);
        kern_walk_advance(walk, (int64_t)length);
        at += length;
    }
    for (size_t i = n; i < round_up(n); i++)
        out[i] = rest;
}

/* Store n results from the walk's position. */
static void store(const struct reduce_run *run, struct kern_walk walk, size_t n, const double *in)
{
    enum shd_dtype dtype = run->reduce->dtype;
    const struct kern_nest *nest = walk.nest;
    int64_t stride = nest->ndims ? nest->stride[1][nest->ndims - 1] : 1;

    for (size_t at = 0; at < n;) {
        int64_t left = kern_walk_run(&walk);
        size_t length = (size_t)left < n - at ? (size_t)left : n - at;

        kern_store_f64(dtype, run->out + walk.offset[1] * (int64_t)kern_size(dtype), stride, length,
                       in + at);
        kern_walk_advance(&walk, (int64_t)length);
        at += length;
    }
}

/* Compute one result: parallel lanes over all its elements, combined at the end as a tree. */
static double line(const struct reduce_run *run, const char *base, uint64_t *flops)
{
    enum shd_reduce_op op = run->reduce->op;
    double x[BLOCK], acc[KERN_LANES];
    struct kern_walk walk;

    for (size_t i = 0; i < KERN_LANES; i++)
        acc[i] = identity(op);
    if (run->ngone > 0)
        kern_walk_init(&walk, &run->gone, 0);
    for (int64_t at = 0; at < run->ngone; at += BLOCK) {
        size_t n = (size_t)(run->ngone - at < BLOCK ? run->ngone - at : BLOCK);

        load(run, base, &walk, n, identity(op), x);
        for (size_t i = 0; i < n; i += KERN_LANES)
            fold(op, KERN_LANES, x + i, acc);
        *flops += n;
        wrap(run, KERN_LANES, acc);
    }
    for (size_t half = KERN_LANES / 2; half > 0; half /= 2) {
        for (size_t i = 0; i < half; i++)
            acc[i] = fold_two(op, acc[i], acc[i + half]);
    }
    wrap(run, 1, acc);
    return acc[0];
}

static uint64_t lines_task(void *arg, int64_t task)
{
    const struct reduce_run *run = arg;
    int64_t at = task * LINES, end = at + LINES < run->nkept ? at + LINES : run->nkept;
    double result[LINES];
    struct kern_walk walk, first;
    uint64_t flops = 0;

    kern_walk_init(&walk, &run->kept, at);
    first = walk;
    for (int64_t i = 0; i < end - at; i++) {
        result[i] =
            line(run, run->in + walk.offset[0] * (int64_t)kern_size(run->reduce->dtype), &flops);
        kern_walk_advance(&walk, 1);
    }
    store(run, first, (size_t)(end - at), result);
    return flops;
}

/* Compute a block of results in parallel, each in the order of its elements. */
static uint64_t columns_task(void *arg, int64_t task)
{
    const struct reduce_run *run = arg;
    int64_t at = task * BLOCK;
    size_t n = (size_t)(run->nkept - at < BLOCK ? run->nkept - at : BLOCK);
    double x[BLOCK], acc[BLOCK];
    struct kern_walk kept, gone;
    uint64_t flops = 0;

    for (size_t i = 0; i < BLOCK; i++)
        acc[i] = identity(run->reduce->op);
    kern_walk_init(&kept, &run->kept, at);
    if (run->ngone > 0)
        kern_walk_init(&gone, &run->gone, 0);
    for (int64_t i = 0; i < run->ngone; i++) {
        struct kern_walk walk = kept;

        load(run, run->in + gone.offset[0] * (int64_t)kern_size(run->reduce->dtype), &walk, n, 0,
             x);
        fold(run->reduce->op, round_up(n), x, acc);
        flops += n;
        if (i % WRAP_EVERY == 0)
            wrap(run, n, acc);
        kern_walk_advance(&gone, 1);
    }
    wrap(run, n, acc);
    store(run, kept, n, acc);
    return flops;
}

static bool in(const struct kern_reduce *r, uint32_t d)
{
    return r->out_has >> d & 1;
}

/* Whether memory runs along a kept dimension, so that adjacent results are contiguous. */
static bool runs_along_kept(const struct reduce_run *run)
{
    const struct kern_nest *kept = &run->kept, *gone = &run->gone;

    if (kept->ndims == 0)
        return false;
    return gone->ndims == 0 ||
           llabs(kept->stride[0][kept->ndims - 1]) < llabs(gone->stride[0][gone->ndims - 1]);
}

uint64_t kern_reduce_flops(const struct kern_reduce *r)
{
    return kern_elements(r->ndims, r->extent, UINT32_MAX);
}

uint64_t kern_reduce_bytes(const struct kern_reduce *r)
{
    uint64_t count = kern_sat_add(kern_elements(r->ndims, r->extent, UINT32_MAX),
                                  kern_elements(r->ndims, r->extent, r->out_has));

    return kern_sat_mul(count, kern_size(r->dtype));
}

uint64_t kern_reduce_run(const struct kern_reduce *r, const void *in_array, void *out, int nthreads)
{
    struct reduce_run run = {.reduce = r, .in = in_array, .out = out};

    if (kern_elements(r->ndims, r->extent, r->out_has) == 0)
        return 0;
    run.kept.narrays = 2;
    run.gone.narrays = 1;
    for (uint32_t d = 0; d < r->ndims; d++) {
        if (in(r, d))
            kern_nest_add(&run.kept, r->extent[d],
                          (const int64_t[]){r->in_stride[d], r->out_stride[d]});
        else
            kern_nest_add(&run.gone, r->extent[d], &r->in_stride[d]);
    }
    kern_nest_simplify(&run.kept, 0);
    kern_nest_simplify(&run.gone, 0);
    run.nkept = kern_nest_count(&run.kept);
    run.ngone = kern_nest_count(&run.gone);
    if (runs_along_kept(&run))
        return kern_parallel(columns_task, &run, (run.nkept + BLOCK - 1) / BLOCK, nthreads);
    return kern_parallel(lines_task, &run, (run.nkept + LINES - 1) / LINES, nthreads);
}
