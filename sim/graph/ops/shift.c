/* Op: elements moved along a dimension, cyclically; the derivative moves them back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/text.h"
#include "graph/ops/padding.h"
#include "graph/ops/reverse.h"

uint32_t graph_shift(struct graph *graph, const char *name, uint32_t x, uint32_t dim, int64_t by)
{
    struct graph_node node = graph_like(graph, GRAPH_SHIFT, x);
    int64_t size;

    if (!graph_usable(graph, x))
        return GRAPH_NONE;
    if (dim >= graph->ndims || !graph_has_dim(&graph->nodes[x], dim))
        return graph_fail(graph, SHD_EINVAL, "'%s' shifts '%s' along a dimension that it lacks",
                          name, graph->nodes[x].name);
    size = graph->dims[dim].size;
    node.attr.shift.dim = dim;
    node.attr.shift.by = size > 0 ? (by % size + size) % size : 0;
    return graph_add(graph, &node, name);
}

static void reverse(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph_node n = r->graph->nodes[node];

    if (adjoint != GRAPH_NONE && graph_has_dim(&r->graph->nodes[adjoint], n.attr.shift.dim))
        adjoint = graph_shift(r->graph, reverse_name(r->graph, node, n.inputs[0]), adjoint,
                              n.attr.shift.dim, -n.attr.shift.by);
    reverse_add(r, n.inputs[0], adjoint); /* constant along the dimension: shifting changes
                                             nothing */
}

static void need(struct padding *p, struct graph_node *n)
{
    padding_refuse(p, n, n->attr.shift.dim, PADDING_LOOKS_ACROSS);
}

static void jax(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    (void)graph;
    text_addf(out, "jnp.roll($0, %lld, axis=%u)", (long long)n->attr.shift.by,
              graph_place(n, n->attr.shift.dim));
}

const struct graph_op_row graph_op_shift = {.name = "shift",
                                            .linear = KERN_LINEAR_IN_ALL,
                                            .passes_sums = true,
                                            .reverse = reverse,
                                            .need = need,
                                            .made = padding_kept,
                                            .jax = jax};
