/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "program/row_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "kern/routing.h"

/* How many tokens of each shard name an expert of each node.  Ops with equal routing and equal cuts
 * share one of these. */
struct program_node_counts {
    struct program_node_counts *next;
    const struct kern_routing *routing;
    int64_t batch, seq, group_rows, slots;
    int64_t local[2]; /* of the tokens that nodes cut */
    struct shd_dim_axes experts[2];
    uint32_t axes; /* that number nodes */
    int32_t nnodes;
    int64_t nshards; /* of tokens */
    uint64_t *rows;  /* [shard][node] */
};

void program_nodes_free_counts(struct program_node_counts *counts)
{
    while (counts) {
        struct program_node_counts *next = counts->next;

        free(counts->rows);
        free(counts);
        counts = next;
    }
}

/* The array of tokens that the node axis cuts. */
static const struct program_buffer *cut_tokens(const struct program *program,
                                               const struct program_op *op)
{
    return &program->buffers[op->rows.combines ? op->outputs[0] : op->inputs[0]];
}

static bool equal_counts(const struct program_node_counts *x, const struct program_node_counts *y)
{
    return x->routing == y->routing && x->batch == y->batch && x->seq == y->seq &&
           x->group_rows == y->group_rows && x->slots == y->slots && x->axes == y->axes &&
           !memcmp(x->local, y->local, sizeof x->local) &&
           !memcmp(x->experts, y->experts, sizeof x->experts);
}

/* Count the token at `batch`, `seq` for each node that has an expert of it; `seen` is the mark of
 * the last token by node, `nodes` the node by shard of the experts' rows. */
static void count_token(struct program_node_counts *c, const struct program_rows_arrays *a,
                        const int32_t *nodes, const int64_t at[2], int64_t *seen)
{
    const struct kern_routing *r = c->routing;
    int64_t token = at[0] % c->group_rows * c->seq + at[1];
    int64_t mark = at[0] * c->seq + at[1] + 1;
    int64_t shard = program_rows_shard(a->tokens, at[0], at[1]);

    for (int64_t i = token * r->choices; i < (token + 1) * r->choices; i++) {
        int64_t slot = at[0] / c->group_rows * a->capacity + r->slots[i];
        int32_t node;

        if (r->slots[i] < 0)
            continue;
        node = nodes[program_rows_shard(a->experts, r->ids[i], slot)];
        c->rows[shard * c->nnodes + node] += seen[node] != mark;
        seen[node] = mark;
    }
}

static struct program_node_counts *make_counts(const struct program_node_counts *key,
                                               const struct program_rows_arrays *a,
                                               const struct program_op *op)
{
    struct program_node_counts *c = malloc(sizeof *c);
    int64_t *seen = calloc((size_t)key->nnodes, sizeof *seen);
    int64_t nshards = program_rows_shards(a->experts);
    int32_t *nodes = malloc((size_t)nshards * sizeof *nodes);

    if (c) {
        *c = *key;
        c->rows = calloc((size_t)(c->nshards * c->nnodes), sizeof *c->rows);
    }
    if (c && (!c->rows || !seen || !nodes)) {
        program_nodes_free_counts(c);
        c = NULL;
    }
    for (int64_t shard = 0; c && shard < nshards; shard++)
        nodes[shard] = program_rows_shard_node(a, op, shard);
    for (int64_t b = 0; c && b < c->batch; b++)
        for (int64_t s = 0; s < c->seq; s++)
            count_token(c, a, nodes, (const int64_t[]){b, s}, seen);
    free(seen);
    free(nodes);
    return c;
}

