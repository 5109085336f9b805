/* shardsim runs - the results that were kept: listed, shown, side by side.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cmd/args.h"
#include "cmd/cmd.h"
#include "report/table.h"
#include "store/runs.h"

#define IDS_MAX 64 /* that are compared: more fill no screen */
#define CELL_MAX 48

struct options {
    const char *verb, *path;
    int64_t ids[IDS_MAX];
    size_t nids;
};

enum { KEY_FILE = 1000 };

static const struct argp_option option_table[] = {
    {"file", KEY_FILE, "FILE", 0,
     "The database; if not given, $XDG_DATA_HOME/shardsim/runs.db, or that in ~/.local/share", 0},
    {NULL, 0, NULL, 0, NULL, 0}};

static void parse_id(struct options *o, const char *arg, const struct argp_state *state)
{
    char *end;
    long long id;

    errno = 0;
    id = strtoll(arg, &end, 10);
    if (end == arg || *end || errno || id < 1)
        args_error(state, "'%s' is no run; expected its number, as 'shardsim runs list' tells it",
                   arg);
    else if (o->nids == IDS_MAX)
        args_error(state, "more than %d runs side by side; name fewer", IDS_MAX);
    else
        o->ids[o->nids++] = id;
}

static void check(const struct options *o, const struct argp_state *state)
{
    if (!o->verb)
        args_error(state, "what to do is missing; expected list, show or compare");
    else if (!strcmp(o->verb, "list") && o->nids > 0)
        args_error(state, "list tells of all runs; 'shardsim runs show N' shows one");
    else if (!strcmp(o->verb, "show") && o->nids != 1)
        args_error(state, "show takes the number of one run");
    else if (!strcmp(o->verb, "compare") && o->nids < 2)
        args_error(state, "compare takes the numbers of two runs at least");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case KEY_FILE:
        o->path = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (o->verb)
            parse_id(o, arg, state);
        else if (!strcmp(arg, "list") || !strcmp(arg, "show") || !strcmp(arg, "compare"))
            o->verb = arg;
        else
            args_error(state, "'%s' is nothing to do with runs; expected list, show or compare",
                       arg);
        return 0;
    case ARGP_KEY_END:
        check(o, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char *bytes(char *buf, double value)
{
    return units_print_bytes(buf, CELL_MAX, (uint128)value);
}

static const char *seconds(char *buf, double value)
{
    return value < 0 ? "-" : units_print_seconds(buf, CELL_MAX, value);
}

/* The table of a list or a comparison, and the run that the others are compared with. */
struct listing {
    struct table table;
    bool compares;
    size_t nrows;
    double received, peak; /* of the first run */
};

static void add_ratio(struct table *table, double value, double base)
{
    if (base > 0)
        table_add(table, "%.2fx", value / base);
    else
        table_add(table, "-");
}

static int add_row(void *context, const struct runs_row *row)
{
    struct listing *l = context;
    struct table *t = &l->table;
    char buf[CELL_MAX];

    if (l->nrows++ == 0) {
        l->received = row->received;
        l->peak = row->peak;
    }
    table_add(t, "%" PRId64, row->id);
    table_add(t, "%.16s", row->time); /* to the minute */
    table_add(t, "%s%s%s", row->scenario, strcmp(row->strategy, "default") ? ": " : "",
              strcmp(row->strategy, "default") ? row->strategy : "");
    table_add(t, "%s", row->mode);
    table_add(t, "%" PRId64, row->devices);
    table_add(t, "%s", bytes(buf, row->received));
    if (l->compares)
        add_ratio(t, row->received, l->received);
    table_add(t, "%s", bytes(buf, row->peak));
    if (l->compares)
        add_ratio(t, row->peak, l->peak);
    table_add(t, "%s", seconds(buf, row->replayed));
    table_add(t, "%s", seconds(buf, row->modelled));
    table_add(t, "%s", row->version);
    return t->failed ? SHD_ENOMEM : SHD_OK;
}

static void begin(struct listing *l, bool compares)
{
    static const char *const list[] = {"run",      "kept, UTC",   "what",     "mode",     "devices",
                                       "received", "peak memory", "replayed", "modelled", "by"};
    static const char *const beside[] = {"run",      "kept, UTC", "what",     "mode",
                                         "devices",  "received",  "to first", "peak memory",
                                         "to first", "replayed",  "modelled", "by"};
    const char *const *heads = compares ? beside : list;
    size_t nheads = compares ? sizeof beside / sizeof *beside : sizeof list / sizeof *list;

    *l = (struct listing){.compares = compares};
    table_init(&l->table, compares ? "rlllrrrrrrrl" : "rlllrrrrrl");
    for (size_t i = 0; i < nheads; i++)
        table_add(&l->table, "%s", heads[i]);
}

static int print_table(const struct options *o, struct runs *runs, struct text *text,
                       struct shd_error *err)
{
    struct listing l;
    int status = SHD_OK;

    begin(&l, o->nids > 0);
    if (o->nids == 0)
        status = runs_each(runs, add_row, &l, err);
    for (size_t i = 0; i < o->nids && status == SHD_OK; i++)
        status = runs_find(runs, o->ids[i], add_row, &l, err);
    if (status == SHD_OK)
        table_print(&l.table, 0, text);
    table_fini(&l.table);
    return status;
}

static int answer(const struct options *o, const char *path, struct text *text,
                  struct shd_error *err)
{
    struct runs *runs;
    int status = runs_open(&runs, path, false, err);

    if (status != SHD_OK)
        return status;
    if (!strcmp(o->verb, "show")) {
        status = runs_json(runs, o->ids[0], text, err);
        text_add_char(text, '\n');
    } else {
        status = print_table(o, runs, text, err);
    }
    runs_close(runs);
    return status;
}

static int run(int argc, char **argv)
{
    static const struct argp argp = {
        option_table,
        parse_option,
        "list\nshow N\ncompare N N...",
        "The results that --save of run, plan and compare kept: list them, show one as the JSON "
        "that --json prints, or compare some with the first.\v"
        "A list tells the bytes that all devices receive, the most memory of a device, and the "
        "seconds of a step, replayed or modelled; 'by' is the version of the program. The file is "
        "a database of SQLite, with a row for each result.\n\n"
        "Examples:\n"
        "  Keep the plans of a file:\n"
        "    shardsim plan -q --save=runs.db scenarios/strategies.yaml\n"
        "  See two of them side by side:\n"
        "    shardsim runs compare 1 2 --file=runs.db\n\n" ARGS_EXIT_STATUS(""),
        NULL,
        NULL,
        NULL};
    struct options o = {.path = NULL};
    struct text path = TEXT_INIT, text = TEXT_INIT;
    struct shd_error err;
    int status = SHD_OK, exit;

    args_parse(&argp, argc, argv, &o);
    if (o.path)
        text_add(&path, o.path);
    else
        status = runs_default_path(&path, &err);
    if (status == SHD_OK && path.failed)
        status = shd_error_set(&err, SHD_ENOMEM, "no memory for a path");
    if (status == SHD_OK)
        status = answer(&o, text_get(&path), &text, &err);
    if (status == SHD_OK) {
        exit = cmd_put(&text);
    } else {
        cmd_error("%s", err.text);
        exit = status == SHD_ENOTFOUND ? CMD_USAGE : cmd_exit_of(status);
    }
    text_fini(&path);
    text_fini(&text);
    return exit;
}

const struct cmd cmd_runs = {"runs", "results that were kept: list, show, compare", run};
