/* owners.h - an all-reduce between ranks in two steps: each rank reduces the chunks that its
 * members own, then all ranks get all chunks.
 *
 * Each rank has already received the operands' elements for its chunks (meet.h).  It reduces them
 * in the order of the group, as a single rank would, so that the bits are equal.  The member that
 * owns a chunk is on the rank that reduces it, so that each rank counts what its own members
 * receive.
 *
 * Thread class: owned by the last member of its rank to arrive.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_RANKS_OWNERS_H
#define RUN_RANKS_OWNERS_H

#include <stdbool.h>

struct span;

/* Allocate for chunks that cannot be received into an OUT.  False: no memory. */
bool owners_reserve(struct span *span);

/* Execute the second step: when it returns, members of this rank have their results. */
void owners_run(struct span *span);

#endif /* RUN_RANKS_OWNERS_H */
