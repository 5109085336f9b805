/* early.h - what is made of a gradient, as soon as the gradient is there.
 *
 * A pass over a graph that has its update: the sum of a gradient over microbatches, and the place
 * where it is asked to lie as the optimizer reads it, move from behind the backward phase to right
 * behind the gradient.  Where they cut it, a device does not keep whole gradients until the
 * phase ends; where they sum over devices, that happens beside what is left of the phase (as
 * PyTorch's DistributedDataParallel and FSDP do).  What the optimizer does once a step comes behind
 * all that is done for each microbatch.
 *
 * Thread class: as graph.h, which is changed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_OPTIMIZER_EARLY_H
#define GRAPH_OPTIMIZER_EARLY_H

#include "graph/graph.h"

/* Nodes get other numbers; errors stay in the graph. */
void graph_sum_early(struct graph *graph);

#endif /* GRAPH_OPTIMIZER_EARLY_H */
