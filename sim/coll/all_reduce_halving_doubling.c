/* all-reduce/halving-doubling - reduce-scatter by halves, then all-gather by doubling.
 *
 * Moves no more bytes than a ring, in few steps.  With p members taking part (pow2.h) the operand
 * is cut into p chunks; a member keeps the half of its range that contains its own chunk, until
 * only that chunk is left, and then collects the ranges back in the opposite order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/table.h"

#include "coll/pow2.h"

/* Fold, halve, double, and hand back. */
static uint32_t nsteps(const struct coll_shape *shape)
{
    struct pow2_fold f = pow2_fold(shape->nmembers, 0);

    if (shape->nmembers == 1)
        return 1;
    return 2 * f.nrounds + (f.extra ? 2 : 0);
}

static uint32_t nmoves(const struct coll_shape *shape, uint32_t member, uint32_t step)
{
    struct pow2_fold f = pow2_fold(shape->nmembers, member);
    uint32_t first = f.extra ? 1 : 0;

    if (shape->nmembers == 1)
        return 1;
    if (step < first)
        return f.folds ? 2 : f.active ? 1 : 0;
    if (step == first + 2 * f.nrounds)
        return f.active ? 0 : 1;
    if (!f.active)
        return 0;
    return step - first < f.nrounds ? 2 : 1;
}

/* Set a move to the range of the `width` chunks around `rank`. */
static void set_range(const struct coll_shape *shape, const struct pow2_fold *f, uint32_t rank,
                      uint32_t width, struct coll_move *out)
{
    uint32_t p = UINT32_C(1) << f->nrounds;
    uint32_t first = rank / width * width;

    out->src_at = out->dst_at = coll_chunk_at(shape->count, p, first);
    out->count = coll_chunk_at(shape->count, p, first + width) - out->src_at;
}

static void whole(const struct coll_shape *shape, uint32_t peer, enum coll_buf src,
                  enum coll_act act, struct coll_move *out)
{
    *out = (struct coll_move){
        .peer = peer, .src = src, .dst = COLL_OUT, .act = act, .count = shape->count};
}

/* Keep the member's own half of a range, adding the peer's partial sum. */
static void halve(const struct coll_shape *shape, uint32_t member, const struct pow2_fold *f,
                  uint32_t round, uint32_t i, struct coll_move *out)
{
    uint32_t width = UINT32_C(1) << (f->nrounds - 1 - round);
    bool operand = round == 0 && f->extra == 0;

    *out = (struct coll_move){
        .peer = i == 0 ? member : pow2_member(f, f->rank ^ width),
        .src = operand ? COLL_IN : COLL_OUT,
        .dst = COLL_OUT,
        .act = i == 0 ? COLL_COPY : COLL_COMBINE,
    };
    set_range(shape, f, f->rank, width, out);
}

static void collect(const struct coll_shape *shape, const struct pow2_fold *f, uint32_t round,
                    struct coll_move *out)
{
    uint32_t width = UINT32_C(1) << round;

    *out = (struct coll_move){
        .peer = pow2_member(f, f->rank ^ width), .src = COLL_OUT, .dst = COLL_OUT};
    set_range(shape, f, f->rank ^ width, width, out);
}

/* The folding step also copies the operands of members that fold nothing, so that all active
 * members have theirs in OUT. */
static void move(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t i,
                 struct coll_move *out)
{
    struct pow2_fold f = pow2_fold(shape->nmembers, member);
    uint32_t first = f.extra ? 1 : 0;

    if (shape->nmembers == 1)
        whole(shape, member, COLL_IN, COLL_COPY, out);
    else if (step < first)
        whole(shape, i == 0 ? member - (f.folds ? 1 : 0) : member, COLL_IN,
              i == 0 ? COLL_COPY : COLL_COMBINE, out);
    else if (step == first + 2 * f.nrounds)
        whole(shape, member + 1, COLL_OUT, COLL_COPY, out);
    else if (step - first < f.nrounds)
        halve(shape, member, &f, step - first, i, out);
    else
        collect(shape, &f, step - first - f.nrounds, out);
}

/* Halving receives the ranges around the member's chunk, from half the operand down to one chunk;
 * doubling receives all other chunks.  The member sends as much: the other halves, then its own
 * ranges. */
static uint64_t received(const struct coll_shape *shape, uint32_t member)
{
    struct pow2_fold f = pow2_fold(shape->nmembers, member);
    uint32_t p = UINT32_C(1) << f.nrounds;
    struct coll_move range;
    uint64_t count = f.folds ? shape->count : 0;

    if (!f.active)
        return shape->count;
    for (uint32_t width = p / 2; width > 0; width /= 2) {
        set_range(shape, &f, f.rank, width, &range);
        count += range.count;
    }
    return count + shape->count - coll_chunk_count(shape->count, p, f.rank);
}

static uint32_t alike(const struct coll_shape *shape, uint32_t member)
{
    struct pow2_fold f = pow2_fold(shape->nmembers, member);

    if (member < 2 * f.extra || shape->count % (UINT64_C(1) << f.nrounds) != 0)
        return member + 1;
    return shape->nmembers;
}

const struct coll_algo coll_all_reduce_halving_doubling = {
    .kind = COLL_ALL_REDUCE,
    .name = "halving-doubling",
    .desc = "halves are reduced at halving distances, then collected",
    .limits = COLL_ANY,
    .reduces = true,
    .nsteps = nsteps,
    .nmoves = nmoves,
    .move = move,
    .received = received,
    .sent = received,
    .alike = alike,
};
