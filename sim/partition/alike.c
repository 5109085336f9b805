/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/alike.h"

#include <stdlib.h>

/* A node with its colour, to sort by colour. */
struct coloured {
    uint64_t colour;
    uint32_t node;
};

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 32);
}

/* Initial colour: the node's op, type and extents, and the shardings asked for it. */
static uint64_t own_colour(struct placement *p, uint32_t node)
{
    const struct graph_node *g = &p->graph->nodes[node];
    const struct placement_node *n = &p->nodes[node];
    uint64_t h = mix(g->op, g->fn);

    h = mix(mix(h, g->phase), g->dtype);
    h = mix(mix(h, g->reduce), g->ninputs);
    for (uint32_t d = 0; d < g->rank; d++)
        h = mix(h, g->dims[d]);
    h = mix(mix(h, n->live), n->fixed ? n->home : PLACEMENT_UNKNOWN);
    if (n->output != GRAPH_NONE && p->request->outputs && p->request->outputs[n->output])
        h = mix(h, placement_output_need(p, n->output));
    return mix(h, n->output == GRAPH_NONE);
}

/* Next colour: the node's with its neighbours'.  Operands count by place, readers in any order. */
static uint64_t next_colour(const struct placement *p, uint32_t node, const uint64_t *colours)
{
    const struct graph_node *g = &p->graph->nodes[node];
    const struct placement_node *n = &p->nodes[node];
    uint64_t h = colours[node], readers = 0;

    for (uint32_t k = 0; k < g->ninputs; k++)
        h = mix(h, colours[g->inputs[k]]);
    for (uint32_t r = 0; r < n->nreaders; r++)
        readers += mix(colours[n->readers[r].node], n->readers[r].operand);
    return mix(h, readers);
}

static int compare(const void *a, const void *b)
{
    const struct coloured *x = a, *y = b;

    if (x->colour != y->colour)
        return x->colour < y->colour ? -1 : 1;
    return x->node < y->node ? -1 : 1;
}

static void link_equal(struct placement *p, struct coloured *sorted)
{
    uint32_t nnodes = p->graph->nnodes, first = 0;

    qsort(sorted, nnodes, sizeof *sorted, compare);
    for (uint32_t i = 0; i < nnodes; i++) {
        bool last = i + 1 == nnodes || sorted[i + 1].colour != sorted[i].colour;

        p->nodes[sorted[i].node].next_alike = last ? sorted[first].node : sorted[i + 1].node;
        p->nodes[sorted[i].node].first_alike = sorted[first].node;
        p->nodes[sorted[i].node].stands_for = false;
        if (!last)
            continue;
        p->nodes[sorted[(first + i) / 2].node].stands_for = true;
        first = i + 1;
    }
}

void alike_link(struct placement *p)
{
    uint32_t nnodes = p->graph->nnodes;
    uint64_t *colours = pool_array(p->pool, nnodes, sizeof *colours);
    struct coloured *next = pool_array(p->pool, nnodes, sizeof *next);

    for (uint32_t node = 0; node < nnodes; node++)
        colours[node] = own_colour(p, node);
    for (int round = 0; round < ALIKE_RADIUS; round++) {
        for (uint32_t node = 0; node < nnodes; node++)
            next[node] = (struct coloured){next_colour(p, node, colours), node};
        for (uint32_t node = 0; node < nnodes; node++)
            colours[node] = next[node].colour;
    }
    link_equal(p, next);
    pool_drop(p->pool, colours);
    pool_drop(p->pool, next);
}
