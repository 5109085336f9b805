/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "program/rows.h"

#include <shd/group.h>

#include <stdlib.h>
#include <string.h>

#include "kern/routing.h"

/* How many entries of each shard of tokens are rows in each shard of experts; of all ops with the
 * same routing and the same cuts. */
struct program_rows_counts {
    struct program_rows_counts *next;
    const struct kern_routing *routing;
    int64_t batch, seq, group_rows, slots;
    int64_t cuts[4];                  /* shards along batch, seq, expert, slot */
    uint64_t *pairs;                  /* [shard of tokens][shard of experts] */
    uint64_t *of_tokens, *of_experts; /* their sums */
    int64_t ntokens, nexperts;
};

struct program_rows_arrays program_rows_arrays(const struct program *program,
                                               const struct program_op *op)
{
    const struct program_buffer *from = &program->buffers[op->inputs[0]];
    const struct program_buffer *to = &program->buffers[op->outputs[0]];
    struct program_rows_arrays a = {.from = from, .to = to};

    a.tokens = op->rows.combines ? to : from;
    a.experts = op->rows.combines ? from : to;
    a.ids = &program->buffers[op->inputs[1]];
    a.capacity = a.experts->shape[1] / op->rows.groups;
    a.group_rows = a.tokens->shape[0] / op->rows.groups;
    a.choices = a.ids->shape[2];
    a.row_bytes = (uint64_t)to->local[to->rank - 1] * shd_dtype_size(to->dtype);
    return a;
}

/* ---- entries ---- */

struct program_rows_walk program_rows_walk(const struct program *program,
                                           const struct program_op *op, int32_t position,
                                           const int32_t *ids, const int32_t *slots)
{
    struct program_rows_walk w = {
        .arrays = program_rows_arrays(program, op), .ids = ids, .slots = slots};
    const struct program_buffer *b = w.arrays.ids;
    int64_t start[SHD_RANK_MAX];

    shd_sharding_offset(&b->sharding, b->shape, position, start);
    memcpy(w.ids_start, start, sizeof w.ids_start);
    w.end = b->local[0] * b->local[1] * b->local[2];
    return w;
}

bool program_rows_next(struct program_rows_walk *w, struct program_rows_place *out)
{
    const struct program_rows_arrays *a = &w->arrays;
    const int64_t *local = a->ids->local;

    for (; w->at < w->end; w->at++) {
        int64_t token = w->at / local[2], id = w->ids[w->at], slot = w->slots[w->at];

        if (id < 0 || id >= a->experts->shape[0] || slot < 0 || slot >= a->capacity)
            continue;
        out->choice = w->ids_start[2] + w->at % local[2];
        out->seq = w->ids_start[1] + token % local[1];
        out->batch = w->ids_start[0] + token / local[1];
        out->expert = id;
        out->slot = out->batch / a->group_rows * a->capacity + slot;
        w->at++;
        return true;
    }
    return false;
}

/* ---- shards of the first two dimensions ---- */

int64_t program_rows_shards(const struct program_buffer *b)
{
    return shd_sharding_nshards(&b->sharding, 0) * shd_sharding_nshards(&b->sharding, 1);
}

int64_t program_rows_shard(const struct program_buffer *b, int64_t first, int64_t second)
{
    return first / b->local[0] * shd_sharding_nshards(&b->sharding, 1) + second / b->local[1];
}

int64_t program_rows_shard_at(const struct program_buffer *b, int32_t position)
{
    return shd_sharding_index(&b->sharding, 0, position) * shd_sharding_nshards(&b->sharding, 1) +
           shd_sharding_index(&b->sharding, 1, position);
}

/* Give a position the coordinates, along the axes of a dimension, that hold its interval `index`.
 */
static void set_index(int32_t *coords, const struct shd_sharding *s, size_t dim, int64_t index)
{
    const struct shd_dim_axes *t = &s->dims[dim];

    for (uint8_t i = t->naxes; i-- > 0;) {
        int64_t size = shd_mesh_axis_size(s->mesh, t->axes[i]);

        coords[t->axes[i]] = (int32_t)(index % size);
        index /= size;
    }
}

