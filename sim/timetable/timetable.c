/* Building timetables from schedules, and printing actions (timetable.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "timetable/timetable.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "timetable/row.h"

const char *timetable_kind_letter(enum timetable_kind kind)
{
    static const char *const letters[TIMETABLE_KINDS] = {"F", "B", "I", "W"};

    return letters[kind];
}

const char *timetable_print_action(char *buf, size_t size, const struct timetable_action *action)
{
    snprintf(buf, size, "%u%s%u", (unsigned)action->stage, timetable_kind_letter(action->kind),
             (unsigned)action->microbatch);
    return buf;
}

/* ---- adding actions to a row ---- */

/* Most actions of a stage for one microbatch: a forward, an input and a weight gradient. */
#define PER_MICROBATCH 3

static uint64_t room_of(const struct timetable_sizes *s)
{
    return (uint64_t)s->stages_per_rank * s->nmicrobatches * PER_MICROBATCH;
}

void timetable_add(struct timetable_row *row, enum timetable_kind kind, uint32_t stage,
                   uint32_t microbatch)
{
    assert(row->nactions < room_of(&row->sizes));
    row->actions[row->nactions++] =
        (struct timetable_action){stage, microbatch, (uint8_t)kind, false};
}

void timetable_add_overlapped(struct timetable_row *row, const struct timetable_action *forward,
                              const struct timetable_action *backward)
{
    timetable_add(row, TIMETABLE_FORWARD, forward->stage, forward->microbatch);
    row->actions[row->nactions - 1].overlapped = true;
    timetable_add(row, TIMETABLE_BACKWARD, backward->stage, backward->microbatch);
}

/* ---- timetables ---- */

void timetable_destroy(struct timetable *t)
{
    if (!t)
        return;
    free(t->rank_of_stage);
    free(t->first);
    free(t->actions);
    free(t);
}

size_t timetable_nactions(const struct timetable *t)
{
    return t->first[t->nranks];
}

static int check(const struct timetable_schedule *schedule, const struct timetable_sizes *s,
                 struct shd_error *err)
{
    uint64_t stages = (uint64_t)s->nranks * s->stages_per_rank;

    if (s->nranks < 1 || s->stages_per_rank < 1 || s->nmicrobatches < 1)
        return shd_error_set(err, SHD_EINVAL,
                             "%u ranks of %u stages and %u microbatches; expected at least one of "
                             "each",
                             (unsigned)s->nranks, (unsigned)s->stages_per_rank,
                             (unsigned)s->nmicrobatches);
    if (stages > TIMETABLE_STAGES_MAX || stages * s->nmicrobatches > TIMETABLE_PLACES_MAX)
        return shd_error_set(err, SHD_ERANGE,
                             "a timetable of %llu stages and %u microbatches is too large; "
                             "expected at most %u stages, and stages times microbatches at most %u",
                             (unsigned long long)stages, (unsigned)s->nmicrobatches,
                             TIMETABLE_STAGES_MAX, TIMETABLE_PLACES_MAX);
    return timetable_check(schedule, s, err);
}

/* Fill rank by rank; a rank's actions begin where those of the rank before end. */
static void fill(struct timetable *t, const struct timetable_schedule *schedule,
                 const struct timetable_sizes *sizes)
{
    uint32_t p = sizes->nranks;

    for (uint32_t s = 0; s < t->nstages; s++)
        t->rank_of_stage[s] = schedule->flags & TIMETABLE_V_SHAPED && s >= p ? 2 * p - 1 - s : s % p;
    t->first[0] = 0;
    for (uint32_t r = 0; r < p; r++) {
        struct timetable_row row = {schedule, *sizes, r, t->actions + t->first[r], 0};

        schedule->order(&row);
        t->first[r + 1] = t->first[r] + row.nactions;
    }
}

/* Give back the room that a schedule without split backwards does not need. */
static void trim(struct timetable *t)
{
    struct timetable_action *less = realloc(t->actions, timetable_nactions(t) * sizeof *t->actions);

    if (less)
        t->actions = less;
}

int timetable_build(struct timetable **out, const struct timetable_schedule *schedule,
                    const struct timetable_sizes *sizes, struct shd_error *err)
{
    struct timetable *t;
    int status = check(schedule, sizes, err);

    if (status != SHD_OK)
        return status;
    t = calloc(1, sizeof *t);
    if (!t)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a timetable");
    t->nranks = sizes->nranks;
    t->nstages = sizes->nranks * sizes->stages_per_rank;
    t->nmicrobatches = sizes->nmicrobatches;
    t->rank_of_stage = calloc(t->nstages, sizeof *t->rank_of_stage);
    t->first = calloc((size_t)t->nranks + 1, sizeof *t->first);
    t->actions = malloc(sizes->nranks * (size_t)room_of(sizes) * sizeof *t->actions);
    if (!t->rank_of_stage || !t->first || !t->actions) {
        timetable_destroy(t);
        return shd_error_set(err, SHD_ENOMEM, "no memory for the timetable of %u ranks",
                             (unsigned)sizes->nranks);
    }
    fill(t, schedule, sizes);
    trim(t);
    *out = t;
    return SHD_OK;
}
