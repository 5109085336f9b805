/* model/routed.h - the experts of a scenario: their parameters, and who is routed to them.
 *
 * Names: layers/0/moe/router/kernel, layers/0/moe/up/kernel, layers/0/moe/shared/up/kernel.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_ROUTED_H
#define MODEL_ROUTED_H

#include "graph/graph.h"
#include "graph/layers/block.h"
#include "model/weights.h"
#include "scenario/scenario.h"

/* What all layers with experts have in common: the routing, and the ids where a workload stands in
 * for the router (GRAPH_NONE: it does not). */
struct routed {
    const struct kern_routing *routing;
    uint32_t ids;
    int64_t groups; /* of tokens, each with its own queues */
    uint32_t loss;  /* of all layers, GRAPH_NONE as long as there is none */
};

/* Of a scenario that has experts; errors stay in the graph. */
void routed_init(struct routed *out, struct graph *graph, const struct scenario *scenario,
                 const struct weights_dims *dims);

/* Whether a layer has experts. */
bool routed_in_layer(const struct scenario *scenario, int64_t layer);

/* Those of the layer `name`; its losses are added to those of `all`. */
struct block_experts routed_layer(struct graph *graph, const struct scenario *scenario,
                                  const char *name, const struct weights_dims *dims,
                                  struct routed *all);

#endif /* MODEL_ROUTED_H */
