/* scatter/tree - a member with chunks hands the farther half of them on: a binomial tree.
 *
 * Members count from the root on, cyclically.  At each distance 2^k, from the largest down, the
 * member 2^k behind a member with chunks pulls its own chunk and those of the members behind it,
 * which it keeps in TMP, one per slot.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/counts.h"
#include "coll/table.h"

#include "coll/pow2.h"
#include "coll/tree.h"

/* Chunks pulled, one a move; the root copies its own in step 0. */
static uint32_t nmoves(const struct coll_shape *shape, uint32_t member, uint32_t step)
{
    uint32_t rank = tree_rank(shape, member);
    uint32_t distance = UINT32_C(1) << (coll_log_steps(shape) - 1 - step);
    uint32_t left = shape->nmembers - rank;

    if (rank == 0)
        return step == 0 ? 1 : 0;
    if (rank % (2 * distance) != distance)
        return 0;
    return left < distance ? left : distance;
}

/* The longest chunk. */
static uint64_t slot_count(const struct coll_shape *shape)
{
    return coll_chunk_count(shape->count, shape->nmembers, 0);
}

static uint64_t tmp_count(const struct coll_shape *shape)
{
    uint32_t n = shape->nmembers;

    return n > 2 ? (UINT64_C(1) << (pow2_ceil_log(n) - 1)) * slot_count(shape) : 0;
}

static void move(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t i,
                 struct coll_move *out)
{
    uint32_t n = shape->nmembers;
    uint32_t rank = tree_rank(shape, member);
    uint32_t distance = rank ? UINT32_C(1) << (coll_log_steps(shape) - 1 - step) : 0;
    uint32_t chunk = (uint32_t)(((uint64_t)rank + i + shape->root) % n);
    bool at_root = rank == distance;

    *out = (struct coll_move){
        .peer = (rank - distance + shape->root) % n,
        .src = at_root ? COLL_IN : COLL_TMP,
        .dst = i == 0 ? COLL_OUT : COLL_TMP,
        .src_at =
            at_root ? coll_chunk_at(shape->count, n, chunk) : (distance + i) * slot_count(shape),
        .dst_at = i * slot_count(shape),
        .count = coll_chunk_count(shape->count, n, chunk),
    };
}

/* Elements of the chunks of a rank's subtree. */
static uint64_t handed(const struct coll_shape *shape, uint32_t rank)
{
    uint32_t n = shape->nmembers;
    uint32_t first = (uint32_t)(((uint64_t)rank + shape->root) % n);
    uint64_t end = (uint64_t)first + tree_size(shape, rank);

    if (end <= n)
        return coll_chunk_at(shape->count, n, (uint32_t)end) -
               coll_chunk_at(shape->count, n, first);
    return shape->count - coll_chunk_at(shape->count, n, first) +
           coll_chunk_at(shape->count, n, (uint32_t)(end - n));
}

static uint64_t received(const struct coll_shape *shape, uint32_t member)
{
    return member == shape->root ? 0 : handed(shape, tree_rank(shape, member));
}

static uint64_t sent(const struct coll_shape *shape, uint32_t member)
{
    return handed(shape, tree_rank(shape, member)) -
           coll_chunk_count(shape->count, shape->nmembers, member);
}

const struct coll_algo coll_scatter_tree = {
    .kind = COLL_SCATTER,
    .name = "tree",
    .desc = "a binomial tree: chunks are handed on, the farther half first",
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
