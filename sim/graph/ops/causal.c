/* Op: the causal mask; no gradient passes where the mask hides an element.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "graph/ops/reverse.h"

uint32_t graph_causal_mask(struct graph *graph, const char *name, uint32_t x, uint32_t query_dim,
                           uint32_t key_dim, double masked)
{
    struct graph_node node = {.op = GRAPH_CAUSAL, .ninputs = 1, .inputs = {x}};
    const struct graph_node *n;

    if (graph->err.status != SHD_OK || x == GRAPH_NONE)
        return GRAPH_NONE;
    n = &graph->nodes[x];
    if (!graph_has_dim(n, query_dim) || !graph_has_dim(n, key_dim) || query_dim == key_dim)
        return graph_fail(graph, SHD_EINVAL, "'%s': '%s' lacks the dimension of queries or keys",
                          name, n->name);
    node.attr.causal.query_dim = query_dim;
    node.attr.causal.key_dim = key_dim;
    node.attr.causal.masked = masked;
    node.dtype = n->dtype;
    node.rank = n->rank;
    memcpy(node.dims, n->dims, sizeof node.dims);
    return graph_add(graph, &node, name);
}

void reverse_causal(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph_node n = r->graph->nodes[node];
    const char *name = reverse_name(r->graph, node, n.inputs[0]);

    adjoint = reverse_shaped_like(r->graph, adjoint, node, name);
    reverse_add(r, n.inputs[0],
                graph_causal_mask(r->graph, name, adjoint, n.attr.causal.query_dim,
                                  n.attr.causal.key_dim, 0));
}
