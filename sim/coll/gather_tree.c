/* gather/tree - operands are collected on the way to the root: a binomial tree.
 *
 * Members count from the root on, cyclically.  In step s every 2^(s+1)-th member pulls from the
 * member 2^s behind: that member's operand, and the operands of members behind it, which it has in
 * TMP.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/counts.h"
#include "coll/table.h"

#include "coll/pow2.h"
#include "coll/tree.h"

/* Operands pulled, one a move; the root also copies its own in step 0. */
static uint32_t nmoves(const struct coll_shape *shape, uint32_t member, uint32_t step)
{
    uint32_t rank = tree_rank(shape, member);
    uint32_t distance = UINT32_C(1) << step;
    uint32_t own = rank == 0 && step == 0 ? 1 : 0;
    uint32_t left = shape->nmembers - rank;

    if (rank % (2 * distance) != 0 || distance >= left)
        return own;
    return own + (left - distance < distance ? left - distance : distance);
}

static uint64_t tmp_count(const struct coll_shape *shape)
{
    uint32_t n = shape->nmembers;

    return n > 2 ? (UINT64_C(1) << (pow2_ceil_log(n) - 1)) * shape->count : 0;
}

static void move(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t i,
                 struct coll_move *out)
{
    uint32_t n = shape->nmembers;
    uint32_t rank = tree_rank(shape, member);
    uint32_t own = rank == 0 && step == 0 ? 1 : 0; /* the last move */
    bool last = own && i + 1 == nmoves(shape, member, step);
    uint32_t distance = UINT32_C(1) << step;
    uint32_t slot = last ? 0 : distance + i; /* number of the operand: distance of its owner
                                                behind this member */
    uint32_t peer = last ? member : (uint32_t)(((uint64_t)rank + distance + shape->root) % n);

    *out = (struct coll_move){
        .peer = peer,
        .src = i == 0 || last ? COLL_IN : COLL_TMP,
        .dst = rank == 0 ? COLL_OUT : COLL_TMP,
        .src_at = i == 0 || last ? 0 : i * shape->count,
        .dst_at =
            (rank == 0 ? (uint32_t)(((uint64_t)slot + shape->root) % n) : slot) * shape->count,
        .count = shape->count,
    };
}

static uint64_t received(const struct coll_shape *shape, uint32_t member)
{
    return (tree_size(shape, tree_rank(shape, member)) - 1) * shape->count;
}

static uint64_t sent(const struct coll_shape *shape, uint32_t member)
{
    return member == shape->root ? 0 : received(shape, member) + shape->count;
}

const struct coll_algo coll_gather_tree = {
    .kind = COLL_GATHER,
    .name = "tree",
    .desc = "a binomial tree: parts are collected on the way to the root",
    .limits = COLL_ANY,
    .reduces = false,
    .nsteps = coll_log_steps,
    .nmoves = nmoves,
    .move = move,
    .received = received,
    .sent = sent,
    .alike = coll_alike_none,
    .tmp_count = tmp_count,
};
