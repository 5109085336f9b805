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
#include "cmd/pages.h"

enum { KEY_LIST = 4400 };

#define OPS_MAX 1024 /* there are some eighty */

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    bool *list = state->input;

    (void)arg;
    if (key == KEY_LIST) {
        *list = true;
        return 0;
    }
    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    args_error(state, "questions come on standard input, not as arguments");
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The ops, by name, one a line. */
static int list_ops(void)
{
    const char *names[OPS_MAX];
    struct text text = TEXT_INIT;
    size_t n = 0;
    int status;

    while (n < OPS_MAX && (names[n] = query_op_name(n)) != NULL)
        n++;
    qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 0; i < n; i++)
        text_addf(&text, "%s\n", names[i]);
    status = cmd_put(&text);
    text_fini(&text);
    return status;
}

static int run(int argc, char **argv)
{
    static const struct argp_option option_table[] = {
        {"list", KEY_LIST, NULL, 0, "List the ops that there are, and answer nothing", 0},
        {NULL, 0, NULL, 0, NULL, 0}};
    static const struct argp argp = {
        option_table,
        parse_option,
        NULL,
        "Answer questions: one object {\"id\", \"op\", \"in\"} a line on standard input, one "
        "object {\"id\", \"out\"} or {\"id\", \"err\": {\"kind\", \"message\"}} a line on standard "
        "output, in the same order.\v"
        "A question, for the blocks of an array on two devices: {\"id\": 1, \"op\": "
        "\"sharding.shards\", \"in\": {\"mesh\": [[\"tp\", 2]], \"shape\": [4, 6], \"spec\": "
        "[null, \"tp\"]}}.\n\n"
        "Examples:\n"
        "  What can be asked?\n"
        "    shardsim query --list\n"
        "  Answer a file of questions:\n"
        "    shardsim query <questions.jsonl >answers.jsonl\n\n" ARGS_EXIT_STATUS(""),
        NULL,
        NULL,
        NULL};
    struct shd_error err;
    bool list = false;
    int status;

    args_parse(&argp, argc, argv, &list);
    if (list)
        return list_ops();
    pages_keep();
    status = query_serve(stdin, stdout, &cmd_stop_request, &err);
    if (status != SHD_OK && !cmd_stop_request)
        cmd_error("%s", err.text);
    return cmd_stop_request ? CMD_INTERRUPTED : status == SHD_OK ? CMD_OK : CMD_CANNOT;
}

const struct cmd cmd_query = {"query", "JSON lines in, JSON lines out: for other languages", run};
