/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/halo.h"

#include <string.h>

/* ---- who needs what ---- */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The parts of neighbours' sums that are for a device's elements: of the neighbour `d` places on,
 * its array begins at d * shard + first from the device's own first element. */
static void find_pieces(struct halo *h, int64_t nshards)
{
    for (int64_t d = 1 - nshards; d < nshards; d++) {
        int64_t begin = d * h->shard + h->first, low = larger(begin, 0);
        int64_t high = smaller(begin + h->around, h->shard);

        if (d == 0 || high <= low)
            continue;
        h->too_far = h->npieces == KERN_OVERLAPS_MAX - 1;
        if (h->too_far)
            return;
        h->at[h->npieces] = low;
        h->pieces[h->npieces++] = (struct shd_reach){
            .by = h->around, .first = d * h->around + low - begin, .extent = high - low};
    }
    h->shape[h->dim] = nshards * h->around;
}

bool halo_find(struct halo *h, const struct placement *p, uint32_t node)
{
    const struct graph_node *n = &p->graph->nodes[node];
    const struct graph_taps *how = &n->attr.taps.how;
    bool sums = n->op == GRAPH_TAPS_SUM;
    uint32_t number = sums ? p->nodes[node].home : p->nodes[node].needs[0];
    uint32_t elements = sums ? node : n->inputs[0];
    int64_t nshards, windows, taps;

    if ((!sums && n->op != GRAPH_TAPS) || number == PLACEMENT_UNKNOWN ||
        p->nodes[node].home == PLACEMENT_UNKNOWN)
        return false;
    *h = (struct halo){.sharding = price_sharding(p->price, number),
                       .dim = graph_place(&p->graph->nodes[elements], n->attr.taps.dim),
                       .rank = p->graph->nodes[elements].rank};
    h->to = *h->sharding;
    if (shd_sharding_nshards(h->sharding, h->dim) < 2)
        return false;
    if (!sums)
        h->to.dims[h->dim] = price_sharding(p->price, p->nodes[node].home)
                                 ->dims[graph_place(n, n->attr.taps.window_dim)];
    nshards = shd_sharding_nshards(&h->to, h->dim);
    graph_shape(p->graph, elements, h->shape);
    windows = p->graph->dims[n->attr.taps.window_dim].size / nshards;
    taps = p->graph->dims[n->attr.taps.tap_dim].size;
    h->shard = h->shape[h->dim] / shd_sharding_nshards(h->sharding, h->dim);
    h->around = (windows - 1) * how->stride + (taps - 1) * how->dilation + 1;
    h->first = -how->low;
    if (h->first == 0 && windows * how->stride == h->shard && h->around <= h->shard &&
        nshards == shd_sharding_nshards(h->sharding, h->dim))
        return false; /* no window crosses */
    if (sums) {
        find_pieces(h, nshards);
    } else {
        h->npieces = 1;
        h->pieces[0] =
            (struct shd_reach){.by = windows * how->stride, .first = h->first, .extent = h->around};
    }
    return true;
}

double halo_cost(const struct placement *p, uint32_t node)
{
    enum shd_dtype dtype = p->graph->nodes[node].dtype;
    struct shd_reshard_step step;
    struct halo h;
    double cost = 0;

    if (!halo_find(&h, p, node))
        return 0;
    if (h.too_far)
        return PRICE_IMPOSSIBLE;
    for (uint32_t k = 0; k < h.npieces; k++) {
        if (shd_reshard_reach(&step, h.sharding, &h.to, h.shape, dtype, (int)h.dim, &h.pieces[k],
                              NULL) != SHD_OK)
            return PRICE_IMPOSSIBLE;
        if (step.kind != SHD_RESHARD_SLICE)
            cost += price_step(p->price, &step, h.shape, dtype);
    }
    return cost;
}

/* ---- emission ---- */

int halo_add_buffer(struct emit *e, uint32_t node, const struct halo *h, int64_t extent,
                    uint32_t *buffer)
{
    const struct graph_node *n = &e->graph->nodes[node];
    int64_t shape[GRAPH_RANK_MAX];
    int status;

    memcpy(shape, h->shape, sizeof shape);
    shape[h->dim] = extent * shd_sharding_nshards(&h->to, h->dim);
    status = program_add_buffer(buffer, e->program, n->name, n->dtype, shape, &h->to, e->err);
    if (status == SHD_OK)
        e->program->buffers[*buffer].stored = n->stored;
    return status;
}

