/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "trial/moved_shards.h"

#include <math.h>
#include <stdlib.h>

#include <shd/group.h>

#include "coll/coll.h"
#include "kern/convert.h"
#include "kern/error.h"
#include "kern/nest.h"
#include "program/row_nodes.h"
#include "trial/elements.h"

#define BLOCK 256 /* elements of a shard that are converted at a time, on the stack */

/* The expected shard of a result, while shards are added to it one by one. */
struct gathering {
    const struct program_buffer *in, *out;
    int64_t offset[PROGRAM_RANK_MAX]; /* of the result's shard in the whole array */
    double *want;                     /* the result so far */
    double *squares, *sizes; /* by element: sums of the squares and absolute values of its parts;
                                NULL if the result must be exact */
    bool combines;           /* elements have several parts; false: an element is a copy */
    bool in_order; /* parts are added in the group's order, each partial sum rounded */
    uint32_t strided; /* dimension along which neighbours in the result are `stride` apart */
    int64_t stride;
};

/* ---- sources of a result ---- */

static uint32_t replica_axes(const struct shd_sharding *s)
{
    return ~(shd_sharding_axes(s) | s->partial);
}

/* Whether the shard of `other` contributes to the result at `device`.  Along an axis of replicas,
 * or an axis that stays partial, only the device's own coordinate contributes. */
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

/* Whether the device's result is zeros: if a whole array becomes partial over an axis, only the
 * first device keeps the values. */
static bool is_masked(const struct shd_sharding *from, const struct shd_sharding *to,
                      int32_t device)
{
    uint32_t more = to->partial & ~from->partial;

    for (size_t a = 0; a < shd_mesh_naxes(from->mesh); a++)
        if ((more >> a & 1) && shd_mesh_coord(from->mesh, device, a) != 0)
            return true;
    return false;
}

/* Groups of devices among which a step moves shards, members in the order in which the default
 * algorithms combine them.  A step without axes may move shards between any devices. */
static struct shd_groups groups_of(const struct program *program,
                                   const struct shd_reshard_step *step)
{
    struct shd_groups groups;
    uint8_t all[SHD_MESH_AXES_MAX];
    size_t nall = program_rank_axes(program, all);

    if (shd_groups_init(&groups, step->from.mesh, step->naxes ? step->axes : all,
                        step->naxes ? step->naxes : nall, NULL) != SHD_OK)
        abort(); /* cannot fail: axes of the mesh, without repeats */
    return groups;
}

/* ---- adding shards up ---- */

static double combine(enum shd_reduce_op op, double a, double b)
{
    if (op == SHD_MAX)
        return a > b || isnan(a) ? a : b;
    if (op == SHD_MIN)
        return a < b || isnan(a) ? a : b;
    return a + b;
}

/* Add `n` elements of a shard to the result's elements from `at` on, `step` apart. */
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

