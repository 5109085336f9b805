/* reduce/direct - the root combines every member's operand, in group order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/counts.h"
#include "coll/table.h"

static uint32_t nmoves(const struct coll_shape *shape, uint32_t member, uint32_t step)
{
    (void)step;
    return member == shape->root ? shape->nmembers : 0;
}

static void move(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t i,
                 struct coll_move *out)
{
    (void)member;
    (void)step;
    *out = (struct coll_move){
        .peer = i,
        .src = COLL_IN,
        .dst = COLL_OUT,
        .act = i > 0 ? COLL_COMBINE : COLL_COPY,
        .count = shape->count,
    };
}

const struct coll_algo coll_reduce_direct = {
    .kind = COLL_REDUCE,
    .name = "direct",
    .desc = "the root combines all in group order",
    .limits = COLL_ANY,
    .reduces = true,
    .nsteps = coll_one_step,
    .nmoves = nmoves,
    .move = move,
    .received = coll_operands_at_root,
    .sent = coll_operand_unless_root,
    .alike = coll_alike_root,
};
