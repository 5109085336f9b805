/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/local.h"

#include <string.h>

/* Row-major strides of an array's shard, laid out by the op's dimensions; returns which it has. */
static uint32_t strides(int64_t *out, const struct graph_node *array, const struct op_dims *dims,
                        const int64_t *extents)
{
    int64_t stride = 1;
    uint32_t has = 0;

    for (uint32_t d = array->rank; d-- > 0;) {
        int at = op_dims_find(dims, array->dims[d]);

        out[at] = stride;
        stride *= extents[at];
        has |= 1u << at;
    }
    return has;
}

static void local_einsum(struct program_op *op, const struct graph *graph,
                         const struct graph_node *n, const struct op_dims *dims,
                         const int64_t *extents)
{
    struct kern_einsum *e = &op->einsum;

    op->kind = PROGRAM_EINSUM;
    e->dtype = n->dtype;
    e->ndims = dims->ndims;
    memcpy(e->extent, extents, dims->ndims * sizeof *extents);
    e->a_has = strides(e->a_stride, &graph->nodes[n->inputs[0]], dims, extents);
    e->b_has = strides(e->b_stride, &graph->nodes[n->inputs[1]], dims, extents);
    e->c_has = strides(e->c_stride, n, dims, extents);
    op->flops = kern_einsum_flops(e);
    op->workspace_bytes = kern_einsum_workspace_bytes(e);
}

static void local_map(struct program_op *op, const struct graph *graph, const struct graph_node *n,
                      const struct op_dims *dims, const int64_t *extents)
{
    struct kern_map *m = &op->map;

    op->kind = PROGRAM_MAP;
    m->dtype = n->dtype;
    m->ndims = dims->ndims;
    memcpy(m->extent, extents, dims->ndims * sizeof *extents);
    (void)strides(m->out_stride, n, dims, extents);
    m->ninputs = n->ninputs;
    for (uint32_t k = 0; k < n->ninputs; k++)
        (void)strides(m->in_stride[k], &graph->nodes[n->inputs[k]], dims, extents);
    m->ninstrs = 1;
    m->instrs[0] = (struct kern_instr){n->fn, {0, 1}, n->scalar};
    op->flops = kern_map_flops(m);
}

static void local_reduce(struct program_op *op, const struct graph *graph,
                         const struct graph_node *n, const struct op_dims *dims,
                         const int64_t *extents)
{
    struct kern_reduce *r = &op->reduce;

    op->kind = PROGRAM_REDUCE;
    r->dtype = n->dtype;
    r->op = n->reduce;
    r->ndims = dims->ndims;
    memcpy(r->extent, extents, dims->ndims * sizeof *extents);
    (void)strides(r->in_stride, &graph->nodes[n->inputs[0]], dims, extents);
    r->out_has = strides(r->out_stride, n, dims, extents);
    op->flops = kern_reduce_flops(r);
}

void local_op(struct program_op *op, const struct graph *graph, uint32_t node,
              const struct op_dims *dims, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];

    if (n->op == GRAPH_EINSUM)
        local_einsum(op, graph, n, dims, extents);
    else if (n->op == GRAPH_REDUCE)
        local_reduce(op, graph, n, dims, extents);
    else
        local_map(op, graph, n, dims, extents);
}
