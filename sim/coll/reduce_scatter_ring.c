/* reduce-scatter/ring - partial sums travel around the ring, one hop a step.
 *
 * Chunk c starts as the operand of member c + 1, is combined with the next member's at each hop,
 * and is complete at member c after n - 1 hops.  A member passes on chunks other than its own,
 * which may be longer, so partial sums are in TMP: one half is written while the other is read.
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
    return shape->nmembers > 1 ? 2 : 1;
}

/* The longest chunk. */
static uint64_t half(const struct coll_shape *shape)
{
    return coll_chunk_count(shape->count, shape->nmembers, 0);
}

static uint64_t tmp_count(const struct coll_shape *shape)
{
    return shape->nmembers > 2 ? 2 * half(shape) : 0;
}

static void move(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t i,
                 struct coll_move *out)
{
    uint32_t n = shape->nmembers;
    bool last = step == coll_hop_steps(shape) - 1;
    bool operand = step == 0 || i == 1;
    uint32_t chunk = (member + 2 * n - 2 - step) % n;

    *out = (struct coll_move){
        .peer = i == 0 ? (member + n - 1) % n : member,
        .src = operand ? COLL_IN : COLL_TMP,
        .dst = last ? COLL_OUT : COLL_TMP,
        .act = i == 0 ? COLL_COPY : COLL_COMBINE,
        .src_at = operand ? coll_chunk_at(shape->count, n, chunk) : (step - 1) % 2 * half(shape),
        .dst_at = last ? 0 : step % 2 * half(shape),
        .count = coll_chunk_count(shape->count, n, chunk),
    };
}

/* All chunks but its predecessor's, which starts at this member. */
static uint64_t received(const struct coll_shape *shape, uint32_t member)
{
    uint32_t n = shape->nmembers;

    return shape->count - coll_chunk_count(shape->count, n, (member + n - 1) % n);
}

/* Bytes depend on the chunks of the member and of its predecessor. */
static uint32_t alike(const struct coll_shape *shape, uint32_t member)
{
    return coll_alike_chunks(shape, member, 1);
}

const struct coll_algo coll_reduce_scatter_ring = {
    .kind = COLL_REDUCE_SCATTER,
    .name = "ring",
    .desc = "partial sums go round a ring, one hop per step",
    .limits = COLL_ANY,
    .reduces = true,
    .nsteps = coll_hop_steps,
    .nmoves = nmoves,
    .move = move,
    .received = received,
    .sent = coll_chunks_of_others,
    .alike = alike,
    .tmp_count = tmp_count,
};
