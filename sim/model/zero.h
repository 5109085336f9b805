/* zero.h - ZeRO's stages as shardings: what is sharded over one more axis, the data's.
 *
 * Stage 1 cuts the optimizer's state, stage 2 the gradients too (where they outlive the backward
 * phase), stage 3 the parameters too (Rajbhandari and others, arXiv 1910.02054).  That updates are
 * then done once instead of by every replica, and what is gathered where, follows from that.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_ZERO_H
#define MODEL_ZERO_H

#include <stdbool.h>

#include <shd/sharding.h>

#include "graph/graph.h"

/* Cut an array of `shape` over one more axis of its mesh: along the dimension that is longest on a
 * device, of those that divide; of equals the first.  False, and nothing done: none divides, or the
 * axis shards the array already. */
bool zero_cut(struct shd_sharding *sharding, const int64_t *shape, uint8_t axis);

/* Whether a node is the name of a gradient where it is summed over microbatches, which is cut from
 * stage 2 on; before that nothing is asked of it, so that parts are added up as parts. */
bool zero_is_sum(const struct graph_node *node);

#endif /* MODEL_ZERO_H */
