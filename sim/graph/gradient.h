/* gradient.h - reverse mode: derive the backward computation from the forward computation.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_GRADIENT_H
#define GRAPH_GRADIENT_H

#include "graph/graph.h"

/* Add the nodes that compute d loss / d wrt[i], with the dimensions of wrt[i], and store them in
 * grads[i].  `loss` has rank 0.  The new nodes are of phase GRAPH_BACKWARD; a constraint passes its
 * name on to its gradient, so that a sharding asked for a value is asked for its gradient as well.
 * The gradient of a value that the loss does not depend on is zeros.  Errors stay in the graph. */
void graph_gradient(struct graph *graph, uint32_t loss, const uint32_t *wrt, uint32_t nwrt,
                    uint32_t *grads);

#endif /* GRAPH_GRADIENT_H */