/* How many elements `stride` apart lie before one at a distance from the first. */
static int64_t elements_before(int64_t distance, int64_t stride)
{
    return distance > 0 ? (distance + stride - 1) / stride : 0;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The places of the result's shard whose elements along dimension `d` are in a shard that begins at
 * element `there`: *start is the first one's element.  Returns how many. */
static int64_t shared_places(const struct gathering *g, uint32_t d, int64_t there, int64_t *start,
                             int64_t *place)
{
    int64_t stride = d == g->strided ? g->stride : 1, n = g->out->local[d];
    int64_t near = there - g->offset[d], far = near + g->in->local[d];

    if (stride < 0) { /* distances count downwards, and the shard's last element is near */
        int64_t below = near;

        near = 1 - far;
        far = 1 - below;
    }
    *place = smaller(elements_before(near, stride < 0 ? -stride : stride), n);
    *start = g->offset[d] + *place * stride;
    return smaller(elements_before(far, stride < 0 ? -stride : stride), n) - *place;
}

/* The box that a shard and the result's shard share, if the shard begins at `there` in the whole
 * array: its begin and strides in both (array 0 is the result).  False: they share nothing. */
static bool shared_box(struct kern_nest *nest, int64_t begin[2], const struct gathering *g,
                       const int64_t *there)
{
    const struct program_buffer *in = g->in, *out = g->out;
    int64_t stride[2] = {1, 1};
    int64_t strides[PROGRAM_RANK_MAX][2], extent[PROGRAM_RANK_MAX];

    *nest = (struct kern_nest){.narrays = 2};
    begin[0] = begin[1] = 0;
    for (uint32_t d = out->rank; d-- > 0;) {
        int64_t start = 0, place = 0;

        extent[d] = shared_places(g, d, there[d], &start, &place);
        if (extent[d] == 0)
            return false;
        begin[0] += place * stride[0];
        begin[1] += (start - there[d]) * stride[1];
        strides[d][0] = stride[0];
        strides[d][1] = d == g->strided ? stride[1] * g->stride : stride[1];
        stride[0] *= out->local[d];
        stride[1] *= in->local[d];
    }
    for (uint32_t d = 0; d < out->rank; d++)
        kern_nest_add(nest, extent[d], strides[d]);
    return true;
}

/* Add the part of another device's shard that lies in the result's shard. */
static void add_shard(struct gathering *g, const int64_t *there, const char *shard)
{
    size_t size = shd_dtype_size(g->in->dtype);
    struct kern_nest nest;
    struct kern_walk walk;
    int64_t begin[2], step[2] = {1, 1};
    double x[BLOCK + KERN_LANES];

    if (!shared_box(&nest, begin, g, there))
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

/* Add a shard at its place, or shifted; elements shifted past the array's end wrap around. */
static void add_shifted(struct gathering *g, const struct shd_reshard_step *step, int32_t other,
                        const char *shard)
{
    int64_t there[SHD_RANK_MAX];

    shd_sharding_offset(&g->in->sharding, g->in->shape, other, there);
    if (step->shift > 0)
        there[step->dim] += step->shift;
    add_shard(g, there, shard);
    if (step->shift == 0)
        return;
    there[step->dim] -= g->in->shape[step->dim];
    add_shard(g, there, shard);
}

/* Add the common elements of a shard and the result if one is a piece of the other kind of shard:
 * `first` and `there` are the positions of the result's and the shard's first element in the whole
 * shard. */
static void add_pieces(struct gathering *g, uint64_t first, uint64_t there, const char *shard)
{
    uint64_t size = shd_dtype_size(g->in->dtype);
    uint64_t begin = first > there ? first : there, end = there + elements_of(g->in);
    double x[BLOCK + KERN_LANES];

    if (end > first + elements_of(g->out))
        end = first + elements_of(g->out);
    for (uint64_t at = begin, n; at < end; at += n) {
        n = end - at < BLOCK ? end - at : BLOCK;
        kern_load_f64(g->in->dtype, shard + (at - there) * size, 1, (size_t)n, x);
        add_run(g, (int64_t)(at - first), 1, x, (int64_t)n);
    }
}

/* Position of a device's piece in its shard; 0: the buffer has no pieces. */
static uint64_t piece_begin(const struct program_buffer *b, int32_t position)
{
    return elements_of(b) * (uint64_t)shd_sharding_piece(&b->sharding, position);
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

        if (!is_part(from, to, device, other))
            continue;
        if (!shd_reshard_is_flat(&op->reshard))
            add_shifted(g, &op->reshard, other, shards[other][op->inputs[part]]);
        else if (op->reshard.naxes > 0 || other == device) /* a slice takes from the device's own
                                                              shard only */
            add_pieces(g, piece_begin(g->out, device), piece_begin(g->in, other),
                       shards[other][op->inputs[part]]);
    }
}

/* ---- allowed error of a sum ---- */

/* Allowed error of a sum of n parts whose partial sums are rounded to the array's type: the worst
 * case is a roundoff of the total per addition; the likely error treats roundings as independent.
 * The smaller of the two bounds replaces `squares`. */
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
            g->squares[i] = 0; /* infinities and NaNs are compared by place */
        else if (g->sizes[i] + g->squares[i] > kern_largest(g->out->dtype))
            g->squares[i] = INFINITY;
    }
}

