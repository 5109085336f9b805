/* Rotary position embedding; its derivative is the rotation back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "graph/ops/reverse.h"

static uint32_t rotate(struct graph *graph, const char *name, uint32_t x,
                       const union graph_attr *attr)
{
    struct graph_node node = {.op = GRAPH_ROPE, .ninputs = 1, .inputs = {x}, .attr = *attr};
    const struct graph_node *n = &graph->nodes[x];

    node.dtype = n->dtype;
    node.rank = n->rank;
    memcpy(node.dims, n->dims, sizeof node.dims);
    return graph_add(graph, &node, name);
}

uint32_t graph_rope(struct graph *graph, const char *name, uint32_t x, uint32_t position_dim,
                    uint32_t pair_dim, int64_t position0, double theta, bool interleaved)
{
    union graph_attr attr = {
        .rope = {position_dim, pair_dim, position0, theta, interleaved, false}};

    if (graph->err.status != SHD_OK || x == GRAPH_NONE)
        return GRAPH_NONE;
    if (!graph_has_dim(&graph->nodes[x], position_dim) ||
        !graph_has_dim(&graph->nodes[x], pair_dim) || position_dim == pair_dim)
        return graph_fail(graph, SHD_EINVAL, "'%s': '%s' lacks the dimension of positions or pairs",
                          name, graph->nodes[x].name);
    if (graph->dims[pair_dim].size % 2)
        return graph_fail(graph, SHD_EINDIVISIBLE, "'%s': '%s' has %lld elements, not pairs", name,
                          graph->dims[pair_dim].name, (long long)graph->dims[pair_dim].size);
    return rotate(graph, name, x, &attr);
}

void reverse_rope(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph_node n = r->graph->nodes[node];
    const char *name = reverse_name(r->graph, node, n.inputs[0]);

    n.attr.rope.inverse = !n.attr.rope.inverse;
    adjoint = reverse_shaped_like(r->graph, adjoint, node, name);
    if (adjoint != GRAPH_NONE)
        reverse_add(r, n.inputs[0], rotate(r->graph, name, adjoint, &n.attr));
}
