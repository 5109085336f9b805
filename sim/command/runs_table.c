/* The table of runs that were kept (runs_table.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "command/runs_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/screen.h"
#include "base/units.h"
#include "report/table.h"

#define CELL_MAX 48
#define VERSION_SHOWN 31 /* bytes of a version */

#define BYTES_MAX 1e30 /* no result has more, and a uint128 has them */

static struct units_text bytes(double value)
{
    return value >= 0 && value < BYTES_MAX ? units_print_bytes((uint128)value)
                                           : (struct units_text){"?"};
}

/* Add the replayed step if known, else the modelled one, with a mark. */
static void add_step(struct table *table, const struct runs_row *row)
{
    if (row->replayed >= 0)
        table_add(table, "%s", units_print_seconds(row->replayed).text);
    else if (row->modelled >= 0)
        table_add(table, "~%s", units_print_seconds(row->modelled).text);
    else
        table_add(table, "-");
}

/* The table of a list or a comparison, and the run that the others are compared with. */
struct listing {
    struct table table;
    bool compares;
    size_t nrows;
    size_t room;                        /* columns for the name of a run */
    double received, peak, model_flops; /* of the first run */
    bool modelled;                      /* some step is modelled */
    char version[VERSION_SHOWN + 1];    /* version of the program in the last run */
    struct text versions;               /* notes on changes of the version */
    int64_t unlike;                     /* a run of another model or step than the first; 0: none */
};

static void add_ratio(struct table *table, double value, double base)
{
    if (base > 0)
        table_add(table, "%.2fx", value / base);
    else
        table_add(table, "-");
}

/* Add a run's name: "strategies: data-and-tensor"; if too long, its end, which tells runs of one
 * file apart. */
static void add_name(struct listing *l, const struct runs_row *row)
{
    bool named = strcmp(row->strategy, "default") != 0;
    struct text name = TEXT_INIT;
    const char *from;
    size_t width;

    text_addf(&name, "%s%s%s", row->scenario, named ? ": " : "", named ? row->strategy : "");
    from = text_get(&name);
    width = table_width(from);
    if (width <= l->room) {
        table_add(&l->table, "%s", from);
    } else {
        for (; table_width(from) > l->room - 3 || ((unsigned char)*from & 0xc0) == 0x80;)
            from++;
        table_add(&l->table, "...%s", from);
    }
    l->table.failed |= name.failed;
    text_fini(&name);
}

/* Runs of another version of the program are told apart below the table. */
static void add_version(struct listing *l, const struct runs_row *row)
{
    char version[VERSION_SHOWN + 1];

    snprintf(version, sizeof version, "%.*s", VERSION_SHOWN, row->version);
    if (!strcmp(version, l->version))
        return;
    if (l->versions.length)
        text_addf(&l->versions, "; from run %" PRId64 " on ", row->id);
    else
        text_add(&l->versions, "by shardsim ");
    escape_add(&l->versions, version);
    snprintf(l->version, sizeof l->version, "%s", version);
}

static int add_row(void *context, const struct runs_row *row)
{
    struct listing *l = context;
    struct table *t = &l->table;

    if (l->nrows++ == 0) {
        l->received = row->received;
        l->peak = row->peak;
        l->model_flops = row->model_flops;
    }
    if (row->model_flops != l->model_flops && !l->unlike)
        l->unlike = row->id;
    l->modelled |= row->replayed < 0 && row->modelled >= 0;
    table_add(t, "%" PRId64, row->id);
    if (!l->compares)
        table_add(t, "%.16s", row->time); /* to the minute */
    add_name(l, row);
    table_add(t, "%" PRId64, row->devices);
    table_add(t, "%s", bytes(row->received).text);
    if (l->compares)
        add_ratio(t, row->received, l->received);
    table_add(t, "%s", bytes(row->peak).text);
    if (l->compares)
        add_ratio(t, row->peak, l->peak);
    add_step(t, row);
    add_version(l, row);
    return t->failed ? SHD_ENOMEM : SHD_OK;
}

/* Width of the columns beside the name, with cells such as "1023 MiB", and the least width of the
 * name. */
#define LIST_OTHERS 62
#define COMPARE_OTHERS 65
#define NAMES_LEAST 12

static void begin(struct listing *l, bool compares)
{
    size_t others = compares ? COMPARE_OTHERS : LIST_OTHERS;
    struct screen screen;

    screen_init(&screen, stdout, SCREEN_NEVER);
    *l = (struct listing){.compares = compares, .room = NAMES_LEAST, .versions = TEXT_INIT};
    if (screen.columns > others + NAMES_LEAST)
        l->room = screen.columns - others;
    table_init(&l->table, compares ? "rlrrrrrr" : "rllrrrr");
    table_heads(&l->table, compares ? "run|what|devices|received|to first|peak|to first|step"
                                    : "run|kept, UTC|what|devices|received|peak|step");
}

int runs_table(struct text *text, struct runs *runs, const int64_t *ids, size_t nids,
               struct shd_error *err)
{
    struct listing l;
    int status = SHD_OK;

    begin(&l, nids > 0);
    if (nids == 0)
        status = runs_each(runs, add_row, &l, err);
    for (size_t i = 0; i < nids && status == SHD_OK; i++)
        status = runs_find(runs, ids[i], add_row, &l, err);
    if (status == SHD_OK)
        table_print(&l.table, 0, text);
    if (l.versions.length)
        text_addf(text, "%s\n", text_get(&l.versions));
    if (l.modelled)
        text_add(text, "~ modelled on the cluster of the scenario, not replayed\n");
    if (l.compares && l.unlike)
        text_addf(text,
                  "run %" PRId64
                  " has another model or step than the first run; compare equal ones\n",
                  l.unlike);
    text->failed |= l.versions.failed;
    text_fini(&l.versions);
    table_fini(&l.table);
    return status;
}
