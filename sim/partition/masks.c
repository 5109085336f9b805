/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/masks.h"

#include <math.h>

#include "graph/ops.h"

bool masks_weight(const struct graph *graph, const bool *weight, uint32_t node, uint32_t k)
{
    const struct graph_node *n = &graph->nodes[node];

    return n->op == GRAPH_MAP && n->ninputs == 2 && graph_linearity(n) == KERN_LINEAR_IN_ALL &&
           weight[n->inputs[k]] && !weight[n->inputs[1 - k]];
}

/* The weights of which an operand is made, such as their converted numbers: the first with a
 * home. */
static uint32_t stored_weight(const struct placement *p, uint32_t node)
{
    while (p->nodes[node].home == PLACEMENT_UNKNOWN && p->graph->nodes[node].ninputs > 0)
        node = p->graph->nodes[node].inputs[0];
    return node;
}

/* Axes that shard a weight of a product along dimensions over which the product sums. */
static uint32_t summed_axes(const struct placement *p, const bool *weight, uint32_t node)
{
    const struct graph_node *n = &p->graph->nodes[node];
    uint32_t axes = 0;

    for (uint32_t k = 0; k < n->ninputs && n->op == GRAPH_EINSUM; k++) {
        uint32_t from = stored_weight(p, n->inputs[k]);
        const struct graph_node *w = &p->graph->nodes[from];
        const struct shd_sharding *s;

        if (!weight[n->inputs[k]] || p->nodes[from].home == PLACEMENT_UNKNOWN)
            continue;
        s = price_sharding(p->price, p->nodes[from].home);
        for (uint32_t d = 0; d < s->rank; d++)
            for (uint8_t a = 0;
                 a < s->dims[d].naxes && !graph_has_dim(n, graph_read_as(n, k, w->dims[d])); a++)
                axes |= UINT32_C(1) << s->dims[d].axes[a];
    }
    return axes;
}

/* Axes over which a value is, or by its product's weights will be, a partial sum; masked weights
 * that are added to it leave it one. */
static uint32_t partial_axes(const struct placement *p, const bool *weight, uint32_t node)
{
    const struct graph *g = p->graph;

    for (;;) {
        const struct graph_node *n = &g->nodes[node];

        if (p->nodes[node].home != PLACEMENT_UNKNOWN)
            return price_sharding(p->price, p->nodes[node].home)->partial;
        if (placement_is_alias(p, node))
            node = n->inputs[0];
        else if (masks_weight(g, weight, node, 0))
            node = n->inputs[1];
        else if (masks_weight(g, weight, node, 1))
            node = n->inputs[0];
        else
            return summed_axes(p, weight, node);
    }
}

/* Whether the other operand that a node adds to operand `k` is a partial sum over the same axes. */
static bool meets_sums(const struct placement *p, const bool *weight, uint32_t node, uint32_t k,
                       uint32_t axes)
{
    const struct graph_node *n = &p->graph->nodes[node];

    return n->op == GRAPH_MAP && n->ninputs == 2 && graph_linearity(n) == KERN_LINEAR_IN_ALL &&
           (partial_axes(p, weight, n->inputs[1 - k]) & axes) == axes;
}

/* Whether partial sums of operand `k` pass a node that adds no other data to them. */
static bool passes(const struct placement *p, const bool *weight, uint32_t node, uint32_t k)
{
    const struct graph_node *n = &p->graph->nodes[node];

    if (placement_is_alias(p, node) || masks_weight(p->graph, weight, node, 1 - k) ||
        n->op == GRAPH_EINSUM)
        return true;
    return graph_op(n->op)->passes_sums && graph_linearity(n) == KERN_LINEAR_IN_ALL && k == 0 &&
           (n->op != GRAPH_MAP || (n->ninputs == 1 && n->fn != KERN_CONVERT));
}

/* Elements of the results of all products that read a value, which may all take it as partial sums
 * (follow.h); INFINITY: others read it, too. */
static double products_of(const struct placement *p, uint32_t node)
{
    const struct placement_node *n = &p->nodes[node];
    double elements = n->output == GRAPH_NONE ? 0 : INFINITY;

    for (uint32_t r = 0; r < n->nreaders; r++) {
        uint32_t reader = n->readers[r].node;

        if (placement_is_alias(p, reader))
            elements += products_of(p, reader);
        else
            elements += p->graph->nodes[reader].op == GRAPH_EINSUM
                            ? graph_elements(p->graph, &p->graph->nodes[reader])
                            : INFINITY;
    }
    return elements;
}

bool masks_pay(const struct placement *placement, const bool *weight, uint32_t node, uint32_t axes)
{
    const struct graph *g = placement->graph;
    double elements = graph_elements(g, &g->nodes[node]);

    while (placement->nodes[node].nreaders == 1 && placement->nodes[node].output == GRAPH_NONE) {
        uint32_t reader = placement->nodes[node].readers[0].node;
        uint32_t k = placement->nodes[node].readers[0].operand;

        if (meets_sums(placement, weight, reader, k, axes))
            return true;
        if (!passes(placement, weight, reader, k))
            return false;
        if (graph_elements(g, &g->nodes[reader]) < elements)
            return true;
        node = reader;
    }
    return products_of(placement, node) < elements;
}
