/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/stages.h"

#include <stdlib.h>
#include <string.h>

#include "graph/stage_copies.h"

static bool is_leaf(const struct graph_node *node)
{
    return node->op <= GRAPH_PARAM;
}

/* The last stage among a node's operands, without leaves. */
static uint32_t last_read(const struct graph *graph, const struct graph_node *node)
{
    uint32_t stage = 0;

    for (uint32_t k = 0; k < node->ninputs; k++) {
        const struct graph_node *from = &graph->nodes[node->inputs[k]];

        if (!is_leaf(from) && from->stage > stage)
            stage = from->stage;
    }
    return stage;
}

/* Set a node's stage.  A loose node stays in stage 0 until its readers are known. */
static void set_node(struct graph *graph, uint32_t node, bool *loose, graph_stage_fn asked,
                     void *arg)
{
    struct graph_node *n = &graph->nodes[node];
    uint32_t last = last_read(graph, n);
    int64_t stage = n->op == GRAPH_EXTRA ? -1 : asked(arg, n->name);

    loose[node] = stage < 0 && graph_is_loose(graph, loose, node);
    n->stage = stage < 0 ? last : (uint32_t)stage;
    if (n->stage < last)
        graph_fail(graph, SHD_EINVAL,
                   "'%s' of stage %u reads a result of stage %u: stages must follow the order of "
                   "the model",
                   n->name, n->stage, last);
}

/* Put leaves in the first stage that reads them. */
static void set_leaves(struct graph *graph)
{
    for (uint32_t i = 0; i < graph->nnodes; i++)
        if (is_leaf(&graph->nodes[i]))
            graph->nodes[i].stage = graph->nstages;
    for (uint32_t i = 0; i < graph->nnodes; i++)
        for (uint32_t k = 0; k < graph->nodes[i].ninputs; k++) {
            struct graph_node *from = &graph->nodes[graph->nodes[i].inputs[k]];

            if (is_leaf(from) && graph->nodes[i].stage < from->stage)
                from->stage = graph->nodes[i].stage;
        }
    for (uint32_t i = 0; i < graph->nnodes; i++)
        if (graph->nodes[i].stage == graph->nstages) /* no node reads it */
            graph->nodes[i].stage = 0;
}

static void check_used(struct graph *graph)
{
    for (uint32_t stage = 0; stage < graph->nstages; stage++) {
        uint32_t i = 0;

        while (i < graph->nnodes && (is_leaf(&graph->nodes[i]) || graph->nodes[i].stage != stage))
            i++;
        if (i == graph->nnodes) {
            graph_fail(graph, SHD_EINVAL, "stage %u of %u has nothing to do", stage,
                       graph->nstages);
            return;
        }
    }
}

void graph_set_stages(struct graph *graph, uint32_t nstages, graph_stage_fn asked, void *arg)
{
    bool *loose = calloc((size_t)graph->nnodes + 1, sizeof *loose);

    graph->nstages = nstages;
    if (!loose)
        graph_fail(graph, SHD_ENOMEM, "no memory for the stages of %u nodes", graph->nnodes);
    for (uint32_t i = 0; i < graph->nnodes && graph->err.status == SHD_OK; i++)
        if (!is_leaf(&graph->nodes[i]))
            set_node(graph, i, loose, asked, arg);
    if (graph->err.status == SHD_OK)
        graph_copy_to_stages(graph, loose);
    if (graph->err.status == SHD_OK)
        set_leaves(graph);
    if (graph->err.status == SHD_OK)
        check_used(graph);
    free(loose);
}

/* Whether a node is the gradient of a value that is not a parameter. */
static bool is_of_value(const struct graph *graph, const struct graph_node *node)
{
    return node->gradient_of != GRAPH_NONE && graph->nodes[node->gradient_of].op != GRAPH_PARAM;
}

void graph_mark_weights(struct graph *graph)
{
    bool *inner; /* by node: some gradient of a value depends on it */

    if (graph->err.status != SHD_OK)
        return;
    inner = calloc((size_t)graph->nnodes + 1, sizeof *inner);
    if (!inner) {
        graph_fail(graph, SHD_ENOMEM, "no memory for a graph of %u nodes", graph->nnodes);
        return;
    }
    for (uint32_t i = graph->nnodes; i-- > 0;) {
        struct graph_node *n = &graph->nodes[i];

        inner[i] = inner[i] || is_of_value(graph, n) || n->unread;
        n->weights = n->phase == GRAPH_BACKWARD && !inner[i];
        if (n->op == GRAPH_EXTRA || n->nextras > 0) /* results of one op are computed together */
            n->weights = false;
        for (uint32_t k = 0; k < n->ninputs; k++)
            inner[n->inputs[k]] |= inner[i] || n->op == GRAPH_EXTRA || n->nextras > 0;
    }
    free(inner);
}
