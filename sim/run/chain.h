/* chain.h - a reduction that goes from rank to rank, in the order of the group.
 *
 * A sum of rounded numbers depends on the order of its additions, and one rank adds the operands in
 * the order of the members.  So do several: the rank of the first members adds theirs, the next one
 * adds its own to that, and so on; the last one has the reduction, block by block, while the first
 * is at later blocks.  So every element goes over a link once on its way, however many members a
 * rank has, and once back.  Where all members get all of it each rank passes it on to the next.
 *
 * Thread class: owned by the thread in span_meet().
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_CHAIN_H
#define RUN_CHAIN_H

#include <stdbool.h>

/* A block is long beside what it takes to start a message, and short enough that several are on
 * their way at once. */
#define CHAIN_BLOCK_BYTES (256 << 10)

struct chain;
struct span;

/* Room for the call that the members on this rank have made.  False: no memory. */
bool chain_reserve(struct chain **chain, struct span *span);
void chain_destroy(struct chain *chain); /* NULL is allowed */

/* Do the call, all of it: when it returns, members of this rank have their results. */
void chain_run(struct chain *chain, struct span *span);

#endif /* RUN_CHAIN_H */
