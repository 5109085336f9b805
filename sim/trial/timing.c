/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "trial/timing.h"

#include <stdlib.h>

#include "cost/steady.h"

/* Count the devices with a work that no earlier device has. */
static bool count_walkers(struct timing *t)
{
    bool *seen = calloc((size_t)works_count(t->works) + 1, sizeof *seen);
    size_t nops = t->record->program->nops;

    for (int32_t d = 0; seen && d < t->record->ndevices; d++) {
        bool new = false;

        for (size_t at = (size_t)d * nops; at < ((size_t)d + 1) * nops; at++)
            if (t->ids[at] != WORKS_NONE && !seen[t->ids[at]])
                new = seen[t->ids[at]] = true;
        t->nwalkers += new;
    }
    if (!seen)
        return false;
    free(seen);
    return true;
}

int timing_init(struct timing *out, struct record *record, struct works *shared,
                struct shd_error *err)
{
    struct timing t = {.works = shared, .owned = !shared, .record = record};
    int status;

    if (t.owned)
        t.works = works_create();
    if (!t.works)
        return shd_error_set(err, SHD_ENOMEM, "no memory for times");
    status = works_number(&t.ids, t.works, record->program, err);
    if (status == SHD_OK && !count_walkers(&t))
        status = shd_error_set(err, SHD_ENOMEM, "no memory for times");
    if (status == SHD_OK)
        *out = t;
    else
        timing_fini(&t);
    return status;
}

void timing_fini(struct timing *timing)
{
    if (timing->owned)
        works_destroy(timing->works);
    free(timing->ids);
    *timing = (struct timing){.works = NULL};
}

static void take(struct timing *t, uint32_t column, int32_t first, int32_t stride)
{
    works_take(t->works, column, t->ids, t->walked, first, stride);
}

/* A walk_repeated_fn: take the times of a repeat. */
static void take_repeat(void *arg, uint32_t repeat)
{
    struct timing *t = arg;
    uint32_t nwarm = t->repeats > 1, n = t->repeats - nwarm;

    if (repeat < nwarm)
        return;
    if (t->round > 0) {
        take(t, t->round + 1, t->device, t->record->ndevices);
        return;
    }
    t->nmeasured++;
    if (n == 1) {
        take(t, 0, 0, 2);
        take(t, 1, 1, 2);
    } else {
        take(t, 2 * (repeat - nwarm) >= n, 0, 1);
    }
}

void timing_watch(struct timing *timing, struct walk_opts *opts)
{
    timing->round = 0;
    timing->walked = timing->record;
    timing->repeats = opts->repeats ? opts->repeats : 1;
    opts->repeated = take_repeat;
    opts->repeated_arg = timing;
}

/* Whether the device has a work that is not yet measured in the round. */
static bool has_unseen(const struct timing *t, int32_t device)
{
    size_t nops = t->record->program->nops;
    const uint32_t *ids = t->ids + (size_t)device * nops;

    for (size_t i = 0; i < nops; i++)
        if (ids[i] != WORKS_NONE && works_least(t->works, ids[i], t->round + 1, t->round + 2) < 0)
            return true;
    return false;
}

int64_t timing_round_ns(const struct timing *timing)
{
    const struct record *r = timing->record;

    return r->cpu_ns / r->ndevices * timing->nwalkers * TIMING_ROUND_REPEATS;
}

/* Measure a round in a record of its own: bytes and flops of single devices are not those of the
 * step. */
int timing_round(struct timing *timing, uint32_t round, const struct walk_opts *opts,
                 struct shd_error *err)
{
    struct walk_opts own = *opts;
    struct record *record;
    int status = record_create(&record, timing->record->program, RECORD_EXECUTED, true, err);

    if (status != SHD_OK)
        return status;
    own.repeats = TIMING_ROUND_REPEATS;
    timing_watch(timing, &own);
    timing->round = round;
    timing->walked = record;
    for (int32_t d = 0; d < record->ndevices && status == SHD_OK; d++) {
        timing->device = d;
        if (has_unseen(timing, d))
            status = walk_alone(record, d, &own, err);
    }
    record_destroy(record);
    return status;
}

/* Whether there are two columns to compare: with one device and one repeat, the spread is
 * unknown. */
static bool has_halves(const struct timing *t, uint32_t nrounds)
{
    return nrounds > 0 || t->nmeasured > 1 || t->record->ndevices > 1;
}

int timing_replay(struct timing *timing, uint32_t nrounds, const struct record_transfers *transfers,
                  struct shd_error *err)
{
    uint32_t from = nrounds >= 2 ? 2 : 0, to = has_halves(timing, nrounds) ? nrounds + 2 : 1;
    uint32_t before = from == 0 ? timing->nmeasured : 0;
    int status =
        steady_replay(timing->record, transfers, timing->works, timing->ids, from, to, err);

    if (status == SHD_OK)
        timing->record->replay->repeats = before + nrounds * (TIMING_ROUND_REPEATS - 1);
    return status;
}
