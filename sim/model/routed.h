/* model/routed.h - the experts of a scenario: their parameters, and the routing of tokens to them.
 *
 * Names: layers/0/moe/router/kernel, layers/0/moe/up/kernel, layers/0/moe/shared/up/kernel.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_ROUTED_H
#define MODEL_ROUTED_H

#include <shd/mesh.h>

#include "base/diag.h"
#include "graph/graph.h"
#include "graph/layers/block.h"
#include "model/weights.h"
#include "scenario/scenario.h"

/* Data shared by all layers with experts: the routing, and the ids where a workload replaces the
 * router (else GRAPH_NONE). */
struct routed {
    const struct kern_routing *routing; /* to experts, or to their copies */
    uint32_t ids;
    int64_t groups; /* token groups, each with its own slots */
    uint32_t loss;  /* sum over layers; GRAPH_NONE until the first one */
};

/* The mesh axes that rows of experts are sharded over where tokens are sharded over more than the
 * batch's axes (context parallelism): each token's expert work is done on one device.  Names are
 * the scenario's. */
struct routed_rows {
    size_t nexperts, nbatch, nslots;
    const char *experts[SHD_MESH_AXES_MAX];
    const char *slots[SHD_MESH_AXES_MAX]; /* that shard no experts: `nbatch` axes of the batch, then
                                             those of the sequence */
};

/* The axes of a scenario; with rules by shape, which name no experts, none of the sequence. */
struct routed_rows routed_rows_of(const struct scenario *scenario);

/* Set up the routing of a scenario with experts; errors stay in the graph, and copies that do not
 * divide over the devices are reported, too. */
void routed_init(struct routed *out, struct graph *graph, const struct scenario *scenario,
                 const struct weights_dims *dims, struct diag *diag);

/* Whether a layer has experts. */
bool routed_in_layer(const struct scenario *scenario, int64_t layer);

/* The experts of the layer `name`; the layer's router losses are added to those of `all`. */
struct block_experts routed_layer(struct graph *graph, const struct scenario *scenario,
                                  const char *name, const struct weights_dims *dims,
                                  struct routed *all);

#endif /* MODEL_ROUTED_H */
