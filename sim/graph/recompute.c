/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/recompute.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[RECOMPUTE_NKINDS] = {"none", "selective", "full"};

const char *recompute_name(enum recompute kind)
{
    return kind < RECOMPUTE_NKINDS ? names[kind] : NULL;
}

int recompute_find(const char *name)
{
    for (int kind = 0; kind < RECOMPUTE_NKINDS; kind++)
        if (!strcmp(name, names[kind]))
            return kind;
    return -1;
}

/* ---- which ---- */

/* The length of "layers/3" in "layers/3/mlp/up", of "encoder/layers/3" where there is more than one
 * stack; 0: of no layer. */
static size_t layer_length(const char *name)
{
    const char *at = strstr(name, "layers");
    size_t length;

    if (!at || (at > name && at[-1] != '/') || (at[6] != '/' && at[6] != '.'))
        return 0;
    length = strspn(at + 7, "0123456789");
    return length > 0 ? (size_t)(at - name) + 7 + length : 0;
}

static bool same_layer(const char *a, const char *b)
{
    size_t length = layer_length(a);

    return length > 0 && length == layer_length(b) && !strncmp(a, b, length);
}

/* Forward values inside a layer: what another one reads is kept. */
static void mark_layers(bool *again, const struct graph *graph)
{
    for (uint32_t n = 0; n < graph->nnodes; n++)
        again[n] = graph->nodes[n].op > GRAPH_PARAM && graph->nodes[n].phase == GRAPH_FORWARD &&
                   layer_length(graph->nodes[n].name) > 0;
    for (uint32_t n = 0; n < graph->nnodes; n++)
        for (uint32_t k = 0; k < graph->nodes[n].ninputs; k++) {
            uint32_t from = graph->nodes[n].inputs[k];

            if (graph->nodes[n].phase == GRAPH_FORWARD &&
                !same_layer(graph->nodes[n].name, graph->nodes[from].name))
                again[from] = false;
        }
}

static void mark_attention(bool *again, const struct graph *graph)
{
    for (uint32_t n = 0; n < graph->nnodes; n++) {
        const struct graph_node *node = &graph->nodes[n];

        if (node->op == GRAPH_EXTRA)
            node = &graph->nodes[node->inputs[0]];
        again[n] = node->op == GRAPH_ATTENTION;
    }
}

void recompute_mark(bool *again, const struct graph *graph, enum recompute kind)
{
    memset(again, 0, graph->nnodes * sizeof *again);
    if (kind == RECOMPUTE_FULL)
        mark_layers(again, graph);
    else if (kind == RECOMPUTE_SELECTIVE)
        mark_attention(again, graph);
}

/* ---- cloning ---- */

struct cloning {
    const struct graph *graph; /* as it was */
    const bool *again;
    struct graph_node *nodes; /* the new ones */
    uint32_t nnodes;
    uint32_t *moved, *clones; /* by old node: its new number, its clone's; GRAPH_NONE: none yet */
};

static uint32_t append(struct cloning *c, const struct graph_node *node)
{
    c->nodes[c->nnodes] = *node;
    return c->nnodes++;
}

static uint32_t clone(struct cloning *c, uint32_t old);

/* What a clone, or a node of the backward phase, reads in the place of an old node. */
static uint32_t read_again(struct cloning *c, uint32_t old)
{
    return c->again[old] ? clone(c, old) : c->moved[old];
}

/* The depth is that of a layer: what is marked is inside one. */
static uint32_t clone(struct cloning *c, uint32_t old)
{
    struct graph_node node = c->graph->nodes[old];
    uint32_t made;

    if (c->clones[old] != GRAPH_NONE)
        return c->clones[old];
    if (node.op == GRAPH_EXTRA) { /* made with the op whose result it is */
        clone(c, node.inputs[0]);
        return c->clones[old];
    }
    for (uint32_t k = 0; k < node.ninputs; k++)
        node.inputs[k] = read_again(c, node.inputs[k]);
    node.phase = GRAPH_BACKWARD;
    made = c->clones[old] = append(c, &node);
    for (uint32_t e = 0; e < node.nextras; e++) {
        struct graph_node extra = c->graph->nodes[node.extras[e]];

        extra.inputs[0] = made;
        extra.phase = GRAPH_BACKWARD;
        c->clones[node.extras[e]] = c->nodes[made].extras[e] = append(c, &extra);
    }
    return made;
}

static void move(struct cloning *c, uint32_t old)
{
    struct graph_node node = c->graph->nodes[old];

    for (uint32_t k = 0; k < node.ninputs; k++)
        node.inputs[k] =
            node.phase == GRAPH_BACKWARD ? read_again(c, node.inputs[k]) : c->moved[node.inputs[k]];
    c->moved[old] = append(c, &node);
}

static uint32_t renumbered(const struct cloning *c, uint32_t old)
{
    return old == GRAPH_NONE ? GRAPH_NONE : c->moved[old];
}

static void finish(struct graph *graph, struct cloning *c)
{
    for (uint32_t n = 0; n < graph->nnodes; n++) {
        c->nodes[c->moved[n]].gradient_of = renumbered(c, graph->nodes[n].gradient_of);
        c->nodes[c->moved[n]].state_of = renumbered(c, graph->nodes[n].state_of);
        for (uint32_t e = 0; e < graph->nodes[n].nextras; e++)
            c->nodes[c->moved[n]].extras[e] = c->moved[graph->nodes[n].extras[e]];
    }
    for (uint32_t o = 0; o < graph->noutputs; o++) {
        graph->outputs[o].node = renumbered(c, graph->outputs[o].node);
        graph->outputs[o].of = renumbered(c, graph->outputs[o].of);
    }
    free(graph->nodes);
    graph->nodes = c->nodes;
    graph->nnodes = c->nnodes;
}

/* Room that the graph can grow further in: a power of two. */
static size_t room_for(uint32_t n)
{
    size_t room = 1;

    while (room < n)
        room *= 2;
    return room;
}

void recompute_clone(struct graph *graph, const bool *again)
{
    uint32_t n = graph->nnodes;
    struct cloning c = {.graph = graph, .again = again};

    if (graph->err.status != SHD_OK)
        return;
    c.nodes = calloc(room_for(2 * n + 1), sizeof *c.nodes); /* each at most twice */
    c.moved = malloc((2 * (size_t)n + 1) * sizeof *c.moved);
    if (!c.nodes || !c.moved) {
        free(c.nodes);
        free(c.moved);
        graph_fail(graph, SHD_ENOMEM, "no memory to recompute in a graph of %u nodes", n);
        return;
    }
    c.clones = c.moved + n;
    memset(c.clones, 0xff, n * sizeof *c.clones);
    for (uint32_t old = 0; old < n; old++)
        move(&c, old);
    finish(graph, &c);
    free(c.moved);
}
