/* reduce-scatter/recursive-halving - pairs exchange halves of their ranges, at halving distances.
 *
 * A member keeps the half of its range of chunks that contains its own chunk, adding the peer's
 * partial sum.  Ranges on the way are in TMP, at their positions in the operand.
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

static uint64_t tmp_count(const struct coll_shape *shape)
{
    return shape->nmembers > 2 ? shape->count : 0;
}

static void move(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t i,
                 struct coll_move *out)
{
    uint32_t n = shape->nmembers;
    uint32_t width = n >> (step + 1) ? n >> (step + 1) : 1;
    uint32_t first = member / width * width;
    uint64_t at = coll_chunk_at(shape->count, n, first);
    bool last = width == 1;

    *out = (struct coll_move){
        .peer = i == 0 ? member : member ^ width,
        .src = step == 0 ? COLL_IN : COLL_TMP,
        .dst = last ? COLL_OUT : COLL_TMP,
        .act = i == 0 ? COLL_COPY : COLL_COMBINE,
        .src_at = at,
        .dst_at = last ? 0 : at,
        .count = coll_chunk_at(shape->count, n, first + width) - at,
    };
}

/* Elements of the range of `width` chunks that contains a member's own chunk. */
static uint64_t range_count(const struct coll_shape *shape, uint32_t member, uint32_t width)
{
    uint32_t first = member / width * width;

    return coll_chunk_at(shape->count, shape->nmembers, first + width) -
           coll_chunk_at(shape->count, shape->nmembers, first);
}

static uint64_t received(const struct coll_shape *shape, uint32_t member)
{
    uint64_t count = 0;

    for (uint32_t width = shape->nmembers / 2; width > 0; width /= 2)
        count += range_count(shape, member, width);
    return count;
}

const struct coll_algo coll_reduce_scatter_recursive_halving = {
    .kind = COLL_REDUCE_SCATTER,
    .name = "recursive-halving",
    .desc = "pairs exchange halves, at halving distances",
    .limits = COLL_POW2,
    .reduces = true,
    .nsteps = coll_log_steps,
    .nmoves = nmoves,
    .move = move,
    .received = received,
    .sent = coll_chunks_of_others, /* in each step the half that the member does not keep */
    .alike = coll_alike_equal_chunks,
    .tmp_count = tmp_count,
};
