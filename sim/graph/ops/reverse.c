/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/ops/reverse.h"

#include <string.h>

const char *reverse_name(struct graph *graph, uint32_t node, uint32_t operand)
{
    const char *of = graph->nodes[operand].name, *slash = strrchr(of, '/');

    return graph_text(graph, "%s.d%s", graph->nodes[node].name, slash ? slash + 1 : of);
}

/* Mark a backward node as the gradient of another.  Forward values that serve as gradients are not
 * marked; a node that serves for several is marked for the first. */
static void say_gradient_of(struct graph *graph, uint32_t node, uint32_t of)
{
    if (node == GRAPH_NONE || graph->nodes[node].phase != GRAPH_BACKWARD)
        return;
    if (graph->nodes[node].gradient_of == GRAPH_NONE)
        graph->nodes[node].gradient_of = of;
}

/* Stage of a sum of two contributions: the earlier of their stages.  A gradient then travels from
 * the last stage to the first; each stage adds its own contribution and sends one sum. */
static uint32_t stage_of_sum(const struct reverse *r, uint32_t into, uint32_t contribution)
{
    const struct adjoint *a = &r->adjoints[into];
    const struct graph_node *nodes = r->graph->nodes;

    if (a->is == ADJOINT_NODE && a->node != GRAPH_NONE &&
        nodes[a->node].stage < nodes[contribution].stage)
        return nodes[a->node].stage;
    return nodes[contribution].stage;
}

void reverse_add(struct reverse *r, uint32_t into, uint32_t contribution)
{
    struct adjoint *a = &r->adjoints[into];
    uint32_t stage = r->graph->stage;

    if (contribution == GRAPH_NONE)
        return;
    r->graph->stage = stage_of_sum(r, into, contribution);
    say_gradient_of(r->graph, contribution, into);
    if (a->is == ADJOINT_ONE)
        contribution = graph_map(r->graph, reverse_name(r->graph, into, into), KERN_ADD_SCALAR,
                                 contribution, GRAPH_NONE, 1);
    else if (a->is == ADJOINT_NODE)
        contribution = graph_map(r->graph, reverse_name(r->graph, into, into), KERN_ADD,
                                 contribution, a->node, 0);
    say_gradient_of(r->graph, contribution, into);
    r->graph->stage = stage;
    a->is = ADJOINT_NODE;
    a->node = contribution;
}

void reverse_add_one(struct reverse *r, uint32_t into)
{
    struct adjoint *a = &r->adjoints[into];

    if (a->is == ADJOINT_ZERO)
        a->is = ADJOINT_ONE;
    else if (a->is == ADJOINT_NODE)
        a->node = graph_map(r->graph, reverse_name(r->graph, into, into), KERN_ADD_SCALAR, a->node,
                            GRAPH_NONE, 1);
    else
        reverse_add(r, into,
                    graph_map(r->graph, reverse_name(r->graph, into, into), KERN_FILL, into,
                              GRAPH_NONE, 1));
}

uint32_t reverse_adjoint(struct reverse *r, uint32_t of)
{
    struct adjoint *a = &r->adjoints[of];

    if (a->is == ADJOINT_ONE) {
        a->is = ADJOINT_NODE;
        a->node = graph_map(r->graph, reverse_name(r->graph, of, of), KERN_FILL, of, GRAPH_NONE, 1);
    }
    return a->node;
}

/* Whether an array has exactly the dimensions of another, in any order. */
static bool has_all_dims(const struct graph_node *a, const struct graph_node *like)
{
    bool all = a->rank == like->rank;

    for (uint32_t d = 0; d < like->rank && all; d++)
        all = graph_has_dim(a, like->dims[d]);
    return all;
}

uint32_t reverse_shaped_like(struct graph *g, uint32_t node, uint32_t like, const char *name)
{
    const struct graph_node *a, *n;

    if (g->err.status != SHD_OK)
        return GRAPH_NONE;
    a = &g->nodes[node];
    n = &g->nodes[like];
    if (a->rank == n->rank && !memcmp(a->dims, n->dims, n->rank * sizeof n->dims[0]))
        return node;
    if (has_all_dims(a, n))
        return graph_transpose(g, name, node, n->dims, n->rank);
    return graph_map(g, name, KERN_ADD, graph_map(g, name, KERN_FILL, like, GRAPH_NONE, 0), node,
                     0);
}
