/* shardsim runs - the results that were kept: listed, shown, side by side.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/args.h"
#include "cmd/cmd.h"
#include "command/command.h"
#include "command/runs_table.h"

#define IDS_MAX 64 /* that are compared: more fill no screen */

struct options {
    const char *verb, *path;
    int64_t ids[IDS_MAX];
    size_t nids;
};

static void take_id(const struct args_line *line, struct options *o, const char *arg)
{
    char *end;
    long long id;

    errno = 0;
    id = strtoll(arg, &end, 10);
    if (end == arg || *end || errno || id < 1)
        args_error(line, "'%s' is not a run; expected a number from 'shardsim runs list'", arg);
    if (o->nids == IDS_MAX)
        args_error(line, "more than %d runs; name fewer", IDS_MAX);
    o->ids[o->nids++] = id;
}

static void take_word(const struct args_value *v)
{
    struct options *o = v->at;

    if (o->verb)
        take_id(v->line, o, v->arg);
    else if (!strcmp(v->arg, "list") || !strcmp(v->arg, "show") || !strcmp(v->arg, "compare"))
        o->verb = v->arg;
    else
        args_error(v->line, "unknown action '%s'; expected list, show or compare", v->arg);
}

static void check(const struct args_line *line, void *input)
{
    const struct options *o = input;

    if (!strcmp(o->verb, "list") && o->nids > 0)
        args_error(line, "list shows all runs; 'shardsim runs show N' shows one");
    if (!strcmp(o->verb, "show") && o->nids != 1)
        args_error(line, "show needs the number of one run");
    if (!strcmp(o->verb, "compare") && o->nids < 2)
        args_error(line, "compare needs the numbers of at least two runs");
}

static const struct args_row rows[] = {
    {"file", 0, "FILE", args_text, ARGS_AT(struct options, path), 0, 0,
     "Database (default: $XDG_DATA_HOME/shardsim/runs.db, or ~/.local/share/shardsim/runs.db)"},
    {0}};

static const struct args args = {
    .own = {.rows = rows,
            .word = {.take = take_word, .missing = "no action; expected list, show or compare"}},
    .operands = "list\nshow N\ncompare N N...",
    .check = check,
    .help =
        "Stored results of run, plan and compare (--save): list them, show one as JSON, or compare "
        "several with the first.\vThe list has the bytes received by all devices, the peak memory "
        "of a device, and the step time: replayed, or modelled if marked with ~. Long names lose "
        "their beginning. The file is an SQLite database with one row per result.\n\n"
        "Examples:\n"
        "  Store the plans of a file:\n"
        "    shardsim plan -q --save=runs.db scenarios/strategies.yaml\n"
        "  Compare two of them:\n"
        "    shardsim runs compare 1 2 --file=runs.db\n\n" ARGS_EXIT_STATUS("")};

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
        status = runs_table(text, runs, o->ids, o->nids, err);
    }
    runs_close(runs);
    return status;
}

static int run(int argc, char **argv)
{
    struct options o = {.path = NULL};
    struct text path = TEXT_INIT, text = TEXT_INIT;
    struct shd_error err;
    int status = SHD_OK, exit;

    args_parse(&args, argc, argv, &o);
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

const struct cmd cmd_runs = {"runs", "list, show or compare stored results", run};
