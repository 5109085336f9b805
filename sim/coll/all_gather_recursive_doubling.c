/* all-gather/recursive-doubling - pairs exchange all they have, at distances 1, 2, 4, ...
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/counts.h"
#include "coll/table.h"

static void move(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t i,
                 struct coll_move *out)
{
    bool own = shape->nmembers == 1 || i == 1;
    uint32_t width = UINT32_C(1) << step;
    uint32_t peer = own ? member : member ^ width;
    uint64_t at = peer / width * width * shape->count;

    *out = (struct coll_move){
        .peer = peer,
        .src = step == 0 ? COLL_IN : COLL_OUT,
        .dst = COLL_OUT,
        .src_at = step == 0 ? 0 : at,
        .dst_at = at,
        .count = width * shape->count,
    };
}

const struct coll_algo coll_all_gather_recursive_doubling = {
    .kind = COLL_ALL_GATHER,
    .name = "recursive-doubling",
    .desc = "pairs exchange all they have, at doubling distances",
    .limits = COLL_POW2,
    .reduces = false,
    .nsteps = coll_log_steps,
    .nmoves = coll_moves_with_own,
    .move = move,
    .received = coll_operand_from_each,
    .sent = coll_operand_from_each,
    .alike = coll_alike_all,
};
