/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "trial/moved.h"

#include <math.h>
#include <stdlib.h>

#include <shd/group.h>

#include "coll/coll.h"
#include "kern/convert.h"
#include "kern/error.h"
#include "kern/nest.h"
#include "trial/elements.h"

#define BLOCK 256 /* elements of a shard at a time, on the stack */

/* The shard of a result, as the shards that there were are added to it one by one. */
struct gathering {
    const struct program_buffer *in, *out;
    int64_t offset[PROGRAM_RANK_MAX]; /* of the result's shard in the whole array */
    double *want;                     /* the elements so far */
    double *squares, *sizes; /* of each, the sums of the squares and absolute values of its parts;
                                NULL where nothing may be off */
    bool combines;           /* an element has several parts; else it is a copy of one */
    bool in_order; /* parts are added in the order of the group, each partial sum rounded */
};

/* ---- whose shards a result is made of ---- */

static uint32_t replica_axes(const struct shd_sharding *s)
{
    return ~(shd_sharding_axes(s) | s->partial);
}

/* Whether the shard of `other` is part of the result at `device`.  Along an axis of replicas, or
 * one whose parts stay parts, only the shard at the device's own coordinate is. */
static bool is_part(const struct shd_sharding *from, const struct shd_sharding *to, int32_t device,
                    int32_t other)
{
    uint32_t own = (from->partial & to->partial) | replica_axes(from);

    for (size_t a = 0; a < shd_mesh_naxes(from->mesh); a++)
        if ((own >> a & 1) &&
            shd_mesh_coord(from->mesh, device, a) != shd_mesh_coord(from->mesh, other, a))
            return false;
    return true;
}

/* Whether the device's result is zeros: where a whole array becomes parts along an axis, only the
 * first device keeps it. */
static bool is_masked(const struct shd_sharding *from, const struct shd_sharding *to,
                      int32_t device)
{
    uint32_t more = to->partial & ~from->partial;

    for (size_t a = 0; a < shd_mesh_naxes(from->mesh); a++)
        if ((more >> a & 1) && shd_mesh_coord(from->mesh, device, a) != 0)
            return true;
    return false;
}

/* The groups of devices among which a step moves shards, members in the order in which the default
 * algorithms combine them.  A step that names no axes may move them between any devices. */
static struct shd_groups groups_of(const struct program *program,
                                   const struct shd_reshard_step *step)
{
    struct shd_groups groups;
    uint8_t all[SHD_MESH_AXES_MAX];
    size_t nall = program_rank_axes(program, all);

    if (shd_groups_init(&groups, step->from.mesh, step->naxes ? step->axes : all,
                        step->naxes ? step->naxes : nall, NULL) != SHD_OK)
        abort(); /* they are axes of the mesh, each once */
    return groups;
}

/* ---- what they come to ---- */

static double combine(enum shd_reduce_op op, double a, double b)
{
    if (op == SHD_MAX)
        return a > b || isnan(a) ? a : b;
    if (op == SHD_MIN)
        return a < b || isnan(a) ? a : b;
    return a + b;
}

/* Add `n` elements of a shard to those of the result from `at` on, `step` elements apart. */
static void add_run(struct gathering *g, int64_t at, int64_t step, const double *x, int64_t n)
{
    enum shd_reduce_op op = (enum shd_reduce_op)g->in->sharding.partial_op;

    for (int64_t j = 0; j < n; j++, at += step) {
        double value = g->combines ? combine(op, g->want[at], x[j]) : x[j];

        g->want[at] = g->in_order ? kern_round(g->in->dtype, value) : value;
        if (!g->squares)
            continue;
        g->squares[at] += x[j] * x[j];
        g->sizes[at] += fabs(x[j]);
    }
}

/* The box that the shard of `other` and the result's shard share: where it begins in the two arrays
 * and how it lies there (array 0 is the result).  False: they share nothing. */
static bool shared_box(struct kern_nest *nest, int64_t begin[2], const struct gathering *g,
                       int32_t other)
{
    const struct program_buffer *in = g->in, *out = g->out;
    int64_t there[SHD_RANK_MAX], stride[2] = {1, 1};
    int64_t strides[PROGRAM_RANK_MAX][2], extent[PROGRAM_RANK_MAX];

    *nest = (struct kern_nest){.narrays = 2};
    begin[0] = begin[1] = 0;
    shd_sharding_offset(&in->sharding, in->shape, other, there);
    for (uint32_t d = out->rank; d-- > 0;) {
        int64_t start = there[d] > g->offset[d] ? there[d] : g->offset[d];
        int64_t end = there[d] + in->local[d], own_end = g->offset[d] + out->local[d];

        extent[d] = (end < own_end ? end : own_end) - start;
        if (extent[d] <= 0)
            return false;
        begin[0] += (start - g->offset[d]) * stride[0];
        begin[1] += (start - there[d]) * stride[1];
        strides[d][0] = stride[0];
        strides[d][1] = stride[1];
        stride[0] *= out->local[d];
        stride[1] *= in->local[d];
    }
    for (uint32_t d = 0; d < out->rank; d++)
        kern_nest_add(nest, extent[d], strides[d]);
    return true;
}

