/* shardsim query - JSON lines in, JSON lines out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "query/query.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/args.h"
#include "cmd/cmd.h"
#include "jobs/command.h"
#include "query/manual.h"

enum { KEY_LIST = 4400 };

#define OPS_MAX 1024 /* about eighty exist */

struct options {
    bool list;
    const struct query_op *told[OPS_MAX]; /* ops to describe, given by name */
    size_t ntold;
};

/* --list may stand behind names, so they are looked at in the end. */
static void find_told(struct options *o, char *const *names, const struct argp_state *state)
{
    char message[SHD_ERROR_TEXT_MAX];

    if (!o->list && *names)
        args_error(state, "questions come on standard input, not as arguments");
    for (; *names && o->ntold < OPS_MAX; names++) {
        o->told[o->ntold] = query_op_find(*names);
        if (!o->told[o->ntold++])
            args_error(state, "%s", query_no_op(*names, message, sizeof message));
    }
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    (void)arg;
    switch (key) {
    case KEY_LIST:
        o->list = true;
        return 0;
    case ARGP_KEY_ARGS:
        find_told(o, state->argv + state->next, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
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
    struct text text = TEXT_INIT;
    int status;

    if (o->ntold == 0)
        list_ops(&text);
    for (size_t i = 0; i < o->ntold; i++) {
        text_add(&text, i > 0 ? "\n" : "");
        manual_print(&text, o->told[i]);
    }
    status = cmd_put(&text);
    text_fini(&text);
    return status;
}

static int run(int argc, char **argv)
{
    static const struct argp_option option_table[] = {
        {"list", KEY_LIST, NULL, 0,
         "List the ops that there are; with names of ops, tell what each takes and answers. "
         "Nothing "
         "is answered",
         0},
        {NULL, 0, NULL, 0, NULL, 0}};
    static const struct argp argp = {
        option_table,
        parse_option,
        "\n--list [OP...]",
        "Answer questions: one object {\"id\", \"op\", \"in\"} a line on standard input, one "
        "object {\"id\", \"out\"} or {\"id\", \"err\": {\"kind\", \"message\"}} a line on standard "
        "output, in the same order. shardsim-query(7) tells of every op.\v"
        "A question, for the blocks of an array on two devices: {\"id\": 1, \"op\": "
        "\"sharding.shards\", \"in\": {\"mesh\": [[\"tp\", 2]], \"shape\": [4, 6], \"spec\": "
        "[null, \"tp\"]}}.\n\n"
        "Examples:\n"
        "  What can be asked?\n"
        "    shardsim query --list\n"
        "  What does an op take, and what does it answer?\n"
        "    shardsim query --list sharding.shards\n"
        "  Answer a file of questions:\n"
        "    shardsim query <questions.jsonl >answers.jsonl\n\n" ARGS_EXIT_STATUS(""),
        NULL,
        NULL,
        NULL};
    struct options options = {.list = false};
    struct shd_error err;
    int status;

    args_parse(&argp, argc, argv, &options);
    if (options.list)
        return list(&options);
    status = query_serve(stdin, stdout, &cmd_stop_request, &err);
    if (status != SHD_OK && !cmd_stop_request)
        cmd_error("%s", err.text);
    return cmd_stop_request ? CMD_INTERRUPTED : status == SHD_OK ? CMD_OK : CMD_CANNOT;
}

const struct cmd cmd_query = {"query", "JSON lines in, JSON lines out: for other languages", run};
