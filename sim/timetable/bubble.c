/* Closed forms of the bubble that several schedules share, and their conditions (bubble.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "timetable/bubble.h"

double timetable_ramps(const struct timetable_sizes *s, const struct timetable_times *t)
{
    return (s->nranks - 1) * (t->forward + t->backward);
}

double timetable_filled_ramps(const struct timetable_sizes *s, const struct timetable_times *t)
{
    return (s->nranks - 1) * (t->forward + t->backward_input - t->backward_weight);
}

bool timetable_always(const struct timetable_sizes *sizes, const struct timetable_times *times)
{
    (void)sizes;
    (void)times;
    return true;
}

bool timetable_loop_is_full(const struct timetable_sizes *s, const struct timetable_times *times)
{
    (void)times;
    return s->stages_per_rank == 1 || s->nmicrobatches >= s->nranks;
}

bool timetable_even(const struct timetable_times *t)
{
    return t->forward == t->backward_input && t->forward == t->backward_weight &&
           t->backward == t->backward_input + t->backward_weight;
}

bool timetable_even_and_full(const struct timetable_sizes *s, const struct timetable_times *t)
{
    return timetable_even(t) && s->nmicrobatches >= s->nranks;
}