int program_nodes_set(struct program *program, struct program_op *op, struct shd_error *err)
{
    const struct program_rows_arrays a = program_rows_arrays(program, op);
    const struct program_buffer *tokens = cut_tokens(program, op);
    struct program_node_counts key = {
        .routing = op->rows.routing,
        .batch = tokens->shape[0],
        .seq = tokens->shape[1],
        .group_rows = a.group_rows,
        .slots = a.experts->shape[1],
        .local = {tokens->local[0], tokens->local[1]},
        .experts = {a.experts->sharding.dims[0], a.experts->sharding.dims[1]},
        .axes = op->rows.node_axes,
        .nnodes = 1 + program_node_at(program->mesh, op->rows.node_axes,
                                      shd_mesh_size(program->mesh) - 1),
        .nshards = program_rows_shards(tokens)};
    struct program_node_counts *c = program->node_counts;

    op->rows.naxes = 0;
    for (uint8_t axis = 0; op->rows.node_axes >> axis; axis++)
        if (op->rows.node_axes >> axis & 1)
            op->rows.axes[op->rows.naxes++] = axis;
    while (c && !equal_counts(c, &key))
        c = c->next;
    if (!c) {
        c = make_counts(&key, &a, op);
        if (!c)
            return shd_error_set(err, SHD_ENOMEM, "no memory for the rows between nodes in '%.80s'",
                                 op->name);
        c->next = program->node_counts;
        program->node_counts = c;
    }
    op->rows.nodes = c;
    return SHD_OK;
}

/* Whether a device takes an entry's row between nodes; `node` has the expert. */
static bool takes_between(const struct program_rows_walk *walk, const struct program_op *op,
                          int32_t position, const struct program_rows_place *place, int32_t node)
{
    const struct program_rows_arrays *a = &walk->arrays;
    struct program_rows_place other = *place;
    int64_t at = walk->at - 1; /* of the last entry */

    if (!op->rows.combines &&
        node != program_node_at(a->from->sharding.mesh, op->rows.node_axes, position))
        return false;
    for (int64_t before = 1; before <= place->choice; before++) {
        other.expert = walk->ids[at - before];
        if (other.expert < 0 || walk->slots[at - before] < 0)
            continue;
        if (program_rows_node(a, op, &other) == node)
            return false;
    }
    return true;
}

bool program_rows_takes(const struct program_rows_walk *walk, const struct program_op *op,
                        int32_t position, const struct program_rows_place *place)
{
    const struct program_rows_arrays *a = &walk->arrays;
    int32_t node;

    if (op->rows.way != PROGRAM_ROWS_BETWEEN && op->rows.way != PROGRAM_ROWS_IN_NODE)
        return true;
    node = program_rows_node(a, op, place);
    return op->rows.way == PROGRAM_ROWS_BETWEEN
               ? takes_between(walk, op, position, place, node)
               : node == program_node_at(a->experts->sharding.mesh, op->rows.node_axes, position);
}

int32_t program_nodes_peer(const struct program *program, const struct program_op *op,
                           int32_t position, int32_t node)
{
    int32_t coords[SHD_MESH_AXES_MAX];

    shd_mesh_coords(program->mesh, position, coords);
    for (uint8_t i = op->rows.naxes; i-- > 0;) {
        int32_t size = shd_mesh_axis_size(program->mesh, op->rows.axes[i]);

        coords[op->rows.axes[i]] = node % size;
        node /= size;
    }
    return shd_mesh_position(program->mesh, coords);
}

/* Tokens of a device that name an expert of a node. */
static uint64_t tokens_for(const struct program *program, const struct program_op *op,
                           int32_t position, int32_t node)
{
    const struct program_node_counts *c = op->rows.nodes;

    return c->rows[program_rows_shard_at(cut_tokens(program, op), position) * c->nnodes + node];
}

/* Rows that come to a device from another node. */
static uint64_t rows_from(const struct program *program, const struct program_op *op,
                          int32_t position, int32_t node)
{
    int32_t own = program_node_at(program->mesh, op->rows.node_axes, position);

    if (op->rows.combines)
        return tokens_for(program, op, position, node);
    return tokens_for(program, op, program_nodes_peer(program, op, position, node), own);
}

