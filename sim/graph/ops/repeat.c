/* Op: repetition along a dimension, such as key heads for their query heads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "graph/ops/reverse.h"

/* x with one dimension replaced by another. */
static uint32_t replace(struct graph *graph, const char *name, enum graph_op op, uint32_t x,
                        uint32_t old, uint32_t new, const union graph_attr *attr)
{
    struct graph_node node = {.op = op, .ninputs = 1, .inputs = {x}, .attr = *attr};
    const struct graph_node *n = &graph->nodes[x];

    node.dtype = n->dtype;
    node.rank = n->rank;
    for (uint32_t d = 0; d < n->rank; d++)
        node.dims[d] = n->dims[d] == old ? new : n->dims[d];
    return graph_add(graph, &node, name);
}

uint32_t graph_repeat(struct graph *graph, const char *name, uint32_t x, uint32_t from_dim,
                      uint32_t to_dim)
{
    union graph_attr attr = {.repeat = {from_dim, to_dim}};

    if (graph->err.status != SHD_OK || x == GRAPH_NONE)
        return GRAPH_NONE;
    if (!graph_has_dim(&graph->nodes[x], from_dim) || to_dim >= graph->ndims)
        return graph_fail(graph, SHD_EINVAL, "'%s': '%s' lacks the dimension to repeat", name,
                          graph->nodes[x].name);
    if (graph->dims[from_dim].size < 1 || graph->dims[to_dim].size % graph->dims[from_dim].size)
        return graph_fail(graph, SHD_EINDIVISIBLE, "'%s': %lld does not divide by %lld", name,
                          (long long)graph->dims[to_dim].size,
                          (long long)graph->dims[from_dim].size);
    return replace(graph, name, GRAPH_REPEAT, x, from_dim, to_dim, &attr);
}

void reverse_repeat(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph_node n = r->graph->nodes[node];
    const char *name = reverse_name(r->graph, node, n.inputs[0]);

    adjoint = reverse_shaped_like(r->graph, adjoint, node, name);
    if (adjoint != GRAPH_NONE)
        reverse_add(r, n.inputs[0],
                    replace(r->graph, name, GRAPH_REPEAT_SUM, adjoint, n.attr.repeat.to_dim,
                            n.attr.repeat.from_dim, &n.attr));
}
