/* alike.h - ops with equal surroundings in the graph, such as those of equal layers.
 *
 * Two nodes are alike if they have the same op, extents and asked shardings, and so have all nodes
 * that they read and that read them, up to ALIKE_RADIUS steps away.  The inner layers of a deep
 * model are alike; the first and last layers, which are near the input or the loss, are not.  Alike
 * nodes get the same assignment, so that a search costs as much as its few different layers.
 *
 * This is colour refinement (Weisfeiler and Leman), stopped after as many rounds as the radius.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_ALIKE_H
#define PARTITION_ALIKE_H

#include "partition/placement.h"

/* How far nodes are compared, in ops.  A transformer layer is about 15 ops deep, so inner layers
 * differ from the first and the last within half a layer. */
#define ALIKE_RADIUS 8

/* Link the nodes of a placement that is set up into rings: `next_alike` of each node is the next
 * alike node, of the last node the first. */
void alike_link(struct placement *placement);

#endif /* PARTITION_ALIKE_H */