/* Add that part of another device's shard which lies in the result's. */
static void add_shard(struct gathering *g, int32_t other, const char *shard)
{
    size_t size = shd_dtype_size(g->in->dtype);
    struct kern_nest nest;
    struct kern_walk walk;
    int64_t begin[2], step[2] = {1, 1};
    double x[BLOCK + KERN_LANES];

    if (!shared_box(&nest, begin, g, other))
        return;
    for (size_t k = 0; k < 2 && nest.ndims > 0; k++)
        step[k] = nest.stride[k][nest.ndims - 1];
    kern_walk_init(&walk, &nest, 0);
    for (int64_t left = kern_nest_count(&nest), n; left > 0; left -= n) {
        n = kern_walk_run(&walk) < BLOCK ? kern_walk_run(&walk) : BLOCK;
        kern_load_f64(g->in->dtype, shard + (size_t)(begin[1] + walk.offset[1]) * size, step[1],
                      (size_t)n, x);
        add_run(g, begin[0] + walk.offset[0], step[0], x, n);
        kern_walk_advance(&walk, n);
    }
}

static void add_shards(struct gathering *g, const struct program *program,
                       const struct program_op *op, int32_t device, uint32_t part,
                       const void *const *const *shards)
{
    const struct shd_sharding *from = &g->in->sharding, *to = &g->out->sharding;
    struct shd_groups groups = groups_of(program, &op->reshard);
    int32_t group = shd_groups_find(&groups, device);

    if (is_masked(from, to, device))
        return;
    for (int32_t m = 0; m < groups.nmembers; m++) {
        int32_t other = shd_groups_position(&groups, group, m);

        if (is_part(from, to, device, other))
            add_shard(g, other, shards[other][op->inputs[part]]);
    }
}

/* ---- how far a sum may be off ---- */

static double nparts_along(const struct shd_mesh *mesh, uint32_t axes)
{
    double n = 1;

    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++)
        n *= axes >> a & 1 ? shd_mesh_axis_size(mesh, a) : 1;
    return n;
}

/* The roundings of a sum of n parts, each partial sum kept in the array's own type: at worst each
 * loses a roundoff of all that there is, and rarely so much as if they were independent.  The
 * bounds take the place of the squares. */
static void allow_sum(struct gathering *g, double n)
{
    double roundoff = kern_store_roundoff(g->out->dtype);
    double least = kern_store_loss(g->out->dtype, 0) * n;

    for (uint64_t i = 0; i < elements_of(g->out); i++) {
        double likely =
            KERN_ERROR_ALLOWED * roundoff * sqrt(n * (g->squares[i] + g->want[i] * g->want[i]));
        double worst = (n - 1) * roundoff * g->sizes[i];

        g->squares[i] = (worst < likely ? worst : likely) * KERN_ERROR_SLACK + least;
        if (!isfinite(g->want[i]))
            g->squares[i] = 0; /* compared by place */
        else if (g->sizes[i] + g->squares[i] > kern_largest(g->out->dtype))
            g->squares[i] = INFINITY;
    }
}

/* ---- all of it ---- */

bool moved_init(struct moved *out, const struct program *program, const struct program_op *op,
                int32_t device, uint32_t part, const void *const *const *shards)
{
    struct gathering g = {.in = &program->buffers[op->inputs[part]],
                          .out = &program->buffers[op->outputs[part]]};
    const struct shd_sharding *from = &g.in->sharding, *to = &g.out->sharding;
    uint32_t combined = from->partial & ~to->partial;
    bool adds = combined && from->partial_op != SHD_MAX && from->partial_op != SHD_MIN;
    uint64_t n = elements_of(g.out);
    struct coll_shape shape;
    bool bounded, done;

    g.combines = combined != 0;
    g.in_order = adds && program_algo(program, op, &shape) ==
                             coll_find((enum coll_kind)program_coll_kind(op), NULL);
    bounded = adds && !g.in_order;
    g.want = calloc(n + 1, sizeof(double));
    g.squares = bounded ? calloc(n + 1, sizeof(double)) : NULL;
    g.sizes = bounded ? calloc(n + 1, sizeof(double)) : NULL;
    done = g.want && (!bounded || (g.squares && g.sizes));
    for (uint64_t i = 0; i < n && done && combined && !adds; i++)
        g.want[i] = from->partial_op == SHD_MAX ? -INFINITY : INFINITY;
    shd_sharding_offset(to, g.out->shape, device, g.offset);
    if (done)
        add_shards(&g, program, op, device, part, shards);
    *out = (struct moved){.want = g.want};
    if (done && bounded) {
        allow_sum(&g, nparts_along(from->mesh, combined));
        out->allowed = g.squares;
        g.squares = NULL;
    }
    free(g.squares);
    free(g.sizes);
    if (!done)
        moved_fini(out);
    return done;
}

void moved_fini(struct moved *moved)
{
    free(moved->want);
    free(moved->allowed);
    *moved = (struct moved){.want = NULL};
}