int halo_add_reach(struct emit *e, uint32_t node, const struct halo *h, uint32_t piece,
                   const char *why, uint32_t *buffer)
{
    const struct graph_node *n = &e->graph->nodes[node];
    struct program_op op = emit_op_at(PROGRAM_RESHARD, n->name, emit_spot_of(e, node));
    int status = halo_add_buffer(e, node, h, h->pieces[piece].extent, &op.outputs[0]);

    op.ninputs = op.noutputs = 1;
    op.inputs[0] = *buffer;
    if (status == SHD_OK)
        status =
            shd_reshard_reach(&op.reshard, h->sharding, &h->to, e->program->buffers[*buffer].shape,
                              n->dtype, (int)h->dim, &h->pieces[piece], e->err);
    if (status != SHD_OK)
        return status;
    if (op.reshard.kind != SHD_RESHARD_SLICE)
        op.why = why;
    *buffer = op.outputs[0];
    return program_add_op(e->program, &op, e->err);
}

int halo_emit_before(struct emit *e, uint32_t node, const struct halo *h, struct program_op *op)
{
    const struct graph_node *n = &e->graph->nodes[node];
    const char *why = program_text(e->program, "windows of %s reach into the next shards of %s",
                                   n->name, e->graph->dims[n->attr.taps.dim].name);

    return halo_add_reach(e, node, h, 0, why, &op->inputs[0]);
}

void halo_set(struct program_op *op, union kern_desc *desc, const struct halo *h)
{
    desc->taps.around = true;
    desc->taps.extent = h->around;
    op->noffsets = 1;
}

/* The sum of a device's own part and its neighbours'. */
static void set_overlaps(struct program_op *op, union kern_desc *desc, const struct emit *e,
                         const struct halo *h)
{
    const struct program_buffer *b = &e->program->buffers[op->outputs[0]];
    struct kern_overlaps *o = &desc->overlaps;

    memset(desc, 0, sizeof *desc);
    op->kernel = &kern_kernel_overlaps;
    op->desc = desc;
    *o = (struct kern_overlaps){
        .dtype = b->dtype, .ninputs = op->ninputs, .outer = 1, .inner = 1, .extent = h->shard};
    for (uint32_t d = 0; d < h->rank; d++)
        *(d < h->dim ? &o->outer : &o->inner) *= d == h->dim ? 1 : b->local[d];
    o->at[0] = h->first;
    o->count[0] = h->around;
    for (uint32_t k = 0; k < h->npieces; k++) {
        o->at[k + 1] = h->at[k];
        o->count[k + 1] = h->pieces[k].extent;
    }
    op->dense_flops = kern_dense_flops(op->kernel, desc);
}

int halo_emit_sum(struct emit *e, uint32_t node, const struct halo *h, struct program_op *op)
{
    const struct graph_node *n = &e->graph->nodes[node];
    union kern_desc desc;
    struct program_op sum = emit_op_at(PROGRAM_KERNEL, n->name, emit_spot_of(e, node));
    const char *why =
        program_text(e->program, "windows that reach into the next shards of %s add to %s there",
                     e->graph->dims[n->attr.taps.dim].name, n->name);
    int status;

    if (h->too_far)
        return shd_error_set(
            e->err, SHD_EUNSUPPORTED,
            "mesh: the windows of '%.80s' reach into more than %d other shards of '%s'", n->name,
            KERN_OVERLAPS_MAX - 1, e->graph->dims[n->attr.taps.dim].name);
    sum.outputs[0] = op->outputs[0];
    sum.cut_axes = op->cut_axes;
    status = halo_add_buffer(e, node, h, h->around, &op->outputs[0]);
    if (status == SHD_OK)
        status = program_add_op(e->program, op, e->err);
    sum.noutputs = 1;
    sum.ninputs = 1 + h->npieces;
    sum.inputs[0] = op->outputs[0];
    for (uint32_t k = 0; k < h->npieces && status == SHD_OK; k++) {
        sum.inputs[k + 1] = op->outputs[0];
        status = halo_add_reach(e, node, h, k, why, &sum.inputs[k + 1]);
    }
    if (status != SHD_OK)
        return status;
    set_overlaps(&sum, &desc, e, h);
    return program_add_op(e->program, &sum, e->err);
}
