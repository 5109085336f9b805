/* all-reduce/ring - reduce-scatter around the ring, then all-gather around it.
 *
 * Every member reads only from its predecessor.  Chunk c starts as the operand of member c, is
 * combined with the next member's at each hop, and is complete at member c - 1.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/table.h"

static uint32_t nsteps(const struct coll_shape *shape)
{
    return shape->nmembers > 1 ? 2 * (shape->nmembers - 1) : 1;
}

static uint32_t nmoves(const struct coll_shape *shape, uint32_t member, uint32_t step)
{
    (void)member;
    return shape->nmembers > 1 && step < shape->nmembers - 1 ? 2 : 1;
}

static void move(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t i,
                 struct coll_move *out)
{
    uint32_t n = shape->nmembers;
    uint32_t before = (member + n - 1) % n;
    bool gather = step >= n - 1;
    uint32_t chunk = gather ? (member + 2 * n - 1 - step) % n : (member + n - 1 - step) % n;
    uint64_t at = coll_chunk_at(shape->count, n, chunk);

    *out = (struct coll_move){
        .peer = i == 0 ? before : member,
        .src = step == 0 || i == 1 ? COLL_IN : COLL_OUT,
        .dst = COLL_OUT,
        .act = i == 0 ? COLL_COPY : COLL_COMBINE,
        .src_at = at,
        .dst_at = at,
        .count = coll_chunk_count(shape->count, n, chunk),
    };
}

/* In the reduce-scatter, all chunks but its own; in the all-gather, all but its successor's, which
 * the member has completed by then. */
static uint64_t received(const struct coll_shape *shape, uint32_t member)
{
    uint32_t n = shape->nmembers;

    return 2 * shape->count - coll_chunk_count(shape->count, n, member) -
           coll_chunk_count(shape->count, n, (member + 1) % n);
}

static uint64_t sent(const struct coll_shape *shape, uint32_t member)
{
    return received(shape, (member + 1) % shape->nmembers);
}

/* Bytes depend on the chunks of the member and of its next two neighbours. */
static uint32_t alike(const struct coll_shape *shape, uint32_t member)
{
    return coll_alike_chunks(shape, member, 2);
}

const struct coll_algo coll_all_reduce_ring = {
    .kind = COLL_ALL_REDUCE,
    .name = "ring",
    .desc = "reduce-scatter, then all-gather, around a ring",
    .limits = COLL_ANY,
    .reduces = true,
    .nsteps = nsteps,
    .nmoves = nmoves,
    .move = move,
    .received = received,
    .sent = sent,
    .alike = alike,
};
