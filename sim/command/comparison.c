/* Comparing strategies (comparison.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "command/comparison.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/units.h"
#include "command/command.h"
#include "command/picture.h"
#include "command/sides.h"
#include "command/sweep.h"
#include "run/ranks/ranks.h"
#include "report/compare_picture.h"
#include "report/host.h"
#include "report/modelled.h"

#define SECOND_NS INT64_C(1000000000)
#define FAILURES_TOLD 8 /* strategies named one by one */

/* "WHERE: STRATEGY", or WHERE alone for the strategy that has no name. */
static bool is_name_in(const char *where, const struct scenario *s, const char *name)
{
    size_t length = strlen(where);

    if (strncmp(where, name, length) != 0)
        return false;
    return !strncmp(name + length, ": ", 2)
               ? !strcmp(name + length + 2, s->strategy)
               : !name[length] && !strcmp(s->strategy, SCENARIO_DEFAULT_STRATEGY);
}

static bool is_name(const struct scenario *s, const char *name)
{
    return !strcmp(s->strategy, name) || is_name_in(s->name, s, name) ||
           is_name_in(s->place.file, s, name);
}

/* The base's item; false, with a message, when there is none of that name. */
static bool find_base(struct comparison *o, size_t *base)
{
    struct nearest near;

    *base = 0;
    if (!o->base)
        return true;
    nearest_init(&near, o->base);
    for (size_t i = 0; i < o->work.nitems; i++) {
        if (is_name(o->work.items[i].scenario, o->base)) {
            *base = i;
            return true;
        }
        nearest_add(&near, o->work.items[i].scenario->strategy);
        nearest_add(&near, o->work.items[i].scenario->name);
    }
    log_error(&o->work.log, "there is no strategy '%s' to compare with%s", o->base,
              nearest_hint(&near).text);
    return false;
}

static int draw(struct comparison *o, const struct compare *compare)
{
    struct text svg = TEXT_INIT;
    struct shd_error err;
    int status = compare_picture(&svg, compare, &err);

    if (status == SHD_OK)
        return picture_put(o->path, &svg);
    text_fini(&svg);
    return cmd_refused(&err);
}

/* Print failures on stderr when the table goes to a file, with its words. */
static void tell_failures(struct comparison *o, const struct compare *compare)
{
    size_t told = 0;

    for (size_t i = 0; i < compare->nresults; i++) {
        const struct result *r = &compare->results[i];
        uint128 peak = record_balance_of(r->record, r->record->peak_bytes).max;

        bool is_wrong = r->record->verified && !record_verified_ok(r->record);
        bool is_over = r->memory_limit_bytes > 0 && peak > r->memory_limit_bytes;
        bool is_full = !is_over && !modelled_fits(r->record);

        if ((!is_wrong && !is_over && !is_full) || told++ >= FAILURES_TOLD)
            continue;
        if (is_wrong)
            log_error(&o->work.log, "%s: %s: wrong results", r->file, r->strategy);
        if (is_over)
            log_error(&o->work.log, "%s: %s: needs %s per device, more than limits.memory, %s",
                      r->file, r->strategy, units_print_bytes(peak).text,
                      units_print_bytes(r->memory_limit_bytes).text);
        if (is_full && modelled_device_fits(r->record))
            log_error(&o->work.log,
                      "%s: %s: a node needs %s of host memory, more than the cluster has", r->file,
                      r->strategy, units_print_bytes(host_node_bytes(r->record)).text);
        else if (is_full)
            log_error(
                &o->work.log,
                "%s: %s: needs %s per device beside the runtime's own, more than the cluster has",
                r->file, r->strategy, units_print_bytes(peak).text);
    }
    if (told > FAILURES_TOLD)
        log_error(&o->work.log, "%zu further strategies are wrong or do not fit",
                  told - FAILURES_TOLD);
}

static int write_table(struct comparison *o, const struct compare *compare)
{
    struct text text = TEXT_INIT;
    struct screen screen;
    struct shd_error err;
    int status, exit;

    screen_init(&screen, stdout, o->path && o->colour == SCREEN_AUTO ? SCREEN_NEVER : o->colour);
    status = compare_print(compare, o->format, &screen, &text, &err);
    exit = work_put(&o->work, o->path, &text, status, &err);
    text_fini(&text);
    return exit;
}

/* Draw the comparison if the output file is a picture; else write a table. */
static int print(struct comparison *o, struct compare *compare)
{
    compare->columns = o->has_columns ? o->columns : NULL;
    compare->sort = o->sort;
    compare->top = o->top;
    return (o->path && picture_is_name(o->path) ? draw : write_table)(o, compare);
}

