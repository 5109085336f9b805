/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/xent.h"

#include "graph/layers/softmax.h"

struct xent layer_cross_entropy(struct graph *graph, const char *name, uint32_t logits,
                                uint32_t classes, uint32_t labels, uint32_t mask)
{
    const char *loss = graph_text(graph, "%s/loss", name);
    struct xent x = {GRAPH_NONE, GRAPH_NONE};
    uint32_t lse, picked, sum, count;

    lse = layer_log_sum_exp(graph, graph_text(graph, "%s/lse", name), logits, classes);
    picked = graph_pick(graph, graph_text(graph, "%s/label", name), logits, labels, classes);
    x.per_token = graph_map(graph, name, KERN_SUB, lse, picked, 0);
    if (mask == GRAPH_NONE) {
        x.loss = graph_reduce(graph, loss, SHD_MEAN, x.per_token, NULL, 0);
        return x;
    }
    x.per_token = graph_map(graph, name, KERN_MUL, x.per_token, mask, 0);
    sum = graph_reduce(graph, loss, SHD_SUM, x.per_token, NULL, 0);
    count = graph_reduce(graph, graph_text(graph, "%s/count", name), SHD_SUM, mask, NULL, 0);
    x.loss = graph_map(graph, loss, KERN_DIV, sum, count, 0);
    return x;
}
