/* Op: elements moved along a dimension, cyclically; the derivative moves them back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "graph/ops/reverse.h"

uint32_t graph_shift(struct graph *graph, const char *name, uint32_t x, uint32_t dim, int64_t by)
{
    struct graph_node node = {.op = GRAPH_SHIFT, .ninputs = 1, .inputs = {x}};
    int64_t size;

    if (graph->err.status != SHD_OK || x == GRAPH_NONE)
        return GRAPH_NONE;
    if (dim >= graph->ndims || !graph_has_dim(&graph->nodes[x], dim))
        return graph_fail(graph, SHD_EINVAL, "'%s' shifts '%s' along a dimension that it lacks",
                          name, graph->nodes[x].name);
    size = graph->dims[dim].size;
    node.dtype = graph->nodes[x].dtype;
    node.rank = graph->nodes[x].rank;
    memcpy(node.dims, graph->nodes[x].dims, sizeof node.dims);
    node.attr.shift.dim = dim;
    node.attr.shift.by = size > 0 ? (by % size + size) % size : 0;
    return graph_add(graph, &node, name);
}

void reverse_shift(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph_node n = r->graph->nodes[node];

    if (adjoint != GRAPH_NONE && graph_has_dim(&r->graph->nodes[adjoint], n.attr.shift.dim))
        adjoint = graph_shift(r->graph, reverse_name(r->graph, node, n.inputs[0]), adjoint,
                              n.attr.shift.dim, -n.attr.shift.by);
    reverse_add(r, n.inputs[0], adjoint); /* constant along the dimension: shifting changes
                                             nothing */
}
