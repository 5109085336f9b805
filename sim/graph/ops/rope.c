/* Op: rotary position embedding; its derivative rotates back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "graph/ops/reverse.h"

static uint32_t rotate(struct graph *graph, const char *name, uint32_t x, uint32_t positions,
                       const union graph_attr *attr)
{
    struct graph_node node = {.op = GRAPH_ROPE,
                              .ninputs = positions == GRAPH_NONE ? 1 : 2,
                              .inputs = {x, positions},
                              .attr = *attr};
    const struct graph_node *n = &graph->nodes[x];

    node.dtype = n->dtype;
    node.rank = n->rank;
    memcpy(node.dims, n->dims, sizeof node.dims);
    return graph_add(graph, &node, name);
}

static uint32_t embed(struct graph *graph, const char *name, uint32_t x, uint32_t positions,
                      const union graph_attr *attr)
{
    uint32_t position_dim = attr->rope.position_dim, pair_dim = attr->rope.pair_dim;

    if (!graph_has_dim(&graph->nodes[x], position_dim) ||
        !graph_has_dim(&graph->nodes[x], pair_dim) || position_dim == pair_dim)
        return graph_fail(graph, SHD_EINVAL, "'%s': '%s' lacks the dimension of positions or pairs",
                          name, graph->nodes[x].name);
    if (graph->dims[pair_dim].size % 2)
        return graph_fail(graph, SHD_EINDIVISIBLE, "'%s': '%s' has %lld elements, not pairs", name,
                          graph->dims[pair_dim].name, (long long)graph->dims[pair_dim].size);
    return rotate(graph, name, x, positions, attr);
}

uint32_t graph_rope(struct graph *graph, const char *name, uint32_t x, uint32_t position_dim,
                    uint32_t pair_dim, int64_t position0, double theta, bool interleaved)
{
    const union graph_attr attr = {
        .rope = {position_dim, pair_dim, position0, theta, interleaved, false}};

    if (graph->err.status != SHD_OK || x == GRAPH_NONE)
        return GRAPH_NONE;
    return embed(graph, name, x, GRAPH_NONE, &attr);
}

uint32_t graph_rope_at(struct graph *graph, const char *name, uint32_t x, uint32_t positions,
                       uint32_t pair_dim, double theta, bool interleaved)
{
    union graph_attr attr = {.rope = {0, pair_dim, 0, theta, interleaved, false}};

    if (graph->err.status != SHD_OK || x == GRAPH_NONE || positions == GRAPH_NONE)
        return GRAPH_NONE;
    if (graph->nodes[positions].rank != 1 || graph->nodes[positions].dtype != SHD_I32)
        return graph_fail(graph, SHD_EINVAL, "'%s' needs whole numbers positions[seq], not '%s'",
                          name, graph->nodes[positions].name);
    attr.rope.position_dim = graph->nodes[positions].dims[0];
    return embed(graph, name, x, positions, &attr);
}

void reverse_rope(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph_node n = r->graph->nodes[node];
    const char *name = reverse_name(r->graph, node, n.inputs[0]);

    n.attr.rope.inverse = !n.attr.rope.inverse;
    adjoint = reverse_shaped_like(r->graph, adjoint, node, name);
    if (adjoint != GRAPH_NONE)
        reverse_add(r, n.inputs[0],
                    rotate(r->graph, name, adjoint, n.ninputs > 1 ? n.inputs[1] : GRAPH_NONE,
                           &n.attr));
}