static int compare_all(struct comparison *o)
{
    struct sides sides = {
        .work = &o->work, .plan = o->plan, .memory = o->memory, .limit_ns = SECOND_NS * o->seconds};
    size_t base;
    int exit;

    if (!find_base(o, &base))
        return CMD_USAGE;
    exit = sides_try(&sides, base);
    for (size_t i = 0; i < sides.compare.nresults && exit < CMD_USAGE; i++)
        exit = cmd_worse(exit, save_result(&o->save, &sides.compare.results[i], &o->work.log));
    if (exit < CMD_USAGE && sides.compare.nresults > 0) {
        exit = cmd_worse(exit, print(o, &sides.compare));
        if (o->path && strcmp(o->path, "-") != 0)
            tell_failures(o, &sides.compare);
        exit = cmd_worse(exit, sides_tell_fit(&sides));
    }
    sides_fini(&sides);
    return exit;
}

/* ---- planned on all ranks ---- */

/* Like sides_tell_fit(), but the program of the strategy that needs least is built first. */
static int tell_fit(struct comparison *o, const struct sweep *s)
{
    struct work *w = &o->work;
    size_t least = 0;
    struct diag diag = DIAG_INIT;
    int exit = CMD_CANNOT;

    for (size_t i = 0; i < w->nitems; i++) {
        if (!s->items[i].planned || s->items[i].fits)
            return CMD_OK;
        if (s->items[i].peak_bytes < s->items[least].peak_bytes)
            least = i;
    }
    if (trial_init(&w->items[least].trial, w->items[least].scenario, &diag) == SHD_OK)
        exit = work_tell_fit(w, &w->items[least]);
    diag_fini(&diag);
    return exit;
}

struct planned {
    struct compare compare;
    struct result *results;
    struct compare_planned *rows;
    struct compare_skipped *skipped;
};

static bool planned_init(struct planned *out, const struct work *w)
{
    *out = (struct planned){.results = calloc(w->nitems + 1, sizeof *out->results),
                            .rows = calloc(w->nitems + 1, sizeof *out->rows),
                            .skipped = calloc(w->nskipped + 1, sizeof *out->skipped)};
    out->compare.results = out->results;
    out->compare.planned = out->rows;
    out->compare.skipped = out->skipped;
    return out->results && out->rows && out->skipped;
}

static void planned_fini(struct planned *p)
{
    free(p->results);
    free(p->rows);
    free(p->skipped);
}

static int list_planned(struct planned *p, const struct comparison *o, struct sweep *s, size_t base)
{
    const struct work *w = &o->work;
    int exit = CMD_OK;

    for (; p->compare.nskipped < w->nskipped; p->compare.nskipped++) {
        const struct work_skipped *from = &w->skipped[p->compare.nskipped];

        p->skipped[p->compare.nskipped] =
            (struct compare_skipped){from->scenario->name, from->scenario->strategy, from->why};
    }
    for (size_t i = 0; i < w->nitems; i++) {
        struct sweep_item *item = &s->items[i];
        const struct scenario *scenario = w->items[i].scenario;

        exit = cmd_worse(exit, item->exit);
        if (!item->planned)
            continue;
        if (i == base)
            p->compare.base = p->compare.nresults;
        p->rows[p->compare.nresults] = (struct compare_planned){&item->row, item->json};
        p->results[p->compare.nresults++] = (struct result){.scenario = scenario->name,
                                                            .strategy = scenario->strategy,
                                                            .file = scenario->place.file,
                                                            .what = text_get(&item->what)};
    }
    return exit;
}

/* A sweep_tell_fn. */
static int print_planned(void *arg, struct sweep *s)
{
    struct comparison *o = arg;
    struct planned p;
    size_t base;
    int exit = CMD_CANNOT;

    if (!find_base(o, &base))
        return CMD_USAGE;
    if (planned_init(&p, &o->work))
        exit = list_planned(&p, o, s, base);
    else
        log_error(&o->work.log, "no memory for the comparison");
    if (exit < CMD_USAGE && p.compare.nresults > 0) {
        exit = cmd_worse(exit, print(o, &p.compare));
        exit = cmd_worse(exit, tell_fit(o, s));
    }
    planned_fini(&p);
    return exit;
}

static int compare_with_ranks(struct comparison *o)
{
    struct sweep_wants wants = {.row = true, .json = o->format == COMPARE_JSON};

    return sweep_run(&o->work, wants, print_planned, o);
}

static int compare_alone(struct comparison *o)
{
    int exit = o->plan ? work_prepare(&o->work) : work_prepare_all(&o->work);

    if (exit == CMD_OK)
        exit = save_begin(&o->save, &o->work.log);
    if (exit == CMD_OK) {
        exit = compare_all(o);
        exit = cmd_worse(exit, save_end(&o->save, exit == CMD_INTERRUPTED, &o->work.log));
    }
    return exit;
}

int comparison_run(struct comparison *o)
{
    int exit = cmd_check_output(o->path);

    o->work.plan = o->plan;
    if (exit != CMD_OK)
        return exit;
    if (o->plan && !o->save.wanted && sweep_is_for(&o->work))
        return compare_with_ranks(o);
    return o->plan && ranks_me() > 0 ? CMD_OK : compare_alone(o);
}
