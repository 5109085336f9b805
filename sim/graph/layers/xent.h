/* xent.h - cross-entropy of logits against labels.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_XENT_H
#define GRAPH_LAYERS_XENT_H

#include "graph/graph.h"

struct xent {
    uint32_t per_token; /* logsumexp(z) - z[label] (times mask), without `classes` */
    uint32_t loss;      /* mean of per_token, or sum(per_token) / sum(mask) */
};

/* logits[..., classes, ...], labels int32 of the other dimensions; mask of these dimensions, or
 * GRAPH_NONE. */
struct xent layer_cross_entropy(struct graph *graph, const char *name, uint32_t logits,
                                uint32_t classes, uint32_t labels, uint32_t mask);

#endif /* GRAPH_LAYERS_XENT_H */
