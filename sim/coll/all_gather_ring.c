/* all-gather/ring - operands travel around the ring, one hop a step.
 *
 * In step s a member pulls from its predecessor the operand that the predecessor pulled in step s -
 * 1.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/counts.h"
#include "coll/table.h"

static void move(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t i,
                 struct coll_move *out)
{
    uint32_t n = shape->nmembers;
    bool own = n == 1 || i == 1;
    uint32_t part = own ? member : (member + n - 1 - step) % n;

    *out = (struct coll_move){
        .peer = own ? member : (member + n - 1) % n,
        .src = step == 0 ? COLL_IN : COLL_OUT,
        .dst = COLL_OUT,
        .src_at = step == 0 ? 0 : part * shape->count,
        .dst_at = part * shape->count,
        .count = shape->count,
    };
}

const struct coll_algo coll_all_gather_ring = {
    .kind = COLL_ALL_GATHER,
    .name = "ring",
    .desc = "operands go round a ring, one hop per step",
    .limits = COLL_ANY,
    .reduces = false,
    .nsteps = coll_hop_steps,
    .nmoves = coll_moves_with_own,
    .move = move,
    .received = coll_operand_from_each,
    .sent = coll_operand_from_each,
    .alike = coll_alike_all,
};
