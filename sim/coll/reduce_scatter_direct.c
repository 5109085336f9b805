/* reduce-scatter/direct - each member reduces its own chunk of all operands, in group order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/counts.h"
#include "coll/table.h"

static uint32_t nmoves(const struct coll_shape *shape, uint32_t member, uint32_t step)
{
    (void)step;
    return member < shape->count ? shape->nmembers : 0; /* empty chunks come last */
}

static void move(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t i,
                 struct coll_move *out)
{
    (void)step;
    *out = (struct coll_move){
        .peer = i,
        .src = COLL_IN,
        .dst = COLL_OUT,
        .act = i > 0 ? COLL_COMBINE : COLL_COPY,
        .src_at = coll_chunk_at(shape->count, shape->nmembers, member),
        .count = coll_chunk_count(shape->count, shape->nmembers, member),
    };
}

const struct coll_algo coll_reduce_scatter_direct = {
    .kind = COLL_REDUCE_SCATTER,
    .name = "direct",
    .desc = "each reduces its own chunk in group order",
    .limits = COLL_ANY,
    .reduces = true,
    .nsteps = coll_one_step,
    .nmoves = nmoves,
    .move = move,
    .received = coll_own_chunk_from_each,
    .sent = coll_chunks_of_others,
    .alike = coll_alike_own_chunk,
};
