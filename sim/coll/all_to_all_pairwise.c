/* all-to-all/pairwise - in each step a member pulls from one other, at distance 1, 2, 3, ...
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
    uint32_t peer = own ? member : (member + n - 1 - step) % n;
    uint64_t count = coll_chunk_count(shape->count, n, member);

    *out = (struct coll_move){
        .peer = peer,
        .src = COLL_IN,
        .dst = COLL_OUT,
        .src_at = coll_chunk_at(shape->count, n, member),
        .dst_at = peer * count,
        .count = count,
    };
}

const struct coll_algo coll_all_to_all_pairwise = {
    .kind = COLL_ALL_TO_ALL,
    .name = "pairwise",
    .desc = "one peer per step, at growing distances",
    .limits = COLL_ANY,
    .reduces = false,
    .nsteps = coll_hop_steps,
    .nmoves = coll_moves_with_own,
    .move = move,
    .received = coll_own_chunk_from_each,
    .sent = coll_chunks_of_others,
    .alike = coll_alike_own_chunk,
};