int32_t program_rows_source(const struct program_buffer *from, int32_t position, int64_t shard)
{
    int64_t inner = shd_sharding_nshards(&from->sharding, 1);
    int32_t coords[SHD_MESH_AXES_MAX];

    shd_mesh_coords(from->sharding.mesh, position, coords);
    set_index(coords, &from->sharding, 0, shard / inner);
    set_index(coords, &from->sharding, 1, shard % inner);
    return shd_mesh_position(from->sharding.mesh, coords);
}

/* ---- axes ---- */

static uint32_t axes_of(const struct shd_dim_axes *t, uint8_t first)
{
    uint32_t axes = 0;

    for (uint8_t i = first; i < t->naxes; i++)
        axes |= UINT32_C(1) << t->axes[i];
    return axes;
}

static uint32_t cutting_axes(const struct program_buffer *b)
{
    return axes_of(&b->sharding.dims[0], 0) | axes_of(&b->sharding.dims[1], 0);
}

/* How many axes lead both the batch and the slots, and cut them into whole groups: a device and all
 * from which it pulls rows have the same coordinates on these. */
static uint8_t common_axes(const struct program_rows_arrays *a)
{
    const struct shd_dim_axes *batch = &a->tokens->sharding.dims[0];
    const struct shd_dim_axes *slots = &a->experts->sharding.dims[1];
    int64_t groups = a->experts->shape[1] / (a->capacity ? a->capacity : 1), cut = 1;
    uint8_t n = 0;

    for (; n < batch->naxes && n < slots->naxes && batch->axes[n] == slots->axes[n]; n++) {
        cut *= shd_mesh_axis_size(a->tokens->sharding.mesh, batch->axes[n]);
        if (groups % cut)
            break;
    }
    return n;
}

static void set_axes(struct program_rows *rows, const struct program_rows_arrays *a)
{
    uint8_t common = common_axes(a), grouped = rows->combines ? 1 : 0;
    uint32_t axes = axes_of(&a->from->sharding.dims[grouped], common) |
                    axes_of(&a->from->sharding.dims[!grouped], 0);

    rows->naxes = 0;
    for (uint8_t i = 0; i < SHD_MESH_AXES_MAX; i++)
        if (axes >> i & 1)
            rows->axes[rows->naxes++] = i;
}

uint32_t program_rows_moves_axes(const struct program *program, const struct program_op *op)
{
    const struct program_rows_arrays a = program_rows_arrays(program, op);

    return cutting_axes(a.from) | cutting_axes(a.to);
}

/* ---- counts ---- */

void program_rows_free_counts(struct program_rows_counts *counts)
{
    while (counts) {
        struct program_rows_counts *next = counts->next;

        free(counts->pairs);
        free(counts);
        counts = next;
    }
}

static bool equal_counts(const struct program_rows_counts *x, const struct program_rows_counts *y)
{
    return x->routing == y->routing && x->batch == y->batch && x->seq == y->seq &&
           x->group_rows == y->group_rows && x->slots == y->slots &&
           !memcmp(x->cuts, y->cuts, sizeof x->cuts);
}

/* Count the kept choices of one token of a group. */
static void count_token(struct program_rows_counts *c, const struct program_rows_arrays *a,
                        int64_t group, int64_t token)
{
    const struct kern_routing *r = c->routing;
    int64_t shard =
        program_rows_shard(a->tokens, group * c->group_rows + token / c->seq, token % c->seq);
    uint64_t *pairs = c->pairs + shard * c->nexperts;

    for (int64_t at = token * r->choices; at < (token + 1) * r->choices; at++)
        if (r->slots[at] >= 0)
            pairs[program_rows_shard(a->experts, r->ids[at], group * a->capacity + r->slots[at])]++;
}

