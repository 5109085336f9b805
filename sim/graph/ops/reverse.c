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

    if (contribution == GRAPH_NONE || !a->wanted)
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

    if (!a->wanted)
        return;
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

/* How often a contribution counts: once along each dimension of `node` that the operand, `a` and
 * `b` all lack (b may be GRAPH_NONE), since it is constant there and is summed. */
static double times_broadcast(const struct graph *g, uint32_t node, uint32_t operand, uint32_t a,
                              uint32_t b)
{
    double times = 1;

    for (uint32_t d = 0; d < g->nodes[node].rank; d++) {
        uint32_t dim = g->nodes[node].dims[d];

        if (!graph_has_dim(&g->nodes[operand], dim) && !graph_has_dim(&g->nodes[a], dim) &&
            (b == GRAPH_NONE || !graph_has_dim(&g->nodes[b], dim)))
            times *= (double)g->dims[dim].size;
    }
    return times;
}

static uint32_t scaled(struct graph *g, const char *name, uint32_t node, double times)
{
    return times > 1 ? graph_map(g, name, KERN_SCALE, node, GRAPH_NONE, times) : node;
}

uint32_t reverse_sum_to(struct reverse *r, uint32_t contribution, uint32_t node, uint32_t operand)
{
    struct graph *g = r->graph;
    const char *name = reverse_name(g, node, operand);
    uint32_t keep[GRAPH_RANK_MAX], nkeep = 0;
    double times;

    if (g->err.status != SHD_OK || !r->adjoints[operand].wanted)
        return GRAPH_NONE;
    times = times_broadcast(g, node, operand, contribution, GRAPH_NONE);
    for (uint32_t d = 0; d < g->nodes[contribution].rank; d++)
        if (graph_has_dim(&g->nodes[operand], g->nodes[contribution].dims[d]))
            keep[nkeep++] = g->nodes[contribution].dims[d];
    if (nkeep < g->nodes[contribution].rank)
        contribution = graph_reduce(g, name, SHD_SUM, contribution, keep, nkeep);
    return scaled(g, name, contribution, times);
}

/* Make a value that depends on parameters only again, in the backward phase. */
static uint32_t make_again(struct graph *g, uint32_t node)
{
    struct graph_node n = g->nodes[node];
    uint32_t made;

    if (n.op <= GRAPH_PARAM)
        return node;
    for (uint32_t k = 0; k < n.ninputs; k++) {
        n.inputs[k] = make_again(g, n.inputs[k]);
        if (n.inputs[k] == GRAPH_NONE)
            return GRAPH_NONE;
    }
    made = graph_add(g, &n, n.name);
    if (made != GRAPH_NONE)
        g->nodes[made].again = true;
    return made;
}

uint32_t reverse_operand(struct reverse *r, uint32_t node)
{
    struct graph *g = r->graph;

    if (g->err.status == SHD_OK && r->adjoints[node].unpacks && !r->adjoints[node].again) {
        uint32_t made = make_again(g, node);

        r->adjoints[node].again = made == GRAPH_NONE ? 0 : made;
    }
    return reverse_value(r, node);
}

uint32_t reverse_product(struct reverse *r, uint32_t adjoint, uint32_t factor, uint32_t node,
                         uint32_t operand)
{
    struct graph *g = r->graph;
    const char *name = reverse_name(g, node, operand);
    uint32_t keep[GRAPH_RANK_MAX], nkeep = 0, nsummed = 0;
    double times;

    if (g->err.status != SHD_OK || !r->adjoints[operand].wanted)
        return GRAPH_NONE;
    times = times_broadcast(g, node, operand, adjoint, factor);
    for (uint32_t d = 0; d < g->nodes[operand].rank; d++) {
        uint32_t dim = g->nodes[operand].dims[d];

        if (graph_has_dim(&g->nodes[adjoint], dim) || graph_has_dim(&g->nodes[factor], dim))
            keep[nkeep++] = dim;
    }
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t d = 0; d < g->nodes[k ? factor : adjoint].rank; d++)
            nsummed += !graph_has_dim(&g->nodes[operand], g->nodes[k ? factor : adjoint].dims[d]);
    if (nsummed > 0)
        adjoint = graph_einsum(g, name, adjoint, factor, keep, nkeep);
    else
        adjoint = graph_map(g, name, KERN_MUL, adjoint, factor, 0);
    return scaled(g, name, adjoint, times);
}

uint32_t reverse_value(const struct reverse *r, uint32_t node)
{
    return r->adjoints[node].again ? r->adjoints[node].again : node;
}

void reverse_by_ids(struct reverse *r, uint32_t node, uint32_t adjoint, enum graph_op op)
{
    struct graph_node n = r->graph->nodes[node];
    struct graph_node grad = graph_like(r->graph, op, n.inputs[0]);
    const char *name = reverse_name(r->graph, node, n.inputs[0]);

    if (!r->adjoints[n.inputs[0]].wanted)
        return;
    grad.attr = n.attr;
    grad.ninputs = 2;
    grad.inputs[0] = n.inputs[1];
    grad.inputs[1] = reverse_shaped_like(r->graph, adjoint, node, name);
    reverse_add(r, n.inputs[0], graph_add(r->graph, &grad, name));
}

void reverse_of_sums(struct reverse *r, uint32_t node, uint32_t adjoint, enum graph_op op)
{
    struct graph_node n = r->graph->nodes[node];
    struct graph_node back = graph_like(r->graph, op, n.inputs[1]);
    const char *name = reverse_name(r->graph, node, n.inputs[1]);

    if (!r->adjoints[n.inputs[1]].wanted)
        return;
    back.attr = n.attr;
    back.ninputs = 2;
    back.inputs[0] = reverse_shaped_like(r->graph, adjoint, node, name);
    back.inputs[1] = n.inputs[0];
    reverse_add(r, n.inputs[1], graph_add(r->graph, &back, name));
}
