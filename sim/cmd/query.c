/* shardsim query - JSON lines in, JSON lines out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "query/query.h"

#include <stdlib.h>
#include <string.h>

#include "base/screen.h"
#include "cmd/args.h"
#include "cmd/cmd.h"
#include "command/command.h"
#include "query/manual.h"
#include "report/para.h"

#define OPS_MAX 1024 /* about eighty exist */

struct options {
    bool list;
    const char *names[OPS_MAX]; /* of ops to describe */
    size_t nnames;
    const struct query_op *told[OPS_MAX];
};

static void take_name(const struct args_value *v)
{
    struct options *o = v->at;

    if (o->nnames < OPS_MAX)
        o->names[o->nnames++] = v->arg;
}

/* --list may stand behind names, so they are looked at in the end. */
static void find_told(const struct args_line *line, void *input)
{
    struct options *o = input;
    char message[SHD_ERROR_TEXT_MAX];

    if (!o->list && o->nnames > 0)
        args_error(line, "unexpected argument; questions are read from standard input");
    for (size_t i = 0; i < o->nnames; i++) {
        o->told[i] = query_op_find(o->names[i]);
        if (!o->told[i])
            args_error(line, "%s", query_no_op(o->names[i], message, sizeof message));
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(const struct query_op *const *)a)->name,
                  (*(const struct query_op *const *)b)->name);
}

/* The names of all ops, sorted, one a line. */
static void list_ops(struct text *text)
{
    const struct query_op *ops[OPS_MAX];
    size_t n = 0;

    while (n < OPS_MAX && (ops[n] = query_op_at(n)) != NULL)
        n++;
    qsort(ops, n, sizeof *ops, compare_names);
    for (size_t i = 0; i < n; i++)
        text_addf(text, "%s\n", ops[i]->name);
}

static int list(const struct options *o)
{
    struct text lines = TEXT_INIT, text = TEXT_INIT;
    struct screen screen;
    int status;

    if (o->nnames == 0)
        list_ops(&lines);
    for (size_t i = 0; i < o->nnames; i++) {
        text_add(&lines, i > 0 ? "\n" : "");
        manual_print(&lines, o->told[i]);
    }
    screen_init(&screen, stdout, SCREEN_NEVER);
    para_fold(&text, screen.columns, 6, &lines);
    status = cmd_put(&text);
    text_fini(&text);
    return status;
}

static const struct args_row rows[] = {
    {"list", 0, NULL, args_switch, ARGS_AT(struct options, list), 0, 0,
     "List the ops, or describe the input and output of the named ops, and exit"},
    {0}};

static const struct args args = {
    .own = {.rows = rows, .word = {.take = take_name}},
    .operands = "\n--list [OP...]",
    .check = find_told,
    .help =
        "Answer questions: one object {\"id\", \"op\", \"in\"} per line on input, one object "
        "{\"id\", \"out\"} or {\"id\", \"err\": {\"kind\", \"message\"}} per line on output, in "
        "the same order. shardsim-query(7) describes every op.\vExample of a question, for the "
        "shards of an array on two devices: {\"id\": 1, \"op\": \"sharding.shards\", \"in\": "
        "{\"mesh\": [[\"tp\", 2]], \"shape\": [4, 6], \"spec\": [null, \"tp\"]}}.\n\n"
        "Examples:\n"
        "  List all ops:\n"
        "    shardsim query --list\n"
        "  Describe the input and output of an op:\n"
        "    shardsim query --list sharding.shards\n"
        "  Answer a file of questions:\n"
        "    shardsim query <questions.jsonl >answers.jsonl\n\n" ARGS_EXIT_STATUS("")};

static int run(int argc, char **argv)
{
    struct options options = {.list = false};
    struct shd_error err;
    int status;

    args_parse(&args, argc, argv, &options);
    if (options.list)
        return list(&options);
    status = query_serve(stdin, stdout, &cmd_stop_request, &err);
    if (status != SHD_OK && !cmd_stop_request)
        cmd_error("%s", err.text);
    return cmd_stop_request ? CMD_INTERRUPTED : status == SHD_OK ? CMD_OK : CMD_CANNOT;
}

const struct cmd cmd_query = {"query", "answer questions in JSON lines, for other languages", run};
