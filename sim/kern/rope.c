/* Rotary position embedding.  Angles are double, computed once for all elements that share them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/kernel.h"

#include <assert.h>
#include <math.h>

#include "kern/convert.h"
#include "kern/cut.h"
#include "kern/error.h"
#include "kern/nest.h"

#define PAIRS 64     /* pairs whose angles are computed at a time */
#define POSITIONS 16 /* positions in one task */

struct rope_run {
    const struct kern_rope *rope;
    const char *in;
    char *out;
    int64_t position0;
    const int32_t *positions; /* instead of position0; NULL: none */
    struct kern_nest others;  /* all dimensions but positions and pairs */
    int64_t nothers;
    int64_t pair_stride; /* elements between adjacent pairs */
    int64_t partner;     /* bytes between the two elements of a pair */
};

#define T float
#define PREFIX(name) f32_##name
#define LOAD kern_load_f32
#define STORE kern_store_f32
#include "kern/rope_pairs.inc"

#define T double
#define PREFIX(name) f64_##name
#define LOAD kern_load_f64
#define STORE kern_store_f64
#include "kern/rope_pairs.inc"

/* Rotate n pairs from `pair` on, at one position. */
static uint64_t rotate_all(const struct rope_run *run, int64_t position, int64_t pair, size_t n,
                           const double *frequency)
{
    const struct kern_rope *r = run->rope;
    int64_t size = (int64_t)kern_size(r->dtype);
    int64_t at = position * r->stride[r->position_dim] + pair * run->pair_stride;
    double cosine[PAIRS], sine[PAIRS], factor = r->rotation->factor;
    double where = (double)(run->positions ? run->positions[position] : run->position0 + position);
    struct kern_walk walk;
    uint64_t flops = 0;

    for (size_t i = 0; i < n; i++) {
        cosine[i] = factor * cos(where * frequency[i]);
        sine[i] = (r->inverse ? -factor : factor) * sin(where * frequency[i]);
    }
    kern_walk_init(&walk, &run->others, 0);
    for (int64_t i = 0; i < run->nothers; i++) {
        int64_t offset = (at + walk.offset[0]) * size;

        if (r->dtype == SHD_F64)
            flops += f64_rotate(run, run->in + offset, run->out + offset, n, cosine, sine);
        else
            flops += f32_rotate(run, run->in + offset, run->out + offset, n, cosine, sine);
        kern_walk_advance(&walk, 1);
    }
    return flops;
}

/* Copy the elements behind the pairs, at one position. */
static void keep_rest(const struct rope_run *run, int64_t position)
{
    const struct kern_rope *r = run->rope;
    int64_t stride = r->stride[r->pair_dim], first = 2 * r->rotation->npairs;
    int64_t at = position * r->stride[r->position_dim] + first * stride;
    int64_t size = (int64_t)kern_size(r->dtype), rest = r->extent[r->pair_dim] - first;
    struct kern_walk walk;

    if (rest == 0 || run->in == run->out)
        return;
    kern_walk_init(&walk, &run->others, 0);
    for (int64_t i = 0; i < run->nothers; i++) {
        int64_t offset = (at + walk.offset[0]) * size;

        kern_copy_box((size_t)size, 1, &rest, run->out + offset, &stride, run->in + offset,
                      &stride);
        kern_walk_advance(&walk, 1);
    }
}

static uint64_t task(void *arg, int64_t id)
{
    const struct rope_run *run = arg;
    const struct kern_rope *r = run->rope;
    int64_t npositions = r->extent[r->position_dim], first = id * POSITIONS;
    int64_t end = npositions - first < POSITIONS ? npositions : first + POSITIONS;
    int64_t npairs = r->rotation->npairs;
    uint64_t flops = 0;

    for (int64_t pair = 0; pair < npairs; pair += PAIRS) {
        int64_t n = npairs - pair < PAIRS ? npairs - pair : PAIRS;

        for (int64_t position = first; position < end; position++)
            flops += rotate_all(run, position, pair, (size_t)n, r->rotation->frequencies + pair);
    }
    for (int64_t position = first; position < end; position++)
        keep_rest(run, position);
    return flops;
}

/* Elements between the two of a pair. */
static int64_t partner_of(const struct kern_rope *r)
{
    int64_t stride = r->stride[r->pair_dim];

    return r->rotation->interleaved ? stride : r->rotation->npairs * stride;
}

static uint64_t run_rope(const union kern_desc *desc, const struct kern_args *args)
{
    const struct kern_rope *r = &desc->rope;
    int64_t stride = r->stride[r->pair_dim];
    struct rope_run run = {.rope = r,
                           .in = args->in[0],
                           .out = args->out[0],
                           .position0 = r->given ? 0 : r->position0 + args->offsets[0],
                           .positions = r->given ? args->in[1] : NULL};

    assert(r->extent[r->pair_dim] >= 2 * r->rotation->npairs && r->pair_dim != r->position_dim);
    if (kern_elements(r->ndims, r->extent, UINT32_MAX) == 0)
        return 0;
    run.others.narrays = 1;
    for (uint32_t d = 0; d < r->ndims; d++) {
        if (d != r->position_dim && d != r->pair_dim)
            kern_nest_add(&run.others, r->extent[d], &r->stride[d]);
    }
    kern_nest_simplify(&run.others, 0);
    run.nothers = kern_nest_count(&run.others);
    run.pair_stride = r->rotation->interleaved ? 2 * stride : stride;
    run.partner = partner_of(r) * (int64_t)kern_size(r->dtype);
    return kern_parallel(task, &run, (r->extent[r->position_dim] + POSITIONS - 1) / POSITIONS,
                         args->nthreads);
}

