/* ZBVZeroBubble - two stages a rank in the shape of a V, with weight gradients in the gaps.
 *
 * Rank r holds stages r and 2p - 1 - r: a microbatch goes down the ranks and up again, so that its
 * first and last stages are on rank 0, which gets the first gradient.  In the steady state every
 * rank does forward, input gradient and weight gradient of one stage, then of the other; at the end
 * weight gradients are put off behind the input gradients that other ranks wait for.  With F = I =
 * W the ranks only begin and end at different times; each is busy from its first action to its
 * last, and holds as much as the first rank of 1F1B.
 *
 * Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241, section 6 (ZB-V).  Two stages a
 * rank; any number of microbatches: with fewer than 2p - 1 the order is that of 2p - 1 without the
 * actions of the missing microbatches.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "timetable/bubble.h"
#include "timetable/row.h"
#include "timetable/table.h"

/* The next microbatch of each kind of action, for one of a rank's two stages. */
struct progress {
    uint32_t stage;
    uint32_t next[TIMETABLE_KINDS];
};

static int check(const struct timetable_sizes *sizes, struct shd_error *err)
{
    uint64_t p = sizes->nranks;

    /* order() goes through at least 2p - 1 microbatches. */
    if (2 * p * (2 * p - 1) <= TIMETABLE_PLACES_MAX)
        return SHD_OK;
    return shd_error_set(err, SHD_ERANGE,
                         "%s of %llu ranks is too large; expected 2p (2p - 1) to be at most %u",
                         timetable_zbv.name, (unsigned long long)p, TIMETABLE_PLACES_MAX);
}

static void add(struct timetable_row *row, struct progress *at, enum timetable_kind kind)
{
    uint32_t m = at->next[kind]++;

    if (m < row->sizes.nmicrobatches)
        timetable_add(row, kind, at->stage, m);
}

static void add_backward(struct timetable_row *row, struct progress *at)
{
    add(row, at, TIMETABLE_BACKWARD_INPUT);
    add(row, at, TIMETABLE_BACKWARD_WEIGHT);
}

/* Forwards of `down`, the stage on the way down, until the first microbatch is back; then `up`
 * takes turns with `down`, and at last does forwards and backwards in turns. */
static void warm_up(struct timetable_row *row, struct progress *down, struct progress *up)
{
    uint32_t behind = row->sizes.nranks - row->rank; /* ranks from this one to the last */

    for (uint32_t i = 0; i < 2 * behind - 1; i++)
        add(row, down, TIMETABLE_FORWARD);
    for (uint32_t i = 0; i < row->rank; i++) {
        add(row, up, TIMETABLE_FORWARD);
        add(row, down, TIMETABLE_FORWARD);
    }
    for (uint32_t i = 0; i < behind; i++) {
        add(row, up, TIMETABLE_FORWARD);
        add_backward(row, up);
    }
}

static void steady(struct timetable_row *row, struct progress *down, struct progress *up,
                   uint32_t nmicrobatches)
{
    while (up->next[TIMETABLE_FORWARD] < nmicrobatches) {
        if (down->next[TIMETABLE_FORWARD] < nmicrobatches)
            add(row, down, TIMETABLE_FORWARD);
        add_backward(row, down);
        add(row, up, TIMETABLE_FORWARD);
        add_backward(row, up);
    }
}

static void cool_down(struct timetable_row *row, struct progress *down, struct progress *up)
{
    for (uint32_t i = 0; i < row->rank; i++) {
        add(row, down, TIMETABLE_BACKWARD_INPUT);
        add(row, up, TIMETABLE_BACKWARD_INPUT);
    }
    for (uint32_t i = row->rank; i < row->sizes.nranks; i++)
        add_backward(row, down);
    while (up->next[TIMETABLE_BACKWARD_WEIGHT] < up->next[TIMETABLE_BACKWARD_INPUT])
        add(row, up, TIMETABLE_BACKWARD_WEIGHT);
    while (down->next[TIMETABLE_BACKWARD_WEIGHT] < down->next[TIMETABLE_BACKWARD_INPUT])
        add(row, down, TIMETABLE_BACKWARD_WEIGHT);
}

static void order(struct timetable_row *row)
{
    uint32_t p = row->sizes.nranks, full = 2 * p - 1;
    struct progress down = {row->rank, {0}}, up = {2 * p - 1 - row->rank, {0}};

    warm_up(row, &down, &up);
    steady(row, &down, &up, row->sizes.nmicrobatches > full ? row->sizes.nmicrobatches : full);
    cool_down(row, &down, &up);
}

static double idle(const struct timetable_sizes *sizes, const struct timetable_times *times)
{
    return (sizes->nranks - 1) * times->forward;
}

static bool holds(const struct timetable_sizes *sizes, const struct timetable_times *times)
{
    return timetable_even(times) && sizes->nmicrobatches >= 2 * sizes->nranks - 1;
}

const struct timetable_schedule timetable_zbv = {
    .name = "ZBVZeroBubble",
    .desc = "two stages per rank in a V, weight gradients delayed into the bubble",
    .source = "Qi et al., arXiv:2401.10241",
    .stages_per_rank = 2,
    .flags = TIMETABLE_V_SHAPED | TIMETABLE_SPLITS | TIMETABLE_IN_TORCHTITAN,
    .bubble = {"(p-1)F", "F = I = W, m >= 2p-1", idle, holds},
    .check = check,
    .order = order,
};
