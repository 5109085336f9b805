/* move.h - one member's moves in one step of a schedule, on the memory of its group.
 *
 * Any thread may execute them: the member's own, or for all members that of the last one to arrive.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_MOVE_H
#define RUN_MOVE_H

#include <stdint.h>

#include "run/collective.h"
#include "run/tally.h"

/* The shape that all members' calls have in common. */
struct coll_shape move_shape(const struct coll_call *call);

/* Execute the moves of `member` in step `step`, and count the bytes that it receives.
 */
void move_step(const struct run_group *group, const struct coll_shape *shape, uint32_t member,
               uint32_t step, struct tally *tally);

#endif /* RUN_MOVE_H */
