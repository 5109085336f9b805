/* chain.h - a reduction that passes from rank to rank, in the order of the group.
 *
 * A sum of rounded numbers depends on the order of its additions, and a single rank adds the
 * operands in the order of the members.  Several ranks do the same: the rank of the first members
 * adds their operands, the next rank adds its own to that sum, and so on.  The last rank gets the
 * reduction block by block, while the first one works on later blocks.  So every element crosses
 * each link once on the way there, however many members a rank has, and once on the way back.
 * Where all members get the whole result each rank passes it on to the next.
 *
 * Thread class: owned by the thread in span_meet().
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_RANKS_CHAIN_H
#define RUN_RANKS_CHAIN_H

#include <stdbool.h>

/* A block is long compared with the cost of a message, and short enough that several are in flight
 * at once. */
#define CHAIN_BLOCK_BYTES (256 << 10)

struct chain;
struct span;

/* Allocate for the call that the members on this rank have made.  False: no memory. */
bool chain_reserve(struct chain **chain, struct span *span);
void chain_destroy(struct chain *chain); /* NULL is allowed */

/* Perform the whole call: when it returns, members of this rank have their results. */
void chain_run(struct chain *chain, struct span *span);

#endif /* RUN_RANKS_CHAIN_H */
