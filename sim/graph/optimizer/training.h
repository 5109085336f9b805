/* training.h - a step of training made of a loss: its gradients, summed over microbatches, and the
 * update.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_OPTIMIZER_TRAINING_H
#define GRAPH_OPTIMIZER_TRAINING_H

#include "graph/optimizer/optimizer.h"
#include "graph/recompute.h"

/* Add the backward phase of `loss`, a mean over the microbatch's examples, which computes again
 * what `recompute` says, and the update of all parameters.  Nodes may get other numbers.  The
 * outputs are "loss", the mean over the whole batch, and those of optimizer_add(). Errors stay in
 * the graph. */
void training_add(struct graph *graph, uint32_t loss, const struct optimizer_opts *opts,
                  enum recompute recompute);

#endif /* GRAPH_OPTIMIZER_TRAINING_H */