struct program_moved program_nodes_moved(const struct program *program, const struct program_op *op,
                                         int32_t position)
{
    const struct program_rows_arrays a = program_rows_arrays(program, op);
    int32_t own = program_node_at(program->mesh, op->rows.node_axes, position);
    struct program_moved moved = {0, 0};

    for (int32_t node = 0; node < op->rows.nodes->nnodes; node++) {
        if (node == own)
            continue;
        moved.received += rows_from(program, op, position, node) * a.row_bytes;
        moved.sent += rows_from(program, op, program_nodes_peer(program, op, position, node), own) *
                      a.row_bytes;
    }
    return moved;
}

void program_nodes_transfers(const struct program *program, const struct program_op *op,
                             int32_t position, program_transfer_fn fn, void *arg)
{
    const struct program_rows_arrays a = program_rows_arrays(program, op);
    int32_t own = program_node_at(program->mesh, op->rows.node_axes, position);
    bool goes_on = true;

    for (int32_t node = 0; node < op->rows.nodes->nnodes && goes_on; node++) {
        uint64_t rows = node == own ? 0 : rows_from(program, op, position, node);

        if (rows > 0)
            goes_on = fn(arg, program_nodes_peer(program, op, position, node), rows * a.row_bytes);
    }
}

uint128 program_nodes_received_by_all(const struct program *program, const struct program_op *op)
{
    const struct program_node_counts *c = op->rows.nodes;
    const struct program_buffer *tokens = cut_tokens(program, op);
    const struct program_rows_arrays a = program_rows_arrays(program, op);
    int64_t holders =
        shd_mesh_size(program->mesh) / (int64_t)program->nranks / program_rows_shards(tokens);
    uint128 rows = 0;

    for (int64_t shard = 0; shard < c->nshards; shard++) {
        int32_t own = program_node_at(program->mesh, op->rows.node_axes,
                                      program_rows_source(tokens, 0, shard));

        for (int32_t node = 0; node < c->nnodes; node++)
            rows += node == own ? 0 : c->rows[shard * c->nnodes + node];
    }
    return rows * a.row_bytes * (uint128)holders;
}

bool program_nodes_move_alike(const struct program *program, const struct program_op *a,
                              const struct program_op *b)
{
    const struct program_rows_arrays x = program_rows_arrays(program, a);
    const struct program_rows_arrays y = program_rows_arrays(program, b);

    return a->rows.nodes == b->rows.nodes && a->rows.combines == b->rows.combines &&
           x.row_bytes == y.row_bytes &&
           !memcmp(cut_tokens(program, a)->sharding.dims, cut_tokens(program, b)->sharding.dims,
                   2 * sizeof x.from->sharding.dims[0]);
}

/* ---- nodes of choices ---- */

#define SAMPLE 1024 /* tokens of a routing whose nodes are counted */

static int64_t node_of(const struct kern_routing *r, int32_t id, int64_t nnodes)
{
    return (int64_t)id * nnodes / r->experts;
}

/* Add the nodes that have experts of a token to *nodes, and its choices to *choices. */
static void count_nodes(const struct kern_routing *r, const int32_t *ids, int64_t nnodes,
                        int64_t *nodes, int64_t *choices)
{
    for (uint32_t c = 0; c < r->choices; c++) {
        uint32_t first = 0;

        if (ids[c] < 0)
            continue;
        while (ids[first] < 0 || node_of(r, ids[first], nnodes) != node_of(r, ids[c], nnodes))
            first++;
        *nodes += first == c;
        ++*choices;
    }
}

double program_nodes_of_choices(const struct program_op *op, int64_t nnodes)
{
    const struct kern_routing *r = op->rows.routing;
    int64_t step = r->tokens / SAMPLE + 1, nodes = 0, choices = 0;

    for (int64_t t = 0; t < r->tokens; t += step)
        count_nodes(r, r->ids + t * r->choices, nnodes, &nodes, &choices);
    return choices > 0 ? (double)nodes / (double)choices : 1;
}
