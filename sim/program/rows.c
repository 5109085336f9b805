/* Counting the rows that an op moves between tokens and experts (rows.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "program/rows.h"

#include <shd/group.h>

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kern/routing.h"

/* For each shard of one array, the shards of the other array that it shares rows with, ascending,
 * and how many.  Pairs without rows are left out: with many shards most pairs have none. */
struct row_lists {
    size_t *starts;   /* [shards + 1]: where each shard's list begins */
    uint32_t *others; /* shard of the other array ... */
    uint64_t *rows;   /* ... and the rows shared with it, at least 1 */
    uint64_t *sums;   /* [shards] rows in each shard's list */
};

/* How many rows each shard of tokens shares with each shard of experts, listed from both sides.
 * Ops with equal routing and equal cuts share one of these. */
struct program_rows_counts {
    struct program_rows_counts *next;
    const struct kern_routing *routing;
    int64_t batch, seq, group_rows, slots;
    int64_t cuts[4]; /* shards along batch, seq, expert, slot */
    struct row_lists of_tokens, of_experts;
    int64_t ntokens, nexperts; /* number of shards */
};

struct program_rows_arrays program_rows_arrays(const struct program *program,
                                               const struct program_op *op)
{
    const struct program_buffer *from = &program->buffers[op->inputs[0]];
    const struct program_buffer *to = &program->buffers[op->outputs[0]];
    struct program_rows_arrays a = {.from = from, .to = to};

    a.tokens = op->rows.combines ? to : from;
    a.experts = op->rows.combines ? from : to;
    if (op->rows.way == PROGRAM_ROWS_BETWEEN)
        a.experts = &program->buffers[op->rows.experts];
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

/* Set the coordinates of a position, along a dimension's axes, to those that hold interval `index`.
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

int32_t program_node_at(const struct shd_mesh *mesh, uint32_t axes, int32_t position)
{
    int32_t node = 0;

    for (size_t a = 0; axes >> a; a++)
        if (axes >> a & 1)
            node = node * shd_mesh_axis_size(mesh, a) + shd_mesh_coord(mesh, position, a);
    return node;
}

int32_t program_rows_shard_node(const struct program_rows_arrays *a, const struct program_op *op,
                                int64_t shard)
{
    return program_node_at(a->experts->sharding.mesh, op->rows.node_axes,
                           program_rows_source(a->experts, 0, shard));
}

int32_t program_rows_node(const struct program_rows_arrays *a, const struct program_op *op,
                          const struct program_rows_place *place)
{
    return program_rows_shard_node(a, op,
                                   program_rows_shard(a->experts, place->expert, place->slot));
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

/* How many leading axes the batch and the slots have in common that cut both into whole groups.  A
 * device and all devices that it pulls rows from have equal coordinates on these. */
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

    if (rows->way == PROGRAM_ROWS_IN_NODE)
        axes &= ~rows->node_axes;
    rows->naxes = 0;
    for (uint8_t i = 0; i < SHD_MESH_AXES_MAX; i++)
        if (axes >> i & 1)
            rows->axes[rows->naxes++] = i;
}

uint32_t program_rows_moves_axes(const struct program *program, const struct program_op *op)
{
    const struct program_rows_arrays a = program_rows_arrays(program, op);

    return cutting_axes(a.from) | cutting_axes(a.to) | cutting_axes(a.experts);
}

/* ---- counts ---- */

static void free_lists(struct row_lists *lists)
{
    free(lists->starts);
    free(lists->others);
    free(lists->rows);
    free(lists->sums);
}

