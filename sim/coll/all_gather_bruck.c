/* all-gather/bruck - each member pulls everything that the member at distance 1, 2, 4, ... has.
 *
 * After step s a member has the operands of the 2^(s+1) members from itself on, cyclically; the
 * last step pulls only the missing operands, so any number of members will do.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/counts.h"
#include "coll/table.h"

/* Operands pulled in a step. */
static uint32_t pulled(uint32_t n, uint32_t step)
{
    uint32_t have = UINT32_C(1) << step;

    return n - have < have ? n - have : have;
}

/* How many pulled operands lie before the end of OUT; the rest wrap around to its beginning. */
static uint32_t before_end(uint32_t n, uint32_t peer, uint32_t count)
{
    return n - peer < count ? n - peer : count;
}

/* Step 0 also copies the member's own operand. */
static uint32_t nmoves(const struct coll_shape *shape, uint32_t member, uint32_t step)
{
    uint32_t n = shape->nmembers;
    uint32_t peer = (uint32_t)(((uint64_t)member + (UINT64_C(1) << step)) % n);
    uint32_t count = pulled(n, step);

    if (n == 1)
        return 1;
    return step == 0 ? 2 : before_end(n, peer, count) < count ? 2 : 1;
}

static void pull(const struct coll_shape *shape, uint32_t peer, uint32_t first, uint32_t count,
                 struct coll_move *out)
{
    *out = (struct coll_move){
        .peer = peer,
        .src = COLL_OUT,
        .dst = COLL_OUT,
        .src_at = first * shape->count,
        .dst_at = first * shape->count,
        .count = count * shape->count,
    };
}

static void move(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t i,
                 struct coll_move *out)
{
    uint32_t n = shape->nmembers;
    uint32_t peer = (uint32_t)(((uint64_t)member + (UINT64_C(1) << step)) % n);
    uint32_t count = pulled(n, step);
    uint32_t part = before_end(n, peer, count);

    if (step > 0) {
        pull(shape, peer, i == 0 ? peer : 0, i == 0 ? part : count - part, out);
        return;
    }
    *out = (struct coll_move){.peer = i == 0 ? member : peer,
                              .src = COLL_IN,
                              .dst = COLL_OUT,
                              .dst_at = (i == 0 ? member : peer) * shape->count,
                              .count = shape->count};
}

const struct coll_algo coll_all_gather_bruck = {
    .kind = COLL_ALL_GATHER,
    .name = "bruck",
    .desc =
        "Bruck's algorithm: each member pulls the gathered chunks of a peer at doubling distances",
    .limits = COLL_ANY,
    .reduces = false,
    .nsteps = coll_log_steps,
    .nmoves = nmoves,
    .move = move,
    .received = coll_operand_from_each,
    .sent = coll_operand_from_each,
    .alike = coll_alike_all,
};
