/* Op: tokens dealt out to the copies of their experts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/text.h"
#include "graph/ops/padding.h"

uint32_t graph_deal(struct graph *graph, const char *name, uint32_t ids,
                    const struct kern_routing *routing)
{
    struct graph_node node = graph_like(graph, GRAPH_DEAL, ids);

    if (!graph_usable(graph, ids) || !routing)
        return GRAPH_NONE;
    if (node.dtype != SHD_I32 || node.rank != 3 || !routing->copies)
        return graph_fail(graph, SHD_EINVAL,
                          "'%s' needs int32 ids[batch, seq, choice] of experts with copies", name);
    node.attr.experts =
        (struct graph_experts){GRAPH_NONE, GRAPH_NONE, node.dims[2], 0, false, routing};
    node.stop_gradient = true;
    return graph_add(graph, &node, name);
}

static void jax(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    const struct kern_routing *routing = n->attr.experts.routing;
    const struct kern_copies *c = routing->copies;

    (void)graph;
    text_add(out, "deal($0, [");
    for (uint32_t e = 0; e < c->experts; e++) {
        text_add(out, e ? ", [" : "[");
        for (int32_t k = c->first[e]; k < c->first[e + 1]; k++)
            text_addf(out, "%s%d", k > c->first[e] ? ", " : "", (int)c->place[k]);
        text_add(out, "]");
    }
    text_addf(out, "], tokens=%lld)", (long long)routing->tokens);
}

const struct graph_op_row graph_op_deal = {.name = "deal", .need = padding_refuse_all, .jax = jax};