static void count_all(struct program_rows_counts *c, const struct program_rows_arrays *a)
{
    for (int64_t group = 0; group * c->group_rows < c->batch; group++)
        for (int64_t token = 0; token < c->routing->tokens; token++)
            count_token(c, a, group, token);
    for (int64_t t = 0; t < c->ntokens; t++)
        for (int64_t e = 0; e < c->nexperts; e++) {
            c->of_tokens[t] += c->pairs[t * c->nexperts + e];
            c->of_experts[e] += c->pairs[t * c->nexperts + e];
        }
}

static struct program_rows_counts *make_counts(const struct program_rows_counts *key,
                                               const struct program_rows_arrays *a)
{
    struct program_rows_counts *c = malloc(sizeof *c);
    size_t npairs, n;

    if (!c)
        return NULL;
    *c = *key;
    n = (size_t)c->ntokens + (size_t)c->nexperts;
    c->pairs = NULL;
    if (!__builtin_mul_overflow((size_t)c->ntokens, (size_t)c->nexperts, &npairs))
        c->pairs = calloc(npairs + n, sizeof *c->pairs);
    if (!c->pairs) {
        free(c);
        return NULL;
    }
    c->of_tokens = c->pairs + npairs;
    c->of_experts = c->of_tokens + c->ntokens;
    count_all(c, a);
    return c;
}

int program_rows_set(struct program *program, struct program_op *op, struct shd_error *err)
{
    const struct program_rows_arrays a = program_rows_arrays(program, op);
    struct program_rows_counts key = {.routing = op->rows.routing,
                                      .batch = a.tokens->shape[0],
                                      .seq = a.tokens->shape[1],
                                      .group_rows = a.group_rows,
                                      .slots = a.experts->shape[1],
                                      .cuts = {shd_sharding_nshards(&a.tokens->sharding, 0),
                                               shd_sharding_nshards(&a.tokens->sharding, 1),
                                               shd_sharding_nshards(&a.experts->sharding, 0),
                                               shd_sharding_nshards(&a.experts->sharding, 1)},
                                      .ntokens = program_rows_shards(a.tokens),
                                      .nexperts = program_rows_shards(a.experts)};
    struct program_rows_counts *c = program->rows_counts;

    set_axes(&op->rows, &a);
    while (c && !equal_counts(c, &key))
        c = c->next;
    if (!c) {
        c = make_counts(&key, &a);
        if (!c)
            return shd_error_set(err, SHD_ENOMEM, "no memory for the rows that go where in '%.80s'",
                                 op->name);
        c->next = program->rows_counts;
        program->rows_counts = c;
    }
    op->rows.counts = c;
    return SHD_OK;
}

/* ---- what is moved ---- */

/* An op with what all questions about it want. */
struct asked {
    struct program_rows_arrays arrays;
    const struct program_rows_counts *counts;
    bool combines;
};

static struct asked ask(const struct program *program, const struct program_op *op)
{
    return (struct asked){program_rows_arrays(program, op), op->rows.counts, op->rows.combines};
}

/* Rows that go from a shard of the operand to one of the result. */
static uint64_t rows_between(const struct asked *q, int64_t from, int64_t to)
{
    return q->combines ? q->counts->pairs[to * q->counts->nexperts + from]
                       : q->counts->pairs[from * q->counts->nexperts + to];
}

static uint64_t rows_received(const struct asked *q, int32_t position)
{
    int64_t from = program_rows_shard_at(q->arrays.from, position);
    int64_t to = program_rows_shard_at(q->arrays.to, position);
    uint64_t all = q->combines ? q->counts->of_tokens[to] : q->counts->of_experts[to];

    return all - rows_between(q, from, to);
}

/* Groups of devices along some axes.  They exist, as the axes are of the mesh, each once. */
static struct shd_groups groups_along(const struct shd_mesh *mesh, const uint8_t *axes,
                                      size_t naxes)
{
    struct shd_groups groups;

    if (shd_groups_init(&groups, mesh, axes, naxes, NULL) != SHD_OK)
        abort();
    return groups;
}

