/* alike.h - ops of a graph that stand in the same surroundings, such as those of equal layers.
 *
 * Two nodes are alike when they do the same on arrays of the same extents, the same is asked of
 * them, and so it is with all that they read and all that reads them, up to ALIKE_RADIUS steps
 * away.  The inner layers of a deep model are alike; the first and the last ones, which are near
 * the input or the loss, are not.  What is chosen for one node is chosen for all that are alike, so
 * that a search costs what its few different layers cost.
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

/* How far nodes are compared, in ops: a transformer layer is some 15 ops deep, so that two layers
 * in the middle are told from those at the ends by half a layer. */
#define ALIKE_RADIUS 8

/* Link the nodes of a placement that is set up: `next_alike` of each is the next one alike, of the
 * last the first.  SHD_ENOMEM. */
SHD_MUST_CHECK int alike_link(struct placement *placement, struct shd_error *err);

#endif /* PARTITION_ALIKE_H */