/* ---- expected shards ---- */

bool moved_init(struct moved *out, const struct program *program, const struct program_op *op,
                int32_t device, uint32_t part, const void *const *const *shards)
{
    struct gathering g = {.in = &program->buffers[op->inputs[part]],
                          .out = &program->buffers[op->outputs[part]],
                          .strided = PROGRAM_RANK_MAX};
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
    g.want = kern_zeroed(n, sizeof(double));
    g.squares = bounded ? kern_zeroed(n, sizeof(double)) : NULL;
    g.sizes = bounded ? kern_zeroed(n, sizeof(double)) : NULL;
    done = g.want && (!bounded || (g.squares && g.sizes));
    for (uint64_t i = 0; i < n && done && combined && !adds; i++)
        g.want[i] = from->partial_op == SHD_MAX ? -INFINITY : INFINITY;
    if (op->reshard.reach.extent > 0) {
        shd_reshard_step_offset(&op->reshard, g.in->shape, device, g.offset);
        g.strided = (uint32_t)op->reshard.dim;
        g.stride = op->reshard.reach.stride;
    } else {
        shd_sharding_offset(to, g.out->shape, device, g.offset);
    }
    if (done)
        add_shards(&g, program, op, device, part, shards);
    *out = (struct moved){.want = g.want};
    if (done && bounded) {
        allow_sum(&g, (double)shd_mesh_size_along(from->mesh, combined));
        out->allowed = g.squares;
        g.squares = NULL;
    }
    free(g.squares);
    free(g.sizes);
    if (!done)
        moved_fini(out);
    return done;
}

/* ---- rows of experts ---- */

/* A device that may hold rows for another, and the offset of its shard: both have equal coordinates
 * on all axes that do not cut the two dimensions by which rows are numbered, nor number nodes with
 * parts of a sum. */
struct giver {
    int32_t device;
    int64_t offset[SHD_RANK_MAX];
};

static bool gives_rows(const struct program_buffer *in, const struct program_op *op, int32_t device,
                       int32_t other)
{
    bool from_nodes = op->rows.way == PROGRAM_ROWS_BETWEEN && op->rows.combines;
    uint32_t cut = from_nodes ? op->rows.node_axes : 0;

    for (size_t d = 0; d < 2; d++)
        for (uint8_t i = 0; i < in->sharding.dims[d].naxes; i++)
            cut |= UINT32_C(1) << in->sharding.dims[d].axes[i];
    for (size_t a = 0; a < shd_mesh_naxes(in->sharding.mesh); a++)
        if (!(cut >> a & 1) && shd_mesh_coord(in->sharding.mesh, device, a) !=
                                   shd_mesh_coord(in->sharding.mesh, other, a))
            return false;
    return true;
}

/* List the devices that may hold rows for a device; returns how many. */
static size_t list_givers(struct giver *givers, const struct program_buffer *in,
                          const struct program_op *op, int32_t device)
{
    size_t n = 0;

    for (int32_t other = 0; other < shd_mesh_size(in->sharding.mesh); other++) {
        if (!gives_rows(in, op, device, other))
            continue;
        givers[n].device = other;
        shd_sharding_offset(&in->sharding, in->shape, other, givers[n++].offset);
    }
    return n;
}

/* Index in a shard of an element given by three leading dimensions, or -1.  Arrays without the
 * third dimension are equal along it. */
