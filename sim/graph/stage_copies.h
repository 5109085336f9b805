/* stage_copies.h - what is made of inputs and parameters alone, made in each stage that reads it.
 *
 * The ids of a decoder's embedding, or a bias by position that all layers share, need nothing of
 * other layers: each stage that reads such a value computes it itself, for each microbatch, and is
 * given the parameters once a step.  Its gradients meet in those of the parameters, which go back
 * once a step, too.
 *
 * Thread class: as the graph.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_STAGE_COPIES_H
#define GRAPH_STAGE_COPIES_H

#include "graph/graph.h"

/* Whether a node reads leaves, and nodes of which `loose` is true, alone; one of several results,
 * or a result beside others, is not copied. */
bool graph_is_loose(const struct graph *graph, const bool *loose, uint32_t node);

/* Put each loose node in the stages of its readers, a copy in each; without readers it is in stage
 * 0.  Nodes get other numbers; SHD_ENOMEM stays in the graph. */
void graph_copy_to_stages(struct graph *graph, const bool *loose);

#endif /* GRAPH_STAGE_COPIES_H */
