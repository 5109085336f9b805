/* Trying strategies for a comparison side by side (sides.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "command/sides.h"

#include <stdlib.h>

#include "command/command.h"
#include "command/rounds.h"

/* Either all are executed or none; tells why none is. */
static enum record_mode choose_mode(struct sides *s)
{
    double flops = 0;

    if (s->plan)
        return RECORD_PLANNED;
    for (size_t i = 0; i < s->work->nitems; i++) {
        const struct work_item *item = &s->work->items[i];
        const char *why = work_too_much(item, &flops);

        if (!why)
            continue;
        log_note(&s->work->log, "planned, not executed: %s %s", item->scenario->strategy, why);
        return RECORD_PLANNED;
    }
    return RECORD_EXECUTED;
}

/* A strategy that may not be executed because of its memory limit is planned: then it is shown not
 * to fit. */
static enum record_mode mode_of(const struct work_item *item, enum record_mode mode)
{
    return trial_fits(&item->trial) ? mode : RECORD_PLANNED;
}

static int try_items(struct sides *s, size_t base)
{
    struct work *w = s->work;
    struct compare *compare = &s->compare;
    enum record_mode mode = choose_mode(s);
    int exit = CMD_OK, measured;

    *compare =
        (struct compare){.results = s->results, .skipped = s->skipped, .nskipped = w->nskipped};
    for (size_t i = 0; i < w->nskipped; i++)
        s->skipped[i] = (struct compare_skipped){
            w->skipped[i].scenario->name, w->skipped[i].scenario->strategy, w->skipped[i].why};
    log_progress_begin(&w->log);
    for (size_t i = 0; i < w->nitems && exit < CMD_USAGE; i++) {
        struct result *result = &s->results[compare->nresults];

        w->items[i].trial.works = s->works;
        w->items[i].trial.memory = s->memory;
        exit = cmd_worse(exit, work_try(w, &w->items[i], mode_of(&w->items[i], mode), result));
        if (!result->record)
            continue;
        if (i == base)
            compare->base = compare->nresults;
        compare->nresults++;
    }
    measured = exit < CMD_USAGE ? rounds_run(w, 0, w->nitems, s->limit_ns) : CMD_OK;
    log_progress_end(&w->log);
    return cmd_worse(exit, measured);
}

int sides_try(struct sides *s, size_t base)
{
    s->results = calloc(s->work->nitems, sizeof *s->results);
    s->skipped = calloc(s->work->nskipped + 1, sizeof *s->skipped);
    s->works = works_create();
    if (s->results && s->skipped && s->works)
        return try_items(s, base);
    log_error(&s->work->log, "no memory for the comparison");
    return CMD_CANNOT;
}

void sides_fini(struct sides *s)
{
    free(s->results);
    free(s->skipped);
    works_destroy(s->works);
}

int sides_tell_fit(struct sides *s)
{
    struct work *w = s->work;
    struct work_item *least = &w->items[0];

    for (size_t i = 0; i < w->nitems; i++) {
        if (trial_fits(&w->items[i].trial))
            return CMD_OK;
        if (program_peak_bytes(w->items[i].trial.program) <
            program_peak_bytes(least->trial.program))
            least = &w->items[i];
    }
    return work_tell_fit(w, least);
}
