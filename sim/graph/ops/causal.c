/* Op: the causal mask; no gradient passes where the mask hides an element.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/text.h"
#include "graph/ops/padding.h"
#include "graph/ops/reverse.h"

uint32_t graph_causal_mask(struct graph *graph, const char *name, uint32_t x, uint32_t query_dim,
                           uint32_t key_dim, double masked)
{
    struct graph_node node = graph_like(graph, GRAPH_CAUSAL, x);

    if (!graph_usable(graph, x))
        return GRAPH_NONE;
    if (!graph_has_dim(&node, query_dim) || !graph_has_dim(&node, key_dim) || query_dim == key_dim)
        return graph_fail(graph, SHD_EINVAL, "'%s': '%s' lacks the dimension of queries or keys",
                          name, graph->nodes[x].name);
    node.attr.causal.query_dim = query_dim;
    node.attr.causal.key_dim = key_dim;
    node.attr.causal.masked = masked;
    return graph_add(graph, &node, name);
}

static void reverse(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph_node n = r->graph->nodes[node];
    const char *name = reverse_name(r->graph, node, n.inputs[0]);

    adjoint = reverse_shaped_like(r->graph, adjoint, node, name);
    reverse_add(r, n.inputs[0],
                graph_causal_mask(r->graph, name, adjoint, n.attr.causal.query_dim,
                                  n.attr.causal.key_dim, 0));
}

static struct within made(const struct padding *p, const struct graph_node *n, uint32_t d)
{
    struct within w = padding_kept(p, n, d);

    return n->dims[d] != n->attr.causal.query_dim && n->dims[d] != n->attr.causal.key_dim &&
                   w.known && w.value == n->attr.causal.masked
               ? w
               : padding_unknown;
}

static void jax(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    (void)graph;
    text_addf(out, "causal($0, queries=%u, keys=%u, masked=%.17g)",
              graph_place(n, n->attr.causal.query_dim), graph_place(n, n->attr.causal.key_dim),
              n->attr.causal.masked);
}

const struct graph_op_row graph_op_causal = {
    .name = "causal mask", .reverse = reverse, .made = made, .jax = jax};
