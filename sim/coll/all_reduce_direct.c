/* all-reduce/direct - each member reduces its own chunk in group order, then pulls the others'
 * chunks.
 *
 * The default: the sum does not depend on which member comes first, and no more bytes move than in
 * a ring.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/table.h"

static uint32_t nsteps(const struct coll_shape *shape)
{
    return shape->nmembers > 1 ? 2 : 1;
}

/* Members that own a nonempty chunk, which come first. */
static uint32_t nowners(const struct coll_shape *shape)
{
    return shape->count < shape->nmembers ? (uint32_t)shape->count : shape->nmembers;
}

static uint32_t nmoves(const struct coll_shape *shape, uint32_t member, uint32_t step)
{
    bool owner = member < nowners(shape);

    if (step == 0)
        return owner ? shape->nmembers : 0;
    return nowners(shape) - (owner ? 1 : 0);
}

static void move(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t i,
                 struct coll_move *out)
{
    uint32_t peer = step > 0 && i >= member ? i + 1 : i; /* step 1 skips the member itself */
    uint32_t chunk = step == 0 ? member : peer;
    uint64_t at = coll_chunk_at(shape->count, shape->nmembers, chunk);

    *out = (struct coll_move){
        .peer = peer,
        .src = step == 0 ? COLL_IN : COLL_OUT,
        .dst = COLL_OUT,
        .act = step == 0 && i > 0 ? COLL_COMBINE : COLL_COPY,
        .src_at = at,
        .dst_at = at,
        .count = coll_chunk_count(shape->count, shape->nmembers, chunk),
    };
}

/* Own chunks from all other members, then the others' chunks; sends the same number of elements. */
static uint64_t received(const struct coll_shape *shape, uint32_t member)
{
    uint64_t own = coll_chunk_count(shape->count, shape->nmembers, member);

    return (shape->nmembers - 1) * own + (shape->count - own);
}

const struct coll_algo coll_all_reduce_direct = {
    .kind = COLL_ALL_REDUCE,
    .name = "direct",
    .desc = "each member reduces its own chunk in group order, then pulls all other chunks",
    .limits = COLL_ANY,
    .reduces = true,
    .nsteps = nsteps,
    .nmoves = nmoves,
    .move = move,
    .received = received,
    .sent = received,
    .alike = coll_alike_own_chunk,
};