void program_rows_free_counts(struct program_rows_counts *counts)
{
    while (counts) {
        struct program_rows_counts *next = counts->next;

        free_lists(&counts->of_tokens);
        free_lists(&counts->of_experts);
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

/* Rows of one shard of tokens in every shard of experts, and the list of shards with any; most have
 * none. */
struct tally {
    uint64_t *rows;  /* [shards of experts], all 0 between two shards of tokens */
    uint32_t *found; /* [shards of experts] those with rows */
    size_t nfound;
    uint32_t *first; /* [experts] the shard of an expert's first slots: a division takes several
                        times as long, and each choice of a batch is looked up */
};

static void set_first(struct tally *tally, const struct program_rows_arrays *a)
{
    for (int64_t e = 0; e < a->experts->shape[0]; e++)
        tally->first[e] = (uint32_t)program_rows_shard(a->experts, e, 0);
}

static void add_rows(struct tally *tally, uint32_t shard, uint64_t rows)
{
    if (rows > 0 && tally->rows[shard] == 0)
        tally->found[tally->nfound++] = shard;
    tally->rows[shard] += rows;
}

/* Count blocks of tokens, whose choices the routing has counted: there are millions of choices, and
 * each layout is counted anew. */
static void count_blocks(const struct kern_routing *r, int64_t token, int64_t ntokens,
                         uint32_t shard, struct tally *tally)
{
    for (int64_t b = token / KERN_ROUTING_BLOCK; b < (token + ntokens) / KERN_ROUTING_BLOCK; b++)
        for (uint32_t e = 0; e < r->experts; e++)
            add_rows(tally, tally->first[e] + shard,
                     (uint64_t)r->kept[(uint64_t)b * r->experts + e]);
}

/* Count the kept choices of `ntokens` tokens of a sequence, from `seq` on. */
static void count_run(const struct program_rows_counts *c, const struct program_rows_arrays *a,
                      int64_t batch, int64_t seq, int64_t ntokens, struct tally *tally)
{
    const struct kern_routing *r = c->routing;
    int64_t slot = batch / c->group_rows * a->capacity, cut = a->experts->local[1];
    int64_t token = batch % c->group_rows * c->seq + seq;
    bool whole = a->capacity > 0 && cut % a->capacity == 0; /* groups are not cut */
    uint32_t shard = (uint32_t)(slot / cut);

    if (r->kept && whole && token % KERN_ROUTING_BLOCK == 0 && ntokens % KERN_ROUTING_BLOCK == 0) {
        count_blocks(r, token, ntokens, shard, tally);
        return;
    }
    for (int64_t at = token * r->choices; at < (token + ntokens) * r->choices; at++)
        if (r->slots[at] >= 0)
            add_rows(tally,
                     tally->first[r->ids[at]] +
                         (whole ? shard : (uint32_t)((slot + r->slots[at]) / cut)),
                     1);
}

static int compare_shards(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Store the tally as a shard's list, and clear it. */
static bool add_list(struct row_lists *lists, int64_t shard, struct tally *tally)
{
    size_t at = lists->starts[shard];

    lists->starts[shard + 1] = at + tally->nfound;
    qsort(tally->found, tally->nfound, sizeof *tally->found, compare_shards);
    for (size_t i = 0; i < tally->nfound; i++, at++) {
        if (!array_make_room(&lists->others, at, sizeof *lists->others) ||
            !array_make_room(&lists->rows, at, sizeof *lists->rows))
            return false;
        lists->others[at] = tally->found[i];
        lists->rows[at] = tally->rows[tally->found[i]];
        lists->sums[shard] += lists->rows[at];
        tally->rows[tally->found[i]] = 0;
    }
    tally->nfound = 0;
    return true;
}

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool count_tokens(struct program_rows_counts *c, const struct program_rows_arrays *a,
                         struct tally *tally)
{
    const int64_t *local = a->tokens->local;

    for (int64_t shard = 0; shard < c->ntokens; shard++) {
        int64_t batch = shard / c->cuts[1] * local[0], seq = shard % c->cuts[1] * local[1];

        for (int64_t b = batch; b < min64(batch + local[0], c->batch); b++)
            count_run(c, a, b, seq, min64(local[1], c->seq - seq), tally);
        if (!add_list(&c->of_tokens, shard, tally))
            return false;
    }
    return true;
}

/* Build the lists from the experts' side.  Each list is filled from its end: its start moves down
 * with every entry and ends where the list begins. */
static bool turn_lists(struct program_rows_counts *c)
{
    const struct row_lists *from = &c->of_tokens;
    struct row_lists *to = &c->of_experts;
    size_t n = from->starts[c->ntokens];

    to->others = malloc((n + 1) * sizeof *to->others);
    to->rows = malloc((n + 1) * sizeof *to->rows);
    if (!to->others || !to->rows)
        return false;
    for (size_t i = 0; i < n; i++)
        to->starts[from->others[i]]++;
    for (int64_t e = 0; e < c->nexperts; e++)
        to->starts[e + 1] += to->starts[e];
    for (int64_t t = c->ntokens; t-- > 0;)
        for (size_t i = from->starts[t + 1]; i-- > from->starts[t];) {
            size_t at = --to->starts[from->others[i]];

            to->others[at] = (uint32_t)t;
            to->rows[at] = from->rows[i];
            to->sums[from->others[i]] += from->rows[i];
        }
    return true;
}

static bool start_lists(struct row_lists *lists, int64_t nshards)
{
    *lists = (struct row_lists){.starts = calloc((size_t)nshards + 1, sizeof *lists->starts),
                                .sums = calloc((size_t)nshards, sizeof *lists->sums)};
    return lists->starts && lists->sums;
}

static struct program_rows_counts *make_counts(const struct program_rows_counts *key,
                                               const struct program_rows_arrays *a)
{
    struct program_rows_counts *c = malloc(sizeof *c);
    struct tally tally = {.nfound = 0};
    bool done;

    if (!c)
        return NULL;
    *c = *key;
    tally.rows = calloc((size_t)c->nexperts, sizeof *tally.rows);
    tally.found = calloc((size_t)c->nexperts, sizeof *tally.found);
    tally.first = calloc((size_t)a->experts->shape[0], sizeof *tally.first);
    if (tally.first)
        set_first(&tally, a);
    done = start_lists(&c->of_tokens, c->ntokens) && start_lists(&c->of_experts, c->nexperts) &&
           tally.rows && tally.found && tally.first && count_tokens(c, a, &tally) && turn_lists(c);
    free(tally.rows);
    free(tally.found);
    free(tally.first);
    if (done)
        return c;
    program_rows_free_counts(c);
    return NULL;
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
            return shd_error_set(err, SHD_ENOMEM, "no memory for the routing of rows in '%.80s'",
                                 op->name);
        c->next = program->rows_counts;
        program->rows_counts = c;
    }
    op->rows.counts = c;
    return SHD_OK;
}

/* ---- what is moved ---- */

/* What every query about an op needs. */
struct asked {
    struct program_rows_arrays arrays;
    const struct program_op *op;
    const struct program_rows_counts *counts;
    bool combines;
};

static struct asked ask(const struct program *program, const struct program_op *op)
{
    return (struct asked){program_rows_arrays(program, op), op, op->rows.counts, op->rows.combines};
}

/* The lists of the shards of the operand (sent) and of the result (received). */
static const struct row_lists *sent_lists(const struct asked *q)
{
    return q->combines ? &q->counts->of_experts : &q->counts->of_tokens;
}

static const struct row_lists *received_lists(const struct asked *q)
{
    return q->combines ? &q->counts->of_tokens : &q->counts->of_experts;
}

/* Rows that a shard of the result takes from a shard of the operand. */
static uint64_t rows_between(const struct asked *q, int64_t from, int64_t to)
{
    const struct row_lists *lists = received_lists(q);
    size_t low = lists->starts[to], high = lists->starts[to + 1];

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (lists->others[middle] < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low < lists->starts[to + 1] && lists->others[low] == from ? lists->rows[low] : 0;
}

/* Whether a device takes rows from a shard of the operand: inside nodes only from its own node. */
static bool takes_from(const struct asked *q, int32_t position, int64_t shard)
{
    return q->op->rows.way != PROGRAM_ROWS_IN_NODE ||
           program_rows_shard_node(&q->arrays, q->op, shard) ==
               program_node_at(q->arrays.from->sharding.mesh, q->op->rows.node_axes, position);
}

static uint64_t rows_received(const struct asked *q, int32_t position)
{
    const struct row_lists *lists = received_lists(q);
    int64_t from = program_rows_shard_at(q->arrays.from, position);
    int64_t to = program_rows_shard_at(q->arrays.to, position);
    uint64_t rows = lists->sums[to];

    for (size_t i = lists->starts[to];
         q->op->rows.way == PROGRAM_ROWS_IN_NODE && i < lists->starts[to + 1]; i++)
        if (!takes_from(q, position, lists->others[i]))
            rows -= lists->rows[i];
    return rows - rows_between(q, from, to);
}

/* Groups of devices along some axes.  This cannot fail, as the axes are distinct axes of the
 * mesh. */
static struct shd_groups groups_along(const struct shd_mesh *mesh, const uint8_t *axes,
                                      size_t naxes)
{
    struct shd_groups groups;

    if (shd_groups_init(&groups, mesh, axes, naxes, NULL) != SHD_OK)
        abort();
    return groups;
}

/* Whether a device has a shard's coordinates on all masked axes that cut the buffer. */
static bool lies_along(const struct program_buffer *b, int32_t position, int64_t shard,
                       uint32_t axes)
{
    const struct shd_mesh *mesh = b->sharding.mesh;
    int32_t holder = axes ? program_rows_source(b, position, shard) : position;

    for (size_t a = 0; axes >> a; a++)
        if (axes >> a & 1 && shd_mesh_coord(mesh, holder, a) != shd_mesh_coord(mesh, position, a))
            return false;
    return true;
}

/* Rows that a device sends.  It sends to all devices that differ from it only on the op's axes:
 * these hold the shards of the result with the device's coordinates on the other axes, each shard
 * as many times as the op's axes that do not cut the result have coordinates.  The device itself is
 * among them. */
static uint64_t rows_sent(const struct asked *q, const struct program_op *op, int32_t position)
{
    const struct row_lists *lists = sent_lists(q);
    const struct program_buffer *to = q->arrays.to;
    int64_t from = program_rows_shard_at(q->arrays.from, position);
    uint32_t cutting = cutting_axes(to), elsewhere = cutting;
    uint64_t sent = 0, holders = 1;

    for (uint8_t i = 0; i < op->rows.naxes; i++) {
        elsewhere &= ~(UINT32_C(1) << op->rows.axes[i]);
        if (!(cutting >> op->rows.axes[i] & 1))
            holders *= (uint64_t)shd_mesh_axis_size(to->sharding.mesh, op->rows.axes[i]);
    }
    for (size_t i = lists->starts[from]; i < lists->starts[from + 1]; i++)
        if (lies_along(to, position, lists->others[i], elsewhere))
            sent += holders * lists->rows[i];
    return sent - rows_between(q, from, program_rows_shard_at(to, position));
}

bool program_rows_reach_experts(const struct program_op *op)
{
    return op->kind == PROGRAM_ROWS && !op->rows.combines && !op->rows.beside &&
           op->rows.way != PROGRAM_ROWS_BETWEEN;
}

uint64_t program_rows_kept(const struct program *program, const struct program_op *op,
                           int32_t position)
{
    const struct asked q = ask(program, op);

    return q.counts->of_experts.sums[program_rows_shard_at(q.arrays.experts, position)];
}

double program_rows_taken(const struct program_buffer *buffer, int32_t position)
{
    const struct kern_routing *r = buffer->routing;
    int64_t start[SHD_RANK_MAX] = {0}, first = 0, n = 0, taken = 0;

    if (!r)
        return 1;
    n = r->experts;
    if (program_rows_differ(buffer)) {
        shd_sharding_offset(&buffer->sharding, buffer->shape, position, start);
        first = start[buffer->expert_dim];
        n = buffer->local[buffer->expert_dim];
    }
    for (int64_t e = first; e < first + n && e < r->experts; e++)
        taken += r->counts[e];
    return n > 0 ? (double)taken / ((double)n * (double)r->capacity) : 0;
}

bool program_rows_differ(const struct program_buffer *buffer)
{
    return buffer->routing && buffer->sharding.dims[buffer->expert_dim].naxes > 0;
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

bool program_rows_go_to_copies(const struct program_op *op)
{
    return op->rows.routing->copies != NULL;
}

uint32_t program_rows_expert(const struct program_op *op, uint32_t place)
{
    const struct kern_copies *copies = op->rows.routing->copies;

    return copies ? (uint32_t)copies->expert[place] : place;
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
                                  rows_sent(&q, op, position) * q.arrays.row_bytes};
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
    const struct row_lists *lists = received_lists(&q);
    int64_t own = program_rows_shard_at(q.arrays.from, position);
    int64_t to = program_rows_shard_at(q.arrays.to, position);
    bool goes_on = true;

    for (size_t i = lists->starts[to]; i < lists->starts[to + 1] && goes_on; i++)
        if (lists->others[i] != own && takes_from(&q, position, lists->others[i]))
            goes_on = fn(arg, program_rows_source(q.arrays.from, position, lists->others[i]),
                         lists->rows[i] * q.arrays.row_bytes);
}

bool program_rows_moves_alike(const struct program *program, const struct program_op *a,
                              const struct program_op *b)
{
    const struct asked x = ask(program, a), y = ask(program, b);

    return a->rows.way == b->rows.way && a->rows.node_axes == b->rows.node_axes &&
           x.counts == y.counts && x.combines == y.combines &&
           x.arrays.row_bytes == y.arrays.row_bytes &&
           !memcmp(x.arrays.from->sharding.dims, y.arrays.from->sharding.dims,
                   2 * sizeof x.arrays.from->sharding.dims[0]) &&
           !memcmp(x.arrays.to->sharding.dims, y.arrays.to->sharding.dims,
                   2 * sizeof x.arrays.to->sharding.dims[0]);
}
