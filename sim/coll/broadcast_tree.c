/* broadcast/tree - the members that have the operand double in each step: a binomial tree.
 *
 * Members count from the root on, cyclically; in step s members 2^s and later pull from the member
 * 2^s before.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/counts.h"
#include "coll/table.h"

#include "coll/pow2.h"
#include "coll/tree.h"

/* The root copies its own operand in step 0. */
static uint32_t nmoves(const struct coll_shape *shape, uint32_t member, uint32_t step)
{
    uint32_t rank = tree_rank(shape, member);

    if (rank == 0)
        return step == 0 ? 1 : 0;
    return pow2_floor_log(rank) == step ? 1 : 0;
}

static void move(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t i,
                 struct coll_move *out)
{
    uint32_t n = shape->nmembers;
    uint32_t rank = tree_rank(shape, member);
    uint32_t from = rank == 0 ? 0 : rank - (UINT32_C(1) << step);

    (void)i;
    *out = (struct coll_move){
        .peer = (from + shape->root) % n,
        .src = from == 0 ? COLL_IN : COLL_OUT,
        .dst = COLL_OUT,
        .count = shape->count,
    };
}

/* Sends once in each step after the one in which the member gets the operand. */
static uint64_t sent(const struct coll_shape *shape, uint32_t member)
{
    uint32_t rank = tree_rank(shape, member);
    uint64_t count = 0;

    for (uint32_t s = rank ? pow2_floor_log(rank) + 1 : 0; s < coll_log_steps(shape); s++)
        count += rank + (UINT64_C(1) << s) < shape->nmembers ? shape->count : 0;
    return count;
}

const struct coll_algo coll_broadcast_tree = {
    .kind = COLL_BROADCAST,
    .name = "tree",
    .desc = "a binomial tree: the number of members with the data doubles in each step",
    .limits = COLL_ANY,
    .reduces = false,
    .nsteps = coll_log_steps,
    .nmoves = nmoves,
    .move = move,
    .received = coll_operand_unless_root,
    .sent = sent,
    .alike = coll_alike_none,
};
