/* all-gather/direct - every member pulls every other one's operand, in one step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/counts.h"
#include "coll/table.h"

static uint32_t nmoves(const struct coll_shape *shape, uint32_t member, uint32_t step)
{
    (void)member;
    (void)step;
    return shape->nmembers;
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

const struct coll_algo coll_all_gather_direct = {
    .kind = COLL_ALL_GATHER,
    .name = "direct",
    .desc = "all pull from all in one step",
    .limits = COLL_ANY,
    .reduces = false,
    .nsteps = coll_one_step,
    .nmoves = nmoves,
    .move = move,
    .received = coll_operand_from_each,
    .sent = coll_operand_from_each,
    .alike = coll_alike_all,
};
