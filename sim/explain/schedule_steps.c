/* Likeness of a schedule's steps (schedule_steps.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "explain/schedule_steps.h"

#define STEPS_MAX 8 /* so many are all shown */

bool steps_is_received(uint32_t member, const struct coll_move *move)
{
    return move->peer != member && move->count > 0 && move->act != COLL_ZERO;
}

struct steps_reads steps_count(const struct steps *s, uint32_t step)
{
    struct steps_reads reads = {0, 0, false};

    for (uint32_t m = 0; m < s->shape.nmembers; m++)
        for (uint32_t i = 0; i < s->algo->nmoves(&s->shape, m, step); i++) {
            struct coll_move move;

            s->algo->move(&s->shape, m, step, i, &move);
            reads.sums |= move.act == COLL_COMBINE;
            if (!steps_is_received(m, &move))
                continue;
            reads.n++;
            reads.elements += move.count;
        }
    return reads;
}

/* Whether the same members send to the same ones in a step and the one before it. */
static bool is_same_sends(const struct steps *s, uint32_t step)
{
    for (uint32_t m = 0; m < s->shape.nmembers; m++)
        for (uint32_t i = 0; i < s->algo->nmoves(&s->shape, m, step); i++) {
            struct coll_move move, before;

            if (i >= s->algo->nmoves(&s->shape, m, step - 1))
                return false;
            s->algo->move(&s->shape, m, step, i, &move);
            s->algo->move(&s->shape, m, step - 1, i, &before);
            if (move.peer != before.peer || move.count != before.count)
                return false;
        }
    return true;
}

enum steps_likeness steps_likeness(const struct steps *s, uint32_t step)
{
    struct steps_reads reads, before;

    if (step == 0 || step == s->nsums)
        return STEPS_OTHER;
    reads = steps_count(s, step);
    before = steps_count(s, step - 1);
    if (reads.n != before.n || reads.elements != before.elements || reads.sums != before.sums)
        return STEPS_OTHER;
    return is_same_sends(s, step) ? STEPS_SAME_SENDS : STEPS_ALIKE;
}

bool steps_is_shown(const struct steps *s, uint32_t step)
{
    uint32_t nsteps = s->algo->nsteps(&s->shape);

    return nsteps <= STEPS_MAX || steps_likeness(s, step) == STEPS_OTHER || step + 1 == nsteps ||
           steps_likeness(s, step + 1) == STEPS_OTHER;
}

bool steps_is_halfway(const struct steps *s, uint32_t step)
{
    uint32_t from = step, to = step, nsteps = s->algo->nsteps(&s->shape);

    while (!steps_is_shown(s, from))
        from--;
    while (to + 1 < nsteps && !steps_is_shown(s, to))
        to++;
    return step == from + (to - from) / 2;
}
