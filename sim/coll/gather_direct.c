/* gather/direct - the root pulls every member's operand, in one step.
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
        .dst_at = i * shape->count,
        .count = shape->count,
    };
}

const struct coll_algo coll_gather_direct = {
    .kind = COLL_GATHER,
    .name = "direct",
    .desc = "the root pulls from all in one step",
    .limits = COLL_ANY,
    .reduces = false,
    .nsteps = coll_one_step,
    .nmoves = nmoves,
    .move = move,
    .received = coll_operands_at_root,
    .sent = coll_operand_unless_root,
    .alike = coll_alike_root,
};
