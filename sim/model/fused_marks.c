/* Marking what lies inside fused kernels (fused_marks.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/fused_marks.h"

#include <string.h>

#include "graph/ops.h"

void model_mark_loss(struct graph *graph, uint32_t first, uint32_t vocab)
{
    for (uint32_t n = first; n < graph->nnodes && graph->err.status == SHD_OK; n++)
        if (graph_has_dim(&graph->nodes[n], vocab))
            graph->nodes[n].interim = GRAPH_OF_LOSS;
}

static bool same_dims(const struct graph_node *a, const struct graph_node *b)
{
    return a->rank == b->rank && !memcmp(a->dims, b->dims, a->rank * sizeof *a->dims);
}

/* Mark the gradients of a loss's interim values: what has the dimensions of the logits in the
 * backward phase, but for the operand of the head's products. */
static void mark_gradients(struct graph *graph, const struct graph_node *logits)
{
    for (uint32_t n = 0; n < graph->nnodes; n++) {
        struct graph_node *node = &graph->nodes[n];

        if (node->phase == GRAPH_BACKWARD && same_dims(node, logits))
            node->inside = node->op != GRAPH_CONSTRAINT;
    }
    for (uint32_t n = 0; n < graph->nnodes; n++)
        for (uint32_t k = 0; k < graph->nodes[n].ninputs; k++) {
            struct graph_node *read = &graph->nodes[graph->nodes[n].inputs[k]];

            if (graph->nodes[n].op != GRAPH_MAP && graph->nodes[n].op != GRAPH_REDUCE &&
                !graph->nodes[n].inside)
                read->inside &= read->phase != GRAPH_BACKWARD;
        }
}

/* Mark logits, what a loss makes of them, and their gradients as in chunks. */
static void mark_chunks(struct graph *graph, const struct graph_node *logits, uint32_t chunks)
{
    for (uint32_t n = 0; n < graph->nnodes; n++) {
        struct graph_node *node = &graph->nodes[n];

        if (node->op > GRAPH_PARAM && node->phase <= GRAPH_BACKWARD && same_dims(node, logits))
            node->chunks = chunks;
    }
}

/* Mark what fused activations, a fused loss and fused gates make and read themselves. */
static bool mark_interim(struct graph *graph, const struct scenario_fused *fused)
{
    const bool one[] = {[GRAPH_OF_ACTIVATION] = fused->activation == SCENARIO_ONE_KERNEL,
                        [GRAPH_OF_LOSS] = fused->loss == SCENARIO_ONE_KERNEL,
                        [GRAPH_OF_GATES] = fused->gates == SCENARIO_ONE_KERNEL};
    bool any = false;

    for (uint32_t n = 0; n < graph->nnodes; n++) {
        graph->nodes[n].inside = one[graph->nodes[n].interim];
        any |= graph->nodes[n].inside;
    }
    return any;
}

bool model_mark_fused(struct graph *graph, const struct scenario *scenario)
{
    const struct scenario_fused *fused = &scenario->fused;
    bool any = mark_interim(graph, fused), chunks = fused->loss_chunks > 1;
    uint32_t logits = GRAPH_NONE;

    for (uint32_t n = 0; n < graph->nnodes; n++)
        if (graph->nodes[n].interim == GRAPH_OF_LOSS)
            logits = n;
    if (logits != GRAPH_NONE) {
        const struct graph_node shape = graph->nodes[logits];

        if (shape.inside)
            mark_gradients(graph, &shape);
        if (chunks)
            mark_chunks(graph, &shape, (uint32_t)fused->loss_chunks);
    }
    return any || chunks;
}
