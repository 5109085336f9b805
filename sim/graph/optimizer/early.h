/* early.h - reduce gradients as soon as they are computed, instead of after the backward phase.
 *
 * A pass over a graph that has its update.  The sum of a gradient over microbatches, and the
 * constraint under which its sharding for the optimizer is asked for, move from behind the backward
 * phase to right behind the gradient.  If they shard the gradient, a device need not keep whole
 * gradients until the phase ends; if they sum it over devices, the sum overlaps with the rest of
 * the phase (as in PyTorch's DistributedDataParallel and FSDP).  Nodes that run once a step come
 * behind all that run for each microbatch.
 *
 * Thread class: as graph.h, which is changed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_OPTIMIZER_EARLY_H
#define GRAPH_OPTIMIZER_EARLY_H

#include "graph/graph.h"

/* Renumbers nodes; errors stay in the graph. */
void graph_sum_early(struct graph *graph);

#endif /* GRAPH_OPTIMIZER_EARLY_H */
