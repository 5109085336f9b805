/* Measuring executed strategies in rounds until replayed steps are steady (rounds.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "command/rounds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cost/steady.h"
#include "command/command.h"
#include "run/ranks/ranks.h"

struct rounds {
    struct work *work;
    struct work_item **items; /* executed with times */
    const struct record **records;
    size_t n;
    int64_t began_ns, limit_ns;
};

static int64_t elapsed_ns(const struct rounds *r)
{
    return r->work->log.now() - r->began_ns;
}

static int failed(const struct rounds *r, struct work_item *item, int status,
                  const struct shd_error *err)
{
    return cmd_is_stopped(status) ? cmd_exit_of(status) : work_failed(r->work, item, err);
}

/* Execute every strategy once more.  *whole is false when time ran out before all were: such a
 * round does not count. */
static int measure(struct rounds *r, uint32_t round, bool *whole)
{
    char line[64];

    snprintf(line, sizeof line, "measuring, round %" PRIu32 "; strategies done", round);
    for (size_t i = 0; i < r->n; i++) {
        struct shd_error err;
        int status;

        *whole = elapsed_ns(r) < r->limit_ns;
        if (!*whole)
            break;
        log_progress(&r->work->log, i, r->n, line);
        status = trial_time(&r->items[i]->trial, round, &cmd_stop_request, &err);
        if (status != SHD_OK)
            return failed(r, r->items[i], status, &err);
    }
    return CMD_OK;
}

static int replay(struct rounds *r, uint32_t nrounds)
{
    for (size_t i = 0; i < r->n; i++) {
        struct shd_error err;
        int status = trial_replay(&r->items[i]->trial, nrounds, &err);

        if (status != SHD_OK)
            return failed(r, r->items[i], status, &err);
    }
    return CMD_OK;
}

static bool is_affordable(const struct rounds *r)
{
    int64_t ns = 0;

    for (size_t i = 0; i < r->n; i++)
        ns += timing_round_ns(&r->items[i]->trial.timing);
    return r->n > 0 && ns < r->limit_ns;
}

/* Repeat rounds until the replayed steps are steady.  Items without rounds of their own are
 * replayed, too, because the rounds of other items may have timed the same work. */
static int measure_all(struct rounds *r)
{
    uint32_t nrounds = 0;
    bool whole = is_affordable(r);
    int exit = replay(r, 0);

    while (exit == CMD_OK && whole &&
           !steady_ends(r->records, r->n, nrounds, elapsed_ns(r), r->limit_ns)) {
        exit = measure(r, nrounds + 1, &whole);
        if (exit == CMD_OK && whole)
            exit = replay(r, ++nrounds);
    }
    return exit;
}

int rounds_run(struct work *work, size_t first, size_t n, int64_t limit_ns)
{
    struct rounds r = {.work = work,
                       .items = calloc(n + 1, sizeof(struct work_item *)),
                       .records = calloc(n + 1, sizeof(struct record *)),
                       .began_ns = work->log.now(),
                       .limit_ns = limit_ns};
    int exit = CMD_CANNOT;

    if (ranks_me() > 0) /* rank 0 measures, and tells */
        n = 0;
    if (!r.items || !r.records)
        log_error(&work->log, "no memory to measure the steps in rounds");
    for (size_t i = first; r.items && r.records && i < first + n; i++) {
        struct record *record = work->items[i].trial.record;

        if (!record || !record->replay)
            continue;
        r.items[r.n] = &work->items[i];
        r.records[r.n++] = record;
    }
    if (r.items && r.records)
        exit = measure_all(&r);
    free(r.items);
    free(r.records);
    return exit;
}
