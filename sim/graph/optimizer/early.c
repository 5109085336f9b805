/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/optimizer/early.h"

#include <stdlib.h>
#include <string.h>

struct order {
    const struct graph *graph; /* the graph before the pass */
    struct graph_node *nodes;  /* in the new order, with operands in old numbers */
    uint32_t nnodes;
    uint32_t *moved;        /* by old node: its new number */
    uint32_t *first, *next; /* by old node: list of its followers */
};

/* Whether a node is a parameter's gradient converted to another type. */
static bool is_converted(const struct graph *graph, const struct graph_node *n)
{
    return n->op == GRAPH_MAP && n->ninputs == 1 && n->gradient_of != GRAPH_NONE &&
           graph->nodes[n->gradient_of].op == GRAPH_PARAM &&
           graph->nodes[n->inputs[0]].gradient_of == n->gradient_of;
}

/* Whether a node moves directly behind its operand: a sum over microbatches, a constraint on a
 * gradient, or a gradient's conversion for reduction, if both belong to the backward phase. */
static bool follows(const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];

    if (n->op != GRAPH_ACCUMULATE && (n->op != GRAPH_CONSTRAINT || n->state_of == GRAPH_NONE) &&
        !is_converted(graph, n))
        return false;
    return n->phase == GRAPH_BACKWARD && graph->nodes[n->inputs[0]].phase == GRAPH_BACKWARD;
}

/* Link followers to their operands, from the last to the first, so that each list keeps the nodes'
 * order. */
static void link_followers(struct order *o)
{
    for (uint32_t node = o->graph->nnodes; node-- > 0;) {
        uint32_t operand;

        if (!follows(o->graph, node))
            continue;
        operand = o->graph->nodes[node].inputs[0];
        o->next[node] = o->first[operand];
        o->first[operand] = node;
    }
}

/* Place a node and its followers, recursively: at most gradient, conversion, constraint, sum. */
static void place(struct order *o, uint32_t node)
{
    o->moved[node] = o->nnodes;
    o->nodes[o->nnodes++] = o->graph->nodes[node];
    for (uint32_t f = o->first[node]; f != GRAPH_NONE; f = o->next[f])
        place(o, f);
}

/* Place all nodes of some phases, in order. */
static void place_phases(struct order *o, enum graph_phase first, enum graph_phase last)
{
    for (uint32_t node = 0; node < o->graph->nnodes; node++)
        if (o->graph->nodes[node].phase >= first && o->graph->nodes[node].phase <= last &&
            !follows(o->graph, node))
            place(o, node);
}

static void renumber(const struct order *o, uint32_t *node)
{
    if (*node != GRAPH_NONE)
        *node = o->moved[*node];
}

static void finish(struct graph *graph, struct order *o)
{
    for (uint32_t node = 0; node < graph->nnodes; node++) {
        struct graph_node *n = &o->nodes[node];

        for (uint32_t k = 0; k < n->ninputs; k++)
            renumber(o, &n->inputs[k]);
        for (uint32_t e = 0; e < n->nextras; e++)
            renumber(o, &n->extras[e]);
        renumber(o, &n->gradient_of);
        renumber(o, &n->state_of);
    }
    for (uint32_t i = 0; i < graph->noutputs; i++) {
        renumber(o, &graph->outputs[i].node);
        renumber(o, &graph->outputs[i].of);
    }
    free(graph->nodes);
    graph->nodes = o->nodes;
    o->nodes = NULL;
}

void graph_sum_early(struct graph *graph)
{
    size_t n = graph->nnodes;
    struct order o = {.graph = graph};

    if (graph->err.status != SHD_OK)
        return;
    o.nodes = malloc(graph_room(graph->nnodes) * sizeof *o.nodes);
    o.moved = malloc((3 * n + 1) * sizeof *o.moved);
    if (o.nodes && o.moved) {
        o.first = o.moved + n;
        o.next = o.first + n;
        memset(o.first, 0xff, 2 * n * sizeof *o.first);
        link_followers(&o);
        place_phases(&o, GRAPH_FORWARD, GRAPH_BACKWARD);
        place_phases(&o, GRAPH_OPTIMIZER, GRAPH_OPTIMIZER);
        finish(graph, &o);
    } else {
        graph_fail(graph, SHD_ENOMEM, "no memory to order %u nodes", graph->nnodes);
    }
    free(o.nodes);
    free(o.moved);
}
