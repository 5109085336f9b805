/* Ops: codes of an array with the scales of their blocks, and the array that they stand for.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "graph/ops.h"
#include "graph/ops/padding.h"
#include "kern/quant.h"

/* The dimension that another was made of, or itself. */
static uint32_t root(const struct graph *g, uint32_t dim)
{
    return g->dims[dim].of == GRAPH_NONE ? dim : g->dims[dim].of;
}

/* Whether an array has a result's dimensions, or parts of them, in the same order. */
static bool stands_for(const struct graph *g, const struct graph_node *n, const uint32_t *dims,
                       uint32_t rank)
{
    bool same = n->rank == rank;
    uint32_t nboxed = 0;

    for (uint32_t d = 0; same && d < rank; d++) {
        nboxed += n->dims[d] != dims[d];
        same = nboxed <= KERN_QUANT_BOXED_MAX && root(g, n->dims[d]) == root(g, dims[d]) &&
               g->dims[n->dims[d]].size > 0 &&
               g->dims[dims[d]].size % g->dims[n->dims[d]].size == 0;
    }
    return same;
}

static uint32_t add(struct graph *graph, struct graph_node node, const char *name,
                    enum kern_quant_type type, const uint32_t *dims, uint32_t rank)
{
    uint32_t codes = node.inputs[0], scales = node.inputs[1];
    const struct graph_node *c;

    if (!graph_usable(graph, codes) || !graph_usable(graph, scales))
        return GRAPH_NONE;
    c = &graph->nodes[codes];
    if (rank < 1 || rank > KERN_QUANT_DIMS_MAX || !stands_for(graph, c, dims, rank) ||
        !stands_for(graph, &graph->nodes[scales], dims, rank) ||
        c->dtype != (kern_quant_levels(type) ? SHD_U8 : SHD_I8))
        return graph_fail(graph, SHD_EINVAL, "'%s' needs codes and scales of its blocks", name);
    node.rank = rank;
    node.stop_gradient = true;
    node.attr.dequantize.type = type;
    node.attr.dequantize.pair_dim = GRAPH_NONE;
    for (uint32_t d = 0; d < rank; d++) {
        node.dims[d] = dims[d];
        if (c->dims[d] != dims[d])
            node.attr.dequantize.pair_dim = dims[d];
    }
    return graph_add(graph, &node, name);
}

uint32_t graph_dequantize(struct graph *graph, const char *name, enum kern_quant_type type,
                          enum shd_dtype dtype, uint32_t codes, uint32_t scales,
                          const uint32_t *dims, uint32_t rank)
{
    const struct graph_node node = {
        .op = GRAPH_DEQUANTIZE, .dtype = dtype, .ninputs = 2, .inputs = {codes, scales}};

    return add(graph, node, name, type, dims, rank);
}

uint32_t graph_restore(struct graph *graph, const char *name, enum kern_quant_type type,
                       enum shd_dtype dtype, uint32_t codes, uint32_t scales, const uint32_t *dims,
                       uint32_t rank)
{
    const struct graph_node node = {
        .op = GRAPH_RESTORE, .dtype = dtype, .ninputs = 2, .inputs = {codes, scales}};

    return add(graph, node, name, type, dims, rank);
}

uint32_t graph_quantize(struct graph *graph, const char *name, enum kern_quant_type type,
                        uint32_t x, int64_t box)
{
    struct graph_node node = graph_like(graph, GRAPH_QUANTIZE, x);
    enum shd_dtype scales = type == KERN_MXFP4 ? SHD_U8 : SHD_F32;
    uint32_t last, dims[GRAPH_RANK_MAX], codes;

    if (!graph_usable(graph, x))
        return GRAPH_NONE;
    if (node.rank < 1 || box < 2 || box % 2 != 0 ||
        graph->dims[node.dims[node.rank - 1]].size % box != 0)
        return graph_fail(graph, SHD_EINDIVISIBLE,
                          "the last dimension of '%.60s' does not divide into blocks of %" PRId64
                          " codes of 4 bits, two to a byte",
                          graph->nodes[x].name, box);
    last = node.dims[node.rank - 1];
    memcpy(dims, node.dims, sizeof dims);
    dims[node.rank - 1] = graph_dim_of(graph, last, box);
    node.dims[node.rank - 1] = graph_dim_of(graph, last, 2);
    node.dtype = SHD_U8;
    node.stop_gradient = true;
    node.attr.dequantize.type = type;
    codes = graph_add(graph, &node, name);
    graph_add_extra(graph, codes, graph_text(graph, "%s/scales", name), scales, dims, node.rank);
    return codes;
}

const struct graph_op_row graph_op_dequantize = {
    .name = "dequantize", .unpacks = true, .need = padding_refuse_all};
const struct graph_op_row graph_op_restore = {.name = "restore", .need = padding_refuse_all};
const struct graph_op_row graph_op_quantize = {.name = "quantize", .need = padding_refuse_all};
