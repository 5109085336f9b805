/* all-reduce/recursive-doubling - pairs exchange their partial sums, at distances 1, 2, 4, ...
 *
 * Fewest steps, for small operands.  Members beyond a power of two hand their operands over first
 * (pow2.h).  A member's partial sum alternates between two halves of TMP: one is written while the
 * peer reads the other.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/table.h"

#include "coll/pow2.h"

/* Fold or copy, exchange, and hand back. */
static uint32_t nsteps(const struct coll_shape *shape)
{
    struct pow2_fold f = pow2_fold(shape->nmembers, 0);

    return 1 + f.nrounds + (f.extra ? 1 : 0);
}

static uint32_t nmoves(const struct coll_shape *shape, uint32_t member, uint32_t step)
{
    struct pow2_fold f = pow2_fold(shape->nmembers, member);

    if (step > f.nrounds)
        return f.active ? 0 : 1;
    if (!f.active)
        return 0;
    return step == 0 && !f.folds ? 1 : 2;
}

static uint64_t tmp_count(const struct coll_shape *shape)
{
    return shape->nmembers > 1 ? 2 * shape->count : 0;
}

static void first_step(const struct coll_shape *shape, uint32_t member, uint32_t i, bool folds,
                       struct coll_move *out)
{
    *out = (struct coll_move){
        .peer = folds && i == 0 ? member - 1 : member,
        .src = COLL_IN,
        .dst = shape->nmembers > 1 ? COLL_TMP : COLL_OUT,
        .act = i == 0 ? COLL_COPY : COLL_COMBINE,
        .count = shape->count,
    };
}

static void move(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t i,
                 struct coll_move *out)
{
    struct pow2_fold f = pow2_fold(shape->nmembers, member);
    bool last = step == f.nrounds;

    if (step == 0) {
        first_step(shape, member, i, f.folds, out);
        return;
    }
    if (step > f.nrounds) {
        *out = (struct coll_move){
            .peer = member + 1, .src = COLL_OUT, .dst = COLL_OUT, .count = shape->count};
        return;
    }
    *out = (struct coll_move){
        .peer = i == 0 ? pow2_member(&f, f.rank ^ UINT32_C(1) << (step - 1)) : member,
        .src = COLL_TMP,
        .dst = last ? COLL_OUT : COLL_TMP,
        .act = i == 0 ? COLL_COPY : COLL_COMBINE,
        .src_at = (step - 1) % 2 * shape->count,
        .dst_at = last ? 0 : step % 2 * shape->count,
        .count = shape->count,
    };
}

/* A member that folds receives one operand more, and gives the result back; a member that hands
 * over sends one operand and receives the result. */
static uint64_t received(const struct coll_shape *shape, uint32_t member)
{
    struct pow2_fold f = pow2_fold(shape->nmembers, member);

    return shape->count * (f.active ? f.nrounds + (f.folds ? 1 : 0) : 1);
}

static uint32_t alike(const struct coll_shape *shape, uint32_t member)
{
    return member < 2 * pow2_fold(shape->nmembers, member).extra ? member + 1 : shape->nmembers;
}

const struct coll_algo coll_all_reduce_recursive_doubling = {
    .kind = COLL_ALL_REDUCE,
    .name = "recursive-doubling",
    .desc = "pairs exchange all they have, at doubling distances",
    .limits = COLL_ANY,
    .reduces = true,
    .nsteps = nsteps,
    .nmoves = nmoves,
    .move = move,
    .received = received,
    .sent = received,
    .alike = alike,
    .tmp_count = tmp_count,
};
