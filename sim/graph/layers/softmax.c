/* Softmax and log-sum-exp (softmax.h).  The maximum only keeps exp() in range: it cancels out, so
 * no gradient passes through it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "graph/layers/softmax.h"

struct shifted {
    uint32_t max; /* maximum of x over the dimension, and of what is beside */
    uint32_t exp; /* exp(x - max) */
    uint32_t sum; /* of exp over the dimension, and that of what is beside */
};

static struct shifted shift(struct graph *g, const char *name, uint32_t x, uint32_t dim,
                            uint32_t beside)
{
    struct shifted s = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    uint32_t dims[GRAPH_RANK_MAX], rank = 0;

    if (g->err.status != SHD_OK || x == GRAPH_NONE)
        return s;
    for (uint32_t d = 0; d < g->nodes[x].rank; d++)
        if (g->nodes[x].dims[d] != dim)
            dims[rank++] = g->nodes[x].dims[d];
    if (rank == g->nodes[x].rank) {
        graph_fail(g, SHD_EINVAL, "'%s': '%s' lacks the dimension of the softmax", name,
                   g->nodes[x].name);
        return s;
    }
    s.max = graph_reduce(g, graph_text(g, "%s/max", name), SHD_MAX, x, dims, rank);
    if (beside != GRAPH_NONE)
        s.max = graph_map(g, graph_text(g, "%s/max", name), KERN_MAX, s.max, beside, 0);
    graph_stop_gradient(g, s.max);
    s.exp = graph_map(g, name, KERN_SUB, x, s.max, 0);
    s.exp = graph_map(g, name, KERN_EXP, s.exp, GRAPH_NONE, 0);
    s.sum = graph_reduce(g, graph_text(g, "%s/sum", name), SHD_SUM, s.exp, dims, rank);
    if (beside != GRAPH_NONE) {
        const char *part = graph_text(g, "%s/beside", name);

        beside = graph_map(g, part, KERN_NEG, graph_map(g, part, KERN_SUB, s.max, beside, 0),
                           GRAPH_NONE, 0);
        beside = graph_map(g, part, KERN_EXP, beside, GRAPH_NONE, 0);
        s.sum = graph_map(g, graph_text(g, "%s/sum", name), KERN_ADD, s.sum, beside, 0);
    }
    return s;
}

uint32_t layer_softmax(struct graph *graph, const char *name, uint32_t x, uint32_t dim)
{
    return layer_softmax_beside(graph, name, x, dim, GRAPH_NONE);
}

uint32_t layer_softmax_beside(struct graph *graph, const char *name, uint32_t x, uint32_t dim,
                              uint32_t beside)
{
    struct shifted s = shift(graph, name, x, dim, beside);

    return graph_map(graph, name, KERN_DIV, s.exp, s.sum, 0);
}

uint32_t layer_log_sum_exp(struct graph *graph, const char *name, uint32_t x, uint32_t dim)
{
    struct shifted s = shift(graph, name, x, dim, GRAPH_NONE);
    uint32_t log = graph_map(graph, name, KERN_LOG, s.sum, GRAPH_NONE, 0);

    return graph_map(graph, name, KERN_ADD, log, s.max, 0);
}
