/* The causal mask: for each query, visible keys are copied and the others overwritten; and the
 * padding mask, for keys after the last real one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/kernel.h"

#include <math.h>
#include <stdlib.h>

#include "kern/convert.h"
#include "kern/cut.h"
#include "kern/error.h"
#include "kern/nest.h"

#define ROWS 64 /* rows of one task */

struct causal_run {
    const struct kern_causal *causal;
    const char *in;
    char *out;
    int64_t diagonal;      /* number of keys that the first query sees */
    struct kern_nest rows; /* arrays: element offsets, and the query of each row */
    int64_t nrows;
    double masked; /* as an element, of at most 8 bytes */
};

/* Mask one row, along the keys. */
static void mask_row(const struct causal_run *run, int64_t offset, int64_t query)
{
    const struct kern_causal *c = run->causal;
    size_t size = kern_size(c->dtype);
    int64_t nkeys = c->extent[c->key_dim], stride = c->stride[c->key_dim], none = 0;
    int64_t n = run->diagonal + query, at = offset * (int64_t)size, rest;

    n = n < 0 ? 0 : n > nkeys ? nkeys : n;
    rest = nkeys - n;
    if (run->out != run->in)
        kern_copy_box(size, 1, &n, run->out + at, &stride, run->in + at, &stride);
    kern_copy_box(size, 1, &rest, run->out + at + n * stride * (int64_t)size, &stride, &run->masked,
                  &none);
}

static uint64_t task(void *arg, int64_t id)
{
    const struct causal_run *run = arg;
    int64_t first = id * ROWS, n = run->nrows - first < ROWS ? run->nrows - first : ROWS;
    struct kern_walk walk;

    kern_walk_init(&walk, &run->rows, first);
    for (int64_t i = 0; i < n; i++) {
        mask_row(run, walk.offset[0], walk.offset[1]);
        kern_walk_advance(&walk, 1);
    }
    return 0;
}

static bool has_queries(const struct kern_causal *c)
{
    return c->query_dim < c->ndims;
}

/* Keys that the first query sees, not limited by the number of keys. */
static int64_t first_seen(const struct kern_causal *c, const int64_t *offsets)
{
    return has_queries(c) ? offsets[0] - offsets[1] + 1 : c->held - offsets[1];
}

static uint64_t run_causal(const union kern_desc *desc, const struct kern_args *args)
{
    const struct kern_causal *c = &desc->causal;
    struct causal_run run = {.causal = c, .in = args->in[0], .out = args->out[0]};

    if (kern_elements(c->ndims, c->extent, UINT32_MAX) == 0)
        return 0;
    kern_store_f64(c->dtype, &run.masked, 1, 1, &c->masked);
    run.diagonal = first_seen(c, args->offsets);
    run.rows.narrays = 2;
    for (uint32_t d = 0; d < c->ndims; d++) {
        if (d != c->key_dim)
            kern_nest_add(&run.rows, c->extent[d],
                          (const int64_t[]){c->stride[d], d == c->query_dim});
    }
    kern_nest_simplify(&run.rows, 0);
    run.nrows = kern_nest_count(&run.rows);
    return kern_parallel(task, &run, (run.nrows + ROWS - 1) / ROWS, args->nthreads);
}

/* Pairs of a query and a key that it sees, over these two dimensions.  The first queries see no
 * key; then each sees one key more than the one before, until they see all. */
static uint64_t nseen(const struct kern_causal *c, int64_t diagonal)
{
    int64_t nqueries = has_queries(c) ? c->extent[c->query_dim] : 1, nkeys = c->extent[c->key_dim];
    int64_t first = diagonal < 1 ? 1 - diagonal : 0; /* first query that sees a key */
    int64_t all = nkeys - diagonal;                  /* first query that sees all keys */
    uint64_t rising, sum;

    all = all < first ? first : all;
    if (first >= nqueries)
        return 0;
    all = all < nqueries ? all : nqueries;
    rising = (uint64_t)(all - first);
    sum = (uint64_t)(2 * (diagonal + first) - 1) + rising; /* sum for the first and the last of
                                                              these */
    sum = rising % 2 ? kern_sat_mul(rising, sum / 2) : kern_sat_mul(rising / 2, sum);
    return kern_sat_add(sum, kern_sat_mul((uint64_t)(nqueries - all), (uint64_t)nkeys));
}

/* Visible elements are read, and all elements written. */
static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_causal *c = &desc->causal;
    uint32_t others = UINT32_MAX & ~(1u << c->query_dim) & ~(1u << c->key_dim);
    int64_t diagonal = first_seen(c, offsets);
    uint64_t count = kern_elements(c->ndims, c->extent, UINT32_MAX);

    if (count == 0)
        return 0;
    count = kern_sat_add(
        count, kern_sat_mul(kern_elements(c->ndims, c->extent, others), nseen(c, diagonal)));
    return kern_sat_mul(kern_size(c->dtype), count);
}

/* The mask value is as exact as the type allows; -1e30 is infinite in float16. */
static bool error(const union kern_desc *desc, struct kern_error *e)
{
    double masked = desc->causal.masked, lost = masked - kern_round(e->type, masked);
    uint64_t n = kern_elements(desc->causal.ndims, desc->causal.extent, UINT32_MAX);
    const double *operand = e->variances[0], *variances[1] = {operand};
    struct kern_error all = *e;
    union kern_desc other = *desc;
    double *exact = NULL;
    bool done;

    if (!operand && !(exact = calloc(n + 1, sizeof *exact)))
        return false;
    if (!operand)
        variances[0] = exact;
    all.variances = variances;
    other.causal.masked = isfinite(masked) ? lost * lost : 0;
    done = kern_error_moved(&kern_kernel_causal, &other, &all, 0, 1);
    e->kept = all.kept;
    free(exact);
    return done;
}

static struct kern_cut_nest nest_of(union kern_desc *desc, struct kern_cut *arrays)
{
    struct kern_causal *c = &desc->causal;
    struct kern_cut_nest nest = {.ndims = c->ndims,
                                 .extent = c->extent,
                                 .whole = 1u << c->key_dim,
                                 .apart = has_queries(c) ? 1u << c->query_dim : 0};

    kern_cut_add(&nest, UINT32_MAX, c->stride, &arrays->out[0]);
    return nest;
}

static void cut(const union kern_desc *desc, int64_t wanted, struct kern_cut *out)
{
    (void)desc, (void)wanted;
    out->in[0] = out->out[0];
}

static void part(union kern_desc *desc, const struct kern_cut *cut, int64_t first, int64_t count,
                 int64_t *offsets)
{
    (void)count;
    if (has_queries(&desc->causal) && cut->dim == desc->causal.query_dim)
        offsets[0] = first;
}

/* The two masks are one kernel; padding has no queries. */
#define KERNEL(called)                                                                        \
    {                                                                                         \
        .name = (called), .run = run_causal, .bytes = bytes, .error = error, .nest = nest_of, \
        .cut = cut, .part = part                                                              \
    }

const struct kern_kernel kern_kernel_causal = KERNEL("causal");
const struct kern_kernel kern_kernel_padding = KERNEL("padding mask");
