/* owners.h - an all-reduce between ranks in two steps: each rank reduces the chunks of its members,
 * then all get all chunks.
 *
 * Before, each rank has received the operands' elements of its members' chunks (meet.h).  They are
 * reduced in the order of the group, as on one rank, so the bits are the same; and the member that
 * owns a chunk is on the rank that reduces it, so each rank counts what its own members receive.
 *
 * Thread class: owned by the last member of its rank to arrive.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_OWNERS_H
#define RUN_OWNERS_H

#include <stdbool.h>

struct span;

/* Room for chunks that cannot be received into an OUT.  False: no memory. */
bool owners_reserve(struct span *span);

/* Do the second half of the call: when it returns, members of this rank have their results. */
void owners_run(struct span *span);

#endif /* RUN_OWNERS_H */
