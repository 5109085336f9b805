/* broadcast/direct - every member pulls the root's operand, in one step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/counts.h"
#include "coll/table.h"

static void move(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t i,
                 struct coll_move *out)
{
    (void)member;
    (void)step;
    (void)i;
    *out = (struct coll_move){
        .peer = shape->root,
        .src = COLL_IN,
        .dst = COLL_OUT,
        .count = shape->count,
    };
}

const struct coll_algo coll_broadcast_direct = {
    .kind = COLL_BROADCAST,
    .name = "direct",
    .desc = "all pull from the root in one step",
    .limits = COLL_ANY,
    .reduces = false,
    .nsteps = coll_one_step,
    .nmoves = coll_one_move,
    .move = move,
    .received = coll_operand_unless_root,
    .sent = coll_operands_at_root,
    .alike = coll_alike_root,
};
