/* stage_copies.h - copy values that depend on inputs and parameters only into each stage that reads
 * them.
 *
 * The ids of a decoder's embedding, or a positional bias shared by all layers, need nothing from
 * other layers: each stage that reads such a value computes its own copy, for each microbatch, and
 * receives the parameters once a step.  Gradients of the copies are summed in the parameters'
 * gradients, which are sent back once a step, too.
 *
 * Thread class: as the graph.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_STAGE_COPIES_H
#define GRAPH_STAGE_COPIES_H

#include "graph/graph.h"

/* Whether a node is loose: it reads only leaves and loose nodes.  Ops with several results, and
 * further results, are not copied. */
bool graph_is_loose(const struct graph *graph, const bool *loose, uint32_t node);

/* Copy each loose node into every stage that reads it; without readers it is in stage 0.  Renumbers
 * nodes; SHD_ENOMEM stays in the graph. */
void graph_copy_to_stages(struct graph *graph, const bool *loose);

#endif /* GRAPH_STAGE_COPIES_H */
