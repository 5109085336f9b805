/* counts.h - numbers of steps and moves that several algorithms of collectives share.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLL_COUNTS_H
#define COLL_COUNTS_H

#include "coll/coll.h"

/* Numbers of steps: one; one for each other member; one for each doubling of 1 up to the number of
 * members or beyond.  One step serves a group of one member. */
uint32_t coll_one_step(const struct coll_shape *shape);
uint32_t coll_hop_steps(const struct coll_shape *shape);
uint32_t coll_log_steps(const struct coll_shape *shape);

/* Numbers of moves: one; one and in step 0 also a copy of the member's own elements. */
uint32_t coll_one_move(const struct coll_shape *shape, uint32_t member, uint32_t step);
uint32_t coll_moves_with_own(const struct coll_shape *shape, uint32_t member, uint32_t step);

#endif /* COLL_COUNTS_H */
