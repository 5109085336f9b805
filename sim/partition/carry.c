/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/carry.h"

#include <string.h>

bool carry_find(struct halo *h, const struct placement *p, uint32_t node)
{
    const struct graph_node *n = &p->graph->nodes[node];
    int64_t nshards;

    if (n->op != GRAPH_SCAN || p->nodes[node].home == PLACEMENT_UNKNOWN)
        return false;
    *h = (struct halo){.sharding = price_sharding(p->price, p->nodes[node].home),
                       .dim = graph_place(n, n->attr.scan.dim),
                       .rank = n->rank,
                       .npieces = 1};
    h->to = *h->sharding;
    nshards = shd_sharding_nshards(h->sharding, h->dim);
    graph_shape(p->graph, node, h->shape);
    h->shard = h->shape[h->dim] / nshards;
    h->shape[h->dim] = nshards; /* of last rows */
    h->pieces[0] = (struct shd_reach){
        .by = 1, .first = n->attr.scan.reverse ? 1 : 1 - nshards, .extent = nshards - 1};
    return nshards > 1;
}

double carry_cost(const struct placement *p, uint32_t node)
{
    const struct graph_node *n = &p->graph->nodes[node];
    struct shd_reshard_step step;
    struct halo h;

    if (!carry_find(&h, p, node))
        return 0;
    if (shd_reshard_reach(&step, h.sharding, h.sharding, h.shape, n->dtype, (int)h.dim,
                          &h.pieces[0], NULL) != SHD_OK)
        return PRICE_IMPOSSIBLE;
    return n->ninputs * price_step(p->price, &step, h.shape, n->dtype);
}

/* Copy the last row of a scan, *last, and emit the step that brings it to the devices behind. */
static int pass_last(struct emit *e, uint32_t node, const struct halo *h,
                     const struct program_op *scan, const char *why, uint32_t *last, uint32_t *rows)
{
    const struct graph_node *n = &e->graph->nodes[node];
    const struct kern_scan *s = &scan->desc->scan;
    struct program_op op = emit_op_at(PROGRAM_KERNEL, n->name, emit_spot_of(e, node));
    union kern_desc desc;
    int status = halo_add_buffer(e, node, h, 1, &op.outputs[0]);

    op.ninputs = op.noutputs = 1;
    op.inputs[0] = scan->outputs[0];
    op.cut_axes = scan->cut_axes;
    op.kernel = &kern_kernel_window;
    op.desc = &desc;
    memset(&desc, 0, sizeof desc);
    desc.window = (struct kern_window){.dtype = n->dtype,
                                       .ninputs = 1,
                                       .outer = s->outer,
                                       .inner = s->inner,
                                       .out_extent = 1,
                                       .in_extent = {s->extent},
                                       .from = {s->reverse ? 0 : s->extent - 1},
                                       .count = {1}};
    if (status == SHD_OK)
        status = program_add_op(e->program, &op, e->err);
    *rows = *last = op.outputs[0];
    return status == SHD_OK ? halo_add_reach(e, node, h, 0, why, rows) : status;
}

/* The products of a recurrence's factors. */
static int scan_factors(struct emit *e, uint32_t node, const struct halo *h,
                        const struct program_op *scan, struct program_op *op, union kern_desc *desc)
{
    *op = *scan;
    *desc = *scan->desc;
    op->desc = desc;
    op->ninputs = 1;
    op->inputs[0] = scan->inputs[1];
    desc->scan.fn = KERN_SCAN_PROD;
    op->dense_flops = kern_dense_flops(op->kernel, desc);
    op->unsharded_flops = op->model_flops = 0;
    const int status = halo_add_buffer(e, node, h, h->shard, &op->outputs[0]);

    return status == SHD_OK ? program_add_op(e->program, op, e->err) : status;
}

int carry_emit(struct emit *e, uint32_t node, const struct halo *h, struct program_op *op,
               union kern_desc *desc)
{
    const struct graph_node *n = &e->graph->nodes[node];
    const char *why = program_text(e->program, "%s continues from the neighbouring shard of %s",
                                   n->name, e->graph->dims[n->attr.scan.dim].name);
    struct program_op carry = emit_op_at(PROGRAM_KERNEL, n->name, emit_spot_of(e, node)), factors;
    uint32_t last = PROGRAM_NONE;
    union kern_desc product;
    int status;

    carry.noutputs = 1;
    carry.outputs[0] = op->outputs[0];
    carry.cut_axes = op->cut_axes;
    status = halo_add_buffer(e, node, h, h->shard, &op->outputs[0]);
    if (status == SHD_OK)
        status = program_add_op(e->program, op, e->err);
    carry.ninputs = 2;
    carry.inputs[0] = op->outputs[0];
    if (status == SHD_OK)
        status = pass_last(e, node, h, op, why, &last, &carry.inputs[1]);
    if (status == SHD_OK && n->ninputs > 1) {
        status = scan_factors(e, node, h, op, &factors, &product);
        carry.ninputs = 4;
        carry.inputs[2] = factors.outputs[0];
        if (status == SHD_OK)
            status = pass_last(e, node, h, &factors, why, &last, &carry.inputs[3]);
    }
    if (status != SHD_OK)
        return status;
    carry.kernel = &kern_kernel_carry;
    carry.desc = desc;
    desc->scan.shards = h->shape[h->dim];
    carry.noffsets = 1;
    carry.offsets[0] = (struct program_offset){last, h->dim};
    carry.dense_flops = kern_dense_flops(carry.kernel, carry.desc);
    return program_add_op(e->program, &carry, e->err);
}
