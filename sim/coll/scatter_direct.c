/* scatter/direct - every member pulls its chunk of the root's operand, in one step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/counts.h"
#include "coll/table.h"

static void move(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t i,
                 struct coll_move *out)
{
    (void)step;
    (void)i;
    *out = (struct coll_move){
        .peer = shape->root,
        .src = COLL_IN,
        .dst = COLL_OUT,
        .src_at = coll_chunk_at(shape->count, shape->nmembers, member),
        .count = coll_chunk_count(shape->count, shape->nmembers, member),
    };
}

static uint64_t received(const struct coll_shape *shape, uint32_t member)
{
    return member == shape->root ? 0 : coll_chunk_count(shape->count, shape->nmembers, member);
}

static uint64_t sent(const struct coll_shape *shape, uint32_t member)
{
    return member == shape->root
               ? shape->count - coll_chunk_count(shape->count, shape->nmembers, member)
               : 0;
}

static uint32_t alike(const struct coll_shape *shape, uint32_t member)
{
    uint32_t chunks = coll_alike_chunks(shape, member, 0);
    uint32_t root = coll_alike_root(shape, member);

    return chunks < root ? chunks : root;
}

const struct coll_algo coll_scatter_direct = {
    .kind = COLL_SCATTER,
    .name = "direct",
    .desc = "each member pulls its chunk from the root in one step",
    .limits = COLL_ANY,
    .reduces = false,
    .nsteps = coll_one_step,
    .nmoves = coll_one_move,
    .move = move,
    .received = received,
    .sent = sent,
    .alike = alike,
};