static int64_t element_of(const struct program_buffer *b, const int64_t *offset,
                          const int64_t at[3])
{
    int64_t i = 0;

    for (uint32_t d = 0; d + 1 < b->rank; d++) {
        if (at[d] < offset[d] || at[d] >= offset[d] + b->local[d])
            return -1;
        i = i * b->local[d] + at[d] - offset[d];
    }
    return i * b->local[b->rank - 1];
}

/* Copy of a token's row for one of its choices, or the addition of a row to its sum. */
struct row_copy {
    const int64_t *from, *to; /* indices of operand and result along their leading dimensions */
    uint32_t node_axes;       /* not 0: only givers in the node have the row */
    int32_t node;
};

static bool may_give(const struct row_copy *copy, const struct shd_mesh *mesh, int32_t giver)
{
    return program_node_at(mesh, copy->node_axes, giver) == copy->node;
}

static void add_row(struct gathering *g, const struct row_copy *copy, const struct giver *givers,
                    size_t ngivers, const void *const *const *shards, uint32_t buffer)
{
    int64_t to = element_of(g->out, g->offset, copy->to), width = g->out->local[g->out->rank - 1];
    size_t size = shd_dtype_size(g->in->dtype);

    for (size_t i = 0; to >= 0 && i < ngivers; i++) {
        int64_t from = may_give(copy, g->in->sharding.mesh, givers[i].device)
                           ? element_of(g->in, givers[i].offset, copy->from)
                           : -1;
        const char *shard = shards[givers[i].device][buffer];

        for (int64_t e = 0; from >= 0 && e < width; e++) {
            double x[1 + KERN_LANES];

            kern_load_f64(g->in->dtype, shard + (size_t)(from + e) * size, 1, 1, x);
            g->want[to + e] = g->combines ? g->want[to + e] + x[0] : x[0];
        }
        if (from >= 0)
            return;
    }
}

/* Copy or add up the rows of all ids that the device has. */
static void add_rows(struct gathering *g, const struct program *program,
                     const struct program_op *op, int32_t device, const struct giver *givers,
                     size_t ngivers, const void *const *const *shards)
{
    struct program_rows_walk walk = program_rows_walk(
        program, op, device, shards[device][op->inputs[1]], shards[device][op->inputs[2]]);
    struct program_rows_place at;
    bool from_nodes = op->rows.way == PROGRAM_ROWS_BETWEEN && op->rows.combines;

    while (program_rows_next(&walk, &at)) {
        const int64_t token[3] = {at.batch, at.seq, at.choice};
        const int64_t row[3] = {at.expert, at.slot, 0};
        const struct row_copy copy = {g->in == walk.arrays.experts ? row : token,
                                      g->out == walk.arrays.experts ? row : token,
                                      from_nodes ? op->rows.node_axes : 0,
                                      from_nodes ? program_rows_node(&walk.arrays, op, &at) : 0};

        if (program_rows_takes(&walk, op, device, &at))
            add_row(g, &copy, givers, ngivers, shards, op->inputs[0]);
    }
}

bool moved_rows(struct moved *out, const struct program *program, const struct program_op *op,
                int32_t device, const void *const *const *shards)
{
    struct gathering g = {.in = &program->buffers[op->inputs[0]],
                          .out = &program->buffers[op->outputs[0]],
                          .combines = op->rows.sums};
    struct giver *givers = malloc((size_t)shd_mesh_size(program->mesh) * sizeof *givers);
    bool done;

    g.want = kern_zeroed(elements_of(g.out), sizeof(double));
    done = g.want && givers;
    shd_sharding_offset(&g.out->sharding, g.out->shape, device, g.offset);
    if (done)
        add_rows(&g, program, op, device, givers, list_givers(givers, g.in, op, device), shards);
    free(givers);
    for (uint64_t e = 0; done && g.combines && e < elements_of(g.out); e++)
        g.want[e] = kern_round(g.out->dtype, g.want[e]);
    *out = (struct moved){.want = g.want};
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
