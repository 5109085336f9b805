/* training.h - make a training step from a loss: gradients, summed over microbatches, and the
 * update.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_OPTIMIZER_TRAINING_H
#define GRAPH_OPTIMIZER_TRAINING_H

#include "graph/optimizer/optimizer.h"

/* Add the backward phase of `loss`, a mean over the microbatch's examples, and the update of all
 * parameters; graph/recompute.h may follow.  Nodes of these phases are renumbered afterwards.  The
 * outputs are "loss", the mean over the whole batch, and those of optimizer_add().  Errors stay in
 * the graph. */
void training_add(struct graph *graph, uint32_t loss, const struct optimizer_opts *opts);

#endif /* GRAPH_OPTIMIZER_TRAINING_H */
