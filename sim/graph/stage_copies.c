/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/stage_copies.h"

#include <stdlib.h>
#include <string.h>

struct copying {
    const struct graph *graph; /* the graph before the pass */
    const bool *loose;
    uint32_t *number;         /* by old node: number of loose nodes before it */
    uint32_t *moved;          /* by old node: new number; of a loose node, its first copy's */
    uint32_t *copies;         /* [loose][stage]: number of the copy; GRAPH_NONE: none */
    struct graph_node *nodes; /* in the new order */
    uint32_t nnodes;
};

bool graph_is_loose(const struct graph *graph, const bool *loose, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];

    if (n->op <= GRAPH_PARAM || n->op == GRAPH_EXTRA || n->nextras > 0)
        return false;
    for (uint32_t k = 0; k < n->ninputs; k++)
        if (graph->nodes[n->inputs[k]].op > GRAPH_PARAM && !loose[n->inputs[k]])
            return false;
    return true;
}

static uint32_t *copies_of(const struct copying *c, uint32_t node)
{
    return c->copies + (size_t)c->number[node] * c->graph->nstages;
}

/* Mark the stages that need a copy, from the last reader to the first; any number but GRAPH_NONE
 * marks a copy until it exists. */
static void mark_stages(struct copying *c)
{
    for (uint32_t i = c->graph->nnodes; i-- > 0;) {
        const struct graph_node *n = &c->graph->nodes[i];
        bool read = !c->loose[i];

        for (uint32_t s = 0; s < c->graph->nstages && !read; s++)
            read = copies_of(c, i)[s] != GRAPH_NONE;
        if (!read)
            copies_of(c, i)[0] = 0;
        for (uint32_t k = 0; k < n->ninputs; k++)
            for (uint32_t s = 0; s < c->graph->nstages && c->loose[n->inputs[k]]; s++)
                if (c->loose[i] ? copies_of(c, i)[s] != GRAPH_NONE : n->stage == s)
                    copies_of(c, n->inputs[k])[s] = 0;
    }
}

/* Append a node to a stage, reading the stage's copies of loose operands. */
static uint32_t append(struct copying *c, uint32_t old, uint32_t stage)
{
    struct graph_node *n = &c->nodes[c->nnodes];

    *n = c->graph->nodes[old];
    n->stage = stage;
    for (uint32_t k = 0; k < n->ninputs; k++)
        n->inputs[k] =
            c->loose[n->inputs[k]] ? copies_of(c, n->inputs[k])[stage] : c->moved[n->inputs[k]];
    return c->nnodes++;
}

static void move(struct copying *c, uint32_t old)
{
    c->moved[old] = c->nnodes;
    if (!c->loose[old]) {
        (void)append(c, old, c->graph->nodes[old].stage);
        return;
    }
    for (uint32_t s = 0; s < c->graph->nstages; s++)
        if (copies_of(c, old)[s] != GRAPH_NONE)
            copies_of(c, old)[s] = append(c, old, s);
}

static void finish(struct graph *graph, const struct copying *c)
{
    for (uint32_t old = 0; old < graph->nnodes; old++)
        for (uint32_t e = 0; e < graph->nodes[old].nextras; e++)
            c->nodes[c->moved[old]].extras[e] = c->moved[graph->nodes[old].extras[e]];
    for (uint32_t o = 0; o < graph->noutputs; o++)
        graph->outputs[o].node = c->moved[graph->outputs[o].node];
    free(graph->nodes);
    graph->nodes = c->nodes;
    graph->nnodes = c->nnodes;
}

/* Allocate the tables, with room for all nodes and copies. */
static bool init(struct copying *c, const struct graph *graph, const bool *loose)
{
    size_t n = (size_t)graph->nnodes + 1, nloose = 0, nnodes = n;

    *c = (struct copying){.graph = graph, .loose = loose};
    c->number = calloc(n, sizeof *c->number);
    c->moved = calloc(n, sizeof *c->moved);
    for (uint32_t i = 0; i < graph->nnodes && c->number; i++) {
        c->number[i] = (uint32_t)nloose;
        nloose += loose[i];
    }
    c->copies = malloc((nloose * graph->nstages + 1) * sizeof *c->copies);
    if (!c->number || !c->moved || !c->copies)
        return false;
    memset(c->copies, 0xff, nloose * graph->nstages * sizeof *c->copies);
    mark_stages(c);
    for (size_t i = 0; i < nloose * graph->nstages; i++)
        nnodes += c->copies[i] != GRAPH_NONE;
    c->nodes =
        nnodes < GRAPH_NONE / 2 ? calloc(graph_room((uint32_t)nnodes), sizeof *c->nodes) : NULL;
    return c->nodes != NULL;
}

void graph_copy_to_stages(struct graph *graph, const bool *loose)
{
    struct copying c;

    if (init(&c, graph, loose)) {
        for (uint32_t old = 0; old < graph->nnodes; old++)
            move(&c, old);
        finish(graph, &c);
    } else {
        free(c.nodes);
        graph_fail(graph, SHD_ENOMEM, "no memory for the stages of %u nodes", graph->nnodes);
    }
    free(c.copies);
    free(c.moved);
    free(c.number);
}
