/* reduce/tree - partial sums are combined in pairs, at distances 1, 2, 4, ...: a binomial tree.
 *
 * Members count from the root on, cyclically.  A member that has combined nothing yet is read at
 * its operand, others at TMP.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/counts.h"
#include "coll/table.h"

#include "coll/tree.h"

/* A member that combines for the first time (always in step 0) also copies its own operand. */
static uint32_t nmoves(const struct coll_shape *shape, uint32_t member, uint32_t step)
{
    uint32_t rank = tree_rank(shape, member);
    uint32_t distance = UINT32_C(1) << step;

    if (shape->nmembers == 1)
        return 1;
    if (rank % (2 * distance) != 0 || distance >= shape->nmembers - rank)
        return 0;
    return step == 0 ? 2 : 1;
}

static uint64_t tmp_count(const struct coll_shape *shape)
{
    return shape->nmembers > 2 ? shape->count : 0;
}

static void move(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t i,
                 struct coll_move *out)
{
    uint32_t n = shape->nmembers;
    uint32_t rank = tree_rank(shape, member);
    bool own = step == 0 && i == 0;
    uint32_t from = own ? rank : rank + (UINT32_C(1) << step);
    bool leaf = step == 0 || from + 1 == n;

    *out = (struct coll_move){
        .peer = (uint32_t)(((uint64_t)from + shape->root) % n),
        .src = leaf ? COLL_IN : COLL_TMP,
        .dst = rank == 0 ? COLL_OUT : COLL_TMP,
        .act = own ? COLL_COPY : COLL_COMBINE,
        .count = shape->count,
    };
}

/* One operand from each child in the tree. */
static uint64_t received(const struct coll_shape *shape, uint32_t member)
{
    uint32_t rank = tree_rank(shape, member);
    uint64_t count = 0;

    for (uint64_t d = 1; d < shape->nmembers - rank && rank % (2 * d) == 0; d *= 2)
        count += shape->count;
    return count;
}

const struct coll_algo coll_reduce_tree = {
    .kind = COLL_REDUCE,
    .name = "tree",
    .desc = "a binomial tree: partial sums meet in pairs",
    .limits = COLL_ANY,
    .reduces = true,
    .nsteps = coll_log_steps,
    .nmoves = nmoves,
    .move = move,
    .received = received,
    .sent = coll_operand_unless_root,
    .alike = coll_alike_none,
    .tmp_count = tmp_count,
};