static uint64_t flops(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_rope *r = &desc->rope;

    (void)offsets;
    return kern_sat_mul(kern_sat_mul(6, (uint64_t)r->rotation->npairs),
                        kern_elements(r->ndims, r->extent, UINT32_MAX & ~(1u << r->pair_dim)));
}

static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_rope *r = &desc->rope;

    (void)offsets;
    return kern_sat_add(
        kern_sat_mul(2 * kern_size(r->dtype), kern_elements(r->ndims, r->extent, UINT32_MAX)),
        r->given ? kern_elements(1, &r->extent[r->position_dim], sizeof(int32_t)) : 0);
}

/* The errors of both elements of a pair: (x, y) -> f (x cos - y sin, y cos + x sin).  The squares
 * of sine and cosine add up to 1; sine, cosine, two products and their sum are rounded. */
static void pair_errors(const struct kern_error *e, int64_t at, int64_t partner, double factor)
{
    const double *in = e->args->in[0], *v = e->variances[0];
    double squares = in[at] * in[at] + in[partner] * in[partner];
    double both = 5 * kern_compute_roundoff(e->type) * kern_compute_roundoff(e->type) * squares +
                  (v ? fmax(v[at], v[partner]) : 0);

    e->out[0][at] = factor * factor * both;
    e->out[0][partner] = factor * factor * both;
}

/* All places of `count` elements along the pairs' dimension, `step` strides apart. */
static struct kern_nest places_of(const struct kern_rope *r, int64_t count, int64_t step)
{
    struct kern_nest places = {.narrays = 1};

    for (uint32_t d = 0; d < r->ndims; d++)
        kern_nest_add(&places, d == r->pair_dim ? count : r->extent[d],
                      (const int64_t[]){d == r->pair_dim ? step * r->stride[d] : r->stride[d]});
    return places;
}

static bool error(const union kern_desc *desc, struct kern_error *e)
{
    const struct kern_rope *r = &desc->rope;
    int64_t npairs = r->rotation->npairs, rest = r->extent[r->pair_dim] - 2 * npairs;
    struct kern_nest pairs = places_of(r, npairs, r->rotation->interleaved ? 2 : 1);
    struct kern_nest kept = places_of(r, rest, 1);
    const double *v = e->variances[0];
    struct kern_walk walk;

    if (kern_elements(r->ndims, r->extent, UINT32_MAX) == 0)
        return true;
    kern_walk_init(&walk, &pairs, 0);
    for (int64_t i = kern_nest_count(&pairs); i > 0; i--) {
        pair_errors(e, walk.offset[0], walk.offset[0] + partner_of(r), r->rotation->factor);
        if (i > 1)
            kern_walk_advance(&walk, 1);
    }
    if (rest > 0)
        kern_walk_init(&walk, &kept, 0);
    for (int64_t i = rest > 0 ? kern_nest_count(&kept) : 0; i > 0; i--) {
        int64_t at = walk.offset[0] + 2 * npairs * r->stride[r->pair_dim];

        e->out[0][at] = v ? v[at] : 0;
        if (i > 1)
            kern_walk_advance(&walk, 1);
    }
    return true;
}

static struct kern_cut_nest nest_of(union kern_desc *desc, struct kern_cut *arrays)
{
    struct kern_rope *r = &desc->rope;
    struct kern_cut_nest nest = {.ndims = r->ndims,
                                 .extent = r->extent,
                                 .whole = 1u << r->pair_dim,
                                 .apart = 1u << r->position_dim};

    kern_cut_add(&nest, UINT32_MAX, r->stride, &arrays->out[0]);
    return nest;
}

static void cut(const union kern_desc *desc, int64_t wanted, struct kern_cut *out)
{
    const struct kern_rope *r = &desc->rope;

    (void)wanted;
    out->in[0] = out->out[0];
    if (r->given && out->rows > 0 && out->dim == r->position_dim)
        out->in[1] = (struct kern_cut_array){1, 1, 1};
}

static void part(union kern_desc *desc, const struct kern_cut *cut, int64_t first, int64_t count,
                 int64_t *offsets)
{
    const struct kern_rope *r = &desc->rope;

    (void)count;
    if (cut->dim == r->position_dim && !r->given)
        offsets[0] = first;
}

const struct kern_kernel kern_kernel_rope = {.name = "rope",
                                             .run = run_rope,
                                             .flops = flops,
                                             .bytes = bytes,
                                             .error = error,
                                             .nest = nest_of,
                                             .cut = cut,
                                             .part = part};