static uint64_t rows_sent(const struct asked *q, const struct program *program,
                          const struct program_op *op, int32_t position)
{
    struct shd_groups groups = groups_along(program->mesh, op->rows.axes, op->rows.naxes);
    int32_t group = shd_groups_find(&groups, position);
    int64_t from = program_rows_shard_at(q->arrays.from, position);
    uint64_t sent = 0;

    for (int32_t m = 0; m < groups.nmembers; m++) {
        int32_t other = shd_groups_position(&groups, group, m);

        if (other != position)
            sent += rows_between(q, from, program_rows_shard_at(q->arrays.to, other));
    }
    return sent;
}

uint64_t program_rows_kept(const struct program *program, const struct program_op *op,
                           int32_t position)
{
    const struct asked q = ask(program, op);

    return q.counts->of_experts[program_rows_shard_at(q.arrays.experts, position)];
}

uint64_t program_rows_choices(const struct program_op *op)
{
    const struct kern_routing *r = op->rows.routing;
    uint64_t n = 0;

    for (int64_t i = 0; i < r->tokens * r->choices; i++)
        n += r->ids[i] >= 0;
    return n * op->rows.groups;
}

uint64_t program_rows_of_expert(const struct program_op *op, uint32_t expert)
{
    return (uint64_t)op->rows.routing->counts[expert] * op->rows.groups;
}

bool program_rows_assumed(const struct program_op *op)
{
    return op->rows.routing->assumed;
}

bool program_assumes_rows(const struct program *program)
{
    for (uint32_t i = 0; i < program->nops; i++)
        if (program->ops[i].kind == PROGRAM_ROWS && program_rows_assumed(&program->ops[i]))
            return true;
    return false;
}

struct program_moved program_rows_moved(const struct program *program, const struct program_op *op,
                                        int32_t position)
{
    const struct asked q = ask(program, op);

    return (struct program_moved){rows_received(&q, position) * q.arrays.row_bytes,
                                  rows_sent(&q, program, op, position) * q.arrays.row_bytes};
}

uint128 program_rows_received_by_all(const struct program *program, const struct program_op *op)
{
    const struct asked q = ask(program, op);
    uint32_t mask = program_rows_moves_axes(program, op);
    uint8_t axes[SHD_MESH_AXES_MAX];
    size_t naxes = 0;
    struct shd_groups groups;
    uint128 rows = 0;

    for (uint8_t a = 0; a < SHD_MESH_AXES_MAX; a++)
        if (mask >> a & 1)
            axes[naxes++] = a;
    groups = groups_along(program->mesh, axes, naxes);
    for (int32_t m = 0; m < groups.nmembers; m++)
        rows += rows_received(&q, shd_groups_position(&groups, 0, m));
    return rows * q.arrays.row_bytes * (uint128)(groups.ngroups / (int32_t)program->nranks);
}

void program_rows_transfers(const struct program *program, const struct program_op *op,
                            int32_t position, program_transfer_fn fn, void *arg)
{
    const struct asked q = ask(program, op);
    int64_t own = program_rows_shard_at(q.arrays.from, position),
            n = program_rows_shards(q.arrays.from);
    int64_t to = program_rows_shard_at(q.arrays.to, position);
    bool goes_on = true;

    for (int64_t from = 0; from < n && goes_on; from++) {
        uint64_t rows = from == own ? 0 : rows_between(&q, from, to);

        if (rows > 0)
            goes_on = fn(arg, program_rows_source(q.arrays.from, position, from),
                         rows * q.arrays.row_bytes);
    }
}

bool program_rows_moves_alike(const struct program *program, const struct program_op *a,
                              const struct program_op *b)
{
    const struct asked x = ask(program, a), y = ask(program, b);

    return x.counts == y.counts && x.combines == y.combines &&
           x.arrays.row_bytes == y.arrays.row_bytes &&
           !memcmp(x.arrays.from->sharding.dims, y.arrays.from->sharding.dims,
                   2 * sizeof x.arrays.from->sharding.dims[0]) &&
           !memcmp(x.arrays.to->sharding.dims, y.arrays.to->sharding.dims,
                   2 * sizeof x.arrays.to->sharding.dims[0]);
}
