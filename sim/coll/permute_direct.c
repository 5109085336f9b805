/* permute/direct - every member pulls the operand of its source; without one it clears its result.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/counts.h"
#include "coll/table.h"

static void move(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t i,
                 struct coll_move *out)
{
    uint32_t source = shape->source[member];

    (void)step;
    (void)i;
    *out = (struct coll_move){
        .peer = source == COLL_NOBODY ? member : source,
        .src = COLL_IN,
        .dst = COLL_OUT,
        .act = source == COLL_NOBODY ? COLL_ZERO : COLL_COPY,
        .count = shape->count,
    };
}

static uint64_t received(const struct coll_shape *shape, uint32_t member)
{
    uint32_t source = shape->source[member];

    return source == COLL_NOBODY || source == member ? 0 : shape->count;
}

static uint64_t sent(const struct coll_shape *shape, uint32_t member)
{
    uint64_t count = 0;

    for (uint32_t m = 0; m < shape->nmembers; m++)
        count += shape->source[m] == member && m != member ? shape->count : 0;
    return count;
}

const struct coll_algo coll_permute_direct = {
    .kind = COLL_PERMUTE,
    .name = "direct",
    .desc = "each member pulls from its source in one step",
    .limits = COLL_ANY,
    .reduces = false,
    .nsteps = coll_one_step,
    .nmoves = coll_one_move,
    .move = move,
    .received = received,
    .sent = sent,
    .alike = coll_alike_none,
};
