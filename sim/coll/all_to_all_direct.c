/* all-to-all/direct - every member pulls its chunk of every other one's operand, in one step.
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
    uint64_t count = coll_chunk_count(shape->count, shape->nmembers, member);

    (void)step;
    *out = (struct coll_move){
        .peer = i,
        .src = COLL_IN,
        .dst = COLL_OUT,
        .src_at = coll_chunk_at(shape->count, shape->nmembers, member),
        .dst_at = i * count,
        .count = count,
    };
}

const struct coll_algo coll_all_to_all_direct = {
    .kind = COLL_ALL_TO_ALL,
    .name = "direct",
    .desc = "each member pulls its chunk from all members in one step",
    .limits = COLL_ANY,
    .reduces = false,
    .nsteps = coll_one_step,
    .nmoves = nmoves,
    .move = move,
    .received = coll_own_chunk_from_each,
    .sent = coll_chunks_of_others,
    .alike = coll_alike_own_chunk,
};
